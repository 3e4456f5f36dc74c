"""What a campaign says of a cluster that others run, and what a system lets it say. Pure.

Secrets are references here, to a variable or a file: nothing in this module ever holds one, so an `AttachChoice` may be
stored and shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tidegauge.config.properties import JavaProperty

NO_METHOD = "none"
METHODS_WITH_PASSWORD = ("plain", "scram-sha-256", "scram-sha-512", "password", "external")
METHODS_WITH_TOKEN = ("token",)
METHODS_WITH_TOKENS = ("oauthbearer", "oauth2")
"""Of tokens that expire: an endpoint is asked again for them."""
METHODS_WITH_TOKEN_FILE = ("oauthbearer",)
"""Of these the ones that take a token from a file as well, which is read again."""
METHODS_WITH_KEYTAB = ("kerberos",)
METHODS_OF_AWS = ("aws-msk-iam",)
METHODS_WITH_CERTIFICATE = ("tls", "external")
CLIENT_SECRET = "client-secret"
DEFAULT_LABEL = "attached"
_SECRET_NAME = re.compile(
    r"pass(word|phrase|wd)|secret|jaas|authparam|credential|token|user\.info|(keystore|private|access|api)[._-]?key",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"(password|passphrase|secret|token)\s*[=:]|://[^/\s]*@", re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Whether a setting of this name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None


def holds_secret(value: str) -> bool:
    """Whether a value of any name has a password inside, or a user in an address."""
    return _SECRET_VALUE.search(value) is not None


@dataclass(frozen=True)
class SecretReference:
    """Where a secret is: the environment variable `place`, or the file `place` (an absolute path).

    "properties": in that file among Java's properties, as the password of their JAAS configuration.
    "memory": under the name `place` in this process, which took it from a file that must not be copied.
    """

    kind: Literal["env", "file", "properties", "memory"]
    place: str


@dataclass(frozen=True)
class TlsChoice:
    """Encryption. Paths are absolute; "" = Java's own trusted authorities, or no certificate of the client."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    verify_host: bool = True


@dataclass(frozen=True)
class TokenEndpoint:
    """Who gives tokens to a client that shows its secret (OAuth 2.0, client credentials).

    Attributes:
        url: of tokens, or of an issuer who says where they are.
        ca: whom to trust when asking it, an absolute path; "" = Java's own trusted authorities.
    """

    url: str
    client_id: str
    client_secret: SecretReference
    scope: str = ""
    audience: str = ""
    ca: str = ""


@dataclass(frozen=True)
class KerberosChoice:
    """A principal, and where its key and the realm's servers are: absolute paths; "" = the machine's own file."""

    principal: str
    keytab: str
    config: str = ""
    service: str = ""


@dataclass(frozen=True)
class AuthChoice:
    """How a client says who it is.

    Attributes:
        token: one from a file is read again by the clients, before it expires.
        endpoint: where the clients get tokens instead.
        extensions: what servers want to know beside a token.
    """

    method: str = NO_METHOD
    user: str = ""
    password: SecretReference | None = None
    token: SecretReference | None = None
    endpoint: TokenEndpoint | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    kerberos: KerberosChoice | None = None
    aws_profile: str = ""


@dataclass(frozen=True)
class AttachChoice:
    """A cluster that runs already.

    Attributes:
        addresses: the system's own keys, such as {"bootstrap-servers": "host1:9092,host2:9092"}.
        tls: None = as the addresses say (`pulsar+ssl://`), with the authorities that Java trusts.
        topic_prefix: of every topic of a run; "" = "tidegauge-", the run's name, "-".
        label: what follows the '@' in the system's name, to tell two clusters apart.
        metrics: URLs where its servers and their hosts report what they use (`systems.exported`).
        product: which of `AttachRules.products` it is, as the user says; "" = it is seen, or the system itself.
    """

    addresses: Mapping[str, str]
    tls: TlsChoice | None = None
    auth: AuthChoice = field(default_factory=AuthChoice)
    topic_prefix: str = ""
    label: str = DEFAULT_LABEL
    metrics: tuple[str, ...] = field(default=(), metadata={"if_any": True})
    product: str = ""


