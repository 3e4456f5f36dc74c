"""Runs from elsewhere, damaged at random: every verb that reads runs answers, with exit code 0, or 2 and one message.

A mutant is a run in which one to three things are not as they were. What is drawn depends on its seed alone, so that a
failure can be made again: its text names the seed and what was changed.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mutating import mutated_bytes, mutated_text, mutated_tree
from report_samples import interrupted_run, sample_run

from tidegauge.cli.main import run_command
from tidegauge.live.server import Pages

SEED = int(os.environ.get("TIDEGAUGE_FUZZ_SEED", "1"))
MUTANTS, MUTANTS_SLOW = 300, 10_000
AT_ONCE = 50
CPU_S_MAX = 30.0
"""For one command on one mutant, by the CPU time of this process: how busy the machine is does not matter."""
MORE_BYTES_MAX = 3 << 30
OLD = Path(__file__).parents[1] / "old_run"


def _change_tree(path: Path, dice: random.Random) -> str:
    tree = json.loads(path.read_bytes())
    mutant = mutated_tree(dice, tree)
    path.write_bytes(json.dumps(mutant).encode())
    return f"with other values: {_difference(tree, mutant)}"


def _difference(one: Any, other: Any, place: str = "") -> str:
    """What is not the same in two trees, for whoever looks at a mutant that did harm."""
    pairs: list[tuple[Any, Any, Any]] = []
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(key, one.get(key), other.get(key)) for key in dict.fromkeys([*one, *other])]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(number, *pair) for number, pair in enumerate(zip(one, other, strict=True))]
    if not pairs:
        return f"{place} = {str(other)[:60]!r}"
    return ", ".join(_difference(a, b, f"{place}.{str(key)[:60]}") for key, a, b in pairs if a is not b and a != b)


def _change_text(path: Path, dice: random.Random) -> str:
    text = path.read_bytes().decode("utf-8", "replace")
    path.write_bytes(mutated_text(dice, text).encode("utf-8", "surrogatepass"))
    return "with another text"


def _change_bytes(path: Path, dice: random.Random) -> str:
    path.write_bytes(mutated_bytes(dice, path.read_bytes()))
    return "with other bytes"


def _nest(path: Path, dice: random.Random) -> str:
    depth = dice.choice((50, 200, 1000, 100_000))
    opened, closed = dice.choice((("[", "]"), ('{"x":', "}")))
    path.write_text(f"{opened * depth}1{closed * depth}")
    return f"nested {depth} deep"


def _replace(path: Path, dice: random.Random) -> str:
    path.unlink()
    kind = dice.choice(("nothing", "fifo", "device", "self", "nowhere", "directory", "socket", "other file", "empty"))
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            here = os.open(path.parent, os.O_RDONLY)
            listening.bind(f"/proc/self/fd/{here}/{path.name}")
            os.close(here)
    elif kind != "nothing":
        targets = {"device": "/dev/zero", "self": path.name, "nowhere": "nowhere", "other file": "/etc/passwd"}
        path.symlink_to(targets[kind])
    return f"became {kind}"


Change = Callable[[Path, random.Random], str]


def mutate(run: Path, dice: random.Random) -> str:
    """Damage a run in one or two of its files. Returns what was done."""
    done = []
    for _ in range(dice.choice((1, 1, 2))):
        files = sorted(path for path in run.rglob("*") if path.is_file() and not path.is_symlink())
        path = dice.choice([file for file in files if "logs" not in file.parts])
        changes: tuple[Change, ...] = (_change_bytes, _change_bytes, _replace)
        if path.suffix == ".json":
            changes = (*[_change_tree] * 9, *[_change_text] * 2, _nest, *changes)
        elif path.suffix in (".jsonl", ".hlog"):
            changes = (*[_change_text] * 6, *changes)
        try:
            words = dice.choice(changes)(path, dice)
        except (ValueError, RecursionError):  # It had been damaged before.
            words = _change_bytes(path, dice)
        done.append(f"{path.relative_to(run)} {words}")
    return "; ".join(done)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An old run of all kinds of trials, one with everything that is written today, and one that was cut off."""
    made = tmp_path_factory.mktemp("originals")
    return [OLD, interrupted_run(made), _with_everything(made)]


