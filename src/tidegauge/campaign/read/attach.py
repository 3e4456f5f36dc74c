"""The `attach` block of a system in a campaign -> `AttachChoice`. Values that may be secrets are never repeated.

The file has `systems`, as a campaign has attached ones. What a campaign says of servers that others run has no effect
then, and is reported in words instead of being refused: the campaign is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from tidegauge.campaign.read.auth import AuthFields, MethodFields, check_method, find_secrets, path_of_existing_file
from tidegauge.campaign.read.sweep import Assignment, as_mapping, items_of
from tidegauge.config.fields import Fields, Settings, refuse_value, text_matching
from tidegauge.config.source import (
    KeyPath,
    Origin,
    Source,
    key_meant,
    keys_of,
    read_source,
    show_path,
    unknown_key_complaint,
    validate,
)
from tidegauge.errors import UserError, did_you_mean
from tidegauge.model.events import Note, left_out_note
from tidegauge.systems.api import System
from tidegauge.systems.attach import DEFAULT_LABEL as LABEL
from tidegauge.systems.attach import (
    METHODS_WITH_CERTIFICATE,
    AddressKey,
    AttachChoice,
    AttachRules,
    TlsChoice,
    holds_secret,
    join_addresses,
    names_secret,
    secure_addresses,
    split_text,
)
from tidegauge.systems.registry import system_named as find_system
from tidegauge.systems.registry import unknown_system_complaint

_HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.\-]+):(\d{1,5})")
_PORT_MAX = 65535
_ENDPOINTS_MAX = 200
"""All are asked one after the other, every few seconds."""
_ADDRESSES_MAX = 50
"""Each may be waited for, and from any one a client learns the others."""
SERVERS_KEYS = ("settings", "heap", "direct-memory", "shape", "jvm")
"""Keys of a system that say something of servers, which nobody here has where they are others'."""


_Prefix = text_matching(
    r"[A-Za-z0-9._-]{1,100}",
    "must be made of letters, digits, '.', '_' and '-', at most 100, as topics are in every system",
)
_Label = text_matching(
    r"[a-z][a-z0-9-]{0,30}",
    "must be made of lower-case letters, digits and hyphens, at most 31, and begin with a letter",
)


def _check_tls(value: object) -> object:
    if not isinstance(value, dict):
        raise refuse_value("must be a mapping such as {ca: ca.pem}; {} trusts the authorities that Java trusts")
    return value


class TlsFields(Fields):
    """The keys of `tls`. Paths are relative to the campaign file."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    verify_host: bool = True


_METRICS_URL = re.compile(r"https?://[^/@?#]+(/[^@?#]*)?")


def _parse_metrics(value: object) -> tuple[str, ...]:
    """URLs of endpoints, of a list or of text with commas. What may hold a password or a token is not repeated."""
    example = "[http://broker1:9404/metrics, http://broker1:9100/metrics]"
    urls = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise refuse_value(f"must be a list of URLs such as {example}")
    if len(urls) > _ENDPOINTS_MAX:
        raise refuse_value(f"has {len(urls):,} URLs; at most {_ENDPOINTS_MAX} are asked")
    for url in urls:
        if any(mark in url for mark in "@?#"):
            raise refuse_value(
                f"must hold no user, no password, and nothing after '?' or '#' (a campaign is copied into every run): "
                f"URLs such as {example}"
            )
        if not _METRICS_URL.fullmatch(url) or not _is_host_and_port(urlsplit(url).netloc):
            raise refuse_value(f"'{url}': must be http(s)://host:port/path, such as {example}")
    twice = sorted({url for url in urls if urls.count(url) > 1})
    if twice:
        raise refuse_value(f"'{twice[0]}' is given twice")
    return tuple(urls)


def _check_product(value: str, info: ValidationInfo) -> str:
    """The context are the system's rules, which say what products there are."""
    products = info.context.products if isinstance(info.context, AttachRules) else ()
    if value in products:
        return value
    if not products:
        raise refuse_value("no products of others are known that speak the protocol of this system: leave it out")
    near = did_you_mean(value, list(products))
    raise refuse_value(f"'{value}': must be one of {', '.join(products)}{near}")


