"""Every sentence that a page's script puts together, in a real browser: where it is said, and where it would be false.

The page gets answers as the server gives them, one after the other; the last one goes on for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from chromium import MARKS, Seen, browser, new_page, seen
from gallery_samples import GALLERY
from reasons import reasons_of
from run_samples import result, second, spec, totals
from schema_checks import check_content
from sentence_scripts import CHARTS, CLAIMS, SCRIPTS, script_templates
from sentence_templates import Claim

from tidegauge import store
from tidegauge.live.state import RunFollower
from tidegauge.model.trial import Validity
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.page import index_page, live_page, report_page

__all__ = ["browser", "seen"]
pytestmark = MARKS

SERVER = "http://127.0.0.1:9"
"""Where nobody listens: all that is asked of it is answered by the test."""
HURRY = """window.answersShown = 0; const wait = setTimeout;
    window.setTimeout = (what, ms) => { answersShown += 1; return wait(what, Math.min(ms, 20)); };"""
"""Makes the page ask again after 20 ms, and counts how often it set out to: once for each answer that it has shown."""
SHOWN = "answers => answersShown >= answers || document.querySelector('#state a') !== null"
"""True once the page has shown so many answers, or that of a run that ended, after which it asks no more."""
TEXTS = """() => [...document.querySelectorAll("p, h1, h2, h3, figcaption, svg text, td, th, li, a, code, button")]
    .filter(one => one.checkVisibility()).map(one => one.textContent.trim()).filter(one => one)"""
State = dict[str, Any]
Answer = State | str | None
"""A state, what a refusal says, or None where nobody answers."""


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, State]:
    """States of real runs: before the plan, before the first second, with seconds of each phase, and at the end."""
    states = {}
    run = store.create_run(tmp_path_factory.mktemp("live"), "going", "name: going\n")
    follower = RunFollower(run.path)
    states["no plan yet"] = follower.state()
    first = spec(number=1)
    run.write_plan([first, spec(number=2)])
    trial = run.open_trial(first)
    states["no second yet"] = follower.state()
    for phase in ("warm-up", "measure", "drain"):
        trial.append_second(second(len(states)), phase)
        states[phase] = follower.state()
    trial.finish(replace(result(first), validity=Validity.DOUBTFUL, reasons=reasons_of("x")), totals())
    run.finish("finished")
    states["ended"] = follower.state()
    for state in states.values():
        check_content(state)
    return states


class Live:
    """The live page with answers that a test gives it."""

    def __init__(self, seen: Seen) -> None:
        self.page = seen.page
        self._seen = seen

    def texts(self, *answers: Answer) -> list[str]:
        """All that can be read once the last answer has come."""
        left = list(answers)

        def answered(route: Any) -> None:
            answer = left.pop(0) if left else answers[-1]
            if answer is None:
                route.abort()
            elif isinstance(answer, str):
                route.fulfill(status=404, body=answer, content_type="text/plain; charset=utf-8")
            else:
                route.fulfill(body=json.dumps(answer), content_type="application/json")

        self.page.add_init_script(HURRY)
        self.page.route("**/live/**", lambda route: route.fulfill(body=live_page("r", "r"), content_type="text/html"))
        self.page.route("**/state/**", answered)
        self._seen.opened(f"{SERVER}/live/r")
        self.page.wait_for_function(SHOWN, arg=len(answers))
        texts: list[str] = self.page.evaluate(TEXTS)
        assert [said for said in self._seen.complaints if "Failed to load resource" not in said] == []
        return texts


def left(seconds: float) -> Callable[[Mapping[str, State]], Sequence[Answer]]:
    return lambda states: [{**states["measure"], "seconds_left": seconds}]


def nothing_known(states: Mapping[str, State]) -> Sequence[Answer]:
    """A second of which nobody knows a figure."""
    (at,) = states["warm-up"]["trial"]["seconds"]
    blank = {key: value if key in ("second", "phase") else None for key, value in at.items()}
    return [{**states["warm-up"], "trial": {**states["warm-up"]["trial"], "seconds": [blank]}}]


def offered(msgs_per_s: float | None) -> Callable[[Mapping[str, State]], Sequence[Answer]]:
    return lambda states: [
        {**states["measure"], "trial": {**states["measure"]["trial"], "target_msgs_per_s": msgs_per_s}}
    ]


def to_come(msgs_per_s: float | None, more: int = 0) -> Callable[[Mapping[str, State]], Sequence[Answer]]:
    pending = [{"trial_id": "0002-latency-kafka", "system": "kafka@4.3.1", "target_msgs_per_s": msgs_per_s}]
    return lambda states: [{**states["measure"], "pending": pending, "pending_more": more}]


def drawn_before(states: Mapping[str, State]) -> Sequence[Answer]:
    return [{**states["no second yet"], "before": states["measure"]["trial"]}]


LIVE: Mapping[str, Callable[[Mapping[str, State]], Sequence[Answer]]] = {
    "no time is left": left(0),
    "a second is left": left(1),
    "90 s are left": left(90),
    "an hour is left": left(3600),
    "an hour and a minute are left": left(3660),
    "seconds": lambda states: [states["measure"]],
    "nothing known": nothing_known,
    "measured": lambda states: [states["measure"]],
    "warming up": lambda states: [states["warm-up"]],
    "no second yet": lambda states: [states["no second yet"]],
    "no plan yet": lambda states: [states["no plan yet"]],
    "rate offered": offered(1_000.0),
    "closed loop": offered(None),
    "to come at a rate": to_come(1_000.0),
    "to come in a closed loop": to_come(None),
    "more to come": to_come(1_000.0, more=3),
    "the trial before drawn": drawn_before,
    "ended": lambda states: [states["measure"], states["ended"]],
    "refused": lambda _: ["There is no such page."],
    "unreachable": lambda _: [None],
    "unreachable for a moment": lambda states: [None, states["measure"]],
    "unreachable after a while": lambda states: [states["measure"], None],
}
CLICKS = {"all opened": 1, "all closed again": 2}
CHOSEN = {"one run chosen": 1, "two runs chosen": 2}
"""Runs that are chosen in the index."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A report, and an index of two runs."""
    runs = [store.load_run(GALLERY[name](tmp_path_factory.mktemp("runs"))) for name in ("one-system", "three-blocks")]
    return {
        "report": report_page(runs[0], store.details_of(runs[0])),
        "index": index_page([index_row(run, "") for run in runs]),
    }


