"""README opens with what a stranger needs, and shows the text and the picture of one run."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from PIL import Image

from tidegauge.store.read import load_run

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
SCRIPT = runpy.run_path(str(ROOT / "scripts/generate_readme.py"))
LINES_MAX = 150
FIRST_SCREEN_LINES = 25


def run_shown(readme: str) -> str:
    """The run whose text README shows."""
    return str(re.findall(r"runs/([\w-]+)/report\.html", readme)[0])


def run_drawn(picture: Path) -> str:
    """The run whose report a picture shows; "" where its file does not say."""
    with Image.open(picture) as image:
        return str(image.info.get("Run", ""))


def test_readme_is_short_and_begins_with_how_to_install_and_measure() -> None:
    lines = README.splitlines()
    assert len(lines) <= LINES_MAX
    first_screen = "\n".join(lines[:FIRST_SCREEN_LINES])
    assert re.search(r"^make build\b", first_screen, re.MULTILINE)
    assert re.search(r"^\S*tidegauge bench kafka localhost:9092\b", first_screen, re.MULTILINE)
    assert "](docs/report.png)" in first_screen


def test_text_and_picture_of_readme_are_of_one_run(tmp_path: Path) -> None:
    assert run_drawn(ROOT / "docs/report.png") == run_shown(README)
    picture = tmp_path / "picture.png"
    Image.new("RGB", (4, 4)).save(picture)
    assert run_drawn(picture) == ""
    SCRIPT["name_picture"](picture, "2026-01-01T00-00-00-other")
    assert run_drawn(picture) == "2026-01-01T00-00-00-other" != run_shown(README)


def test_the_script_puts_a_stored_run_in_the_place_of_the_one_before() -> None:
    screen = SCRIPT["last_screen"](load_run(ROOT / "tests/old_run"))
    changed = SCRIPT["with_screen"](README, screen)
    assert f"\n{screen}\n```" in changed
    assert run_shown(README) not in changed.partition("## A real result")[2]
    with pytest.raises(ValueError, match="A real result"):
        SCRIPT["with_screen"]("# Nothing\n", screen)
