"""The file that Kafka's own tools take (`--command-config`, client.properties), as a cluster that is attached. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from tidegauge.config.properties import CLIENT_SECRET_PROPERTY, JAAS, JavaProperty, jaas_options
from tidegauge.errors import did_you_mean, nearest_names
from tidegauge.systems.attach import CLIENT_SECRET, ClientProperties
from tidegauge.systems.client_settings import CONSUMER, PRODUCER, may_be_name, read_client_settings
from tidegauge.systems.kafka.clients import FILE

_SERVERS, _PROTOCOL, _MECHANISM = "bootstrap.servers", "security.protocol", "sasl.mechanism"
_TRUST_STORE, _KEY_STORE = "ssl.truststore", "ssl.keystore"
_HOST_CHECK, _KEY_PASSWORD = "ssl.endpoint.identification.algorithm", "ssl.key.password"
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_WITH_PASSWORD = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_TOKENS, _KERBEROS, _AWS = "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"
_MECHANISMS = (*_WITH_PASSWORD, _TOKENS, _KERBEROS, _AWS)
_ENDPOINT, _SCOPE = "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.scope"
_CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
_SERVICE = "sasl.kerberos.service.name"
_EXTENSION = "extension_"
_HANDLERS = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
"""Which class gets a token or a signature follows from the mechanism."""
_SASL = (_MECHANISM, JAAS, _ENDPOINT, _SCOPE, _CLIENT_ID, CLIENT_SECRET_PROPERTY, _SERVICE)
_TLS = (
    *(f"{store}.{part}" for store in (_TRUST_STORE, _KEY_STORE) for part in ("location", "type", "password")),
    *(_HOST_CHECK, _KEY_PASSWORD),
)
_NOT_TAKEN = {
    "client.id": "each client has a name of its own",
    "group.id": "every subscription has a group of its own",
    "group.instance.id": "every subscription has a group of its own",
    "transactional.id": "no transactions are measured",
}


@dataclass
class _Translator:
    """A file while it is translated. `given`: by key; of one that is given twice the last counts, as in Java."""

    given: dict[str, JavaProperty]
    place: str
    terms: ClientProperties = field(default_factory=ClientProperties)

    def value(self, key: str, otherwise: str = "") -> str:
        return self.given[key].value.strip() if key in self.given else otherwise

    def put(self, at: tuple[str, ...], value: object, key: str) -> None:
        self.terms.values[at] = (value, self.given[key])

    def refuse(self, key: str, why: str) -> None:
        self.terms.problems.append((self.given[key], why))

    def note(self, key: str, why: str) -> None:
        self.terms.notes.append((self.given[key], why))

    def translate(self) -> ClientProperties:
        """All of the file, each key once."""
        if _SERVERS in self.given:
            self.put(("attach", "bootstrap-servers"), self.value(_SERVERS), _SERVERS)
        protocol = self.value(_PROTOCOL, "PLAINTEXT").upper()
        if protocol not in _PROTOCOLS:
            near = did_you_mean(protocol, list(_PROTOCOLS))
            self.refuse(_PROTOCOL, f"'{self.value(_PROTOCOL)}': must be one of {', '.join(_PROTOCOLS)}{near}")
        elif protocol.startswith("SASL"):
            self.authenticate()
        if protocol.endswith("SSL"):
            self.encrypt(protocol.startswith("SASL"))
        unused = [
            *([] if protocol.startswith("SASL") else [key for key in _SASL if key in self.given]),
            *([] if protocol.endswith("SSL") else [key for key in _TLS if key in self.given]),
        ]
        why_unused = f"with {_PROTOCOL}={protocol}" if _PROTOCOL in self.given else f"since {_PROTOCOL} is not given"
        for key in unused if protocol in _PROTOCOLS else ():
            self.note(key, f"has no effect {why_unused}")
        for key in self.given:
            if key not in (_SERVERS, _PROTOCOL, *_SASL, *_TLS):
                self.take_setting(key)
        return self.terms

    def authenticate(self) -> None:
        """Who the client is. Secrets stay in the file, which is read again as a run begins."""
        mechanism = self.value(_MECHANISM, "GSSAPI").upper()
        if mechanism not in _MECHANISMS:
            said = f"'{mechanism}'" if _MECHANISM in self.given else f"{_MECHANISM} is not given, so it is {mechanism}"
            key = _MECHANISM if _MECHANISM in self.given else _PROTOCOL
            self.refuse(key, f"{said}: can't be taken over; the load generator has {', '.join(_MECHANISMS)}")
            return
        options = jaas_options(self.value(JAAS))
        if mechanism == _TOKENS:
            self.take_tokens(options)
        elif mechanism == _KERBEROS:
            self.take_keytab(options)
        elif mechanism == _AWS:
            self.put(("attach", "auth", "method"), "aws-msk-iam", _MECHANISM)
            if "awsProfileName" in options:
                self.put(("attach", "auth", "profile"), options["awsProfileName"], JAAS)
        else:
            self.take_password(mechanism, options)

    def take_password(self, mechanism: str, options: Mapping[str, str]) -> None:
        """The user, and where the password is."""
        if not options.get("username") or not options.get("password"):
            key = JAAS if JAAS in self.given else _PROTOCOL
            self.refuse(key, f"{mechanism} needs a username and a password in {JAAS}, and there are none")
            return
        self.put(("attach", "auth", "method"), mechanism.lower(), JAAS)
        self.put(("attach", "auth", "user"), options["username"], JAAS)
        self.put(("attach", "auth", "password"), {"properties": self.place}, JAAS)

    def take_tokens(self, options: Mapping[str, str]) -> None:
        """Where tokens come from. The client's secret stays in the file as a password does."""
        url = self.value(_ENDPOINT)
        client = self.value(_CLIENT_ID) or options.get("clientId", "")
        has_secret = CLIENT_SECRET_PROPERTY in self.given or "clientSecret" in options
        if not url or (not url.startswith("file:") and not (client and has_secret)):
            needed = f"{_ENDPOINT} with {_CLIENT_ID} and {CLIENT_SECRET_PROPERTY}, or a file:// address there"
            self.refuse(_MECHANISM, f"'{_TOKENS}' needs {needed}")
            return
        self.put(("attach", "auth", "method"), "oauthbearer", _MECHANISM)
        if url.startswith("file:"):
            self.put(("attach", "auth", "token"), {"file": unquote(urlsplit(url).path)}, _ENDPOINT)
        else:
            self.put(("attach", "auth", "token-endpoint"), url, _ENDPOINT)
            self.put(("attach", "auth", "client-id"), client, _CLIENT_ID if _CLIENT_ID in self.given else JAAS)
            key = CLIENT_SECRET_PROPERTY if CLIENT_SECRET_PROPERTY in self.given else JAAS
            self.put(("attach", "auth", CLIENT_SECRET), {"properties": self.place}, key)
            if scope := self.value(_SCOPE) or options.get("scope", ""):
                self.put(("attach", "auth", "scope"), scope, _SCOPE if _SCOPE in self.given else JAAS)
        extensions = {
            name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)
        }
        if extensions:
            self.put(("attach", "auth", "extensions"), extensions, JAAS)

    def take_keytab(self, options: Mapping[str, str]) -> None:
        """The principal, and where its key is."""
        if not options.get("principal") or not options.get("keyTab"):
            key = JAAS if JAAS in self.given else _PROTOCOL
            begin = _KERBEROS if _MECHANISM in self.given else f"{_MECHANISM} is not given, so it is {_KERBEROS}, which"
            self.refuse(key, f"{begin} needs a principal and a keyTab in {JAAS}: no ticket of a user is taken over")
            return
        self.put(("attach", "auth", "method"), "kerberos", JAAS)
        self.put(("attach", "auth", "principal"), options["principal"], JAAS)
        self.put(("attach", "auth", "keytab"), options["keyTab"], JAAS)
        if service := self.value(_SERVICE) or options.get("serviceName", ""):
            self.put(("attach", "auth", "service"), service, _SERVICE if _SERVICE in self.given else JAAS)

    def encrypt(self, has_password: bool) -> None:
        """Encryption, by PEM files: nothing else is read here."""
        self.put(("attach", "tls"), {}, _PROTOCOL)
        if path := self.pem_of(_TRUST_STORE, "keytool -list -rfc -keystore {} > ca.pem"):
            self.put(("attach", "tls", "ca"), path, f"{_TRUST_STORE}.location")
        if path := self.pem_of(_KEY_STORE, "openssl pkcs12 -nodes -in {} -out client.pem"):
            # One file holds both, and who reads it takes what it is asked for.
            self.put(("attach", "tls", "certificate"), path, f"{_KEY_STORE}.location")
            self.put(("attach", "tls", "key"), path, f"{_KEY_STORE}.location")
            if not has_password:
                self.put(("attach", "auth", "method"), "tls", f"{_KEY_STORE}.location")
            if _KEY_PASSWORD in self.given:
                self.refuse(_KEY_PASSWORD, "can't be taken over: a key is read that is not encrypted")
        if _HOST_CHECK in self.given:
            self.put(("attach", "tls", "verify-host"), self.value(_HOST_CHECK) != "", _HOST_CHECK)

    def pem_of(self, store: str, command: str) -> str:
        """The PEM file of a store; "" if there is none, or it is refused."""
        location, kind = f"{store}.location", f"{store}.type"
        path = self.value(location)
        if path and self.value(kind, "JKS").upper() != "PEM":
            self.refuse(
                kind if kind in self.given else location,
                f"'{self.value(kind, 'JKS')}': only PEM is read. Convert it ({command.format(path)}) and say "
                f"{kind}=PEM, {location}={command.rpartition(' ')[2]}",
            )
            return ""
        return path

    def take_setting(self, key: str) -> None:
        """A setting of the clients; what no client has is left out, as these would ignore it, and noted."""
        rules, content = read_client_settings(FILE)
        if key in content["reserved"] or key in _NOT_TAKEN or key in _HANDLERS:
            self.note(key, f"has no effect: {_NOT_TAKEN.get(key, 'Tidegauge sets it')}")
            return
        if key.startswith(("sasl.", "ssl.", "security.", "config.providers")):
            self.refuse(key, "can't be taken over: the load generator's connections have no such setting")
            return
        roles = [role for role in (PRODUCER, CONSUMER) if key in rules.by_role[role]]
        for role in roles:
            self.put((role, key), self.value(key), key)
        if not roles:
            unknown = f"no client of {content['library']} has such a setting"
            of_connection = (_SERVERS, _PROTOCOL, _MECHANISM, JAAS, *_TLS)
            names = sorted({*of_connection, *(name for settings in rules.by_role.values() for name in settings)})
            nearest = nearest_names(key, names, 1)
            problem = f"{unknown}{did_you_mean(key, nearest)}"
            if set(nearest) & set(of_connection):
                # Without it the connection would be another: unencrypted, say, or without a password.
                self.refuse(key, problem)
            else:
                shown = key if nearest or may_be_name(key) else "what stands here"
                self.terms.notes.append((replace(self.given[key], key=shown), f"is left out: {problem}"))


def translate_client_properties(properties: Sequence[JavaProperty], place: str) -> ClientProperties:
    """See `System.client_properties`."""
    return _Translator({one.key: one for one in properties}, place).translate()
