"""Where the Java worker's jars are: inside an installed package, or built in a checkout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import tidegauge
from tidegauge.errors import UserError, nearest

_PACKAGE = Path(tidegauge.__file__).parent
_MODULES = {"null": "nulldriver"}
"""Drivers whose Maven module has another name."""


def worker_class_path(driver: str, package: Path = _PACKAGE) -> list[Path]:
    """Jars of the worker and of one driver, in a fixed order. Raises `UserError` if they are not built or not known."""
    packed = package / "_worker"
    if packed.is_dir():
        core, own, known = packed / "core", packed / driver, _names(packed.iterdir())
    else:
        worker = package.parents[1] / "worker"
        core = worker / "app" / "target" / "dist" / "core"
        own = worker / _MODULES.get(driver, driver) / "target" / "dist"
        known = _names(path.parents[1] for path in worker.glob("*/target/dist"))
    jars = [*sorted(core.glob("*.jar")), *sorted(own.glob("*.jar"))]
    if not any(jar.parent == core for jar in jars):
        raise UserError(f"The load generator is not built ({core} has no jars).", "Run `make build`.")
    if not any(jar.parent == own for jar in jars):
        raise UserError(
            f"The load generator has no driver '{driver}'{nearest(driver, known)}.",
            f"Drivers built: {', '.join(known) or 'none'}. Run `make build` if it is in the source.",
        )
    return jars


def _names(directories: Iterable[Path]) -> list[str]:
    """Drivers by the directories that hold them."""
    by_module = {module: driver for driver, module in _MODULES.items()}
    found = (by_module.get(path.name, path.name) for path in directories)
    return sorted(name for name in found if name not in ("app", "core", "bench"))
