"""Every sentence that a page's script puts together, in a real browser: where it is said, and where it would be false.

The page gets answers as the server gives them, one after the other; the last one goes on for ever.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))

import jsonschema
from chromium import MARKS, Seen, browser, seen
from gallery_samples import GALLERY
from run_samples import result, second, spec, totals
from sentence_scripts import CHARTS, CLAIMS, script_templates
from sentence_templates import Claim

from tidegauge import store
from tidegauge.live.state import RunFollower
from tidegauge.model.trial import Validity
from tidegauge.report.html.page import live_page, report_page
from tidegauge.report.schemas import json_schemas

__all__ = ["browser", "seen"]
pytestmark = MARKS

SERVER = "http://127.0.0.1:9"
"""Where nobody listens: all that is asked of it is answered by the test."""
HURRY = "const wait = setTimeout; window.setTimeout = (what, ms) => wait(what, Math.min(ms, 20));"
TEXTS = """() => [...document.querySelectorAll("p, h1, h2, h3, figcaption, svg text, td, th, a, button")]
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
    run.plan([first, spec(number=2)])
    trial = run.trial(first)
    states["no second yet"] = follower.state()
    for phase in ("warm-up", "measure", "drain"):
        trial.second(second(len(states)), phase)
        states[phase] = follower.state()
    trial.finish(replace(result(first), validity=Validity.DOUBTFUL, reasons=("x",)), totals())
    run.finish("finished")
    states["ended"] = follower.state()
    for state in states.values():
        jsonschema.validate(state, json_schemas()["tidegauge.live/1"])
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
        while left:
            self.page.wait_for_timeout(10)
        self.page.wait_for_timeout(60)
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
    "ended": lambda states: [states["measure"], states["ended"]],
    "refused": lambda _: ["There is no such page."],
    "unreachable": lambda _: [None],
    "unreachable for a moment": lambda states: [None, states["measure"]],
    "unreachable after a while": lambda states: [states["measure"], None],
}
CLICKS = {"all opened": 1, "all closed again": 2}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    run = store.load_run(GALLERY["one-system"](tmp_path_factory.mktemp("runs")))
    return report_page(run, store.details_of(run))


def texts_of(scene: str, seen: Seen, states: Mapping[str, State], report: str) -> list[str]:
    if scene in LIVE:
        return Live(seen).texts(*LIVE[scene](states))
    seen.page.set_content(report)
    for _ in range(CLICKS[scene]):
        seen.page.locator("#unfold").click()
    texts: list[str] = seen.page.evaluate(TEXTS)
    return texts


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.template)
@pytest.mark.parametrize("true", [True, False])
def test_a_sentence_is_said_where_it_is_true_and_not_where_it_is_false(
    seen: Seen, states: Mapping[str, State], report: str, claim: Claim, true: bool
) -> None:
    (template,) = {
        one for name in ("live.js", "report.js") for one in script_templates(name) if one.text == claim.template
    }
    texts = texts_of(claim.true_in if true else claim.false_in, seen, states, report)
    assert any(template.pattern.fullmatch(text) or template.text in text for text in texts) is true, texts


def test_every_scene_is_of_use() -> None:
    assert {*LIVE, *CLICKS} == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}


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
    cell = live.page.locator("#trials td").last
    assert (cell.text_content(), cell.get_attribute("class")) == (words, style)


def test_why_a_trial_failed_stands_with_its_status(seen: Seen, states: Mapping[str, State]) -> None:
    live = Live(seen)
    (trial,) = states["ended"]["trials"]
    failed = {**trial, "status": "failed", "validity": "", "reason": "kafka-1 ended"}
    live.texts({**states["ended"], "trials": [trial, failed]})
    rows = live.page.locator("#trials tr")
    assert [rows.nth(number).locator("td").nth(1).text_content() for number in (0, 1)] == [
        "finished",
        "failed: kafka-1 ended",
    ]
    assert rows.nth(0).locator("td").last.text_content() == "DOUBTFUL"


def test_each_chart_shows_the_figure_of_its_title(seen: Seen, states: Mapping[str, State]) -> None:
    (at,) = states["measure"]["trial"]["seconds"][-1:]
    figures = {key: 100.0 + number for number, key in enumerate(CHARTS.values())}
    live = Live(seen)
    live.texts({**states["measure"], "trial": {**states["measure"]["trial"], "seconds": [{**at, **figures}]}})
    shown = live.page.locator("#charts figcaption").all_text_contents()
    assert shown == [f"{title}{figures[key]:.0f}" for title, key in CHARTS.items()]
