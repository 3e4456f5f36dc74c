"""Small Java programs that tests run from source, with a server's own jars."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"


def run_java_source(name: str, jars: Path, *arguments: str) -> str:
    """What the program of this file name, beside the tests, prints; it may use the jars below a directory."""
    found = sorted({str(path.parent) for path in jars.rglob("*.jar")})
    class_path = ":".join(f"{directory}/*" for directory in found)
    command = [str(java_of_build()), "-cp", class_path, str(Path(__file__).with_name(name)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def java_of_build() -> Path:
    """The java of a JDK that can compile: the one that builds the worker."""
    program = "import jdk, pathlib; print(jdk.find_or_fetch_jdk(pathlib.Path('../.tools').resolve()))"
    found = subprocess.run([sys.executable, "-c", program], cwd=SCRIPTS, capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()) / "bin/java"