class AttachFields(Fields):
    """The keys of `attach` that every system has. Beside them stand the system's own addresses."""

    tls: Annotated[TlsFields | None, BeforeValidator(_check_tls)] = None
    auth: Annotated[AuthFields, BeforeValidator(check_method)] = MethodFields()
    topic_prefix: Annotated[str, _Prefix] | None = None
    label: Annotated[str, _Label] = LABEL
    metrics: Annotated[tuple[str, ...], BeforeValidator(_parse_metrics)] = ()
    product: Annotated[str, AfterValidator(_check_product)] = ""


def parse_attached_system(value: object, source: Source, at: KeyPath, system: System) -> AttachChoice | None:
    """The `attach` block of a system, or None after noting each problem in `source`."""
    if system.attach_rules is None:
        source.complain(at, f"there is no cluster of {system.title} that could be attached to")
        return None
    return parse_attach(value, source, at, system.attach_rules)


def check_secrets(settings: Mapping[str, str], source: Source, at: KeyPath) -> None:
    """Complain about settings of a client that are secrets: these too would be copied into every run."""
    for name, value in settings.items():
        if names_secret(name) or holds_secret(value):
            source.complain(
                (*at, name),
                "a secret must not stand in a campaign, which is copied into every run: give it to 'attach.auth'",
            )


def parse_attach(value: object, source: Source, at: KeyPath, rules: AttachRules) -> AttachChoice | None:
    """The choice that `value` states, or None after noting each problem in `source`."""
    if not isinstance(value, dict):
        example = ", ".join(f"{key.name}: {key.example}" for key in rules.keys if key.required)
        source.complain(at, f"must be a mapping such as {{{example}}}")
        return None
    names = [key.name for key in rules.keys]
    common = {name: content for name, content in value.items() if name in keys_of(AttachFields)}
    before = len(source.problems)
    allowed = [*names, *keys_of(AttachFields)]
    unknown = [str(name) for name in value if name not in allowed]
    for name in unknown:
        source.complain((*at, name), unknown_key_complaint(name, allowed))
    mistyped = {key_meant(name, allowed) for name in unknown}
    addresses = _parse_addresses(value, source, at, [key for key in rules.keys if key.name not in mistyped])
    fields = validate(AttachFields, common, source, at, context=rules)
    if fields is None:
        return None
    tls = _find_tls_files(fields.tls, source, (*at, "tls")) if fields.tls else None
    auth = find_secrets(fields.auth, source, (*at, "auth"))
    if len(source.problems) > before:
        return None
    has_schemes = any(key.schemes for key in rules.keys)
    if tls is not None and has_schemes and not secure_addresses(addresses, rules):
        secure = " or ".join(f"{scheme}://" for key in rules.keys for scheme in key.secure_schemes)
        source.complain((*at, "tls"), f"is given, but no address is encrypted: begin encrypted addresses with {secure}")
    if auth.method in METHODS_WITH_CERTIFICATE and not (tls and tls.certificate):
        source.complain((*at, "auth", "method"), f"'{auth.method}' needs the client's certificate: tls.certificate")
    return AttachChoice(
        addresses,
        tls,
        auth,
        fields.topic_prefix or "",
        fields.label,
        metrics=fields.metrics,
        product=fields.product,
    )


def _parse_addresses(
    value: Mapping[str, object], source: Source, at: KeyPath, keys: Sequence[AddressKey]
) -> dict[str, str]:
    addresses = {}
    for key in keys:
        content = value.get(key.name)
        if content is None:
            if key.required or key.name in value:
                source.complain(at, f"the key '{key.name}' is missing, such as {key.name}: {key.example}")
        elif not isinstance(content, str) or not all(part.strip() for part in content.split(",")):
            text = f"must be text: addresses separated by commas, such as {key.example}"
            source.complain((*at, key.name), text)
        elif problem := _address_problem(content, key):
            source.complain((*at, key.name), f"{problem}, such as {key.example}")
        else:
            addresses[key.name] = join_addresses(split_text(content, key), key)
    return addresses


