"""A directory of files and the list of their SHA-256 sums, so that a damaged cache is noticed before it is measured."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

MANIFEST_NAME = "manifest.json"
MANIFEST_SCHEMA = 1


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sums_of(directory: Path) -> dict[str, str]:
    """SHA-256 of every file below a directory by relative name, but the manifest itself."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST_NAME)
    return {path.relative_to(directory).as_posix(): sha256_of(path) for path in files}


def digest_of(sums: Mapping[str, str]) -> str:
    """SHA-256 over the sorted (name, sum) list: one value that says whether two runs used the same files."""
    text = "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(directory: Path, recipe: str, source: str) -> None:
    """Record every file of a directory. `recipe` identifies how it was made, `source` is for people."""
    sums = sums_of(directory)
    text = json.dumps({"schema": MANIFEST_SCHEMA, "recipe": recipe, "source": source, "files": sums}, indent=1)
    (directory / MANIFEST_NAME).write_text(text + "\n")


def read_manifest(directory: Path) -> dict[str, object] | None:
    """The manifest, or None if there is none that can be read."""
    try:
        manifest = json.loads((directory / MANIFEST_NAME).read_text())
    except (OSError, ValueError):
        return None
    usable = isinstance(manifest, dict) and manifest.get("schema") == MANIFEST_SCHEMA
    return manifest if usable and isinstance(manifest.get("files"), dict) else None


def differences(recorded: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What is wrong with a directory, one phrase a file; empty if it is exactly as recorded."""
    wrong = [f"{name} is missing" for name in recorded if name not in found]
    wrong += [f"{name} was added" for name in found if name not in recorded]
    wrong += [f"{name} is damaged" for name in recorded if name in found and found[name] != recorded[name]]
    return sorted(wrong)
