"""What a picture says of the run that it is from, once it stands alone."""

from __future__ import annotations

from dataclasses import replace

from page_scenes import one_run, run_named, run_of

from tidegauge.model.sending import Sending
from tidegauge.model.tilt import Severity, Stage, Terms, Tilt
from tidegauge.model.trial import LoadResult
from tidegauge.report.plots.draw import file_figure
from tidegauge.report.plots.overview import overview
from tidegauge.report.plots.paper import FONT_PT
from tidegauge.report.provenance import provenance_words

UNEQUAL = Tilt("acks", Severity.UNEQUAL, Stage.IN_FORCE, ("a@1", "b@1"), "acks", "why", "much", "a test", "none")


def test_it_names_run_workload_and_host() -> None:
    words = provenance_words(one_run())
    assert words.startswith("Run one-system of ")
    load = "1 KiB messages, 1 topic, 1 partition each, 1 producer a topic, 1 subscription x 1 consumer, compression"
    assert f": {load} none." in words
    assert "2 CPUs (Xeon), 24 GiB memory" in words
    assert "vary" not in words


def test_what_differs_between_trials_is_named_and_not_given() -> None:
    (first,) = (result for result in one_run().results if isinstance(result, LoadResult))
    wide = replace(first.spec, trial_id="other", workload=replace(first.spec.workload, partitions=100))
    words = provenance_words(run_of(first, replace(first, spec=wide)))
    assert "partitions vary." in words
    assert "1 partition each" not in words
    assert "100" not in words


def test_that_nobody_reads_is_said() -> None:
    (first,) = (result for result in one_run().results if isinstance(result, LoadResult))
    unread = replace(first.spec, workload=replace(first.spec.workload, subscriptions=0))
    assert ", nobody who reads, " in provenance_words(run_of(replace(first, spec=unread)))


def test_what_clients_compressed_with_is_said_and_not_what_the_workload_asks_for() -> None:
    (first,) = (result for result in one_run().results if isinstance(result, LoadResult))
    lz4 = Sending(131_072, 1.0, "lz4", 5_000, read_back=True)
    assert "compression lz4." in provenance_words(run_of(replace(first, sending=lz4)))
    own = replace(first.spec, sending=replace(lz4, read_back=False))
    assert "compression lz4." in provenance_words(run_of(replace(first, spec=own, sending=None)))


def test_of_topics_of_others_no_size_of_messages_is_said() -> None:
    (first,) = (result for result in one_run().results if isinstance(result, LoadResult))
    reading = replace(first.spec.workload, producers=0, existing_topics=("orders",))
    words = provenance_words(run_of(replace(first, spec=replace(first.spec, workload=reading), sending=None)))
    assert ": messages of others, orders, nobody who sends, 1 subscription x 1 consumer." in words


def test_unequal_terms_are_marked() -> None:
    assert "UNEQUAL terms." in provenance_words(replace(one_run(), terms=Terms(unequal=(UNEQUAL,))))
    assert "UNEQUAL" not in provenance_words(one_run())


def test_it_stands_below_everything_else_and_within_the_picture() -> None:
    run, _ = run_named("one-system")
    plot = overview(run, [])
    assert plot is not None
    figure = file_figure(plot, {"kafka@4.3.1": 0}, "source run " * 30)
    figure.set_dpi(160)  # That of files.
    figure.draw_without_rendering()
    boxes = {text.get_text().split()[0]: text.get_window_extent() for text in figure.texts if text.get_text()}
    source = boxes["source"]
    assert source.y0 >= 0
    assert source.x1 <= figure.bbox.x1
    assert all(source.y1 <= box.y0 + FONT_PT / 2 for name, box in boxes.items() if name != "source")