def _address_problem(content: str, key: AddressKey) -> str:
    """Why these are no addresses, without repeating what may hold a password; "" if they are."""
    parts = split_text(content, key)
    if key.alone and len(parts) > 1:
        return "must be one address"
    if len(parts) > _ADDRESSES_MAX:
        return f"has {len(parts):,} addresses; a few are enough, at most {_ADDRESSES_MAX}"
    if key.one_scheme and len({part.rpartition("://")[0] for part in parts}) > 1:
        return "must have one scheme for all addresses"
    return next(filter(None, (_problem_of_one_address(part, key) for part in parts)), "")


def _problem_of_one_address(address: str, key: AddressKey) -> str:
    scheme, separator, rest = address.rpartition("://")
    if "@" in rest:
        return (
            "must hold no user and no password (a campaign is copied into every run): name them below 'auth'; "
            "addresses without them"
        )
    if "?" in rest or "#" in rest:
        # Not repeated: it may hold a token, and nothing that is asked of an address needs it.
        return "must have nothing after '?' or '#' (a campaign is copied into every run): addresses without that"
    if key.schemes and scheme not in key.schemes:
        return f"each address must begin with {' or '.join(f'{name}://' for name in key.schemes)}"
    if not key.schemes and separator:
        return f"'{address}': must be host:port"
    if not _is_host_and_port(rest.partition("/")[0]):
        return f"'{address}': must have a host and a port from 1 to {_PORT_MAX}"
    return ""


def _is_host_and_port(text: str) -> bool:
    match = _HOST_AND_PORT.fullmatch(text)
    return match is not None and 1 <= int(match[2]) <= _PORT_MAX


def _find_tls_files(fields: TlsFields, source: Source, at: KeyPath) -> TlsChoice:
    if bool(fields.certificate) != bool(fields.key):
        source.complain(at, "'certificate' and 'key' belong together: the client's certificate and its private key")
    paths = {
        name: path_of_existing_file(getattr(fields, name), source, (*at, name)) for name in ("ca", "certificate", "key")
    }
    return TlsChoice(**paths, verify_host=fields.verify_host)


KEY, CLIENT_PROPERTIES = "attach", "client-properties"
WHAT = "clusters"
"""What such a file is in messages."""
_NOT_KEPT = (*SERVERS_KEYS, "optional")


class _ClustersFields(Fields):
    systems: list[object] = Field(min_length=1)


class _ClusterFields(Fields):
    name: str
    attach: dict[str, object]
    version: str = ""
    producer: Settings = Field(default_factory=dict)
    consumer: Settings = Field(default_factory=dict)
    replication_factor: object = None
    topic_settings: Settings = Field(default_factory=dict)


def read_clusters(path: Path, system_names: Sequence[str]) -> Source:
    """Read a file of clusters and note what is wrong with it. What `attach` holds is checked with the campaign."""
    source = read_source(path, WHAT, example="docs/reference.md shows one under 'attach'")
    fields = validate(_ClustersFields, source.data, source, ())
    for index, item in enumerate(fields.systems if fields else ()):
        at: KeyPath = ("systems", index)
        otherwise = "must be a mapping such as {name: kafka, attach: {bootstrap-servers: host:9092}}"
        cluster = validate(_ClusterFields, item, source, at, otherwise)
        if cluster and cluster.name not in system_names:
            source.complain((*at, "name"), unknown_system_complaint(cluster.name, system_names))
    return source


def to_correct(sources: Sequence[Source], overrides: Mapping[str, object]) -> str:
    """The file that problems ask to correct: that of the clusters if all of them are in it, else the campaign."""
    wheres = [problem.where for source in sources for problem in source.problems]
    for key, what in ((KEY, f"{WHAT} file"), (CLIENT_PROPERTIES, "file")):
        if key in overrides and all(where.startswith(f"{Path(str(overrides[key]))}:") for where in wheres):
            return what
    return "campaign"


