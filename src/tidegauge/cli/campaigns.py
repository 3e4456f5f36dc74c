"""The ready campaigns: in an installed package, or in the checkout beside it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import tidegauge
from tidegauge.errors import UserError, nearest


def ready_directory() -> Path:
    """Where the ready campaigns are. Raises `UserError` if the installation has none."""
    packed = Path(str(resources.files(tidegauge) / "_campaigns"))
    checkout = Path(tidegauge.__file__).parents[2] / "campaigns"
    for directory in (packed, checkout):
        if directory.is_dir():
            return directory
    raise UserError(f"This installation has no ready campaigns ({packed} is missing).", "Install Tidegauge again.")


def ready_campaign(name: str) -> Path:
    """A ready campaign by its name. Raises `UserError` naming the nearest one."""
    ready = _ready()
    names = sorted(ready)
    if name not in names:
        raise UserError(
            f"There is no ready campaign '{name}'{nearest(name, names)}.", f"There are: {', '.join(names)}."
        )
    return ready[name]


def _ready() -> dict[str, Path]:
    """All ready campaigns by name, those in folders (`published/`) too."""
    return {path.stem: path for path in ready_directory().rglob("*.yaml")}


def campaign_path(wanted: str) -> Path:
    """A campaign by its path, or a ready one by its name. Raises `UserError` if there is neither."""
    path = Path(wanted).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise UserError(f"{wanted} is a directory.", "Name a campaign file in it.")
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        beside = path.parent if path.parent.is_dir() else Path.cwd()
        names = sorted(one.name for one in beside.glob("*.y*ml"))
        raise UserError(f"There is no campaign file {wanted}{nearest(path.name, names)}.", _ready_hint())
    return ready_campaign(wanted)


def _ready_hint() -> str:
    names = ", ".join(sorted(_ready()))
    return f"Ready campaigns that can be named without a path: {names}."
