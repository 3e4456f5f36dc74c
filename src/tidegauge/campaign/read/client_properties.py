"""`--client-properties`: the file of a system's own tools, in the place of a file of clusters.

A password stays in it: what a run keeps says where it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from tidegauge.campaign.read.attach import CLIENT_PROPERTIES
from tidegauge.config.properties import PROPERTIES_MAX, parse_properties
from tidegauge.config.source import KeyPath, Origin, Problem, Source, read_text
from tidegauge.errors import UserError
from tidegauge.model.events import Note
from tidegauge.places import is_file
from tidegauge.systems.api import System

_ENTRY: KeyPath = ("systems", 0)
_SAID = ("tls", "auth")


def refuse_two_files(attach_file: object, client_properties: object) -> None:
    """Raise `UserError` if both options name a file: which of them has the last word, nobody could say."""
    if attach_file and client_properties:
        raise UserError(f"--attach and --{CLIENT_PROPERTIES}: one file is enough.", "Keep one of the two.")


def read_client_properties(
    path: Path, system: System, campaign_item: Mapping[str, object]
) -> tuple[Source, tuple[Note, ...]]:
    """Such a file as one of clusters, with what is wrong with it, and notes on what of it has no effect.

    Args:
        campaign_item: what the campaign says of the system, whose addresses are taken where the file has none.

    Raises:
        UserError: it can't be read, or the system's tools have no such files.
    """
    path = path.absolute()
    text = read_text(path, "client properties", "Kafka's own tools take such a file as --command-config")
    given = list(islice(parse_properties(text), PROPERTIES_MAX + 1))
    if len(given) > PROPERTIES_MAX:
        raise UserError(f"{path}: more than {PROPERTIES_MAX} settings, so it is no such file.", "Check the path.")
    terms = system.client_properties(given, str(path))
    if terms is None or system.attach_rules is None:
        raise UserError(
            f"--{CLIENT_PROPERTIES} {path}: the tools of {system.title} have no such files.",
            "Use --attach, for clusters of all systems.",
        )
    source = Source(path, {}, {})
    attach_given = campaign_item.get("attach")
    attach: dict[str, object] = dict(attach_given) if isinstance(attach_given, dict) else {}
    # Who we are and how it is encrypted is the file's to say.
    source.data = {
        "systems": [{"name": system.name, "attach": {key: attach[key] for key in attach if key not in _SAID}}]
    }
    for at, (value, one) in terms.values.items():
        # Such tools name a file from the current directory.
        is_path = at[:2] == ("attach", "tls") and isinstance(value, str) and is_file(Path(value))
        origin = Origin(path, one.line, one.key, str(Path(str(value)).absolute()) if is_path else value)
        source.put((*_ENTRY, *at), origin)
        source.lines[*_ENTRY, *at] = one.line
    for one, why in terms.problems:
        source.problems.append(Problem(f"{path}:{one.line}", one.line, f"{one.key}: {why}"))
    address = system.attach_rules.keys[0]
    if not source.problems and address.name not in source.data["systems"][0]["attach"]:
        missing = f"{address.connection_key} is missing: which cluster is to be measured?"
        source.problems.append(Problem(f"{path}:1", 1, missing))
    notes = [Note(f"{path}:{one.line}: {one.key} {why}.") for one, why in terms.notes]
    return source, tuple(notes)
