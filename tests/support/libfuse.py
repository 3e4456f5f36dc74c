"""libfuse's `passthrough_ll` on the PATH: the machine's own, or built from the example in Debian's libfuse3-dev."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path("/usr/share/doc/libfuse3-dev/examples")
NAME = "passthrough_ll"


def provide(directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Put it on the PATH, or skip the test."""
    if shutil.which(NAME) is not None:
        return
    sources = [EXAMPLES / f"{NAME}.c", EXAMPLES / f"{NAME}.c.gz"]
    source = next((one for one in sources if one.exists()), None)
    if source is None or shutil.which("gcc") is None or shutil.which("pkg-config") is None:
        pytest.skip(f"no {NAME}, and not libfuse3-dev, gcc and pkg-config to build it with")
    text = source.read_bytes()
    (directory / f"{NAME}.c").write_bytes(gzip.decompress(text) if source.suffix == ".gz" else text)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True)
    command = ["gcc", "-O2", f"-I{EXAMPLES}", "-o", NAME, f"{NAME}.c", *flags.stdout.split()]
    subprocess.run(command, cwd=directory, capture_output=True, check=True)
    patch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
