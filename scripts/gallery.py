"""Draws every kind of picture of every experiment, sweep and medium into one page, from runs with invented figures.

    python scripts/gallery.py DIRECTORY [RUN ...]

Whoever changes how anything is drawn looks at this page: on a wide and on a narrow window, dark, and printed. The runs
are those of `tests/support/gallery_samples.py`, where each says what its pictures must show; no server is started.
"""

from __future__ import annotations

import argparse
import html
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from tidegauge import store
from tidegauge.comparison.across import compare_runs
from tidegauge.comparison.differences import DisclosedRun
from tidegauge.comparison.history import history_of_runs
from tidegauge.errors import did_you_mean
from tidegauge.live.state import RunFollower
from tidegauge.report import across
from tidegauge.report.html.comparison import comparison_page
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.page import history_page, index_page, live_page, plots_of, report_page, system_places
from tidegauge.report.html.whole_report import whole_report_page
from tidegauge.report.plots.draw import png_file, svg_file
from tidegauge.report.plots.model import Plot
from tidegauge.report.provenance import provenance_words
from tidegauge.store.details import read_disclosed
from tidegauge.store.read import StoredRun

SAMPLES = Path(__file__).resolve().parents[1] / "tests/support"
LIVE_OF = ("sample", "several-load-generators", "catch-up")
COMPARED = ("three-blocks", "sweep-of-levels")
WHOLE_REPORTS = ("confluent-2020", "streamnative-2022")
COLUMNS = 100


def samples() -> Mapping[str, Callable[[Path], Path]]:
    """Every run of the gallery, by name."""
    if str(SAMPLES) not in sys.path:
        sys.path.insert(0, str(SAMPLES))
    from gallery_samples import GALLERY  # type: ignore[import-not-found]  # Beside the tests that read it back.

    runs: Mapping[str, Callable[[Path], Path]] = GALLERY
    return runs


def draw_gallery(directory: Path, names: Sequence[str]) -> Path:
    """The gallery of these runs as `index.html`, with all that it shows beside it. Returns its path."""
    runs = directory / "runs"
    made = [store.load_run(samples()[name](runs)) for name in names]
    parts = [part for run in made for part in _run_parts(run, directory)]
    rows = [index_row(run, f"runs/{run.path.name}/{store.REPORT_NAME}") for run in reversed(made)]
    store.write_page(directory / "runs.html", index_page(rows))
    parts.append(_framed("The list of all runs", "runs.html"))
    parts.append(_framed("A history of runs", _history(directory)))
    parts += [_framed(f"{run.path.name}: live page", _live(run, directory)) for run in made if run.name in LIVE_OF]
    parts += [_compared(run, directory) for run in made if run.name in COMPARED]
    parts += [_framed(f"{name}, whole", _whole_report(name, directory)) for name in WHOLE_REPORTS]
    return store.write_page(directory / "index.html", _PAGE.format(body="\n".join(parts)))


def _run_parts(run: StoredRun, directory: Path) -> list[str]:
    """Its report, and each of its pictures as an SVG and as a PNG file."""
    details, places, source = store.details_of(run), system_places(run), provenance_words(run)
    store.write_page(run.path / store.REPORT_NAME, report_page(run, details))
    pictures = directory / "pictures" / run.path.name
    plots = plots_of(run, details)
    for plot in plots:
        drawn = {"svg": svg_file(plot, places, source), "png": png_file(plot, places, source)}
        files = {f"{plot.plot_id}.{kind}": content for kind, content in drawn.items()}
        store.write_files(pictures, files)
    shown = "\n".join(_pictures(plot, pictures.relative_to(directory)) for plot in plots)
    report = (run.path / store.REPORT_NAME).relative_to(directory)
    head = f'<h2>{html.escape(run.path.name)}: {len(plots)} pictures</h2><p><a href="{report}">Its report</a></p>'
    return [f'<section>{head}<div class="pictures">{shown}</div></section>']


