"""A campaign made of one line of the command line: what `bench` and `ab` measure.

The line's words become keys of a campaign file, each with the option that brought it, so that a mistake is reported
with the option's name. `tidegauge run` of the same text does the same.

    bench kafka localhost:9092 --rate 5000 --set producer.linger.ms=20
    ab    kafka localhost:9092 --rate 5000 -L producer.linger.ms=0,20 -L compression=none,lz4
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from tidegauge.campaign.model import Campaign
from tidegauge.campaign.read.attach import KEY as ATTACH
from tidegauge.campaign.read.attach import WHAT, AttachFields, read_clusters
from tidegauge.campaign.read.client_properties import read_client_properties, refuse_two_files
from tidegauge.campaign.read.parse import AS_FOUND_WORD, parse_campaign
from tidegauge.campaign.read.sweep import SYSTEM_KEYS, SYSTEM_MAPPINGS
from tidegauge.config.source import KeyPath, Source, key_called_elsewhere, keys_of, raise_problems
from tidegauge.config.workload import WorkloadFields
from tidegauge.errors import UserError, did_you_mean, nearest_names, without_user
from tidegauge.experiments import latency, peak
from tidegauge.experiments.procedure import TrialOptions
from tidegauge.fairness import Case
from tidegauge.model.events import Note
from tidegauge.model.level import AS_FOUND
from tidegauge.numbers import plural
from tidegauge.plain import grouped
from tidegauge.systems.api import System
from tidegauge.systems.attach import (
    CLIENT_SECRET,
    DEFAULT_LABEL,
    AddressKey,
    AttachRules,
    holds_secret,
    join_addresses,
    names_secret,
    split_text,
)
from tidegauge.systems.registry import all_systems, unknown_system_complaint

BENCH, AB = "bench", "ab"
SET, VARY = "--set", "-L"
MEASURE = "15s"
WARM_UP = {"warm-up-min": "7s", "warm-up-max": "12s"}
DRAIN_MAX = "15s"
RATE_OF_PEAK = "50% of lowest peak"
VARIANTS_MAX = 20
ADDRESS = "address"
"""In `-L`, the key of the cluster's first address."""
_FORM = "form"
_CAMPAIGN_KEYS = ("durability", "nodes", "repeat", "seed")
_ORDER = ("name", "systems", "durability", "nodes", "workload", "variants", "experiments")
"""Of the first keys in the file."""
_THE_ADDRESS = "the address"
_HOST = re.compile(r"(?P<host>\[[^\]]*\]|[^:/\[\]]+)(?P<port>:\d+)?(?P<path>/.*)?")
_VALUE_NAME = re.compile(r"[^A-Za-z0-9 ._:/%=+-]+")
_OF_MAPPINGS = re.compile(r"[{},]")
_NAME_CHARS_MAX = 40
_LOGIN = re.compile(r"[^\s,]:[^\s,]*@")
"""Who logs in at an address, and his password."""


@dataclass(frozen=True)
class CommandLine:
    """What the line says, as the user wrote it; None and () = not given.

    Attributes:
        verb: "bench" or "ab", as the campaign is named.
        target: a system ("kafka", "kafka@4.3.1"), or an address with a scheme ("pulsar://host:6650").
        address: of the cluster, after a system's name; None = the one of `attach_file`, or servers started here.
        attach_file: a file of clusters, as `run --attach` takes it.
        settings: "KEY=VALUE" each, what `--set` gives.
        vary: "KEY=VALUE,VALUE" each, what `-L` gives.
        more: values of a campaign by its keys, with the options that they come from: ("repeat", 5, "--repeat").
        client_properties: a file of the system's own tools, instead of `attach_file`.
    """

    verb: str
    target: str
    address: str | None = None
    attach_file: Path | None = None
    rate: str | None = None
    message_size: str | None = None
    partitions: int | None = None
    producers: int | None = None
    consumers: int | None = None
    duration: str | None = None
    topic: str | None = None
    settings: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    more: tuple[tuple[str, object, str], ...] = ()
    client_properties: Path | None = None

    @property
    def file(self) -> Path | None:
        """The file that says of the cluster what the line does not; None without."""
        return self.attach_file or self.client_properties


