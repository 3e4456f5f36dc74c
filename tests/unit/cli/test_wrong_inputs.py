"""What a user or a stranger hands in is refused with one message and exit code 2, soon, and never by a traceback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tidegauge.cli.main import app, run_command
from tidegauge.config.source import FILE_KIB_MAX, read_source
from tidegauge.errors import UserError

GOOD = "name: x\nsystems: [kafka]\nexperiments: [{name: latency, rate: 1k}]\n"
CPU_S_MAX = 8.0
"""Generous: what is refused as it should be takes a tenth of it, and what this is about took minutes."""
NINES = "9" * 400


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The message of a command that is refused, with and without --json."""
    began_s = time.process_time()
    assert run_command([*arguments]) == 2
    message = capsys.readouterr().err
    assert message.startswith("Error: ")
    assert "Traceback" not in message
    assert "itself failed" not in message
    assert run_command([*arguments, "--json"]) == 2
    content = json.loads(capsys.readouterr().out)
    assert (content["schema"], content["exit_code"]) == ("tidegauge.error/1", 2)
    assert time.process_time() - began_s < 2 * CPU_S_MAX
    return message


def campaign(tmp_path: Path, text: str) -> str:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return str(path)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        *((3, "rate: 1k", f"rate: {number}") for number in (f"1{'0' * 400}", "0x" + "F" * 5000, f'"1{NINES}k"')),
        (3, "rate: 1k", f"rate: 1k, measure: {NINES}s"),
        *((4, "", f"workload: {{message-size: {size}}}") for size in (f"{NINES}MiB", "0x" + "F" * 5000)),
        *(
            (4, "", f"x: {value}")
            for value in ("[" * 700, "{a: " * 1400, '"\\ud800"', '"a\\0b"', "!!int ''", "!!bool x")
        ),
        (3, "rate: 1k", "rate: !!int ''"),
        (3, "rate: 1k", "rate: !!float ''"),
        (3, "rate: 1k", "rate: !!bool x"),
        (3, "rate: 1k", 'rate: "\\ud800"'),
        (1, "name: x", 'name: "\\ud800"'),
        (4, "", '"\\e]0;pwned\\a\\e[31mred": 1'),
        (4, "", "data-directories: [&a 1, &a 2]"),
        (2, "[kafka]", '[{name: kafka, attach: {bootstrap-servers: "h:1", tls: {ca: "a\\0b"}}}]'),
        (2, "[kafka]", f"[{{name: kafka, attach: {{bootstrap-servers: 'h:1', tls: {{ca: '{'n' * 300}'}}}}}}]"),
        (2, "[kafka]", "[{name: kafka, attach: {bootstrap-servers: 'h:1', tls: {ca: '~nobody-here/ca'}}}]"),
        (4, "", f"workload: {'n' * 300}.yaml"),
        (4, "", f"workload: {{payload-file: {'n' * 300}}}"),
        # Text in YAML 1.2.
        (4, "", "repeat: 1_000"),
        (4, "", "repeat: !!int 1_000"),
        (3, "rate: 1k", "rate: 1_000"),
        (3, "rate: 1k", "rate: 1_000.5"),
        (4, "", "workload: {message-size: 1_024}"),
        # More than nothing, but no number of messages.
        *((3, "rate: 1k", f"rate: {number}") for number in ("1e400", ".inf", "1e300")),
        (4, "", "price-per-host-hour: 1e300"),
        (4, "", "workload: {payload-file: loop}"),
    ],
)
def test_a_value_that_nothing_can_be_made_of_is_refused_on_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: int, old: str, new: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    path = campaign(tmp_path, GOOD.replace(old, new) if old else f"{GOOD}{new}\n")
    message = refused(capsys, "run", path, "--dry-run")
    assert f"c.yaml:{line}: " in message
    assert "\x1b" not in message
    assert "\x07" not in message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: x", 'name: "\\ud800"'),
        ("rate: 1k", "rate: !!int ''"),
        ("rate: 1k", f"rate: 1k, measure: 1{'0' * 400}"),
        ("kafka", f"1{'0' * 400}"),
    ],
)
def test_what_can_not_be_read_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    message = refused(capsys, "run", campaign(tmp_path, GOOD.replace(old, new)), "--dry-run")
    assert "problems" not in message
    assert "empty" not in message


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bench", "kafka", "h", "--repeat", "2.5"], "--repeat 2.5: must be a whole number of at least 1."),
        (["run", "quick", "--repeat", "0"], "--repeat 0: must be a whole number of at least 1."),
        (["attest", "kafka", "--level", "9"], "--level 9: must be a whole number from 1 to 4."),
        (["compare", "--noise", "abc"], "--noise abc: must be a number."),
        (["run", "quick", "--scale", "orignal"], "must be one of shares, original, brief (did you mean 'original'?)"),
        (["attest", "kafka", "--level", "1", "--scenario", "leadr"], "(did you mean 'leader'?)"),
        (["bench", "kafka", "h", "--in-flight", "5"], "Such a key is given by: --set in-flight=VALUE"),
        (["bench", "kafka", "h", "--foo", "5"], "`tidegauge bench --help` lists its options."),
        (["bnch"], "`tidegauge --help` lists the verbs."),
    ],
)
def test_a_wrong_word_of_a_command_is_answered_in_our_words(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    message = refused(capsys, *arguments)
    assert says in message
    assert not any(word in message for word in ("Input should", "Value error", "unable to parse", ".."))


@pytest.mark.parametrize(
    ("durability", "line", "says"),
    [
        ("durability: {level: 3, form: foo}", 3, "durability.form: no system of the campaign has a form 'foo'"),
        ("durability:\n  level: 3\n  form: foo", 5, "durability.form: no system of the campaign has a form 'foo'"),
        ("durability: 1", 3, "durability: Apache Kafka on one node can't give level 1"),
        ("repeat: 1000\nsweep: {partitions: [1, 2, 3, 4, 5, 6]}", 3, "systems times experiments times points"),
    ],
)
def test_what_a_plan_refuses_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], durability: str, line: int, says: str
) -> None:
    text = f"name: x\nsystems: [kafka]\n{durability}\nexperiments: [{{name: latency, rate: 1k}}]\n"
    message = refused(capsys, "run", campaign(tmp_path, text), "--dry-run")
    assert f"c.yaml:{line}: " in message
    assert says in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "quick", "--dry-run", "--data-dir", "~nobody-here/x"],
        ["run", "quick", "--dry-run", "--data-dir", "n" * 300],
        ["run", "quick", "--dry-run", "--runs-dir", "n" * 300],
        ["run", "quick", "--dry-run", "--heap", f"{NINES}GiB"],
        ["run", "n" * 300, "--dry-run"],
        ["run", "n" * 300 + ".yaml", "--dry-run"],
        ["run", "~nobody-here/c.yaml", "--dry-run"],
        ["run", "quick", "--dry-run", "--runs-dir", "/etc/passwd"],
        ["run", "quick", "--dry-run", "--data-dir", "/dev/null"],
        ["run", "quick", "--dry-run", "--attach", "/dev/zero"],
        ["run", "quick", "--dry-run", "--fleet", "/dev/zero"],
        ["run", "\udcff.yaml", "--dry-run"],
        ["fleet", "check", "/dev/zero"],
        ["omb", "/dev/zero", "-d", "/dev/zero"],
        ["omb", "n" * 300, "-d", "n" * 300],
        ["index", "--output", "/"],
        ["index", "--output", ""],
        ["index", "--output", "n" * 300],
        ["index", "--runs-dir", "/nonexistent-runs"],
        ["history", "--output", "/"],
        ["history", "--runs-dir", "/nonexistent-runs"],
        *(
            [*verb, "--runs-dir", "/etc/passwd"]
            for verb in (["runs"], ["index"], ["show", "last"], ["compare", "x", "y"])
        ),
        ["run", "quick", "--dry-run", "--prometheus", "65536"],
        ["run", "quick", "--dry-run", "--threshold", "response_ms_p99 < \u0663"],
    ],
)
def test_an_option_that_names_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    refused(capsys, *arguments)
    assert not Path("/nonexistent-runs").exists()


