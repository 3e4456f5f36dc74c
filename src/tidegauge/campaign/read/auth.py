"""The `auth` block of an attached cluster -> `AuthChoice`, and the secrets that it refers to.

Values that may be secrets are never repeated; secrets are kept in memory only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from tidegauge.config.fields import Fields, Settings, refuse_value, text_matching
from tidegauge.config.properties import CLIENT_SECRET_PROPERTY, JAAS, jaas_options, parse_properties
from tidegauge.config.source import KeyPath, Source, keys_of
from tidegauge.errors import UserError, did_you_mean
from tidegauge.hosts.environments import hide_variable
from tidegauge.places import is_file, resolve_path
from tidegauge.regular import read_regular
from tidegauge.systems.attach import (
    CLIENT_SECRET,
    METHODS_OF_AWS,
    METHODS_WITH_CERTIFICATE,
    METHODS_WITH_KEYTAB,
    METHODS_WITH_PASSWORD,
    METHODS_WITH_TOKEN,
    METHODS_WITH_TOKEN_FILE,
    METHODS_WITH_TOKENS,
    NO_METHOD,
    AttachChoice,
    AttachRules,
    AuthChoice,
    KerberosChoice,
    SecretReference,
    TokenEndpoint,
    secret_references,
)


def _parse_secret(value: object, info: ValidationInfo) -> SecretReference:
    """Where a secret is, of {env: VARIABLE} or {file: PATH}. What stands there instead may be the secret itself."""
    if value is None:
        raise refuse_value("is empty: say where it is, {env: VARIABLE} or {file: PATH}")
    secret_name = (info.field_name or "").replace("_", "-")
    if not isinstance(value, dict):
        raise refuse_value(
            f"a {secret_name} must not stand in a campaign, which is copied into every run: say where it is, "
            "{env: VARIABLE} or {file: PATH}"
        )
    kinds: tuple[Literal["env", "file", "properties"], ...] = ("env", "file", "properties")
    strange = [key for key in value if key not in kinds]
    if strange:
        # A secret in braces looks like a key: only what resembles one is repeated.
        unknown = [f"unknown key '{key}'{near}" for key in strange if (near := did_you_mean(key, list(kinds)))]
        only = f"a {secret_name} is given by {{env: VARIABLE}}, {{file: PATH}} or {{properties: PATH}} only"
        raise refuse_value(unknown[0] if unknown else only)
    references = [SecretReference(kind, name) for kind in kinds if isinstance(name := value.get(kind), str) and name]
    if len(value) != 1 or not references:
        raise refuse_value("must have one of the keys 'env', 'file' and 'properties', with a name")
    if "env" in value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value["env"]):
        raise refuse_value("env must be the name of an environment variable: letters, digits and '_'")
    return references[0]


_Secret = Annotated[SecretReference, BeforeValidator(_parse_secret)]


def _check_url(value: object) -> object:
    """Refuse what may hold a secret, which is not repeated, and what no client could ask."""
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise refuse_value("must be an address that begins with https:// or http://, such as https://host/oauth/token")
    if parts.username is not None or parts.query or parts.fragment or "," in parts.geturl():
        raise refuse_value("must hold no user and no password, and nothing after '?' or '#'")
    return value


_Url = Annotated[str, BeforeValidator(_check_url)]


def _check_extensions(extensions: dict[str, str]) -> dict[str, str]:
    for name, value in extensions.items():
        if not re.fullmatch(r"[A-Za-z]+", name) or not re.fullmatch(r"[!-+\--~]+", value):
            raise ValueError("must have names of letters, each with text that has no blank and no ','")
    return extensions


_Extensions = Annotated[Settings, AfterValidator(_check_extensions)]


class MethodFields(Fields):
    """The keys of `auth` for a method that needs nothing beside."""

    key_missing = "the method '{method}' needs it"
    other_keys_refused = "the method has no use for it"
    method: str = NO_METHOD


class PasswordFields(MethodFields):
    """The keys of `auth` for a method with a password, which is a reference."""

    user: Annotated[str, text_matching(r".+", "must be the name of a user")]
    password: _Secret


class TokenFields(MethodFields):
    """The keys of `auth` for a method with a token, which is a reference."""

    token: _Secret
    extensions: _Extensions = Field(default_factory=dict)


class EndpointFields(MethodFields):
    """The keys of `auth` for a method with tokens that a client gets from an endpoint, with a secret of its own.

    Which of the two addresses a system's clients are told, its rules say.
    """

    token_endpoint: _Url = ""
    issuer_url: _Url = ""
    client_id: Annotated[str, text_matching(r".+", "must be the name of a client")]
    client_secret: _Secret
    scope: str = ""
    audience: str = ""
    endpoint_ca: str = ""
    extensions: _Extensions = Field(default_factory=dict)


class KerberosFields(MethodFields):
    """The keys of `auth` for Kerberos. Paths are relative to the campaign file."""

    principal: Annotated[str, text_matching(r"[^\s@]+@[^\s@]+", "must be NAME@REALM, such as bench@EXAMPLE.COM")]
    keytab: Annotated[str, text_matching(r".+", "must be a file")]
    krb5_conf: str = ""
    service: str = ""


class AwsFields(MethodFields):
    """The keys of `auth` for who Amazon's library says we are, by its own files, or by a key given."""

    profile: str = ""
    user: str = ""
    password: _Secret | None = None
    token: _Secret | None = None