@dataclass
class Composed:
    """A campaign as keys and values. `options`: by key, the option that a value comes from; `notes` are for it."""

    system: System
    data: dict[str, Any]
    options: dict[KeyPath, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def is_attached(self) -> bool:
        """Whether a cluster of others is measured."""
        return ATTACH in self.data["systems"][0]

    @property
    def needs_partitions(self) -> bool:
        """Whether nobody has said how many partitions the topics have."""
        return not {"partitions", "existing-topics"} & set(self.data["workload"])

    def put(self, at: KeyPath, value: object, option: str) -> None:
        """Put a value at a key, whose holders are made where they are missing."""
        holder: Any = self.data
        for part in at[:-1]:
            holder = holder[part] if isinstance(part, int) else holder.setdefault(part, {})
        holder[at[-1]] = value
        self.options[at] = option
        if len(at) > len(("systems", 0, "producer")):
            # Some problems are those of a mapping as a whole.
            self.options.setdefault(at[:-1], option)

    def text(self, command: str = "") -> str:
        """The campaign as a file. `command`: what it stands for, for its first line."""
        yaml = YAML()
        yaml.width = 120
        yaml.indent(mapping=2, sequence=4, offset=2)
        stream = io.StringIO()
        in_order = {key: self.data[key] for key in (*_ORDER, *self.data) if self.data.get(key)}
        yaml.dump(_laid_out(in_order), stream)
        return (f"# {command}\n" if command else "") + stream.getvalue()

    def campaign(self, path: Path, text: str) -> Campaign:
        """The campaign that this text of it states. Raises `UserError` with the options that are wrong.

        `path` stands for its file in messages; what it names is sought in that directory.
        """
        return parse_campaign(path, {}, sorted(all_systems()), text, options=self.options, notes=self.notes)


def compose_line(line: CommandLine) -> Composed:
    """The campaign of a line, without the number of partitions if nobody says it. Raises `UserError`."""
    system, item, options = _read_target(line)
    composed = Composed(system, {"name": f"{line.verb}-{system.name}", "systems": [item], "workload": {}})
    composed.options |= options
    if line.client_properties is not None:
        _put_client_properties(composed, line.client_properties)
    # At a rate its latency; without one the peak first, and then the latency at half of it.
    times = {**WARM_UP, "measure": MEASURE, "drain-max": DRAIN_MAX}
    composed.data["experiments"] = [
        {"name": peak.EXPERIMENT.name, **times},
        {"name": latency.EXPERIMENT.name, "rate": RATE_OF_PEAK, **times},
    ]
    if line.rate is not None:
        at_rate = {"name": latency.EXPERIMENT.name, "rate": _parse_scalar(line.rate), **times}
        composed.data["experiments"] = [at_rate]
        composed.options["experiments", 0, "rate"] = "--rate"
    given: dict[str, tuple[object, str]] = {
        "message-size": (line.message_size, "--message-size"),
        "partitions": (line.partitions, "--partitions"),
        "producers": (line.producers, "--producers"),
        "consumers": (line.consumers, "--consumers"),
        "existing-topics": ([line.topic] if line.topic else None, "--topic"),
    }
    for key, (value, option) in given.items():
        if value is not None:
            composed.put(("workload", key), value, option)
    if line.duration is not None:
        _put_in_experiments(composed, "measure", line.duration, "--duration")
    _check_topic(line, composed)
    for key, value, option in line.more:
        composed.put((key,), value, option)
    for text in line.settings:
        key, value = _split_setting(text, SET)
        if key in composed.data and key in _CAMPAIGN_KEYS:
            raise UserError(f"{SET} {text}: {composed.options[key,]} says the same.", "Keep one of the two.")
        _put_setting(composed, key, _parse_scalar(value), _shown_option(SET, text))
    if line.verb == AB:
        composed.data["variants"] = _variants_of(line, composed)
    return composed


def _check_topic(line: CommandLine, composed: Composed) -> None:
    """Others' topics are on others' clusters, and nobody fills them as fast as it goes without having said so."""
    if line.topic is None:
        return
    if line.partitions is not None:
        raise UserError("--partitions can't be given beside --topic, which has its own.", "Leave it out.")
    if not composed.is_attached:
        raise UserError(
            f"--topic {line.topic}: servers that are started here have no topics yet.",
            f"Name the cluster: {line.verb} {composed.system.name} HOST:PORT --topic {line.topic}",
        )
    if line.rate is None:
        raise UserError(
            f"--topic {line.topic}: messages are added to this topic, so say how many: --rate is needed.",
            "Such as: --rate 1000",
        )


def _put_in_experiments(composed: Composed, key: str, value: object, option: str) -> None:
    for index in range(len(composed.data["experiments"])):
        composed.put(("experiments", index, key), value, option)


def _read_target(line: CommandLine) -> tuple[System, dict[str, Any], dict[KeyPath, str]]:
    """The system, its entry in the campaign, and which words of the line its values come from."""
    scheme, separator, _ = line.target.partition("://")
    address = line.address
    name, version, product = "", "", ""
    if separator:
        if address is not None:
            words = f"{without_user(line.target)} and the address after it: one address is enough."
            raise UserError(words, "Several go into one, with commas.")
        system, address = _system_of_scheme(scheme, line)
    else:
        name, at, version = line.target.partition("@")
        system, product = _system_or_product_of_name(name, line)
        if at and not version:
            raise UserError(f"{line.target}: a version must follow the '@', such as {name}@{system.default_version}.")
    refuse_two_files(line.attach_file, line.client_properties)
    if line.verb == BENCH and address is None and line.file is None:
        ports = _first_key(system).ports if system.attach_rules else {}
        usual_port = next((f":{port}" for port in ports.values()), "")
        raise UserError(
            f"{BENCH} {line.target}: which cluster is to be measured?",
            f"Such as: tidegauge {BENCH} {system.name} localhost{usual_port}. To measure servers that are "
            f"started here: tidegauge quick --systems {system.name}",
        )
    item: dict[str, Any] = {"name": system.name}
    at_attach: KeyPath = ("systems", 0, ATTACH)
    options: dict[KeyPath, str] = {}
    if line.attach_file is not None:
        item |= _cluster_of_file(line.attach_file, system, version)
        options[at_attach] = f"--attach {line.attach_file}"
    elif version:
        item["version"] = version
        options["systems", 0, "version"] = line.target
    if address is not None:
        rules = _rules_of(system)
        if _LOGIN.search(address):
            raise UserError(
                "The address must hold no user and no password, since a campaign is copied into every run.",
                f"Give it without them, and beside it {_login_by_option(rules)}, or write them into --attach FILE.",
            )
        item[ATTACH] = {**item.get(ATTACH, {}), **addresses_of(address, rules)}
        # Not as it was given: it may hold a password.
        options |= {(*at_attach, key.name): _THE_ADDRESS for key in rules.keys}
    if product and ATTACH not in item:
        raise UserError(
            f"{line.target}: clusters of it are measured, and none is started here.",
            f"Name the cluster: {line.verb} {name} HOST:PORT",
        )
    if product:
        item[ATTACH]["product"] = product
        options[*at_attach, "product"] = line.target
    return system, item, options


def _put_client_properties(composed: Composed, path: Path) -> None:
    """Put in what a file of the system's own tools says; an address on the line wins. Raises `UserError`."""
    item = composed.data["systems"][0]
    source, composed.notes = read_client_properties(path, composed.system, item)
    raise_problems([source], "file")
    attach_given = dict(item.get(ATTACH, {}))
    for at, origin in source.placed.items():
        composed.put(at, origin.value, f"{origin.where}: {origin.shown}")
    for key, value in attach_given.items():
        composed.put(("systems", 0, ATTACH, key), value, _THE_ADDRESS)


def _system_or_product_of_name(name: str, line: CommandLine) -> tuple[System, str]:
    """The system that a word names, or that a product of others speaks, with its name; "" = the system itself."""
    systems = all_systems()
    if name in systems:
        return systems[name], ""
    for system in systems.values():
        if system.attach_rules and name in system.attach_rules.products:
            return system, name
    hint = f"Such as: tidegauge {line.verb} kafka localhost:9092"
    if ":" in name:
        # Not as it was given: before an '@' it is somebody's name and password.
        shown = f"'{name}'" if name == line.target else "the address"
        raise UserError(f"{shown}: which system is it? Its name comes first.", hint)
    raise UserError(f"{unknown_system_complaint(name, sorted(systems))}.", hint)


def _system_of_scheme(scheme: str, line: CommandLine) -> tuple[System, str]:
    """The system whose addresses begin so, and the address: `kafka://host:9092` is short for `kafka host:9092`."""
    systems = all_systems()
    if scheme in systems and systems[scheme].attach_rules and scheme not in _first_key(systems[scheme]).schemes:
        return systems[scheme], line.target.partition("://")[2]
    by_scheme = {
        begin: system for system in systems.values() if system.attach_rules for begin in _first_key(system).schemes
    }
    if scheme not in by_scheme:
        known_schemes = [*by_scheme, *(name for name in systems if systems[name].attach_rules)]
        listed = ", ".join(f"{begin}://" for begin in dict.fromkeys(known_schemes))
        raise UserError(
            f"'{scheme}://': no system has such addresses{did_you_mean(scheme, known_schemes)}; there are {listed}."
        )
    return by_scheme[scheme], line.target


def _rules_of(system: System) -> AttachRules:
    if system.attach_rules is None:
        raise UserError(f"There is no cluster of {system.title} that could be attached to.", "Leave out the address.")
    return system.attach_rules


def _first_key(system: System) -> AddressKey:
    return _rules_of(system).keys[0]


def _login_by_option(rules: AttachRules) -> str:
    """The option that logs in as these clusters' usual method does, with a secret that is elsewhere."""
    method = rules.methods[0]
    secret = "{env: VARIABLE}"
    named = f"token: {secret}" if method == "token" else f"user: NAME, password: {secret}"
    return f"{SET} 'auth={{method: {method}, {named}}}'"


def addresses_of(address: str, rules: AttachRules) -> dict[str, str]:
    """The addresses of a cluster by the system's keys, of which the first is given and others follow from it. Pure.

    What is no address stays as it is: the campaign's check says what is wrong with it.
    """
    first, *others = rules.keys
    scheme = "" if not first.schemes or "://" in address else f"{first.schemes[0]}://"
    parts = split_text(f"{scheme}{address}", first)
    with_ports = [_with_port(part if "://" in part or not scheme else f"{scheme}{part}", first) for part in parts]
    addresses = {first.name: join_addresses(with_ports, first) if with_ports else address}
    secure = any(part.partition("://")[0] in first.secure_schemes for part in with_ports)
    for key in others:
        derived = _derived_address(with_ports[0] if with_ports else "", key, secure)
        if derived and key.required:
            addresses[key.name] = derived
    return addresses


def _with_port(address: str, key: AddressKey) -> str:
    scheme, separator, rest = address.rpartition("://")
    match = _HOST.fullmatch(rest)
    port = key.ports.get(scheme)
    if match is None or match["port"] or port is None:
        return address
    return f"{scheme}{separator}{match['host']}:{port}{match['path'] or ''}"


def _derived_address(address: str, key: AddressKey, secure: bool) -> str:
    """The same host's address for another key, with its usual port; "" where there is none."""
    match = _HOST.fullmatch(address.rpartition("://")[2])
    schemes = [scheme for scheme in key.schemes if (scheme in key.secure_schemes) is secure]
    if match is None or not schemes or schemes[0] not in key.ports:
        return ""
    return f"{schemes[0]}://{match['host']}:{key.ports[schemes[0]]}"


def _cluster_of_file(path: Path, system: System, label: str) -> dict[str, object]:
    """What a file says of the cluster of a system, with paths from here. `label`: which of several."""
    clusters = read_clusters(path, sorted(all_systems()))
    raise_problems([clusters], f"{WHAT} file")
    entries = [(at, item) for at, item in enumerate(clusters.data["systems"]) if item["name"] == system.name]
    labels = [str(item[ATTACH].get("label", DEFAULT_LABEL)) for _, item in entries]
    chosen = [entry for entry, entry_label in zip(entries, labels, strict=True) if label in ("", entry_label)]
    if not chosen:
        missing = f"no cluster of {system.name}"
        problem = f"{missing} is called '{label}'" if entries else f"it has {missing}"
        raise UserError(f"{path}: {problem}{did_you_mean(label, labels)}.", f"It has: {', '.join(labels) or 'others'}.")
    if len(chosen) > 1:
        raise UserError(
            f"{path} has {plural(len(chosen), 'cluster')} of {system.name}: {', '.join(labels)}.",
            f"Say which: {system.name}@{labels[0]}",
        )
    at, item = chosen[0]
    attach = _with_whole_paths(item[ATTACH], clusters, ("systems", at, ATTACH))
    raise_problems([clusters], f"{WHAT} file")
    return {**{key: value for key, value in item.items() if key != ATTACH}, ATTACH: attach}


def _with_whole_paths(attach: Mapping[str, object], clusters: Source, at: KeyPath) -> dict[str, object]:
    """The block with the files that it names by absolute paths: it is to stand in another directory's file."""
    whole = {key: dict(value) if isinstance(value, dict) else value for key, value in attach.items()}
    tls, auth = whole.get("tls"), whole.get("auth")
    if isinstance(tls, dict):
        for name in ("ca", "certificate", "key"):
            if isinstance(tls.get(name), str) and (path := clusters.place_of((*at, "tls", name), tls[name])):
                tls[name] = str(path)
    if isinstance(auth, dict):
        for name in ("keytab", "krb5-conf", "endpoint-ca"):
            if isinstance(auth.get(name), str) and (path := clusters.place_of((*at, "auth", name), auth[name])):
                auth[name] = str(path)
        for name in ("password", "token", CLIENT_SECRET):
            reference = auth.get(name)
            if isinstance(reference, dict) and isinstance(reference.get("file"), str):
                path = clusters.place_of((*at, "auth", name, "file"), reference["file"])
                auth[name] = {**reference, "file": str(path)} if path else reference
    return whole


def _split_setting(text: str, option: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip() or not value.strip():
        example = "producer.linger.ms=20" if option == SET else "producer.linger.ms=0,20"
        raise UserError(f"{option} {text}: must be KEY=VALUE, such as {example}.")
    return key.strip(), value.strip()


def _split_values(text: str) -> list[str]:
    """Values with commas between them; those inside of braces and brackets part nothing: "{100B: 70%, 1KiB: 30%}"."""
    values, depth = [""], 0
    for char in text:
        depth += (char in "{[") - (char in "}]")
        if char == "," and depth <= 0:
            values.append("")
        else:
            values[-1] += char
    return [value.strip() for value in values]


def _shown_option(option: str, text: str) -> str:
    """The option as messages name it: without a value that may be a secret."""
    key, separator, value = text.partition("=")
    hidden = bool(separator) and (names_secret(key) or holds_secret(value) or _LOGIN.search(value) is not None)
    return f"{option} {key}=(hidden)" if hidden else f"{option} {text}"


def _parse_scalar(text: str) -> object:
    """The value that a text has in YAML, if it is one value or a mapping in braces; else the text."""
    try:
        value = YAML(typ="safe").load(text)
    except YAMLError:
        return text
    is_mapping = isinstance(value, dict) and text.startswith("{")
    return value if is_mapping or isinstance(value, bool | int | float) else text


def _put_setting(composed: Composed, key: str, value: object, option: str) -> None:
    """Put what `--set KEY=VALUE` means."""
    if key in keys_of(TrialOptions):
        _put_in_experiments(composed, key, value, option)
    elif key == _FORM:
        composed.put(("durability",), _level_in_form(composed.data, value), option)
        _add_addresses_of_form(composed)
    else:
        composed.put(_place_of_key(composed, key, option), value, option)


def _level_in_form(holder: Mapping[str, Any], form: object) -> dict[str, object]:
    """The level that a campaign or a variant names, in a form of it."""
    return {"level": holder.get("durability", AS_FOUND_WORD), "form": form}


def _add_addresses_of_form(composed: Composed) -> None:
    """Addresses that not every form needs (streams'), from the first one's host."""
    attach = composed.data["systems"][0].get(ATTACH)
    if not attach:
        return
    rules = _rules_of(composed.system)
    first = split_text(str(attach.get(rules.keys[0].name, "")), rules.keys[0])
    secure = bool(first) and first[0].partition("://")[0] in rules.keys[0].secure_schemes
    for key in rules.keys:
        derived = _derived_address(first[0], key, secure) if first and not key.required else ""
        if derived:
            attach.setdefault(key.name, derived)


def _place_of_key(composed: Composed, key: str, option: str) -> KeyPath:
    """Where in the campaign a key of the line belongs. Raises `UserError` with the nearest."""
    head, _, rest = key.partition(".")
    if rest and head in SYSTEM_MAPPINGS:
        return ("systems", 0, head, rest)
    if key in keys_of(WorkloadFields):
        return ("workload", key)
    rules = composed.system.attach_rules
    attach_keys = [*(k.name for k in rules.keys), *keys_of(AttachFields)] if rules and composed.is_attached else []
    if key in attach_keys:
        return ("systems", 0, ATTACH, key)
    if key in _CAMPAIGN_KEYS:
        return (key,)
    if key in SYSTEM_KEYS:
        return ("systems", 0, key)
    allowed = [*settable_keys(), *attach_keys]
    meant = [f"'{one}'" for one in _keys_meant(composed, key, allowed)]
    words = f" (did you mean {' or '.join(meant)}?)" if meant else ""
    mappings = ", ".join(f"{mapping}.NAME" for mapping in SYSTEM_MAPPINGS)
    keys = "a key that docs/reference.md lists" if meant else f"one of these keys: {', '.join(dict.fromkeys(allowed))}"
    raise UserError(f"{option}: there is no '{key}' to set{words}.", f"A setting is {mappings}, or {keys}.")


def settable_keys() -> list[str]:
    """The keys that a line can set by their names alone, whatever it measures."""
    return [*keys_of(WorkloadFields), *keys_of(TrialOptions), *_CAMPAIGN_KEYS, *SYSTEM_KEYS, _FORM]


def _keys_meant(composed: Composed, key: str, allowed: Sequence[str]) -> list[str]:
    """What a key that there is not may mean: a setting of clients by its bare name, another tool's word, a near key."""
    head, _, rest = key.partition(".")
    if rest and (mapping := nearest_names(head, SYSTEM_MAPPINGS, 1)):
        return [f"{mapping[0]}.{rest}"]
    of_clients: dict[str, list[str]] = {}
    if settings := composed.system.client_settings(Case(composed.system.default_version, 1, AS_FOUND)):
        of_clients = grouped((name, f"{role}.{name}") for role in settings.by_role for name in settings.names_of(role))
    nearest = [key] if key in of_clients else nearest_names(key, [*allowed, *of_clients], 1)
    meant = [one for name in nearest for one in of_clients.get(name, [name])]
    return list(dict.fromkeys([*meant, *filter(None, [key_called_elsewhere(key, allowed)])]))


def _variants_of(line: CommandLine, composed: Composed) -> list[dict[str, Any]]:
    """The variants that `-L` makes: each value of a key with each of the others. Raises `UserError`."""
    if not line.vary:
        raise UserError(
            f"{AB} {line.target}: what is to be compared?", f"Give a key and its values: {VARY} producer.linger.ms=0,20"
        )
    axes: dict[str, list[str]] = {}
    for text in line.vary:
        key, values = _split_setting(text, VARY)
        if key in axes:
            words = f"{_shown_option(VARY, text)}: '{key}' is varied already."
            raise UserError(words, f"Give all its values at once: {key}=A,B")
        option = _shown_option(VARY, text)
        axes[key] = _split_values(values)
        if key == ADDRESS and not composed.is_attached:
            raise UserError(f"{option}: servers are started here, and have no address to vary.")
        if not all(axes[key]):
            raise UserError(f"{option}: a value is empty.", "Such as: -L producer.linger.ms=0,20")
        if len(set(axes[key])) < len(axes[key]):
            raise UserError(f"{option}: a value is given twice.", "For repeated trials use --repeat.")
    combinations = list(itertools.product(*axes.values()))
    if not 2 <= len(combinations) <= VARIANTS_MAX:
        options = " ".join(_shown_option(VARY, text) for text in line.vary)
        raise UserError(
            f"{options}: {plural(len(combinations), 'variant')}, and 2 to {VARIANTS_MAX} can be compared.",
            "Give a key several values: -L producer.linger.ms=0,20",
        )
    if _FORM in axes:
        _add_addresses_of_form(composed)
    variants = []
    for index, combination in enumerate(combinations):
        variant: dict[str, Any] = {"name": _name_of_variant(dict(zip(axes, combination, strict=True)))}
        # A form is one of the level, which may vary as well.
        for key, value, text in sorted(
            zip(axes, combination, line.vary, strict=True), key=lambda each: each[0] == _FORM
        ):
            option = _shown_option(VARY, text)
            if key == _FORM:
                variant["durability"] = _level_in_form({**composed.data, **variant}, value)
                composed.options["variants", index, "durability"] = option
                continue
            for at, part in _variant_keys(composed, key, value, option):
                holder: dict[str, Any] = variant if len(at) == 1 else variant.setdefault(at[0], {})
                holder[at[-1]] = part
                composed.options["variants", index, *at] = option
        variants.append(variant)
    return variants


def _variant_keys(composed: Composed, key: str, value: str, option: str) -> Iterator[tuple[tuple[str, ...], object]]:
    """The keys of a variant that one value sets, with what it sets."""
    if key == ADDRESS:
        addresses = addresses_of(value, _rules_of(composed.system))
        yield from (((ATTACH, name), address) for name, address in addresses.items())
        return
    if key == "version":
        # 4.3 is no number here.
        yield ("version",), value
        return
    if key in keys_of(TrialOptions):
        experiment = composed.data["experiments"][-1]["name"]
        yield (f"{experiment}.{key}",), _parse_scalar(value)
        return
    at = _place_of_key(composed, key, option)
    inner = tuple(str(part) for part in at if not isinstance(part, int) and part not in ("systems", "workload"))
    yield inner, _parse_scalar(value)


def _name_of_variant(values: Mapping[str, str]) -> str:
    """What a variant is called by: the last parts of its keys, and their values."""
    short_values = {key: _OF_MAPPINGS.sub("", value) for key, value in values.items()}
    text = " ".join(f"{_short_key(key)}={value}" for key, value in short_values.items())
    name = _VALUE_NAME.sub("-", text)
    if len(name) <= _NAME_CHARS_MAX:
        return name
    return _VALUE_NAME.sub("-", " ".join(short_values.values()))[:_NAME_CHARS_MAX]


def _short_key(key: str) -> str:
    head, _, rest = key.partition(".")
    return rest if rest and head in SYSTEM_MAPPINGS else key


def _laid_out(value: object, depth: int = 0) -> object:
    """Data as people write it: short mappings below a list on one line."""
    if isinstance(value, dict):
        mapping = CommentedMap({key: _laid_out(part, depth + 1) for key, part in value.items()})
        if depth > 0 and not any(isinstance(part, list) and len(part) > 1 for part in value.values()):
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        items = CommentedSeq([_laid_out(part, depth + 1) for part in value])
        if not any(isinstance(part, dict) for part in value):
            items.fa.set_flow_style()
        return items
    return value
