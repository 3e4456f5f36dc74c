"""How variants and points of a sweep are told: the first line, sentences, tables, on every medium alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shown_runs import rendered
from variant_samples import LINGER, p99_result, run_of, run_with_variants

from tidegauge.comparison.contests import contests_of_run
from tidegauge.model.finding import Finding
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.trial import Validity
from tidegauge.model.variant import SameWithin, Variant
from tidegauge.numbers import percent
from tidegauge.report.contests import (
    contest_notes,
    contest_sentence,
    contest_table,
    repeats_needed,
    variants_line,
    verdict_words,
)
from tidegauge.report.ending import ending
from tidegauge.report.html.answer import answer
from tidegauge.report.markdown import run_markdown
from tidegauge.report.plots.contests import contest_plots
from tidegauge.report.plots.model import Scale
from tidegauge.report.screen import run_screen
from tidegauge.report.summary import run_summary
from tidegauge.report.terminal import run_report
from tidegauge.store.read import StoredRun

SLOW = {"linger-0": (3.0, 3.1, 2.9, 3.0), "linger-20": (22.0, 22.3, 21.8, 22.1)}
ALIKE = {"linger-0": (3.0, 3.1, 2.9, 3.0), "linger-20": (3.01, 3.11, 2.92, 3.0)}
FEW = {name: values[:2] for name, values in SLOW.items()}
ROUGH = {"linger-0": (3.0, 3.1, 2.9, 3.0), "linger-20": (3.6, 2.9, 3.3, 2.8)}


def words_of(run: StoredRun) -> str:
    return contest_sentence(next(contest for contest in contests_of_run(run) if contest.lead))


def test_a_ratio_of_fewer_blocks_than_figures_have_says_so() -> None:
    """0.25 beside 68.6 and 110 ms is of the one block that both have."""
    words = words_of(run_with_variants({"linger-0": (109.8,), "linger-20": (27.4, 171.8)}))
    assert "68.6" in words
    assert "(0.25x, -82.4 ms, over the 1 block that both have)" in words
    assert "that both have" not in words_of(run_with_variants(FEW))


def test_the_first_line_says_what_differs() -> None:
    assert variants_line(run_with_variants(SLOW)) == (
        "linger-0 (producer linger.ms 0) against linger-20 (producer linger.ms 20)"
    )
    same = run_of([], [Variant("a"), Variant("b")])
    assert variants_line(same) == "a and b have the same settings (A/A): any difference between them is chance"
    assert variants_line(run_of([])) == ""


@pytest.mark.parametrize(
    ("figures", "margin", "says"),
    [
        (SLOW, "3%", "3.00 ms with linger-0 and 22.0 with linger-20; against linger-0: linger-20 worse (7.3"),
        (SLOW, "20ms", "linger-20 the same within 20 ms (7.3"),
        (ALIKE, "3%", "linger-20 the same within 3% (1.00x ["),
        (ALIKE, "1ms", "linger-20 the same within 1 ms (1.00x ["),
        (ROUGH, "3%", "linger-20 not decided, "),
        (
            {name: values[:2] for name, values in SLOW.items()},
            "3%",
            "linger-20 not decided, since 2 blocks give no interval (3 do) (7.26x, +19.1 ms)",
        ),
    ],
)
def test_a_verdict_has_ratio_difference_and_margin(
    figures: dict[str, tuple[float, ...]], margin: str, says: str
) -> None:
    assert says in words_of(run_with_variants(figures, SameWithin.from_text(margin)))


def test_a_difference_has_its_sign_and_its_unit() -> None:
    assert "+19.1 ms [+18.8, +19.3]" in words_of(run_with_variants(SLOW))
    assert "-19.1 ms [-19.3, -18.8]" in words_of(
        run_with_variants({name: SLOW[name] for name in ("linger-20", "linger-0")})
    )


def test_figures_ratio_and_difference_are_of_one_mean_and_add_up() -> None:
    """Arithmetic means are 951 and 23.5 ms, whose difference stands beside no ratio of geometric ones."""
    run = run_with_variants({"a": (2.0, 1900.0), "b": (23.0, 24.0)})
    (contest,) = [one for one in contests_of_run(run) if one.lead]
    values, contrast = [one.value or 0.0 for one in contest.alternatives], contest.against_first[0].contrast
    assert contrast is not None
    assert contrast.difference == pytest.approx(values[1] - values[0])
    assert contrast.ratio == pytest.approx(values[1] / values[0])
    assert contrast.ratio_interval is contrast.difference_interval is None
    shown = " ".join(rendered(run_report(run)).split())
    assert "(0.38x, -38.1 ms)" in " ".join(rendered(run_screen(run, ending(run), 0)).split())
    assert "Figures are geometric means over blocks; ratio and difference are those of these means." in shown
    assert "2 blocks give no interval (3 do), so the range of the blocks is shown instead" in shown
    assert "e-" not in shown


def test_no_verdict_is_cut_and_a_doubt_stands_with_its_name() -> None:
    run = run_with_variants({"a": (2.0, 1900.0, 2.0, 2.0), "b": (23.0, 24.0, 22.0, 23.0)})
    (contest,) = [one for one in contests_of_run(run) if one.lead]
    contrast = contest.against_first[0].contrast
    assert contrast is not None
    shown = rendered(run_screen(run, ending(run), 0))
    assert f"{verdict_words(contrast)}\n" in shown
    assert max(map(len, shown.splitlines())) <= 100
    doubted = [replace(one, validity=Validity.DOUBTFUL) for one in run.measured if one.spec.point["variant"] == "a"]
    others = [one for one in run.measured if one.spec.point["variant"] == "b"]
    (contest,) = [one for one in contests_of_run(run_of([*doubted, *others], run.variants)) if one.lead]
    assert contest_table(contest).labels == ("a (DOUBTFUL)", "b")


def test_a_picture_of_far_apart_figures_is_logarithmic_and_a_doubt_is_hollow() -> None:
    run = run_with_variants({"a": (2.0, 1900.0, 2.0), "b": (23.0, 24.0, 22.0)})
    spoilt = [
        replace(one, validity=Validity.DOUBTFUL) if (one.spec.point["variant"], one.spec.block) == ("a", 1) else one
        for one in run.measured
    ]
    run = run_of(spoilt, run.variants)
    (contest,) = [one for one in contests_of_run(run) if one.lead]
    figures, differences = contest_plots(contest, run, "x")
    assert figures.y.scale is Scale.LOG
    means, blocks = figures.series
    assert means.hollow == (True, False)
    assert blocks.hollow == (False, True, False, False, False, False)
    assert "Hollow: some of its trials are DOUBTFUL." in figures.reading
    assert differences.series[0].hollow == (True,)
    near = run_with_variants(SLOW)
    (contest,) = [one for one in contests_of_run(near) if one.lead]
    plot = contest_plots(contest, near, "x")[0]
    assert not any(plot.series[0].hollow)
    assert "Hollow" not in plot.reading
    alike = run_with_variants(ALIKE)
    assert contest_plots(contests_of_run(alike)[0], alike, "x")[0].y.scale is Scale.LINEAR


def test_what_is_open_says_how_many_more_repeats_would_decide() -> None:
    (contest,) = [one for one in contests_of_run(run_with_variants(ROUGH)) if one.lead]
    contrast = contest.against_first[0].contrast
    assert contrast is not None
    assert verdict_words(contrast) == f"not decided, about {contrast.more_blocks} more repeats may decide"
    assert repeats_needed([contest]) in (contrast.blocks_needed, None)


def test_the_table_ranks_and_names_the_baseline() -> None:
    (contest,) = [one for one in contests_of_run(run_with_variants({**SLOW, "1": (2.0, 2.1, 1.9, 2.0)})) if one.lead]
    table = contest_table(contest)
    assert table.labels == ("1", "linger-0", "linger-20")
    assert table.groups[1].columns[-1].cells == ("better", "the baseline", "worse")
    assert "the 2 intervals against linger-0 hold together in 95% of cases (each 97.5%)" in " ".join(
        contest_notes(contest)
    )


def test_what_a_name_says_already_is_not_said_again() -> None:
    """A variant without a name of its own is called by what it sets."""
    variants = (
        Variant("linger.ms=0", {"producer linger.ms": "0", "producer acks": "all"}),
        Variant("linger.ms=20 acks=1", {"producer linger.ms": "20", "producer acks": "1"}),
    )
    run = replace(run_with_variants(SLOW), variants=variants)
    assert variants_line(run) == "linger.ms=0 (producer acks all) against linger.ms=20 acks=1"


def test_of_variants_that_are_all_invalid_one_sentence_says_so_with_the_commonest_reason() -> None:
    late, lost = (
        Reason(ReasonKind.OWN_LAG, "the load generator was late"),
        Reason(ReasonKind.LOST, "1 message was lost"),
    )
    run = run_with_variants({**SLOW, "1": (2.0, 2.1, 1.9)}, validity=Validity.INVALID, reasons=(late,))
    (first, *others) = run.results
    (verdict,) = answer(run).verdicts
    assert verdict.sentence == (
        f"At 20,000 msg/s the response p99 is not known: no figure that may be used; all {len(run.results)} trials are "
        "INVALID, each for such a reason: the load generator was late."
    )
    some = run_of([replace(first, reasons=(lost,)), *others], run.variants)
    assert f"{len(others)} of them for such a reason: the load generator was late." in answer(some).headline
    assert "linger-20" not in answer(some).headline


def test_every_medium_says_what_differs_and_the_verdict() -> None:
    run = run_with_variants(SLOW)
    first = variants_line(run)
    terminal, screen = rendered(run_report(run)), rendered(run_screen(run, ending(run), 0))
    for text in (terminal, screen):
        flat = " ".join(text.split())
        assert first in flat
        assert "worse" in flat
        assert "UNEQUAL" not in flat
    markdown = run_markdown(run)
    assert "### Variants compared" in markdown
    assert "| linger-20 | 22.0 |" in markdown
    page = answer(run)
    assert page.title == f"Kafka: {first}"
    assert "linger-20 worse (" in page.verdicts[0].sentence
    summary = run_summary(run)
    assert summary["variants"][1] == {"name": "linger-20", "sets": {"producer linger.ms": "20"}}
    lead = next(contest for contest in summary["contests"] if contest["lead"])
    assert lead["ranking"] == ["linger-0", "linger-20"]
    assert lead["verdicts"] == {"linger-20": "worse"}


def test_points_of_a_sweep_have_verdicts_between_them() -> None:
    results = [
        p99_result({"partitions": n}, block, value * (1 + block / 100), number * 3 + block)
        for number, (n, value) in enumerate((("1", 2.0), ("100", 4.0)))
        for block in range(3)
    ]
    run = run_of(results)
    flat = " ".join(rendered(run_report(run)).split())
    assert "Points of the sweep compared, each value of an axis with its first" in flat
    assert "against partitions=1: partitions=100 worse (2.00x" in flat
    assert "### Points compared" in run_markdown(run)
    assert "against partitions=1: 100 worse" in answer(run).verdicts[0].sentence


def test_a_run_without_alternatives_says_nothing_of_them() -> None:
    run = run_of([p99_result({}, block, 3.0, block + 1) for block in range(3)])
    assert "Variants" not in rendered(run_report(run))
    assert "compared" not in run_markdown(run)
    assert run_summary(run)["contests"] == []
    assert len(LINGER) == 2


def test_the_same_is_as_wide_as_the_steps_of_a_search_make_it_wherever_it_is_said() -> None:
    run = run_with_variants(ALIKE)
    findings = tuple(
        Finding(f"{block}-{name}", "latency", "kafka@4.3.1", block, True, (), figures=figures, point={"variant": name})
        for name, rate in (("linger-0", 1000.0), ("linger-20", 1010.0))
        for block in range(4)
        for figures in ({"sustainable_msgs_per_s": rate + block},)
    )
    contests = contests_of_run(replace(run, findings=findings))
    (searched,) = [one for one in contests if one.name == "sustainable_msgs_per_s"]
    contrast = searched.against_first[0].contrast
    assert contrast is not None
    assert contrast.share is not None
    assert contrast.share > searched.same_within.share
    margin = f"within {percent(contrast.share)}"
    assert verdict_words(contrast) == f"the same {margin}"
    assert f"The same: the whole interval lies {margin}." in contest_notes(searched)
    assert f"shaded: the same {margin};" in contest_plots(searched, run, "x")[1].reading


def test_blocks_of_which_some_alternatives_have_few_are_said_so() -> None:
    values = {"linger-0": (2.0, 2.1, 2.2, 2.0), "linger-20": (3.0, 3.1), "1": (4.0, 4.1, 4.2, 4.0)}
    (contest,) = [one for one in contests_of_run(run_with_variants(values)) if one.lead]
    notes = " ".join(contest_notes(contest))
    assert "Over 2 to 4 blocks; the interval against linger-0 is of 97.5%; 2 blocks give no interval (3 do)" in notes
    assert "hold together" not in notes
    (contest,) = [one for one in contests_of_run(run_with_variants({**values, "1": (4.0,)})) if one.lead]
    notes = " ".join(contest_notes(contest))
    assert "Over 1 to 4 blocks; intervals of 95%; 2 blocks give no interval (3 do), so" in notes