@dataclass(frozen=True)
class ClientProperties:
    """What a file of a system's own tools says of a cluster and its clients, in the words of a campaign.

    Attributes:
        values: by their place in the system's entry, ("producer", "linger.ms"), each with the property that it is from.
        problems: properties that can't be taken over, and why.
        notes: those that have no effect here, and why.
    """

    values: dict[tuple[str, ...], tuple[object, JavaProperty]] = field(default_factory=dict)
    problems: list[tuple[JavaProperty, str]] = field(default_factory=list)
    notes: list[tuple[JavaProperty, str]] = field(default_factory=list)


@dataclass(frozen=True)
class AddressKey:
    """A key with addresses of a cluster.

    Attributes:
        connection_key: the name of the driver's connection setting that it becomes; "" if the driver has no use for it.
        schemes: what each address may begin with, the secure ones among them in `secure_schemes`; () = host:port.
        one_scheme: whether the scheme stands once, before all addresses: "pulsar://host1:6650,host2:6650".
        alone: whether there can be one address only.
        ports: by scheme the port that servers have unless somebody chooses another; "" for addresses without one.
    """

    name: str
    example: str
    connection_key: str
    required: bool = True
    schemes: tuple[str, ...] = ()
    secure_schemes: tuple[str, ...] = ()
    one_scheme: bool = False
    alone: bool = False
    ports: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class AttachRules:
    """What a campaign may say of an attached cluster of this system.

    Attributes:
        methods: values of auth.method beside "none".
        endpoint_key: what of a token endpoint a client is told.
        token_keys: keys of `auth` beside it that a client with tokens has a use for, and needn't have.
        products: what `product` may be: those of others that speak the system's protocol.
        secret_methods: those of `methods` of the system's own that need one secret, given as `token`.
    """

    keys: tuple[AddressKey, ...]
    methods: tuple[str, ...]
    endpoint_key: Literal["token-endpoint", "issuer-url"] = "token-endpoint"
    token_keys: tuple[str, ...] = ("scope", "audience")
    products: tuple[str, ...] = ()
    secret_methods: tuple[str, ...] = ()


def is_secure(choice: AttachChoice, rules: AttachRules) -> bool:
    """Whether connections are encrypted: `tls` is given, or an address begins with a secure scheme."""
    return choice.tls is not None or bool(secure_addresses(choice.addresses, rules))


def secure_addresses(addresses: Mapping[str, str], rules: AttachRules) -> list[str]:
    """Keys whose addresses begin with a secure scheme."""
    return [
        key.name
        for key in rules.keys
        if any(
            address.startswith(f"{scheme}://")
            for address in split_addresses(addresses, key)
            for scheme in key.secure_schemes
        )
    ]


def split_addresses(addresses: Mapping[str, str], key: AddressKey) -> list[str]:
    """The single addresses of a key, each with its scheme."""
    return split_text(addresses.get(key.name, ""), key)


def split_text(text: str, key: AddressKey) -> list[str]:
    """The single addresses in a text, each with its scheme; one that is for all may be repeated before each of them."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    first, separator, _ = (parts or [""])[0].partition("://")
    scheme = f"{first}://" if key.one_scheme and separator else ""
    return [part if "://" in part else f"{scheme}{part}" for part in parts]


def join_addresses(parts: Sequence[str], key: AddressKey) -> str:
    """Addresses as the system's clients take them. Where one scheme is for all, it stands once."""
    if not key.one_scheme:
        return ",".join(parts)
    scheme, separator, _ = parts[0].partition("://")
    return f"{scheme}{separator}" + ",".join(part.partition("://")[2].rstrip("/") for part in parts)


def first_addresses(choice: AttachChoice) -> str:
    """Where the cluster is, in few words: its first addresses."""
    return next(iter(choice.addresses.values()), "")


def secret_references(choice: AttachChoice) -> dict[str, SecretReference]:
    """The secrets to read, by their name in the campaign ("password", "token", "client-secret")."""
    auth = choice.auth
    references = {
        "password": auth.password,
        "token": auth.token,
        CLIENT_SECRET: auth.endpoint.client_secret if auth.endpoint else None,
    }
    return {name: reference for name, reference in references.items() if reference is not None}