def attach_clusters(source: Source, clusters: Source) -> tuple[Note, ...]:
    """Put the clusters in the place of the campaign's systems of the same names, and say what has no effect then.

    Each keeps what the campaign says of its clients; a system without a cluster is left out.
    """
    first_of_name: dict[str, tuple[int, Mapping[str, object]]] = {}
    for place, item in enumerate(items_of("systems", source.data)):
        if isinstance(item, dict):
            first_of_name.setdefault(str(item.get("name")), (place, item))
    chosen: list[tuple[int | None, object]] = []
    origins: dict[KeyPath, Origin] = {}
    notes: list[Note] = []
    for name, (place, campaign_item) in first_of_name.items():
        cluster_indexes = [at for at, item in enumerate(clusters.data["systems"]) if item["name"] == name]
        notes += (
            _without_effect(name, campaign_item)
            if cluster_indexes
            else [left_out_note(name, f"{clusters.path} has no cluster of it.")]
        )
        for at in cluster_indexes:
            origins |= {
                ("systems", len(chosen), *path[2:]): clusters.placed.get(
                    path, Origin(clusters.path, line, show_path(path), None)
                )
                for path, line in clusters.lines.items()
                if path[:2] == ("systems", at)
            }
            cluster = clusters.data["systems"][at]
            merged = {**{key: value for key, value in campaign_item.items() if key not in _NOT_KEPT}, **cluster}
            for block in ("producer", "consumer"):
                settings, settings_of_cluster = campaign_item.get(block), cluster.get(block, {})
                if isinstance(settings, dict) and isinstance(settings_of_cluster, dict):
                    merged[block] = settings | settings_of_cluster
            chosen.append((place, merged))
    unused = [(at, item) for at, item in enumerate(clusters.data["systems"]) if item["name"] not in first_of_name]
    for at, item in unused:
        parse_attached_system(item[KEY], clusters, ("systems", at, KEY), find_system(item["name"]))
    notes += [
        Note(f"{clusters.path}: the campaign does not measure {name}: its cluster is not used.")
        for name in dict.fromkeys(item["name"] for _at, item in unused)
    ]
    if not chosen:
        clusters.complain(("systems",), f"has no cluster of the campaign's systems: {', '.join(first_of_name)}")
        return ()
    replace_systems(source, chosen)
    source.placed |= origins
    # An option that says the same needs no note.
    own_keys = [key for key in ("heap", "direct-memory") if key in source.data and not source.option_of((key,))]
    return (*notes, *_without_effect("The campaign", {key: source.data.pop(key) for key in own_keys}))


def refuse_swept_servers(source: Source, assignments: Sequence[Assignment]) -> None:
    """Raises `UserError` if a sweep changes what others run: leaving that out would leave nothing of the question."""
    for at, origin in (placed for assignment in assignments for placed in assignment.placed.items()):
        if at[0] != "systems" or at[2] not in SERVERS_KEYS:
            continue
        system = as_mapping("systems", source.data["systems"][at[1]])
        if isinstance(system, dict) and KEY in system:
            raise UserError(
                f"{origin.where}: {origin.shown}: this sweep changes the servers of {system['name']}, which is "
                "attached: others run them.",
                "Such a campaign can't be run on attached clusters: let it start its servers (no --attach).",
            )


def replace_systems(source: Source, chosen: Sequence[tuple[int | None, object]]) -> None:
    """Give a campaign other systems: items, each with the place of the one it was made of (None = of none).

    What is wrong with a value that stayed is reported at its place in the campaign.
    """
    before = items_of("systems", source.data)
    origins: dict[KeyPath, Origin] = {}
    for index, (place, item) in enumerate(chosen):
        old_item = before[place] if place is not None else {}
        if not isinstance(old_item, dict) or not isinstance(item, dict):
            continue
        for key, value in old_item.items():
            if item.get(key) == value:
                at: KeyPath = ("systems", place or 0, key)
                origin_in_file = Origin(source.path, source.line_of(at), show_path(at), value)
                origins["systems", index, key] = source.placed.get(at, origin_in_file)
    others = {at: origin for at, origin in source.placed.items() if at[0] != "systems" or len(at) == 1}
    source.placed = others | origins
    source.data["systems"] = [item for _, item in chosen]


def _without_effect(who: str, item: Mapping[str, object]) -> list[Note]:
    """A note on what an entry says of servers that others run; [] if it says nothing."""
    keys_without_effect = [f"{key} {_setting_in_words(item[key])}" for key in SERVERS_KEYS if item.get(key)]
    if not keys_without_effect:
        return []
    words = "; ".join(keys_without_effect)
    return [Note(f"{who}: without effect on an attached cluster, whose servers others run: {words}.")]


def _setting_in_words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={item}" for name, item in value.items())
    return str(value)