def _with_everything(runs: Path) -> Path:
    """Findings, ceilings, prices, settings and tables: of two trials and a search, so that reading it is quick."""
    run = sample_run(runs, trials=1)
    for trial in sorted((run / "trials").iterdir())[2:]:
        if not trial.name.endswith("kafka-s04-confirm"):
            shutil.rmtree(trial)
    return run


@contextmanager
def bounded() -> Iterator[None]:
    """Ends what takes too much CPU time or memory with an error."""

    def too_long(_number: int, _frame: object) -> None:
        raise AssertionError(f"more than {CPU_S_MAX:g} s of CPU time")

    before = signal.signal(signal.SIGPROF, too_long)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    now_bytes = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now_bytes + MORE_BYTES_MAX, hard))
    signal.setitimer(signal.ITIMER_PROF, CPU_S_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def complaint(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with how a command ended; "" if it ended as it should."""
    with bounded():
        code = run_command(words)
    shown = capsys.readouterr()
    if code not in (0, 2) or shown.err.count("Error: ") != (code == 2):
        return f"{' '.join(words)}: exit code {code}\n{shown.err[-3000:]}"
    obeyed = [mark for mark in ("\x1b]", "\x9b", "\u202e") if mark in shown.out + shown.err]
    return f"{' '.join(words)}: a terminal would obey {obeyed}" if obeyed else ""


def answers(runs: Path, path: str) -> str:
    """What is wrong with how a page is answered; "" if nothing is."""
    from tidegauge.errors import TidegaugeError

    try:
        with bounded():
            Pages(runs).answer(path)
    except (TidegaugeError, OSError):
        return ""
    return ""


def questions(runs: Path) -> list[list[str]]:
    """Every way to ask for what a run says."""
    return [
        ["runs"],
        ["runs", "--json"],
        ["show", "mutant", "--markdown", str(runs / "m.md"), "--junit", str(runs / "j.xml")],
        ["show", "mutant", "--json"],
        ["compare", "sound", "mutant", "--allow-unequal"],
        ["index"],
        ["page", "/"],
        ["page", "/state/mutant"],
        ["page", "/live/mutant"],
    ]


DEAR = (["report", "mutant"], ["page", "/report/mutant"])
"""They draw."""


def attempt(seed: int, originals: list[Path], place: Path, capsys: pytest.CaptureFixture[str], asked: int) -> str:
    """One mutant, asked in so many of the ways. Returns what went wrong, or ""."""
    dice = random.Random(seed)
    original = dice.choice(originals)
    runs = place / str(seed)
    shutil.copytree(original, runs / "mutant")
    done = mutate(runs / "mutant", dice)
    ways = dice.sample(questions(runs), asked)
    ways += [dice.choice(DEAR)] if dice.random() < 0.02 * asked else []
    if ["compare", "sound", "mutant", "--allow-unequal"] in ways:
        shutil.copytree(original, runs / "sound")
    wrong = [
        answers(runs, words[1]) if words[0] == "page" else complaint([*words, "--runs-dir", str(runs)], capsys)
        for words in ways
    ]
    shutil.rmtree(runs)
    return "\n".join([f"seed {seed}: {done}", *filter(None, wrong)]) if any(wrong) else ""


def survive(
    seeds: range,
    originals: list[Path],
    place: Path,
    capsys: pytest.CaptureFixture[str],
    asked: int,
) -> None:
    wrong = []
    for seed in seeds:
        try:
            words = attempt(seed, originals, place, capsys, asked)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        wrong += [words] if words else []
    assert not wrong, "\n\n".join([f"{len(wrong)} of {len(seeds)}", *wrong[:5]])


@pytest.mark.parametrize("first", range(0, MUTANTS, AT_ONCE))
def test_no_mutant_of_a_run_crashes_what_reads_runs(
    first: int,
    originals: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin = SEED * 1_000_000 + first
    survive(range(begin, begin + AT_ONCE), originals, tmp_path, capsys, 2)


@pytest.mark.slow
@pytest.mark.scattered
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("first", range(MUTANTS, MUTANTS + MUTANTS_SLOW, 500))
def test_nor_does_one_of_ten_thousand(
    first: int,
    originals: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begin = SEED * 1_000_000 + first
    survive(range(begin, begin + 500), originals, tmp_path, capsys, 5)
