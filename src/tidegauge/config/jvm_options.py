"""The key `jvm` of a system and of the load generator: options that choose and tune a JVM's garbage collector. Pure.

Only those listed here are taken. Others move memory that Tidegauge plans with, run commands (`OnOutOfMemoryError`), or
write files where a campaign says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tidegauge.errors import did_you_mean

COLLECTORS = ("UseG1GC", "UseParallelGC", "UseSerialGC", "UseShenandoahGC", "UseZGC")
_SWITCHES = (
    *COLLECTORS,
    "AlwaysPreTouch",
    "ExplicitGCInvokesConcurrent",
    "UseCompactObjectHeaders",
    "UseNUMA",
    "UseStringDeduplication",
    "UseTransparentHugePages",
    "ZGenerational",
    "ZUncommit",
)
_NUMBERS = (
    "ConcGCThreads",
    "G1HeapRegionSize",
    "G1ReservePercent",
    "InitiatingHeapOccupancyPercent",
    "MaxGCPauseMillis",
    "MaxTenuringThreshold",
    "NewRatio",
    "ParallelGCThreads",
    "SoftMaxHeapSize",
    "SurvivorRatio",
    "ZCollectionInterval",
    "ZFragmentationLimit",
)
_ALLOWED = sorted([*_SWITCHES, *_NUMBERS])
_NUMBER = re.compile(r"[0-9]{1,15}[kKmMgG]?")
_FLAGS_OF_G1_ONLY = ("UseG1GC", "MaxGCPauseMillis")
"""Of the flags that Tidegauge itself gives to JVMs: those that are left out with another collector."""
_FLAG = re.compile(r"-XX:[+-]?(\w+)")


def problems_of_jvm_options(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each name that can't be set, or not to this value, with the reason."""
    for name, value in options.items():
        if name not in _ALLOWED:
            yield name, f"can't be set{did_you_mean(name, _ALLOWED)}; what may be set: {', '.join(_ALLOWED)}"
        elif name in _SWITCHES and value not in ("true", "false"):
            yield name, f"'{value}' must be true or false"
        elif name in _NUMBERS and not _NUMBER.fullmatch(value):
            yield name, f"'{value}' must be a whole number, or a size such as 16m"
    chosen = [name for name in COLLECTORS if options.get(name) == "true"]
    if len(chosen) > 1:
        yield chosen[1], f"a JVM has one garbage collector, and {chosen[0]} chooses another one"


def with_jvm_options(flags: Sequence[str], options: Mapping[str, str]) -> tuple[str, ...]:
    """The flags with a campaign's options, which win; without those that belong to a collector that is not used."""
    other_collector = any(options.get(name) == "true" for name in COLLECTORS if name != "UseG1GC")
    dropped = {*options, *(_FLAGS_OF_G1_ONLY if other_collector else ())}
    others = [flag for flag in flags if not ((match := _FLAG.match(flag)) and match[1] in dropped)]
    return (
        *others,
        *(
            f"-XX:{'+' if value == 'true' else '-'}{name}" if name in _SWITCHES else f"-XX:{name}={value}"
            for name, value in options.items()
        ),
    )