def _pictures(plot: Plot, folder: Path) -> str:
    """The SVG beside the PNG, which must look alike."""
    images = "".join(f'<img src="{folder / plot.plot_id}.{kind}" alt="" loading="lazy">' for kind in ("svg", "png"))
    return f"<figure>{images}<figcaption>{html.escape(plot.plot_id)}</figcaption></figure>"


def _framed(title: str, page: str) -> str:
    return (
        f'<section><h2>{html.escape(title)}</h2><iframe src="{page}" title="{html.escape(title)}"></iframe></section>'
    )


def _live(run: StoredRun, directory: Path) -> str:
    """The live page as it is after the run's last second: it is told the state that it would ask for."""
    state = json.dumps(RunFollower(run.path).state()).replace("</", "<\\/")
    page = live_page(run.path.name, run.path.name)
    # The page's policy allows its own script alone, and a file may ask nobody.
    head, _, rest = page.partition('<meta http-equiv="Content-Security-Policy"')
    answer = f"<script>window.fetch = async () => ({{ok: true, json: async () => ({state})}});</script>"
    name = f"live-{run.path.name}.html"
    store.write_page(directory / name, head + answer + rest.partition(">")[2])
    return name


def _history(directory: Path) -> str:
    """The page of many nights, of which the last are slower."""
    samples()
    from history_samples import disclosed, nightly_runs  # type: ignore[import-not-found]  # Beside the tests.

    page = history_page(history_of_runs(nightly_runs(), disclosed), lambda run: "")
    return store.write_page(directory / "history.html", page).name


def _compared(run: StoredRun, directory: Path) -> str:
    """What `compare` prints of a run and the same made again, where nothing differs, and its page."""
    again = store.load_run(samples()[run.name](directory / "again"))
    facts = across.ComparisonFacts(
        compare_runs([DisclosedRun(one, _disclosed(one)) for one in (run, again)], allow_unequal=True)
    )
    text, page = _printed(across.report(facts)), f"compare-{run.path.name}.html"
    store.write_files(directory, {f"compare-{run.path.name}.txt": text.encode()})
    store.write_page(directory / page, comparison_page(facts))
    return f"<section><h2>compare</h2><pre>{html.escape(text)}</pre></section>{_framed('compare --html', page)}"


def _whole_report(name: str, directory: Path) -> str:
    """The page of a published report of which every figure came out as 0.6 times what it has there."""
    samples()
    from repeated_reports import repeated_report  # type: ignore[import-not-found]  # Beside the tests.

    facts = repeated_report(directory / "reports", name, 0.6)
    page = whole_report_page(facts, lambda run: [], lambda run: "")
    return store.write_page(directory / f"{name}.html", page).name


def _disclosed(run: StoredRun) -> dict[str, Any]:
    last = {trial.result.spec.system: trial for trial in run.trials if trial.result is not None}
    return {system: read_disclosed(trial) for system, trial in last.items()}


def _printed(shown: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=COLUMNS).print(shown)
    return out.getvalue()


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Gallery</title>
<style>
body {{ font: 16px/1.5 sans-serif; margin: 1rem; background: #fefefe; color: #1a1a1b; }}
.pictures {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 48rem), 1fr)); gap: 1rem; }}
figure {{ margin: 0; border: 1px solid #dfe1e5; }} img {{ width: 50%; }} figcaption {{ font-size: .8rem; }}
iframe {{ width: 100%; height: 60rem; border: 1px solid #dfe1e5; }}
</style></head><body><h1>Every kind of picture</h1>
{body}
</body></html>
"""


def main(arguments: Sequence[str]) -> int:
    """Draw all runs, or those that are named. Ends with exit code 2 where a name is none of theirs."""
    runs = list(samples())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="where the page goes, with all that it shows")
    parser.add_argument("names", metavar="RUN", nargs="*", help=f"{', '.join(runs)} (all unless some are named)")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in runs:
            parser.error(f"the gallery has no run '{name}'{did_you_mean(name, runs)}; allowed: {', '.join(runs)}")
    print(draw_gallery(options.directory, options.names or runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
