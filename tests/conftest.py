"""`--quick-java`: the JVMs of real servers and workers compile with their first compiler only.

A server that lives for some seconds spends most of them compiling, so this halves what starting one costs. What is
tested is the same, but for speed: tests that judge times are run without it.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

from tidegauge.distribution.java import find_java

HOME = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick-java", action="store_true", help=(__doc__ or "").partition("\n")[0])


def pytest_configure(config: pytest.Config) -> None:
    # A shell's background job ignores it, and so would every command that a test starts and interrupts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Processes that share the tests inherit the environment of the one that started them.
    if config.getoption("--quick-java") and not hasattr(config, "workerinput"):
        config.stash[HOME] = Path(tempfile.mkdtemp(prefix="quick-java-"))
        quick_java(find_java("A test", 17).home, config.stash[HOME])
        os.environ["JAVA_HOME"] = str(config.stash[HOME])


def pytest_unconfigure(config: pytest.Config) -> None:
    if HOME in config.stash:
        shutil.rmtree(config.stash[HOME], ignore_errors=True)


def quick_java(real: Path, home: Path) -> None:
    """Make `home` a Java home like `real`, whose `java` has the flag."""
    (home / "bin").mkdir()
    for entry in (*real.iterdir(), *(real / "bin").iterdir()):
        if entry.name not in ("bin", "java"):
            (home / entry.relative_to(real)).symlink_to(entry)
    java = home / "bin/java"
    java.write_text(f'#!/bin/sh\nexec "{real}/bin/java" -XX:TieredStopAtLevel=1 "$@"\n')
    java.chmod(0o755)
