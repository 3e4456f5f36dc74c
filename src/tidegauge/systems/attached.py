"""A cluster that others run, as a deployment: there is nothing to start, to stop or to look at from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidegauge.model.level import LevelChoice, LevelFinding
from tidegauge.model.server import Setting
from tidegauge.systems.api import Describe
from tidegauge.systems.attach import AttachChoice, AttachRules, is_secure, split_addresses
from tidegauge.systems.servers import Serverless

UNKNOWN = "unknown: "
"""How the value of a setting begins that could not be read; what follows says why."""

_SECRETS = ("auth.password", "auth.token")


class ConnectionSettings(dict[str, str]):
    """A driver's connection settings. They may hold secrets, so what they print of themselves leaves these out."""

    def __repr__(self) -> str:
        return repr({key: "(hidden)" if key in _SECRETS else value for key, value in self.items()})

    __str__ = __repr__


@dataclass(frozen=True)
class AttachRequest:
    """Which cluster to attach to, at which level. `secrets` by their name in the campaign: "password", "token"."""

    choice: AttachChoice
    level: LevelChoice
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class AttachedCluster(Serverless):
    """A `Deployment` that others run.

    Attributes:
        topic_settings: of a run's topics, beside those that a deployment of our own would give them: what its servers'
            configuration would say there.
        nodes_in: how many nodes there are by the settings read back; None if they don't say.
        decides: whether a setting decides the durability level.
        read_more: settings that the driver can't ask for.
    """

    topic_settings: Mapping[str, str]
    nodes_in: Callable[[Sequence[Setting]], int | None]
    decides: Callable[[Setting], bool]
    read_more: Callable[[], list[Setting]] = list

    def read_back(self, describe: Describe, topics: list[str]) -> list[Setting]:
        """What the cluster shows with the rights given; what it does not is "unknown: ...", with the reason."""
        return [*describe(topics), *self.read_more()]

    def unread(self, settings: Sequence[Setting]) -> list[Setting]:
        """The settings that decide the durability level and could not be read."""
        return [setting for setting in settings if setting.value.startswith(UNKNOWN) and self.decides(setting)]


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
    settings["auth.method"] = choice.auth.method
    if choice.auth.user:
        settings["auth.user"] = choice.auth.user
    settings.update({f"auth.{name}": secret for name, secret in secrets.items()})
    return settings


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