def number_options(verb: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each option of a verb, or of one below it, that is a number, as it begins a command line."""
    for name, below in getattr(verb, "commands", {}).items():
        yield from number_options(below, (*path, name))
    for option in verb.params:
        if option.type_descriptor.annotation in (int, float):
            yield (*path, option.opts[0])


NUMBER_OPTIONS = list(number_options(get_command(app)))


@pytest.mark.parametrize("arguments", NUMBER_OPTIONS, ids=" ".join)
def test_a_number_with_underscores_is_refused(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    message = refused(capsys, *arguments, "1_0")
    assert f"'{arguments[-1]}': '1_0' is no number; write it without underscores" in message


def test_verbs_have_numbers_of_both_kinds() -> None:
    assert {("quick", "--repeat"), ("compare", "--noise"), ("omb", "--time-scale")} <= set(NUMBER_OPTIONS)


@pytest.mark.parametrize("option", ["--attach", "--fleet"])
def test_an_option_that_names_a_fifo_does_not_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "no regular file" in refused(capsys, "run", "quick", "--dry-run", option, str(tmp_path / "fifo"))


def test_a_variable_that_names_nobodys_home_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGAUGE_STATE", "~nobody-here/x")
    assert "'~nobody-here' is not known" in refused(capsys, "clean")


def test_a_backend_that_matplotlib_does_not_know_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import tidegauge.report.plots.draw"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "MPLBACKEND": "garbage"}, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_message_is_shown_on_every_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, as_json: bool
) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    path = campaign(tmp_path, "name: \u2192\n")
    assert run_command(["run", path, "\udcff", *(["--json"] if as_json else [])]) == 2
    assert run_command(["run", path, *(["--json"] if as_json else [])]) == 2
    shown = out.buffer.getvalue() + err.buffer.getvalue()  # type: ignore[attr-defined]
    assert b"Traceback" not in shown
    if as_json:
        content = json.loads(out.buffer.getvalue().decode(encoding).split("}\n{")[1].join("{ "))  # type: ignore[attr-defined]
        assert "\u2192" in content["message"]


KIB = FILE_KIB_MAX << 10
HOSTILE = {
    "list": "a: [" + "1," * (KIB // 2 - 8) + "1]",
    "keys": "\n".join(f"k{number}: 1" for number in range(KIB // 10)),
    "tag": "a: !" + "x" * (KIB - 16) + " 1",
    "escaped tag": "a: !" + "%41" * (KIB // 3 - 16) + " 1",
    "verbatim tag": "a: !<" + "x" * (KIB - 16) + "> 1",
    "anchor": "a: &" + "x" * (KIB - 16) + " 1",
    "anchors": "".join(f"a{number}: &b{number} 1\n" for number in range(KIB // 18)),
    "same anchors": "a: [" + "&a 1," * (KIB // 5 - 16) + "1]",
    "scalar of lines": "a: x\n" + " x\n" * (KIB // 3 - 16),
    "quoted blank lines": 'a: "x' + "\n" * (KIB - 16) + '"',
    "literal": "a: |\n" + " x\n" * (KIB // 3 - 16),
    "flow": "a: " + "[" * (KIB - 16),
    "flow mappings": "a: " + "{" * (KIB - 16),
    "flow keys": "{? " * (KIB // 3 - 16),
    "block": "- " * (KIB // 2 - 16),
    "directives": "%X 1\n" * (KIB // 5 - 16) + "---\na: 1",
    "handles": "".join(f"%TAG !a{number}! tag:x\n" for number in range(KIB // 22)) + "---\na: 1",
    "documents": "---\na\n" * (KIB // 6 - 16),
    "version": "%YAML " + "1" * (KIB - 32) + ".1\n---\na: 1",
    "digits": "a: " + "1" * (KIB - 16),
    "hex digits": "a: 0x" + "f" * (KIB - 16),
    "base 60": "a: 1" + ":1" * (KIB // 2 - 16),
    "laughs": "a0: &a0 [1,1,1,1,1,1,1,1,1]\n"
    + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20)),
    "one long key": "x" * (KIB - 16) + ": 1",
    "long keys": "".join(f"{'x' * 190}{number:05}: 1\n" for number in range(KIB // 200)),
    "merged": "a: {" + "<<: {}," * (KIB // 7 - 16) + "}",
    "many systems": "name: x\nexperiments: [peak]\nsystems: [" + "kafka," * 4900 + "kafka]",
    "many experiments": "name: x\nsystems: [kafka]\nrepeat: 1000\nexperiments: [" + "peak," * 4900 + "peak]",
    "unknown field of a sweep": "name: x\nsystems: [kafka]\nexperiments: [peak]\nsweep: {partitons: ["
    + ",".join(map(str, range(4900)))
    + "]}",
    "many points": "name: x\nsystems: [kafka]\nexperiments: [peak]\nsweep: {"
    + ", ".join(
        f"workload.{key}: [{','.join(map(str, range(1, 400)))}]" for key in ("topics", "partitions", "producers")
    )
    + "}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_file_is_answered_soon_whatever_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert len(HOSTILE[name]) <= KIB
    began_s = time.process_time()
    assert run_command(["run", campaign(tmp_path, HOSTILE[name]), "--dry-run"]) == 2
    assert time.process_time() - began_s < CPU_S_MAX
    assert capsys.readouterr().err.startswith("Error: ")


def test_a_value_without_end_is_not_repeated_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{GOOD}thresholds: ['{'lost == 0 in latency ' * 2500}']\n"
    message = refused(capsys, "run", campaign(tmp_path, text), "--dry-run")
    assert "c.yaml:4: thresholds[0]: 'lost == 0 in latency lost" in message
    assert "characters)" in message
    assert len(message) < 4000


def test_a_file_that_is_larger_is_not_read_at_all(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"#" * (KIB + 1))
    with pytest.raises(UserError, match="larger than 64 KiB, so it is no campaign file"):
        read_source(tmp_path / "c.yaml", "campaign")


@pytest.mark.parametrize(
    "secret",
    [
        "*hunter2canary",
        "!hunter2canary x",
        "!hunter2canary",
        "!a!hunter2canary x",
        "&hunter2canary [",
        "!<hunter2canary> x",
    ],
)
def test_a_password_that_is_no_text_to_yaml_is_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], secret: str
) -> None:
    attach = f"{{bootstrap-servers: 'h:1', auth: {{method: plain, user: u, password: {secret}}}}}"
    path = campaign(tmp_path, GOOD.replace("[kafka]", f"[{{name: kafka, attach: {attach}}}]"))
    assert "hunter2" not in refused(capsys, "run", path, "--dry-run")


class Terminal(io.StringIO):
    """Standard error of somebody who sits before it."""

    def isatty(self) -> bool:
        return True


def test_long_messages_are_wrapped_at_blanks_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["ab", "kafka", "-L", "zzzzzzz=1,2"]
    message = refused(capsys, *line)
    assert len(message.splitlines()) == 2, "a log can be searched"
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    assert run_command(line) == 2
    lines = terminal.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert " ".join(terminal.getvalue().split()) == " ".join(message.split())
