"""The environment that helpers inherit: all but the variables that hold secrets of clusters."""

from __future__ import annotations

import os

_SECRET_VARIABLES: set[str] = set()


def hide_variable(name: str) -> None:
    """Keep an environment variable, which holds a secret, from processes that are started from now on."""
    _SECRET_VARIABLES.add(name)


def environment_of_helpers() -> dict[str, str]:
    """What agents and other helpers of this process have as their environment."""
    return {name: value for name, value in os.environ.items() if name not in _SECRET_VARIABLES}