def _tag_of_method(auth: Mapping[str, object]) -> str:
    method = auth.get("method", NO_METHOD)
    tags = {
        "endpoint": METHODS_WITH_TOKENS,
        "password": METHODS_WITH_PASSWORD,
        "token": METHODS_WITH_TOKEN,
        "kerberos": METHODS_WITH_KEYTAB,
        "aws": METHODS_OF_AWS,
        "method": (*METHODS_WITH_CERTIFICATE, NO_METHOD),
    }
    # What no table has is a system's own (`AttachRules.secret_methods`).
    is_own = all(method not in methods for methods in tags.values())
    if "token" in auth and (is_own or method in METHODS_WITH_TOKEN_FILE):
        return "token"
    return next((tag for tag, methods in tags.items() if method in methods), "method")


def check_method(value: object, info: ValidationInfo) -> object:
    """The context are the system's rules, which say what methods there are."""
    methods = info.context.methods if isinstance(info.context, AttachRules) else ()
    if not isinstance(value, dict):
        raise refuse_value(f"must be a mapping with 'method' ({', '.join(methods)}) and what that needs")
    method, allowed = value.get("method", NO_METHOD), [*methods, NO_METHOD]
    if method not in allowed:
        near = did_you_mean(str(method), allowed)
        raise refuse_value(f"'{method}': must be one of {', '.join(allowed)}{near}", "method")
    if isinstance(info.context, AttachRules) and method in info.context.secret_methods and "token" not in value:
        raise refuse_value(f"'{method}' needs token, such as {{file: PATH}}", "method")
    if isinstance(info.context, AttachRules) and method in METHODS_WITH_TOKENS:
        _check_keys_of_tokens(value, info.context)
    return value


def _check_keys_of_tokens(auth: Mapping[str, object], rules: AttachRules) -> None:
    """Refuse what of a token's source a system's clients can't be told, and what is missing or has two answers."""
    method, token, needed = auth["method"], auth.get("token"), rules.endpoint_key
    takes_file = method in METHODS_WITH_TOKEN_FILE
    useful = [needed, *rules.token_keys]
    for key in ("token-endpoint", "issuer-url", "scope", "audience", "extensions"):
        if key in auth and key not in useful:
            raise refuse_value(f"clients of this system have no use for it; they have for {', '.join(useful)}", key)
    if takes_file and "token" in auth and needed in auth:
        raise refuse_value(f"is given beside {needed}: keep the one from which tokens are to come", "token")
    if takes_file and isinstance(token, dict) and "file" not in token and {"env", "properties"} & set(token):
        raise refuse_value("must be {file: PATH}: a token of this method expires, and the file is read again", "token")
    if needed not in auth and not (takes_file and "token" in auth):
        # Nearest first: what is written there instead may be this one, mistyped.
        unknown = [key for key in auth if key not in keys_of(EndpointFields)]
        if not any(did_you_mean(str(key), [needed]) for key in unknown):
            otherwise = ", or token: {file: PATH}" if takes_file else ""
            raise refuse_value(f"'{method}' needs {needed} with client-id and client-secret{otherwise}", "method")


AuthFields = Annotated[
    Annotated[PasswordFields, Tag("password")]
    | Annotated[TokenFields, Tag("token")]
    | Annotated[EndpointFields, Tag("endpoint")]
    | Annotated[KerberosFields, Tag("kerberos")]
    | Annotated[AwsFields, Tag("aws")]
    | Annotated[MethodFields, Tag("method")],
    Discriminator(_tag_of_method),
]


def path_of_existing_file(name: str, source: Source, at: KeyPath) -> str:
    """The whole path of a file that must be there, else it is a problem of the source; "" of none."""
    if not name:
        return ""
    path = source.place_of(at, name)
    if path is not None and not is_file(path):
        source.complain(at, f"'{name}': there is no such file (looked for {path})")
    return str(path or "")


