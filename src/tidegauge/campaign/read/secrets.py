"""Reads the secrets that a campaign refers to. They are kept in memory only."""

from __future__ import annotations

import os
from pathlib import Path

from tidegauge.errors import UserError
from tidegauge.systems.attach import AttachChoice, SecretReference, secret_references

_BYTES_MAX = 65_536


def read_secrets(choice: AttachChoice, system: str) -> dict[str, str]:
    """By name ("password", "token") the secrets of an attached cluster. `system` names it in messages.

    Raises:
        UserError: a variable is not set, or a file can't be read.
    """
    return {name: _read(ref, f"{system}: attach.auth.{name}") for name, ref in secret_references(choice).items()}


_IN_MEMORY: dict[str, str] = {}


def keep_in_memory(name: str, secret: str) -> SecretReference:
    """A reference to a secret that is known already: it lives as long as this process, and is written nowhere."""
    _IN_MEMORY[name] = secret
    return SecretReference("memory", name)


def _read(reference: SecretReference, what: str) -> str:
    if reference.kind == "memory":
        if reference.place not in _IN_MEMORY:
            raise UserError(
                f"{what}: it was kept in the memory of a process that has ended.", "Run from the same files once more."
            )
        return _IN_MEMORY[reference.place]
    return _variable(reference.place, what) if reference.kind == "env" else _content(Path(reference.place), what)


def _variable(name: str, what: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        state = "is empty" if name in os.environ else "is not set"
        raise UserError(
            f"{what}: the environment variable {name} {state}.", f"Set it where Tidegauge is started: export {name}=..."
        )
    return value


def _content(path: Path, what: str) -> str:
    """A file's text without the line ends after it, which editors add."""
    try:
        with path.open("rb") as file:
            content = file.read(_BYTES_MAX + 1)
        text = content.decode("utf-8").rstrip("\r\n")
    except OSError as error:
        raise UserError(
            f"{what}: the file {path} can't be read: {error.strerror}.", "Check its path and its rights."
        ) from error
    except UnicodeDecodeError:
        # Without the cause: it holds what was read.
        raise UserError(f"{what}: the file {path} is not text in UTF-8.", "Check its path.") from None
    if not text or len(content) > _BYTES_MAX:
        why = "is empty" if not text else f"is larger than {_BYTES_MAX} bytes, so it is no secret"
        raise UserError(f"{what}: the file {path} {why}.", "Check its path.")
    return text
