"""What a double can be asked that the thing it stands for can't, or not in the same way."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def methods_of(kind: type) -> dict[str, Callable[..., object]]:
    """Public methods, inherited ones included; a field of a double may hold a function, too."""
    fields = getattr(kind, "__dataclass_fields__", {})
    members = inspect.getmembers(kind, inspect.isfunction)
    return {name: method for name, method in members if not name.startswith("_") and name not in fields}


def differences(double: type, *reals: type) -> list[str]:
    """The double's methods that none of these has, or asks for by other arguments."""
    methods_of_real = {name: method for real in reals for name, method in methods_of(real).items()}
    named = " and ".join(real.__name__ for real in reals)
    problems = []
    for name, method in methods_of(double).items():
        real = methods_of_real.get(name)
        if real is None:
            problems.append(f"{name}: {named} has no such method")
        elif _parameters_of(method) != _parameters_of(real):
            problems.append(f"{name}{inspect.signature(method)}: {named} has {inspect.signature(real)}")
    return problems


def _parameters_of(method: Callable[..., object]) -> list[tuple[object, ...]]:
    parameters = inspect.signature(method).parameters.values()
    return [(each.name, each.kind, each.default is each.empty) for each in parameters]
