"""The `attach` block of a system in a campaign -> `AttachChoice`. Values that may be secrets are never repeated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from tidegauge.config.fields import Fields
from tidegauge.config.source import KeyPath, Source
from tidegauge.config.validate import keys_of, unknown_key, validate
from tidegauge.errors import nearest
from tidegauge.systems.api import System
from tidegauge.systems.attach import DEFAULT_LABEL as LABEL
from tidegauge.systems.attach import (
    METHODS_WITH_CERTIFICATE,
    METHODS_WITH_PASSWORD,
    METHODS_WITH_TOKEN,
    NO_METHOD,
    AddressKey,
    AttachChoice,
    AttachRules,
    AuthChoice,
    SecretReference,
    TlsChoice,
    joined,
    secure_addresses,
    split_text,
)

_HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.\-]+):(\d{1,5})")
_PORT_MAX = 65535
SERVERS_KEYS = ("settings", "heap", "direct-memory", "shape")
"""Keys of a system that say something of servers, which nobody here has where they are others'."""
_SECRET_SETTING = re.compile(r"password|secret|jaas|authparam|credential", re.IGNORECASE)


def _check_prefix(prefix: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", prefix):
        raise ValueError(
            "must be made of letters, digits, '.', '_' and '-', at most 100, as topics are in every system"
        )
    return prefix


def _check_label(label: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", label):
        raise ValueError("must be made of lower-case letters, digits and hyphens, at most 31, and begin with a letter")
    return label


class AttachFields(Fields):
    """The keys of `attach` that every system has. Beside them stand the system's own addresses."""

    tls: Any = None
    auth: Any = None
    topic_prefix: Annotated[str, AfterValidator(_check_prefix)] | None = None
    label: Annotated[str, AfterValidator(_check_label)] = LABEL


class TlsFields(Fields):
    """The keys of `tls`. Paths are relative to the campaign file."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    verify_host: bool = True


class AuthFields(Fields):
    """The keys of `auth`. `password` and `token` are references, {env: VARIABLE} or {file: PATH}."""

    method: str = NO_METHOD
    user: str = ""
    password: Any = None
    token: Any = None


class SecretFields(Fields):
    """Where a secret is: an environment variable, or a file, relative to the campaign file."""

    env: str = ""
    file: str = ""


def parse_attached_system(item: Mapping[str, Any], source: Source, at: KeyPath, system: System) -> AttachChoice | None:
    """The `attach` block of a system given as a mapping, or None after noting each problem in `source`."""
    for name in SERVERS_KEYS:
        if name in item:
            source.complain((*at, name), "has no effect on an attached cluster, whose servers others run: remove it")
    if system.attach_rules is None:
        source.complain((*at, "attach"), f"there is no cluster of {system.title} that could be attached to")
        return None
    return parse_attach(item["attach"], source, (*at, "attach"), system.attach_rules)


def secret_settings(item: Mapping[str, Any], source: Source, at: KeyPath) -> None:
    """Complain about client settings that are secrets: these too would be copied into every run."""
    for block in ("producer", "consumer"):
        settings = item.get(block)
        for name in settings if isinstance(settings, dict) else ():
            if _SECRET_SETTING.search(str(name)):
                source.complain(
                    (*at, block, str(name)),
                    "a secret must not stand in a campaign, which is copied into every run: give it to 'attach.auth'",
                )


def parse_attach(value: Any, source: Source, at: KeyPath, rules: AttachRules) -> AttachChoice | None:
    """The choice that `value` states, or None after noting each problem in `source`."""
    if not isinstance(value, dict):
        source.complain(at, f"must be a mapping such as {{{_example(rules)}}}")
        return None
    names = [key.name for key in rules.keys]
    common = {name: content for name, content in value.items() if name in keys_of(AttachFields)}
    before = len(source.problems)
    for name in value:
        if name not in common and name not in names:
            source.complain((*at, name), unknown_key(name, [*names, *keys_of(AttachFields)]))
    addresses = _addresses(value, source, at, rules)
    fields = validate(AttachFields, common, source, at)
    tls = _tls(value.get("tls"), source, (*at, "tls")) if "tls" in value else None
    auth = _auth(value["auth"], source, (*at, "auth"), rules) if "auth" in value else AuthChoice()
    if fields is None or auth is None or len(source.problems) > before:
        return None
    if tls is not None and _has_schemes(rules) and not secure_addresses(addresses, rules):
        secure = " or ".join(f"{scheme}://" for key in rules.keys for scheme in key.secure_schemes)
        source.complain((*at, "tls"), f"no address is a secure one; begin those that are with {secure}")
    if auth.method in METHODS_WITH_CERTIFICATE and not (tls and tls.certificate):
        source.complain((*at, "auth", "method"), f"'{auth.method}' needs the client's certificate: tls.certificate")
    return AttachChoice(addresses, tls, auth, fields.topic_prefix or "", fields.label)


def _example(rules: AttachRules) -> str:
    return ", ".join(f"{key.name}: {key.example}" for key in rules.keys if key.required)


def _has_schemes(rules: AttachRules) -> bool:
    return any(key.schemes for key in rules.keys)


def _addresses(value: Mapping[str, Any], source: Source, at: KeyPath, rules: AttachRules) -> dict[str, str]:
    found = {}
    for key in rules.keys:
        content = value.get(key.name)
        if content is None:
            if key.required or key.name in value:
                source.complain(at, f"the key '{key.name}' is missing, such as {key.name}: {key.example}")
            continue
        problem = _address_problem(content, key)
        if problem:
            source.complain((*at, key.name), f"{problem}, such as {key.example}")
            continue
        found[key.name] = joined(split_text(content, key), key)
    problem = rules.objection(found)
    if problem:
        source.complain(at, problem)
    return found


def _address_problem(content: Any, key: AddressKey) -> str:
    """Why these are no addresses, without repeating what may hold a password; "" if they are."""
    if not isinstance(content, str) or not all(part.strip() for part in content.split(",")):
        return "must be text: addresses separated by commas"
    parts = split_text(content, key)
    if key.alone and len(parts) > 1:
        return "must be one address"
    if key.one_scheme and len({part.rpartition("://")[0] for part in parts}) > 1:
        return "must have one scheme for all addresses"
    return next(filter(None, (_one_problem(part, key) for part in parts)), "")


def _one_problem(address: str, key: AddressKey) -> str:
    scheme, separator, rest = address.rpartition("://")
    if "@" in rest:
        return (
            "must hold no user and no password (a campaign is copied into every run): name them below 'auth'; "
            "addresses without them"
        )
    if key.schemes and scheme not in key.schemes:
        return f"each address must begin with {' or '.join(f'{name}://' for name in key.schemes)}"
    if not key.schemes and separator:
        return f"'{address}': must be host:port"
    host = _HOST_AND_PORT.fullmatch(rest.partition("/")[0])
    if host is None or not 1 <= int(host[2]) <= _PORT_MAX:
        return f"'{address}': must have a host and a port from 1 to {_PORT_MAX}"
    return ""


def _tls(value: Any, source: Source, at: KeyPath) -> TlsChoice | None:
    if not isinstance(value, dict):
        source.complain(at, "must be a mapping such as {ca: ca.pem}; {} trusts the authorities that Java trusts")
        return None
    fields = validate(TlsFields, value, source, at)
    if fields is None:
        return None
    if bool(fields.certificate) != bool(fields.key):
        source.complain(at, "'certificate' and 'key' belong together: the client's certificate and its private key")
    paths = {name: _existing(getattr(fields, name), source, (*at, name)) for name in ("ca", "certificate", "key")}
    return TlsChoice(**paths, verify_host=fields.verify_host)


def _existing(name: str, source: Source, at: KeyPath) -> str:
    if not name:
        return ""
    path = _absolute(name, source, at)
    if not path.is_file():
        source.complain(at, f"'{name}': there is no such file (looked for {path})")
    return str(path)


def _absolute(name: str, source: Source, at: KeyPath) -> Path:
    """Relative to the file in which the name stands."""
    return (source.file_of(at).parent / Path(name).expanduser()).resolve()


def _auth(value: Any, source: Source, at: KeyPath, rules: AttachRules) -> AuthChoice | None:
    if not isinstance(value, dict):
        source.complain(at, f"must be a mapping with 'method' ({', '.join(rules.methods)}) and what that needs")
        return None
    fields = validate(AuthFields, value, source, at)
    if fields is None:
        return None
    before = len(source.problems)
    allowed = [*rules.methods, NO_METHOD]
    if fields.method not in allowed:
        source.complain(
            (*at, "method"), f"'{fields.method}': must be one of {', '.join(allowed)}{nearest(fields.method, allowed)}"
        )
        return None
    password = _secret(fields.password, "password", source, (*at, "password"))
    token = _secret(fields.token, "token", source, (*at, "token"))
    _check_needs(fields, value, source, at)
    if len(source.problems) > before:
        return None
    return AuthChoice(fields.method, fields.user, password, token)


def _check_needs(fields: AuthFields, given: Mapping[str, Any], source: Source, at: KeyPath) -> None:
    """Each method takes what it needs and nothing else: a password that nobody uses is a mistake."""
    with_password = fields.method in METHODS_WITH_PASSWORD
    needs = {
        "user": with_password,
        "password": with_password,
        "token": fields.method in METHODS_WITH_TOKEN,
    }
    for name, needed in needs.items():
        if needed and not given.get(name):
            source.complain(at, f"the method '{fields.method}' needs '{name}'")
        elif not needed and name in given:
            source.complain((*at, name), f"the method '{fields.method}' has no use for '{name}'")


def _secret(value: Any, name: str, source: Source, at: KeyPath) -> SecretReference | None:
    """A reference. What stands there instead of one may be the secret itself, so it is not repeated."""
    if value is None:
        return None
    problem = _secret_problem(value, name)
    if problem:
        source.complain(at, problem)
        return None
    if "env" in value:
        return SecretReference("env", value["env"])
    return SecretReference("file", str(_absolute(value["file"], source, at)))


def _secret_problem(value: Any, name: str) -> str:
    """Why this says nowhere where a secret is; "" if it does."""
    if not isinstance(value, dict):
        return (
            f"a {name} must not stand in a campaign, which is copied into every run: say where it is, "
            "{env: VARIABLE} or {file: PATH}"
        )
    allowed = keys_of(SecretFields)
    strange = [key for key in value if key not in allowed]
    if strange:
        # A secret in braces looks like a key: only what resembles one is repeated.
        told = [f"unknown key '{key}'{near}" for key in strange if (near := nearest(key, allowed))]
        return told[0] if told else f"a {name} is told by {{env: VARIABLE}} or {{file: PATH}} only"
    places = [content for content in value.values() if isinstance(content, str) and content]
    if len(places) != 1 or len(value) != 1:
        return "must have one of the keys 'env' and 'file', with a name"
    if "env" in value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value["env"]):
        return "env must be the name of an environment variable: letters, digits and '_'"
    return ""
