"""The command that makes a run once more: its campaign with every option that was given, or its attestation."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.config.overrides import DATA_KEYS, option_of
from tidegauge.model.cut_method import Means
from tidegauge.store.read import StoredRun


def command_words(run: StoredRun, verb: Sequence[str], repeat: int | None = None) -> list[str]:
    """What follows `tidegauge`: `verb` (["quick"], ["run", FILE]) with its options; `attest` for an attestation.

    `repeat`: the repeats to ask for instead of those that the run had.
    """
    given = dict(run.overrides or _overrides_as_text(run.environment))
    attestation = given.get("experiments")
    if isinstance(attestation, list):
        return ["attest", *_attest_words(given, attestation[0])]
    if repeat is not None:
        given["repeat"] = repeat
    words = [word for key, value in given.items() for word in _option_words(key, value)]
    return [*verb, *words, *(["--allow-unequal"] if run.terms.allowed else [])]


def _option_words(key: str, value: object) -> list[str]:
    """An option, once for each of several values."""
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (option_of(key), str(one))]


def _attest_words(given: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """System and options of the verb `attest`, whose campaign is made from these alone."""
    level = given.get("durability")
    form = {"durability": level["level"], "form": level["form"]} if isinstance(level, dict) else {}
    named = {**given, **form, "cuts": options.get("cuts"), "scenario": options.get("scenarios")}
    named["file-system"] = options.get("file-system") if options.get("means") == Means.POWER else None
    keys = ("durability", "form", "nodes", "cuts", "scenario", "file-system", "seed", *DATA_KEYS)
    words = [word for key in keys if named.get(key) is not None for word in _option_words(key, named[key])]
    words += ["--second-cut"] if options.get("second-cut") else []
    words += ["--crash"] if options.get("means") == Means.CRASH else []
    return [*map(str, given.get("systems", [])), *words]


def _overrides_as_text(environment: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run made before they were kept as they are: each value as Python writes it."""
    campaign = environment.get("campaign")
    told = campaign.get("overrides") if isinstance(campaign, Mapping) else None
    found: dict[str, Any] = dict(told) if isinstance(told, Mapping) else {}
    for key, text in found.items():
        if str(text).startswith("["):
            with contextlib.suppress(ValueError, SyntaxError):
                found[key] = ast.literal_eval(text)
    return found
