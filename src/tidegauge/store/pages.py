"""Pages and plots made from run directories. What they say is made in `report`; here they only become files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidegauge.store.files import make_directory, write_bytes

REPORT_NAME = "report.html"
INDEX_NAME = "index.html"


def write_page(path: Path, html: str) -> Path:
    """Write a page, whole or not at all; its directory is made. Raises `RunFailedError`."""
    make_directory(path.parent)
    write_bytes(path, html.encode())
    return path


def write_plots(directory: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write drawings by their file names. Raises `RunFailedError`."""
    make_directory(directory)
    for name, content in files.items():
        write_bytes(directory / name, content)
    return [directory / name for name in files]
