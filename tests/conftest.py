"""Options of the tests, beside those of pytest and its plugins.

`--quick-java`: the JVMs of real servers and workers compile with their first compiler only. A server that lives for
some seconds spends most of them compiling, so this halves what starting one costs. What is tested is the same, but for
speed: tests that judge times are run without it.

`--shuffle SEED`: files of tests in an order drawn from the seed, tests marked `scattered` each by itself, those of a
file that are marked `often` early.
`--time-limit SECONDS`: no test begins later than that after the start; those left are skipped and listed by name.
Together they let a long suite be run in parts, a different one each time, and an order that led to a failure be
repeated.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import hypothesis
import pytest
import pytest_timeout

from tidegauge.distribution.fetch import write_trust_store
from tidegauge.distribution.java import JavaRuntime, find_java

GUARD_POLL_S = 5.0
TEMPORARY = pytest.StashKey[list[Path]]()
BEGIN_S = pytest.StashKey[float]()
NOT_REACHED = pytest.StashKey[list[str]]()

# By default an example may take 200 ms, which on a busy machine any may.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick-java", action="store_true", help="the JVMs of tests compile with their first compiler")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="draw the order of the files of tests from this seed")
    parser.addoption("--time-limit", type=float, metavar="SECONDS", help="begin no test later than this")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BEGIN_S] = time.monotonic()
    config.stash[NOT_REACHED] = []
    # An assertion that fails in what tests share says as much as one in a test.
    pytest.register_assert_rewrite(*(path.stem for path in Path(__file__).with_name("support").glob("*.py")))
    # Tests start hundreds of Python processes: each of them would compile every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # With it nothing is ever left in a buffer when the command ends, as it is for users.
    os.environ.pop("PYTHONUNBUFFERED", None)
    # Tests share their machine with each other and whatever else runs: what that disturbs is reported, no more.
    os.environ.setdefault("TIDEGAUGE_DISTURBANCE", "report")
    # A shell's background job ignores it, and so would every command that a test starts and interrupts.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # They make millions of objects that live long: looking for garbage among them took a sixth of the time of drawing.
    gc.set_threshold(20_000, 10, 10)
    config.stash[TEMPORARY] = []
    # Processes that share the tests inherit the environment of the one that started them.
    if hasattr(config, "workerinput"):
        return
    os.environ["TIDEGAUGE_GALLERY_RUNS"] = str(make_temporary(config, "tidegauge-gallery-"))
    if config.getoption("--quick-java"):
        home = make_temporary(config, "quick-java-")
        quick_java(find_java("A test", 17), home)
        os.environ["JAVA_HOME"] = str(home)


def make_temporary(config: pytest.Config, prefix: str) -> Path:
    """Return a new directory that goes when the tests end."""
    config.stash[TEMPORARY].append(Path(tempfile.mkdtemp(prefix=prefix)))
    return config.stash[TEMPORARY][-1]


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("--shuffle")
    return None if seed is None else f"order of files drawn with: --shuffle {seed}"


@pytest.hookimpl(tryfirst=True)  # before pytest brings together what shares a fixture
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--shuffle") is None:
        return
    from drawn_order import draw_order

    groups, often = defaultdict(list), {}
    for item in items:
        name = item.nodeid if item.get_closest_marker("scattered") else str(item.path)
        if is_often := item.get_closest_marker("often") is not None:
            name += " often"
        groups[name].append(item)
        often[name] = is_often
    items[:] = [item for name in draw_order(often, config.getoption("--shuffle")) for item in groups[name]]


@pytest.hookimpl(tryfirst=True)  # before any fixture is set up
def pytest_runtest_setup(item: pytest.Item) -> None:
    limit_s = item.config.getoption("--time-limit")
    if limit_s is not None and time.monotonic() - item.config.stash[BEGIN_S] > limit_s:
        item.config.stash[NOT_REACHED].append(item.nodeid)
        pytest.skip(f"not reached within {limit_s:.0f} s")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name in terminalreporter.config.stash[NOT_REACHED]:
        terminalreporter.write_line(f"not reached: {name}")


def pytest_unconfigure(config: pytest.Config) -> None:
    for directory in config.stash.get(TEMPORARY, []):
        shutil.rmtree(directory, ignore_errors=True)


def quick_java(real: JavaRuntime, home: Path) -> None:
    """Make `home` a Java home like that of `real`, whose `java` has the flag."""
    (home / "bin").mkdir()
    for entry in (*real.home.iterdir(), *(real.home / "bin").iterdir()):
        if entry.name not in ("bin", "java"):
            (home / entry.relative_to(real.home)).symlink_to(entry)
    # The bundled one is given the machine's authorities when it fetches; nobody knows that this is the bundled one.
    store = write_trust_store(home) if real.bundled else None
    trust = f'"-Djavax.net.ssl.trustStore={store}"' if store else ""
    java = home / "bin/java"
    java.write_text(f'#!/bin/sh\nexec "{real.executable}" -XX:TieredStopAtLevel=1 {trust} "$@"\n')
    java.chmod(0o755)


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
    """A test that hangs is ended. When, follows the machine as all waiting does."""
    from patience import Patience  # Once it is known that its assertions are to be rewritten.

    patience = Patience(settings.timeout)

    def look(_number: int, _frame: object) -> None:
        if patience.is_over():
            pytest_timeout.timeout_sigalrm(item, settings)

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

    item.cancel_timeout = cancel  # type: ignore[attr-defined]
    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, GUARD_POLL_S, GUARD_POLL_S)
    return True
