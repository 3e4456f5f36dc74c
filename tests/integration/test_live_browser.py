"""The live page in a real browser: it follows a run that goes, says when it ends, and asks nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chromium import MARKS, PHONE, Seen, browser, seen
from report_samples import HOSTILE, interrupted_run, sample_run
from run_samples import result, second, spec, totals
from worker_samples import second_of_several

from tidegauge import store
from tidegauge.live.server import LiveServer

__all__ = ["browser", "seen"]
pytestmark = MARKS


def test_a_report_from_elsewhere_reads_nothing_else(seen: Seen, tmp_path: Path) -> None:
    secret = interrupted_run(tmp_path, "secret")
    theirs = interrupted_run(tmp_path, "theirs")
    script = """fetch("/report/NAME").then(answer => answer.text()).then(
        text => { document.body.innerText = "STOLEN " + text.length }, () => { document.body.innerText = "refused" });
        document.title = "ran"; """
    (theirs / "report.html").write_text(f"<body><script>{script.replace('NAME', secret.name)}</script>")
    server = LiveServer(tmp_path, "127.0.0.1", 0)
    server.start()
    try:
        page = seen.opened(server.url(f"/report/{theirs.name}"))
        page.wait_for_function("document.body.innerText != ''")
        assert (page.title(), page.inner_text("body")) == ("ran", "refused")
    finally:
        server.close()


def test_our_own_report_works_in_its_sandbox(seen: Seen, tmp_path: Path) -> None:
    run = sample_run(tmp_path, trials=1)
    server = LiveServer(tmp_path, "127.0.0.1", 0)
    server.start()
    try:
        page = seen.opened(server.url(f"/report/{run.name}"))
        folded = page.locator("details:not([open])").count()
        assert folded > 0
        page.locator("#unfold").click()
        assert page.locator("details:not([open])").count() < folded, "its script works"
        assert page.locator(".canvas svg").count() > 3
        assert not seen.complaints
    finally:
        server.close()


@pytest.fixture
def run(tmp_path: Path) -> store.RunStore:
    run = store.create_run(tmp_path / "runs", "going", "name: going\n")
    first = spec(number=1)
    run.write_plan([first, spec(number=2)])
    done = run.open_trial(first)
    done.append_second(second())
    done.finish(result(first), totals())
    failed = run.open_trial(spec(number=2))
    failed.fail(HOSTILE, interrupted=False)
    return run


@pytest.fixture
def server(run: store.RunStore) -> Iterator[LiveServer]:
    started = LiveServer(run.path.parent, "127.0.0.1", 0)
    started.start()
    yield started
    started.close()


def text_is(page: Any, selector: str, wanted: str) -> None:
    page.wait_for_function(
        "([selector, wanted]) => document.querySelector(selector).textContent.includes(wanted)", arg=[selector, wanted]
    )


def test_it_follows_a_run_to_its_end(seen: Seen, server: LiveServer, run: store.RunStore) -> None:
    page = seen.opened(server.live_url(run.path))
    text_is(page, "#state", "running: 1 of 2 trials finished")
    text_is(page, "#left", "By the plan no time is left")
    trial = run.open_trial(spec(number=3))
    for number in range(5):
        trial.append_second(second(number), "measure")
    text_is(page, "#trial", "0003-latency-kafka: measure")
    page.wait_for_function("() => /^About \\d+ (s|min) left$/.test(document.querySelector('#left').textContent)")
    text_is(page, "#charts .now", "19,990")
    line = "document.querySelector('#charts path').getAttribute('d').split(' ').length"
    assert page.evaluate(line) == 5
    trial.append_second(second(5), "drain")
    page.wait_for_function(f"() => {line} === 6")
    assert float(page.locator("#charts rect").first.get_attribute("width")) > 100
    run.finish("finished")
    text_is(page, "#state", "finished: ")
    assert page.locator("#left").text_content() == ""
    page.get_by_role("link", name="The report").click()
    assert "Tidegauge report" in page.title()
    assert {address.split("/")[2] for address in seen.requests} == {f"127.0.0.1:{server.port}"}
    assert [complaint for complaint in seen.complaints if "favicon" not in complaint] == []


def test_no_second_of_a_trial_that_has_ended_is_shown_as_what_is_now(
    seen: Seen, server: LiveServer, run: store.RunStore
) -> None:
    page = seen.opened(server.live_url(run.path))
    trial = run.open_trial(spec(number=3))
    trial.append_second(second(), "measure")
    trial.append_second(replace(second(1), acked=0), "drain")
    text_is(page, "#trial", "0003-latency-kafka: drain")
    assert page.locator("#charts .now").first.text_content() == "0", "while it goes on, that is so"
    assert page.locator("#figures dd").count() == 0
    trial.finish(result(trial.spec), totals())
    text_is(page, "#trial", "0003-latency-kafka: finished")
    assert set(page.locator("#charts .now").all_text_contents()) == {""}
    assert page.locator("#charts path").first.get_attribute("opacity") == "1"
    assert "7.80" in page.locator("#figures").text_content()
    run.finish("finished")


def test_a_chart_has_gaps_where_nothing_is_known_and_begins_at_0(
    seen: Seen, server: LiveServer, run: store.RunStore
) -> None:
    page = seen.opened(server.live_url(run.path))
    trial = run.open_trial(spec(number=3))
    for number in (0, 1, 2, 6, 8, 9):
        trial.append_second(replace(second(number), in_flight=0), "measure")
    text_is(page, "#charts .now", "19,990")
    drawn = "document.querySelector('#charts path').getAttribute('d')"
    pieces = f"{drawn}.split('M').slice(1).map(one => one.split('L').length)"
    page.wait_for_function(f"() => {pieces}.join() === '3,1,2'")
    assert "NaN" not in page.locator("#charts path").first.get_attribute("d")
    in_flight = page.locator("#charts figure", has_text="In flight")
    assert "0 to 0" in in_flight.text_content()
    used = page.locator("#charts figure", has_text="Disk busy")
    assert used.locator("path").get_attribute("d") == ""
    assert not used.is_visible(), "nobody looked"
    run.finish("finished")


def test_axes_the_offered_rate_and_what_comes_next_are_shown_and_the_last_curves_stay(
    seen: Seen, server: LiveServer, run: store.RunStore
) -> None:
    page = seen.opened(server.live_url(run.path))
    run.write_plan([spec(number=number) for number in range(1, 6)])
    trial = run.open_trial(spec(number=3))
    for number in range(12):
        trial.append_second(second(number), "measure" if number > 3 else "warm-up")
    text_is(page, "#charts .now", "19,990")
    rate = page.locator("#charts figure").first
    page.wait_for_function("document.querySelectorAll('#charts svg')[0].textContent.includes('offered 20,000')")
    heights = rate.locator("svg").evaluate(
        """svg => { const top = one => one.getBoundingClientRect().top, box = svg.querySelector('.target');
           const marks = [...svg.querySelectorAll('.axes text')].filter(one => one.textContent === '20k');
           return [top(box), top(marks[0]) + marks[0].getBoundingClientRect().height / 2]; }"""
    )
    assert heights[0] == pytest.approx(heights[1], abs=4), "the line stands at its rate"
    assert page.locator("#charts .target[visibility=visible]").count() == 1
    seconds = rate.locator(".axes text[text-anchor=middle]").all_text_contents()
    assert len(seconds) >= 3
    assert [int(text) for text in seconds] == sorted(int(text) for text in seconds)
    assert page.locator("#pending li").all_text_contents() == [
        f"000{number}-latency-kafka: kafka@4.3.1 at 20,000 msg/s" for number in (4, 5)
    ]
    trial.finish(result(trial.spec), totals())
    run.open_trial(spec(number=4))
    text_is(page, "#trial", "0004-latency-kafka: starting")
    text_is(page, "#before", "Drawn until it sends: 0003-latency-kafka, finished")
    assert page.locator("#charts path").first.get_attribute("d")
    assert rate.locator(".now").text_content() == "", "what ended is not now"
    assert page.locator("#pending li").count() == 1
    run.finish("finished")


def test_hostile_words_run_nothing_and_a_phone_suffices(seen: Seen, server: LiveServer, run: store.RunStore) -> None:
    page = seen.opened(server.live_url(run.path))
    page.set_viewport_size(PHONE)
    text_is(page, "#trials", "alert(1)")
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert [complaint for complaint in seen.complaints if "favicon" not in complaint] == []


@pytest.mark.slow
def test_it_says_so_when_the_run_is_gone(seen: Seen, run: store.RunStore) -> None:
    server = LiveServer(run.path.parent, "127.0.0.1", 0)
    server.start()
    page = seen.opened(server.live_url(run.path))
    text_is(page, "#state", "running")
    server.close()
    text_is(page, "#state", "no longer answers")
    assert page.locator("#left").text_content() == "What stands below was known last."


def test_several_load_generators_have_a_row_each(seen: Seen, server: LiveServer, run: store.RunStore) -> None:
    page = seen.opened(server.live_url(run.path))
    text_is(page, "#state", "running: 1 of 2 trials finished")
    assert page.locator("#workers").is_hidden()
    trial = run.open_trial(spec(number=3))
    trial.append_second(second_of_several(), "measure")
    text_is(page, "#generators", "6,602")
    assert page.locator("#generators tr").count() == 3
    assert page.locator("#generators tr").nth(1).inner_text().split() == ["2", "6,667", "6,602", "5,000", "2"]


def clicked(page: Any, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).first.click()


@pytest.mark.parametrize("over", [False, True])
def test_every_link_leads_to_what_it_names(seen: Seen, server: LiveServer, run: store.RunStore, over: bool) -> None:
    newest = run.open_trial(spec(number=3))
    newest.append_second(second())
    if over:
        newest.finish(result(newest.spec), totals())
        run.finish("finished")
    refused: list[str] = []
    seen.page.on("response", lambda answer: answer.ok or "favicon" in answer.url or refused.append(answer.url))
    page = seen.opened(server.live_url(run.path))
    text_is(page, "#trials", "0003-latency-kafka")
    ended = ["0001-latency-kafka", "0002-latency-kafka", *(["0003-latency-kafka"] if over else [])]
    names = page.evaluate("[...document.querySelectorAll('a')].map(one => one.textContent)")
    others = ["Skip to the content", "Tidegauge", "Back to the newest trial", *(["The report"] if over else [])]
    assert sorted(names) == sorted([*others, *ended]), "each of these is followed below"
    for trial, words in zip(ended, ("finished", "failed", "finished"), strict=False):
        clicked(page, trial)
        page.wait_for_selector("#chosen", state="visible")
        text_is(page, "#trial", f"{trial}: {words}")
        assert (page.locator("#figures dd").count() > 0) is (words == "finished")
        clicked(page, "Back to the newest trial")
        text_is(page, "#trial", "0003-latency-kafka: ")
        page.wait_for_selector("#chosen", state="hidden")
    page.keyboard.press("Home")
    page.locator("a.skip").press("Enter")
    text_is(page, "#trial", "0003-latency-kafka: ")
    assert page.url.endswith("#main")
    if over:
        clicked(page, "The report")
        assert "Tidegauge report" in page.title()
        page.go_back()
    clicked(page, "Tidegauge")
    assert page.title() == "Tidegauge runs"
    clicked(page, run.path.name)
    page.wait_for_function(f"document.title.includes({'report' if over else 'live'!r})")
    assert refused == []
    assert [complaint for complaint in seen.complaints if "favicon" not in complaint] == []