@pytest.fixture(scope="module")
def texts_of(browser: Any, states: Mapping[str, State], pages: Mapping[str, str]) -> Callable[[str], list[str]]:
    """Gives what is said in a scene, which is shown when it is asked for first."""

    @cache
    def texts_of(scene: str) -> list[str]:
        with new_page(browser) as seen:
            return _show_scene(scene, seen, states, pages)

    return texts_of


def _show_scene(scene: str, seen: Seen, states: Mapping[str, State], pages: Mapping[str, str]) -> list[str]:
    if scene in LIVE:
        return Live(seen).texts(*LIVE[scene](states))
    seen.page.set_content(pages["index" if scene in CHOSEN else "report"])
    for number in range(CHOSEN.get(scene, 0)):
        seen.page.locator("input.chosen").nth(number).check()
    for _ in range(CLICKS.get(scene, 0)):
        seen.page.locator("#unfold").click()
    texts: list[str] = seen.page.evaluate(TEXTS)
    return texts


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.template)
@pytest.mark.parametrize("true", [True, False])
def test_a_sentence_is_said_where_it_is_true_and_not_where_it_is_false(
    texts_of: Callable[[str], list[str]], claim: Claim, true: bool
) -> None:
    (template,) = {one for name in SCRIPTS for one in script_templates(name) if one.text == claim.template}
    texts = texts_of(claim.true_in if true else claim.false_in)
    # What begins with a blank or a comma ends another sentence.
    matches = template.pattern.search if template.text[0] in " ," else template.pattern.fullmatch
    assert any(matches(text) or template.text in text for text in texts) is true, texts


def test_every_scene_is_of_use() -> None:
    assert {*LIVE, *CLICKS, *CHOSEN} == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (-5, "By the plan no time is left"),
        (3, "About 5 s left"),
        (89, "About 90 s left"),
        (90, "About 2 min left"),
        (3569, "About 59 min left"),
        (3599, "About 1 h left"),
        (7260, "About 2 h 1 min left"),
    ],
)
def test_the_time_left_is_rounded_and_has_no_part_of_nothing(
    seen: Seen, states: Mapping[str, State], seconds: float | None, words: str
) -> None:
    live = Live(seen)
    live.texts({**states["measure"], "seconds_left": seconds})
    assert live.page.locator("#left").text_content() == words


@pytest.mark.parametrize(
    ("planned", "words"),
    [(0, "running"), (1, "running: 0 of 1 trial finished"), (2, "running: 0 of 2 trials finished")],
)
def test_as_many_trials_are_said_as_are_planned(
    seen: Seen, states: Mapping[str, State], planned: int, words: str
) -> None:
    live = Live(seen)
    live.texts({**states["measure"], "run": {**states["measure"]["run"], "trials_planned": planned}})
    assert live.page.locator("#state").text_content() == words


@pytest.mark.parametrize(
    ("validity", "words", "style"),
    [("valid", "valid", "good"), ("doubtful", "DOUBTFUL", "doubt"), ("invalid", "INVALID", "bad"), ("", "", "")],
)
def test_a_validity_looks_like_what_it_is_and_none_like_none(
    seen: Seen, states: Mapping[str, State], validity: str, words: str, style: str
) -> None:
    live = Live(seen)
    (trial,) = states["measure"]["trials"]
    live.texts({**states["measure"], "trials": [{**trial, "validity": validity}]})
    cell = live.page.locator("#trials td").first
    assert (cell.text_content(), cell.get_attribute("class")) == (words, f"{style} kept".strip())


def test_why_a_trial_failed_stands_with_its_status(seen: Seen, states: Mapping[str, State]) -> None:
    live = Live(seen)
    (trial,) = states["ended"]["trials"]
    failed = {**trial, "status": "failed", "validity": "", "reason": "kafka-1 ended"}
    live.texts({**states["ended"], "trials": [trial, failed]})
    rows = live.page.locator("#trials tr")
    assert [rows.nth(number).locator("td").nth(2).text_content() for number in (0, 1)] == [
        "finished",
        "failed: kafka-1 ended",
    ]
    assert rows.nth(0).locator("td").first.text_content() == "DOUBTFUL"


def test_each_chart_shows_the_figure_of_its_title(seen: Seen, states: Mapping[str, State]) -> None:
    (at,) = states["measure"]["trial"]["seconds"][-1:]
    figures = {key: 100.0 + number for number, key in enumerate(CHARTS.values())}
    live = Live(seen)
    live.texts({**states["measure"], "trial": {**states["measure"]["trial"], "seconds": [{**at, **figures}]}})
    shown = live.page.locator("#charts figcaption").all_text_contents()
    assert shown == [f"{title}{figures[key]:.0f}" for title, key in CHARTS.items()]
