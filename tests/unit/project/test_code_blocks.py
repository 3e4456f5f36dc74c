"""What README and docs show as files and commands is accepted: campaigns are planned, command lines are parsed."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML

from tidegauge.campaign.plan.plan import plan_campaign
from tidegauge.campaign.read.parse import parse_campaign
from tidegauge.cli.main import app
from tidegauge.errors import UserError
from tidegauge.fleet.file import read_fleet_file

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What a fragment leaves out, since its page is about something else.
COMPLETING = {"name": "fragment", "systems": ["kafka"], "experiments": ["peak"]}
COMMAND = re.compile(r"^(?:[\w-]*\$ )?(?:sudo )?(?:\.venv/bin/)?tidegauge (.*)")
# `[RUN]`, `SYSTEM`: the syntax of a verb and no command to copy.
PLACEHOLDER = re.compile(r"\[|\b[A-Z]+\b|^--version$")


def _without_remark(line: str) -> str:
    return re.sub(r"(\s{2,}| #).*$", "", line)


@dataclass(frozen=True)
class CodeBlock:
    """One block between ``` of one page: where it begins, in which language it is, and its lines."""

    place: str
    language: str
    text: str


def read_blocks(path: Path) -> list[CodeBlock]:
    text = path.read_text()
    return [
        CodeBlock(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}", match[1], match[2])
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


BLOCKS = [block for page in PAGES for block in read_blocks(page)]
FILES = [block for block in BLOCKS if block.language == "yaml"]
COMMANDS = [
    pytest.param(match[1], id=f"{block.place} {match[1][:60]}")
    for block in BLOCKS
    if block.language in ("", "bash", "sh")
    for line in block.text.splitlines()
    if (match := COMMAND.match(line)) and not PLACEHOLDER.search(_without_remark(match[1]))
]


def plan_file(block: CodeBlock, directory: Path) -> int:
    """Returns how many trials a file plans, a fragment completed; of other files how many roles or commands."""
    for name in ("ca.pem", "client.pem", "client.key"):
        (directory / name).write_text("")
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    content = yaml.load(block.text)
    path = directory / "file.yaml"
    if "launcher" in content:
        path.write_text(block.text)
        return len(read_fleet_file(path).hosts_of_role)
    if "jobs" in content:
        steps = [step for job in content["jobs"].values() for step in job["steps"]]
        commands = re.findall(r"\btidegauge ((?:[^\\\n]|\\\n)+)", "\n".join(step.get("run", "") for step in steps))
        for command in commands:
            parse_command(command.replace("\\\n", " "))
        return len(commands)
    missing = {key: value for key, value in COMPLETING.items() if key not in content}
    with path.open("w") as file:
        file.write(block.text)
        if missing:
            yaml.dump(missing, file)
    return len(plan_campaign(parse_campaign(path, {}, ["kafka", "pulsar", "rabbitmq"])).trials)


@cache
def build_command_tree() -> Any:
    """Builds the tree of all verbs, once for all lines: that takes longer than parsing one."""
    return typer.main.get_command(app)


def parse_command(line: str) -> None:
    """Parses a command line as the shell and the command would, and runs nothing.

    Raises:
        typer's own exceptions: an unknown verb or option, or a value that it does not take.
    """
    arguments = shlex.split(_without_remark(line))
    group = build_command_tree()
    while arguments and hasattr(group, "commands") and arguments[0] in group.commands:
        name = arguments.pop(0)
        group = group.commands[name]
    if hasattr(group, "commands") and arguments and not arguments[0].startswith("-"):
        raise UserError(f"no verb {arguments[0]}", hint="see --help")
    group.make_context("tidegauge", arguments)


def test_there_are_blocks_to_try() -> None:
    assert len(FILES) > 15
    assert len(COMMANDS) > 40


@pytest.mark.parametrize("block", [pytest.param(block, id=block.place) for block in FILES])
def test_a_file_of_the_documentation_is_accepted(
    block: CodeBlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "x")
    assert plan_file(block, tmp_path) > 0


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_documentation_is_accepted(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for word in shlex.split(_without_remark(line)):
        if word.endswith((".yaml", ".yml")):
            (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / word).touch()
    parse_command(line)


def test_mistakes_are_found(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="partition"):
        plan_file(CodeBlock("here", "yaml", "workload: {partition: 3}\n"), tmp_path)
    for line in ("run quick --repat 5", "fleet heed", "runn quick"):
        with pytest.raises((UserError, typer.exceptions.TyperException)):
            parse_command(line)
