"""A cluster that others run, as a deployment: there is nothing to start, to stop or to look at from outside."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import SINGLE_ADDRESS, Setting
from tidegauge.systems.api import Describe
from tidegauge.systems.attach import CLIENT_SECRET, AttachChoice, AttachRules, AuthChoice, is_secure, split_addresses
from tidegauge.systems.servers import Serverless

UNKNOWN = "unknown: "
"""How the value of a setting begins that could not be read; what follows says why."""

PRODUCT, KNOWN_BY = "product", "product.known.by"
"""What of a cluster says which product of others it is, and by what that is known."""
SAID = "said"
_SECRETS = ("auth.password", "auth.token", "auth.client.secret")


class ConnectionSettings(dict[str, str]):
    """A driver's connection settings. They may hold secrets, so what they print of themselves leaves these out."""

    def __repr__(self) -> str:
        return repr({key: "(hidden)" if key in _SECRETS else value for key, value in self.items()})

    __str__ = __repr__


@dataclass(frozen=True)
class AttachRequest:
    """Which cluster to attach to, at which level. `secrets` by their name in the campaign: "password", "token", ..."""

    choice: AttachChoice
    level: LevelChoice
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class AttachedCluster(Serverless):
    """A `Deployment` that others run.

    Attributes:
        nodes_in: how many nodes there are by the settings read back; None if they don't say.
        decides: whether a setting decides the durability level.
        read_more: settings that the driver can't ask for.
        conclude: what follows from those that were read, such as which product it is.
    """

    nodes_in: Callable[[Sequence[Setting]], int | None]
    decides: Callable[[Setting], bool]
    read_more: Callable[[], list[Setting]] = list
    conclude: Callable[[Sequence[Setting]], list[Setting]] = lambda settings: []

    def read_back(self, describe: Describe, topics: list[str]) -> list[Setting]:
        """What the cluster shows with the rights given; what it does not is "unknown: ...", with the reason."""
        settings = describe(topics)
        return [*settings, *self.read_more(), *self.conclude(settings)]

    def unread(self, settings: Sequence[Setting]) -> list[Setting]:
        """The settings that decide the durability level and could not be read."""
        return [setting for setting in settings if setting.value.startswith(UNKNOWN) and self.decides(setting)]


def settings_of_addresses(hosts: Sequence[str]) -> list[Setting]:
    """What to add to settings read back where several servers are reached at one address; [] where they are not.

    A host that has no address here leaves it open.
    """
    shared: set[str] = set()
    for host in dict.fromkeys(hosts):
        try:
            addresses = {str(information[4][0]) for information in socket.getaddrinfo(host, None)}
        except (OSError, UnicodeError):
            addresses = {host}
        shared = addresses & shared if shared else addresses
        if not shared:
            return []
    return [Setting("cluster", SINGLE_ADDRESS, min(shared))] if shared else []


def product_words(settings: Sequence[Setting]) -> str:
    """Which product of others a cluster is and how that is known: "Redpanda (by ...)"; "" if none is known."""
    of_cluster = {setting.name: setting.value for setting in settings if setting.scope == "cluster"}
    if PRODUCT not in of_cluster:
        return ""
    known_by = of_cluster.get(KNOWN_BY, SAID)
    return f"{of_cluster[PRODUCT]} ({known_by if known_by.startswith(SAID) else f'by its {known_by}'})"


def connection_settings(choice: AttachChoice, rules: AttachRules, secrets: Mapping[str, str]) -> ConnectionSettings:
    """The driver's settings: addresses in its own words, encryption and authentication in those all drivers share."""
    settings = ConnectionSettings()
    for key in rules.keys:
        if key.connection_key and key.name in choice.addresses:
            settings[key.connection_key] = choice.addresses[key.name]
    if not any(key.schemes for key in rules.keys) or _all_secure(choice, rules):
        settings["tls.enabled"] = "true" if is_secure(choice, rules) else "false"
    if choice.tls is not None:
        tls = choice.tls
        # Names that end in FILE_KEY_END, by which load generators on other hosts are sent these files.
        paths = {"tls.ca.path": tls.ca, "tls.certificate.path": tls.certificate, "tls.key.path": tls.key}
        settings.update({name: path for name, path in paths.items() if path})
        settings["tls.verify.host"] = "true" if tls.verify_host else "false"
    return ConnectionSettings({**settings, **_auth_settings(choice.auth, secrets)})


def _auth_settings(auth: AuthChoice, secrets: Mapping[str, str]) -> dict[str, str]:
    """Who a client is. A token in a file stays there, since it may be another one tomorrow."""
    endpoint, is_file = auth.endpoint, auth.token is not None and auth.token.kind == "file"
    settings = {
        "auth.user": auth.user,
        "auth.password": secrets.get("password", ""),
        "auth.token": "" if is_file else secrets.get("token", ""),
        "auth.token.path": auth.token.place if auth.token and is_file else "",
        "auth.aws.profile": auth.aws_profile,
        "auth.extensions": ",".join(f"{name}={value}" for name, value in auth.extensions.items()),
    }
    if endpoint:
        settings |= {
            "auth.token.endpoint": endpoint.url,
            "auth.client.id": endpoint.client_id,
            "auth.client.secret": secrets.get(CLIENT_SECRET, ""),
            "auth.scope": endpoint.scope,
            "auth.audience": endpoint.audience,
            "auth.endpoint.ca.path": endpoint.ca,
        }
    if auth.kerberos:
        settings |= {
            "auth.principal": auth.kerberos.principal,
            # No names by which files are sent to other hosts: each has a keytab of its own at that place.
            "auth.keytab": auth.kerberos.keytab,
            "auth.krb5": auth.kerberos.config,
            "auth.service": auth.kerberos.service,
        }
    return {"auth.method": auth.method, **{name: value for name, value in settings.items() if value}}


def _all_secure(choice: AttachChoice, rules: AttachRules) -> bool:
    """Whether every address of the driver begins with a secure scheme; where some don't, each speaks for itself."""
    addresses = [
        (key, address) for key in rules.keys if key.connection_key for address in split_addresses(choice.addresses, key)
    ]
    return all(address.split("://")[0] in key.secure_schemes for key, address in addresses)


def with_rights_given(finding: LevelFinding, unread: Sequence[Setting]) -> LevelFinding:
    """A finding that claims nothing, because of settings that decide the level and could not be read."""
    reasons = tuple(f"{setting.scope}: {setting.name} is {setting.value}" for setting in unread)
    return replace(finding, level=None, reasoning=reasons, problems=(), undecided=reasons)
