"""Writes the run that README shows, its last screen and the top of its report, from one stored run.

    python scripts/generate_readme.py runs/2026-11-27T18-52-47-quick

Needs chromium. The picture carries the run's name, by which a test sees that both are of one run.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tidegauge.cli.output import console_on
from tidegauge.report.ending import ending
from tidegauge.report.screen import run_screen
from tidegauge.store.read import StoredRun, load_run

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PICTURE = ROOT / "docs/report.png"
PROGRAM = ".venv/bin/tidegauge"
WIDTH, HEIGHT = 1200, 992
RUN_KEY = "Run"
"""The text in the picture's file that has the run's name."""


def last_screen(run: StoredRun) -> str:
    """Returns what the run showed when it ended, as text without colours."""
    shown = io.StringIO()
    console_on(shown).print(run_screen(run, ending(run, PROGRAM), 0, PROGRAM))
    return "\n".join(line.rstrip() for line in shown.getvalue().strip().splitlines())


def with_screen(readme: str, screen: str) -> str:
    """Returns README with the block below "A real result" replaced. Raises `ValueError` if it has none."""
    changed, count = re.subn(
        r"(^## A real result$.*?^```\n).*?(^```$)",
        lambda match: f"{match[1]}{screen}\n{match[2]}",
        readme,
        count=1,
        flags=re.MULTILINE | re.DOTALL,
    )
    if not count:
        raise ValueError("README has no block below 'A real result'")
    return changed


def draw_picture(run: Path, chromium: str) -> None:
    """Draws the first screen of the run's report. Raises `CalledProcessError` if chromium does not."""
    page = (run / "report.html").resolve().as_uri()
    size = f"--window-size={WIDTH},{HEIGHT}"
    command = [chromium, "--headless=new", "--no-sandbox", "--hide-scrollbars", f"--screenshot={PICTURE}", size, page]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    name_picture(PICTURE, run.name)


def name_picture(picture: Path, run: str) -> None:
    """Writes the name of its run into a picture's file."""
    named = PngInfo()
    named.add_text(RUN_KEY, run)
    with Image.open(picture) as image:
        image.load()
        image.save(picture, pnginfo=named, optimize=True)


def main() -> int:
    """Writes both of the run that the command line names; returns the exit code."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if len(sys.argv) != 2 or chromium is None:
        print("usage: generate_readme.py RUN; needs chromium", file=sys.stderr)
        return 2
    run = load_run(Path(sys.argv[1]))
    README.write_text(with_screen(README.read_text(), last_screen(run)))
    draw_picture(run.path, chromium)
    return 0


if __name__ == "__main__":
    sys.exit(main())