def find_secrets(fields: MethodFields, source: Source, at: KeyPath) -> AuthChoice:
    """How a client says who it is, with whole paths of secrets that are in files."""
    match fields:
        case PasswordFields():
            password = _with_whole_path(fields.password, source, (*at, "password"))
            return AuthChoice(fields.method, fields.user, password)
        case TokenFields():
            token = _with_whole_path(fields.token, source, (*at, "token"))
            return AuthChoice(fields.method, token=token, extensions=fields.extensions)
        case EndpointFields():
            endpoint = TokenEndpoint(
                fields.token_endpoint or fields.issuer_url,
                fields.client_id,
                _with_whole_path(fields.client_secret, source, (*at, CLIENT_SECRET)),
                fields.scope,
                fields.audience,
                path_of_existing_file(fields.endpoint_ca, source, (*at, "endpoint-ca")),
            )
            return AuthChoice(fields.method, endpoint=endpoint, extensions=fields.extensions)
        case KerberosFields():
            keytab = path_of_existing_file(fields.keytab, source, (*at, "keytab"))
            config = path_of_existing_file(fields.krb5_conf, source, (*at, "krb5-conf"))
            return AuthChoice(fields.method, kerberos=KerberosChoice(fields.principal, keytab, config, fields.service))
        case AwsFields():
            if bool(fields.user) != bool(fields.password):
                source.complain(at, "'user' and 'password' belong together: the access key's id and its secret")
            secret_key, session_token = (
                _with_whole_path(reference, source, (*at, name)) if reference else None
                for name, reference in (("password", fields.password), ("token", fields.token))
            )
            return AuthChoice(fields.method, fields.user, secret_key, session_token, aws_profile=fields.profile)
    return AuthChoice(fields.method)


def _with_whole_path(reference: SecretReference, source: Source, at: KeyPath) -> SecretReference:
    path = None if reference.kind == "env" else source.place_of(at, reference.place)
    return replace(reference, place=str(path)) if path else reference


_BYTES_MAX = 65_536


def read_secrets(choice: AttachChoice, system: str) -> dict[str, str]:
    """Read the secrets of an attached cluster, by name ("password", "token"). `system` names it in messages.

    Raises:
        UserError: a variable is not set, or a file can't be read.
    """
    return {
        name: _resolve_secret(name, ref, f"{system}: attach.auth.{name}")
        for name, ref in secret_references(choice).items()
    }


_IN_MEMORY: dict[str, str] = {}


def keep_in_memory(name: str, secret: str) -> SecretReference:
    """A reference to a secret that is known already: it lives as long as this process, and is written nowhere."""
    _IN_MEMORY[name] = secret
    return SecretReference("memory", name)


def _resolve_secret(name: str, reference: SecretReference, what: str) -> str:
    if reference.kind == "memory":
        if reference.place not in _IN_MEMORY:
            raise UserError(
                f"{what}: it was kept in the memory of a process that has ended.", "Run from the same files once more."
            )
        return _IN_MEMORY[reference.place]
    if reference.kind == "env":
        # Whoever may read a helper's environment has no business with it.
        hide_variable(reference.place)
        value = os.environ.get(reference.place, "")
        if not value:
            state = "is empty" if reference.place in os.environ else "is not set"
            raise UserError(
                f"{what}: the environment variable {reference.place} {state}.",
                f"Set it where Tidegauge is started: export {reference.place}=...",
            )
        return value
    text = _secret_from_file(Path(reference.place), what)
    if reference.kind == "file":
        return text
    properties = {one.key: one.value for one in parse_properties(text)}
    option, key = ("clientSecret", CLIENT_SECRET_PROPERTY) if name == CLIENT_SECRET else ("password", JAAS)
    secret = jaas_options(properties.get(JAAS, "")).get(option, "") or ("" if key == JAAS else properties.get(key, ""))
    if not secret:
        raise UserError(
            f"{what}: {reference.place} has no {option} in {JAAS}.", f'It is written there as {option}="...";'
        )
    return secret


def _secret_from_file(path: Path, what: str) -> str:
    """A file's text without the line ends after it, which editors add."""
    try:
        # A FIFO, which nobody may ever fill, is not waited for. Links are followed: orchestrators hand out such files.
        text = read_regular(resolve_path(path), _BYTES_MAX).decode("utf-8").rstrip("\r\n")
    except OSError as error:
        raise UserError(
            f"{what}: the file {path} can't be read: {error.strerror}.", "Check its path and its rights."
        ) from error
    except UnicodeDecodeError:
        # Without the cause: it holds what was read.
        raise UserError(f"{what}: the file {path} is not text in UTF-8.", "Check its path.") from None
    if not text:
        raise UserError(f"{what}: the file {path} is empty.", "Check its path.")
    return text
