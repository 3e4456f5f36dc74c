"""The page of compared runs: its pictures have the figures, the margin and the verdicts that its sentences have."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compared_runs import BEFORE, blocks_of, made
from matplotlib.patches import Rectangle
from page_scenes import page_texts
from report_samples import KAFKA, PULSAR
from terminal_scenes import run_of

from tidegauge.cli.main import run_command
from tidegauge.comparison.across import RunComparison, compare_runs
from tidegauge.comparison.differences import DisclosedRun
from tidegauge.model.finding import Finding
from tidegauge.model.variant import SameWithin
from tidegauge.report.across import ComparisonFacts
from tidegauge.report.contests import margin_words
from tidegauge.report.html.comparison import comparison_page, comparison_plots
from tidegauge.report.layout import shown_path
from tidegauge.report.plots.draw import drawn_like_files, file_figure
from tidegauge.report.plots.model import Plot, data_table
from tidegauge.store.read import load_run

SLOWER = tuple(2 * scale for scale in BEFORE)


def compared(runs: Path, *scales: float, same_within: SameWithin | None = None) -> RunComparison:
    """A run with the figures of `BEFORE`, and one with these."""
    names = [made(runs, blocks_of(KAFKA, *each)) for each in (BEFORE, scales)]
    return compare_runs([DisclosedRun(load_run(runs / name), {}) for name in names], False, same_within=same_within)


def rows_of(plot: Plot) -> Iterator[tuple[str, str, float, tuple[float, float]]]:
    """Each row as it is drawn: the figure, its verdict, its point and the ends of its whisker."""
    with drawn_like_files():
        (axes,) = file_figure(plot, {KAFKA: 0}).axes
    (marks,) = [line for line in axes.get_lines() if line.get_marker() == "o"]
    (whiskers,) = [lines for lines in axes.collections if lines.get_gid() == "system-0"]
    for label, (x, y), segment in zip(
        axes.get_yticklabels(), marks.get_xydata(), whiskers.get_segments(), strict=True  # type: ignore[arg-type,attr-defined]
    ):  # fmt: skip
        figure, verdict = label.get_text().split("\n")
        assert [float(end) for _, end in segment] == [y, y], "a whisker lies in its row"
        yield figure, verdict, float(x), (float(segment[0][0]), float(segment[1][0]))


def band_of(plot: Plot) -> tuple[float, float]:
    """From where to where the picture is shaded."""
    with drawn_like_files():
        (axes,) = file_figure(plot, {KAFKA: 0}).axes
    (band,) = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    return band.get_x(), band.get_x() + band.get_width()


def test_ratios_stand_with_their_intervals_and_verdicts_beside_the_margin(tmp_path: Path) -> None:
    facts = ComparisonFacts(compared(tmp_path, *SLOWER))
    (plot,) = comparison_plots(facts)
    (pair,) = facts.comparison.pairs
    drawn = {figure: (verdict, ratio, ends) for figure, verdict, ratio, ends in rows_of(plot)}
    assert len(drawn) == len(pair.ratios) >= 3
    for ratio in pair.ratios:
        verdict, value, (low, high) = drawn[ratio.figure]
        assert (verdict, value) == ("worse", pytest.approx(2.0))
        assert ratio.comparison.interval is not None
        assert (low, high) == pytest.approx((ratio.comparison.interval.low, ratio.comparison.interval.high))
    assert band_of(plot) == pytest.approx((1 / 1.03, 1.03))
    assert [(line.value, line.label) for line in plot.lines] == [(1.0, "A")]
    assert data_table(plot).rows[0][0] == f"{pair.ratios[0].figure}: worse", "what it is of is not run together with it"


def test_a_margin_in_milliseconds_has_a_picture_of_differences(tmp_path: Path) -> None:
    facts = ComparisonFacts(compared(tmp_path, *BEFORE, same_within=SameWithin(ms=0.1)))
    plot = next(plot for plot in comparison_plots(facts) if plot.plot_id.endswith("differences"))
    for _, verdict, difference, (low, high) in rows_of(plot):
        assert difference == pytest.approx(0.0)
        assert low == pytest.approx(-high)
        assert verdict == ("the same" if high <= 0.1 else "not decided")
    assert {verdict for _, verdict, _, _ in rows_of(plot)} == {"the same", "not decided"}
    assert band_of(plot) == pytest.approx((-0.1, 0.1))


def test_the_key_over_a_picture_names_only_whom_it_draws(tmp_path: Path) -> None:
    both = [*blocks_of(KAFKA, *BEFORE), *blocks_of(PULSAR, *BEFORE)]
    runs = [DisclosedRun(load_run(tmp_path / made(tmp_path, both)), {}) for _ in range(2)]
    page = comparison_page(ComparisonFacts(compare_runs(runs, False)))
    keys = re.findall(r'<p class="keys".*?</p>', page, re.DOTALL)
    assert [(KAFKA in key, PULSAR in key) for key in keys] == [(True, False), (False, True)]
    assert re.search(r'<td class=" ?whole">1\.00 \(', page), "a value is not torn from its interval"


def test_the_page_has_what_the_terminal_says_and_what_differs(tmp_path: Path) -> None:
    facts = ComparisonFacts(compared(tmp_path, *SLOWER))
    texts = page_texts(comparison_page(facts))
    for pair in facts.pairs:
        assert pair.title in texts
        assert [claim for claim, _ in pair.claims if claim not in texts] == []
    assert [line for line in (*facts.run_lines, *facts.differences, facts.how_sure) if line not in texts] == []


def test_the_verb_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [made(tmp_path / "runs", blocks_of(KAFKA, *each)) for each in (BEFORE, SLOWER)]
    page = tmp_path / "compared.html"
    asked = ["compare", *names, "--runs-dir", str(tmp_path / "runs"), "--json", "--html", str(page)]
    assert run_command(asked) == 0
    sentences = [
        ratio["sentence"] for pair in json.loads(capsys.readouterr().out)["comparisons"] for ratio in pair["ratios"]
    ]
    assert sentences
    assert [sentence for sentence in sentences if sentence not in page_texts(page.read_text())] == []
    assert run_command([*asked[:-1], str(tmp_path / "no" / "x.html")]) == 2
    assert "--html" in capsys.readouterr().out


def test_without_matplotlib_the_command_that_brings_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = tmp_path / "compared.html"
    assert run_command(["compare", "x", "y", "--runs-dir", str(tmp_path), "--html", str(page)]) == 2
    assert "pip install matplotlib==" in " ".join(capsys.readouterr().err.split())
    assert not page.exists()


def test_a_judgement_stands_first_and_nothing_to_compare_with_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    for scales in (BEFORE, SLOWER):
        made(runs, blocks_of(KAFKA, *scales))
    page = tmp_path / "compared.html"
    asked = ["compare", "--runs-dir", str(runs), "--html", str(page)]
    assert run_command([*asked, "--against", "last-week"]) == 0
    assert "Not decided: there is no earlier finished run" in page.read_text()
    assert f"Written: {shown_path(page)}" in capsys.readouterr().out
    names = sorted(path.name for path in runs.iterdir() if path.is_dir() and not path.is_symlink())
    assert run_command([*asked, *names, "--regression", "5%"]) == 4
    assert f"Written: {shown_path(page)}" in capsys.readouterr().out
    texts = page_texts(page.read_text())
    headline = next(text for text in texts if text.startswith("Regression: "))
    assert texts.count(headline) == 2
    assert texts.index(headline) < next(place for place, text in enumerate(texts) if text.startswith("Nothing that"))


def test_the_margin_of_the_same_is_named_as_each_figure_is_judged_by_it() -> None:
    """Of rates a share even where a time was asked for, of what was searched with the search's steps."""
    found = [
        Finding(f"{block}-latency", "latency", KAFKA, block, True, (), figures={"sustainable_msgs_per_s": 1000.0})
        for block in range(3)
    ]
    run = run_of(*blocks_of(KAFKA, *BEFORE), findings=tuple(found))
    both = compare_runs([DisclosedRun(run, {})] * 2, True, same_within=SameWithin(ms=0.1))
    shares = {ratio.contrast.share for pair in both.pairs for ratio in pair.ratios if ratio.contrast}
    assert len(shares) > 1, "a time, and a share that is widened by steps"
    said = ComparisonFacts(both).how_sure
    assert all(margin_words(SameWithin(ms=0.1), share) in said for share in shares)
