"""Which Tidegauge this is, down to its files: hosts that measure together must have the same."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import tidegauge

_DIGEST_CHARS = 12
_MADE = ("__pycache__", "_worker", "_campaigns", "_workloads")
"""What is made of the files here, by Python, and what only a wheel has: the worker, whose own digest is compared, and
what a checkout has elsewhere."""


@functools.cache
def code_version() -> str:
    """ "0.1.0-1f2e3d4c5b6a": the version, and the digest of this installation's files.

    Two commits have the same version for weeks, and yet can't speak with each other.
    """
    return f"{tidegauge.__version__.replace('+', '_')}-{digest_of(Path(tidegauge.__file__).parent)}"


def digest_of(directory: Path) -> str:
    """The digest of the names and contents of all files in a directory but those that are made of others."""
    whole = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        if path.is_file() and not set(name.parts) & set(_MADE):
            whole.update(f"{name.as_posix()}\0".encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:_DIGEST_CHARS]


def version_refusal(version: str) -> str:
    """Why a host that says to have this version can't be used from here; "" if it can. "" as version: it says none."""
    expected = code_version()
    if version == expected:
        return ""
    return (
        f"it has another Tidegauge ({version or 'an older one, which does not say which'}) than this host ({expected})"
    )
