"""The report page: the answer first, everything disclosed, nothing injected, nothing fetched, small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attestation_samples import attestation
from gallery_samples import fleet, fleet_of_twenty, search_of_a_sweep, search_of_goals, sweep_of_three
from markupsafe import escape
from page_scenes import run_named
from reasons import reasons_of
from report_samples import HOSTILE, KAFKA, PULSAR, interrupted_run, sample_run
from typer.main import get_command
from variant_samples import run_with_variants

from tidegauge import store
from tidegauge.cli.main import app
from tidegauge.cli.options import overrides_of
from tidegauge.cli.planning import AttestRequest, attest_overrides
from tidegauge.comparison.compared_trials import sort_compared_trials
from tidegauge.config.fields import option_of
from tidegauge.model.attest import AttestVerdict, FileSystem, Scenario
from tidegauge.model.faults import Fault, FaultKind
from tidegauge.model.finding import Finding
from tidegauge.model.level import EarlierCuts
from tidegauge.model.load import ClockBound
from tidegauge.model.reason import Reason, ReasonKind
from tidegauge.model.tilt import Severity, Terms
from tidegauge.model.trial import LoadResult, SubscriptionResult, Validity
from tidegauge.model.use import Limiting, Resource
from tidegauge.model.workload import KeyFile, Keys
from tidegauge.report.html.answer import BAD, DOUBT, GOOD, answer
from tidegauge.report.html.disclosure import how_to_run_again, settings
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.page import index_page, plots_of, report_page
from tidegauge.report.html.sections import sections
from tidegauge.report.plots.model import Form, Mark, Scale
from tidegauge.report.plots.overview import overview
from tidegauge.store.read import StoredRun

PAGE_BYTES_MAX = 6_000_000


def page_of(path: Path) -> str:
    run = store.load_run(path)
    return report_page(run, store.details_of(run))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def page(sample: Path) -> str:
    return page_of(sample)


class _Elements(HTMLParser):
    """Every element with its attributes, and the text outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text.append(data)


def elements(page: str) -> _Elements:
    parser = _Elements()
    parser.feed(page)
    return parser


def requested(page: str) -> Iterator[str]:
    """Everything that a browser would fetch, or follow out of the page."""
    for tag, attributes in elements(page).found:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action", "poster"):
            if name in attributes and not attributes[name].startswith("#"):
                yield f"{tag} {name}={attributes[name]}"
    yield from re.findall(r"url\((?!#)[^)]*\)|@import[^;]*", page)


def handlers(page: str) -> list[str]:
    return [name for _, attributes in elements(page).found for name in attributes if name.startswith("on")]


def scripts(page: str) -> list[dict[str, str]]:
    found = (attributes for tag, attributes in elements(page).found if tag == "script")
    return [script for script in found if script.get("type") != "application/json"]


def test_the_key_of_pictures_has_the_systems_that_are_drawn(tmp_path: Path) -> None:
    """Of a run that was cut off before its second system had a result: that has a mark where its seconds are alone."""
    run = store.load_run(interrupted_run(tmp_path))
    page = report_page(run, store.details_of(run))
    keys = re.findall(r'<p class="keys".*?</p>', page, re.DOTALL)
    assert [(KAFKA in key, PULSAR in key) for key in keys] == [*[(True, False)] * 3, (False, True)]


def test_the_answer_stands_before_everything_else(page: str) -> None:
    words = " ".join(" ".join(elements(page).text).split())
    order = (
        "52,000 msg/s", "messages checked: lost 0, duplicated 0", "Response time against load",
        "What this does not say", "tidegauge run campaign.yaml --repeat 2", "Bar: the confirmed rate",
        "Every trial, the discarded", "Save this as campaign.yaml",
    )  # fmt: skip
    places = [words.index(word) for word in order]
    assert places == sorted(places)
    (verdict,) = re.findall(r"<dd>(Sustainable rate: [^<]*)</dd>", page)
    assert "52,000 msg/s" in verdict


def test_all_but_the_first_screen_is_folded_under_a_name_of_its_own(page: str) -> None:
    folded = [one for tag, one in elements(page).found if tag == "details" and one.get("class") == "fold"]
    assert {"experiment-1", "machine", "behind", "trials", "durability", "settings", "reproduce"} <= {
        part["id"] for part in folded
    }
    assert not any("open" in part for part in folded)
    links = {one["href"][1:] for tag, one in elements(page).found if tag == "a" and one["href"].startswith("#")}
    assert links <= {one["id"] for _, one in elements(page).found if "id" in one}


def test_it_says_what_speaks_against_the_figures(page: str) -> None:
    for words in ("level 3 for every measured system", "0 lost, 0 duplicated", "1 thing to know"):
        assert words in page, words


def test_everything_is_disclosed(page: str, sample: Path) -> None:
    run = store.load_run(sample)
    for trial in run.trials:
        assert f'<th scope="row">{trial.trial_id}</th>' in page
    for words in (
        "flush.messages",
        "num.io.threads",
        "linger.ms",
        "-Xmx1g",
        "0123456789abcdef",
        "same-acks",
        "fdatasync",
    ):
        assert words in page, words
    assert "tidegauge run campaign.yaml --repeat 2" in page
    assert "systems: [kafka, pulsar]" in page


def test_trials_with_other_settings_are_reported(sample: Path) -> None:
    run = store.load_run(sample)
    details = store.details_of(run)
    (same, _) = settings(run, details)
    assert same.differences == ()
    last = [trial.trial_id for trial in run.trials if trial.spec is not None and trial.spec.system == KAFKA][-1]
    known = details[last].disclosed
    assert known is not None
    other = replace(known, settings={**known.settings, ("server", "broker 1", "num.io.threads"): "9"})
    (changed, _) = settings(run, {**details, last: replace(details[last], disclosed=other)})
    assert changed.differences == (f"{last}: broker: num.io.threads = 9",)
    more = replace(known, settings={**known.settings, ("server", "broker 1", "log.cleaner.threads"): "2"})
    (added, _) = settings(run, {**details, last: replace(details[last], disclosed=more)})
    assert added.differences == (f"{last}: broker: log.cleaner.threads = 2",)
    (lacking, _) = settings(run, {**details, added.trial_id: replace(details[added.trial_id], disclosed=more)})
    assert f"{last}: broker: log.cleaner.threads = not there" in lacking.differences
    alone = {**known.settings, ("client", "consumer of this trial", "fetch.min.bytes"): "1"}
    (with_readers, _) = settings(
        run, {**details, last: replace(details[last], disclosed=replace(known, settings=alone))}
    )
    assert with_readers.differences == (), "what other clients have is no other setting"


def test_trials_whose_settings_were_not_read_are_not_said_to_have_the_same(sample: Path) -> None:
    run = store.load_run(sample)
    details = store.details_of(run)
    last = [trial.trial_id for trial in run.trials if trial.spec is not None and trial.spec.system == KAFKA][-1]
    (unread, _) = settings(run, {**details, last: replace(details[last], settings={})})
    alike = "its others had the same, apart from ports and directories"
    assert unread.unread_words == f"No settings were read back in 1 trial; {alike}."


def test_how_to_do_it_again(sample: Path) -> None:
    run = store.load_run(sample)
    wanted = overrides_of("4", ["kafka,pulsar@4.2.4"], 3, None, price=None, thresholds=["lost == 0", "msgs_per_s > 5"])
    given = replace(run, overrides=wanted, terms=Terms((), (), True))
    options = "--level 4 --systems kafka --systems pulsar@4.2.4 --repeat 3"
    asked = "--threshold 'lost == 0' --threshold 'msgs_per_s > 5'"
    assert how_to_run_again(given, []).command == f"tidegauge run campaign.yaml {options} {asked} --allow-unequal"
    omb = how_to_run_again(run, ["driver-kafka.yaml", "workload-1-topic.yaml"]).command
    assert omb == "tidegauge omb omb/workload-1-topic.yaml --driver omb/driver-kafka.yaml"


def test_the_command_works_from_anywhere_while_the_campaign_is_where_it_was(sample: Path, tmp_path: Path) -> None:
    run = store.load_run(sample)
    assert how_to_run_again(replace(run, campaign_path=str(tmp_path / "gone.yaml")), []).here == ""
    path = tmp_path / "orders.yaml"
    path.write_text(run.campaign_text)
    there = how_to_run_again(replace(run, campaign_path=str(path)), [])
    assert there.here == f"tidegauge run {path} --repeat 2"
    assert (there.command, there.file) == ("tidegauge run campaign.yaml --repeat 2", "campaign.yaml")


def test_every_option_that_replaces_a_value_of_a_campaign_is_one_of_run() -> None:
    wanted = overrides_of("4", ["kafka"], 3, [Path("/mnt")], price="1", thresholds=["lost == 0"])
    wanted |= overrides_of("4", ["kafka"], 3, [Path("/a"), Path("/b")], price="1", thresholds=["lost == 0"])
    known = {name for parameter in get_command(app).commands["run"].params for name in parameter.opts}
    assert {option_of(key) for key in (*wanted, "scale")} <= known
    assert option_of("unheard-of") not in known


def test_how_to_do_an_older_run_again(sample: Path) -> None:
    wording = {"overrides": {"systems": "['kafka', 'pulsar@4.2.4']", "durability": "4"}}
    older = replace(store.load_run(sample), environment={"campaign": wording})
    assert (
        how_to_run_again(older, []).command
        == "tidegauge run campaign.yaml --systems kafka --systems pulsar@4.2.4 --level 4"
    )
    hostile = replace(older, environment={"campaign": {"overrides": {"systems": "a; rm -rf /"}}})
    assert how_to_run_again(hostile, []).command == "tidegauge run campaign.yaml --systems 'a; rm -rf /'"


def test_other_files_that_a_run_needs_are_named(sample: Path) -> None:
    run = store.load_run(sample)
    assert how_to_run_again(run, []).needs == ()
    workload = run.planned[0].workload
    given = replace(
        workload,
        payload=replace(workload.payload, file="/data/orders.jsonl"),
        keys=Keys.FROM_FILE,
        key_file=KeyFile("/data/users.txt", 3, 2, 0.5),
    )
    planned = tuple(replace(spec, workload=given) for spec in run.planned)
    attached = replace(run, planned=planned, overrides={"attach": "/home/me/ours.yaml", "repeat": 3})
    assert how_to_run_again(attached, []).needs == ("/home/me/ours.yaml", "/data/orders.jsonl", "/data/users.txt")
    page = report_page(attached, store.details_of(attached))
    assert "it needs these as well: /home/me/ours.yaml, /data/orders.jsonl, /data/users.txt:" in page


def test_how_to_attest_again(sample: Path) -> None:
    scenarios = ("leader", "rolling")
    asked = AttestRequest("kafka", 4, "bypass", 3, 5, scenarios, True, FileSystem.XFS, False, 7)
    run = store.load_run(sample)
    assert how_to_run_again(replace(run, overrides=attest_overrides(asked)), []).command == (
        "tidegauge attest kafka --level 4 --form bypass --nodes 3 --cuts 5 --scenario leader --scenario rolling "
        "--file-system xfs --seed 7 --second-cut"
    )
    crashed = replace(asked, form="", second_cut=False, crash=True, seed=None)
    assert how_to_run_again(replace(run, overrides=attest_overrides(crashed)), []).command == (
        "tidegauge attest kafka --level 4 --nodes 3 --cuts 5 --scenario leader --scenario rolling --crash"
    )


def test_every_plot_has_a_title_words_points_and_a_table(page: str) -> None:
    found = elements(page).found
    figures = [attributes["id"] for tag, attributes in found if tag == "figure"]
    assert len(figures) > 25
    assert page.count("<svg viewBox") >= len(figures)
    canvases = [attributes for tag, attributes in found if attributes.get("class") == "canvas"]
    ids = {attributes["id"] for _, attributes in found if "id" in attributes}
    for canvas in canvases:
        assert {canvas["aria-labelledby"], canvas["aria-describedby"]} <= ids
        assert canvas["tabindex"] == "0"
    points = re.findall(r'<script type="application/json" class="points">(.*?)</script>', page)
    assert len(points) == len(figures)
    assert all(json.loads(point) for point in points)


def test_units_stand_with_the_figures_of_a_picture(page: str) -> None:
    assert page.count("The figures are: ") == page.count("<figure")
    assert "The figures are: response p99, ms." in page
    assert "cores, all server processes together" not in page, "nobody looked"


def test_systems_are_named_beside_all_plots_that_are_printed(page: str) -> None:
    printed = re.findall(r'<div class="paper">(.*?)</div>\s*<div class="plots">', page, re.DOTALL)
    assert len(printed) == page.count('<div class="plots">') > 3
    assert all(KAFKA in keys and PULSAR in keys for keys in printed)


def test_a_sweep_of_searches_is_a_sentence_with_a_list(tmp_path: Path) -> None:
    page = page_of(search_of_a_sweep(tmp_path))
    listed = re.findall(r'<ul class="each">(.*?)</ul>', page)
    assert [one.count("<li>At partitions=") for one in listed] == [6]
    assert "<summary>Each of 6 points</summary>" in page
    (verdict,) = re.findall(r"<dd>(Sustainable rate over 6 points: [^<]*)<details", page)
    assert "Kafka 40,000 (partitions=2000, durability=1) to 605,000 msg/s (partitions=100, durability=2)" in verdict
    assert verdict.count("durability=2 bypass") == 1, "Pulsar's form is none of Kafka's"


def test_no_id_stands_twice(page: str) -> None:
    ids = [attributes["id"] for _, attributes in elements(page).found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_nothing_is_fetched(page: str) -> None:
    assert list(requested(page)) == []
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_fetching_would_be_noticed() -> None:
    page = '<img src="https://x/y.png"><style>a { background: url(z.png) }</style><a href="#here">'
    assert list(requested(page)) == ["img src=https://x/y.png", "url(z.png)"]


def test_the_policy_allows_the_one_script_and_no_other(page: str) -> None:
    (text,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert len(scripts(page)) == 1


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    page = page_of(sample_run(tmp_path, "hostile", HOSTILE, trials=1))
    assert len(scripts(page)) == 1
    assert handlers(page) == []
    assert not [tag for tag, _ in elements(page).found if tag in ("img", "textarea")]
    shown = "".join(elements(page).text)
    assert shown.count("alert(1)") >= 6  # campaign, settings, flags, notes, warnings, levels: shown, not run


def test_injection_would_be_noticed() -> None:
    assert len(scripts(f"<p>{HOSTILE}</p>")) == 1
    assert handlers(f"<p>{HOSTILE}</p>") == ["onerror"]


def test_it_is_small(page: str) -> None:
    assert len(page.encode()) < PAGE_BYTES_MAX / 4


def test_an_interrupted_run_says_so_and_shows_what_there_is(tmp_path: Path) -> None:
    page = page_of(interrupted_run(tmp_path))
    assert "Run interrupted: 1 of 2 trials finished" in page
    assert "No figure of it is a result." in page
    assert page.count("<figure") > 5


def test_a_run_without_anything_has_a_page(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "empty", "name: empty\n")
    run.finish("failed", "No network.")
    page = page_of(run.path)
    assert "No trial has finished, so there is no answer" in page
    assert "No network." in page


class TestAnswer:
    def test_unequal_terms_come_first(self, sample: Path) -> None:
        run = store.load_run(sample)
        (tilt,) = run.terms.advice
        unequal = replace(run, terms=Terms((replace(tilt, severity=Severity.UNEQUAL),), (), True))
        found = answer(unequal)
        assert found.headline.startswith("UNEQUAL")
        assert "not on equal terms" in found.warning
        assert [badge.state for badge in found.badges if "UNEQUAL" in badge.text] == [BAD]

    def test_loss_is_bad_and_named(self, sample: Path) -> None:
        run = store.load_run(sample)
        assert [badge.state for badge in answer(run).badges if "checked" in badge.text] == [GOOD]
        badges = answer(changed(run, subscriptions=lambda result: (replace(result.subscriptions[0], lost=7),))).badges
        assert [(badge.state, "lost 7" in badge.text) for badge in badges if "checked" in badge.text] == [(BAD, True)]

    def test_what_was_not_received_yet_may_be_lost(self, sample: Path) -> None:
        def behind(result: LoadResult) -> tuple[SubscriptionResult, ...]:
            return (replace(result.subscriptions[0], backlog=9),)

        run = changed(store.load_run(sample), subscriptions=behind)
        (badge,) = [badge for badge in answer(run).badges if "checked" in badge.text]
        assert badge.state == DOUBT
        assert badge.sentence.endswith("whether messages were lost there is not known.")

    def test_that_some_are_known_to_be_lost_does_not_account_for_the_others(self, sample: Path) -> None:
        def behind(result: LoadResult) -> tuple[SubscriptionResult, ...]:
            (sub,) = result.subscriptions
            return replace(sub, lost=1, backlog=1), replace(sub, name="sub-1", backlog=900)

        run = changed(store.load_run(sample), subscriptions=behind)
        (badge,) = [badge for badge in answer(run).badges if "checked" in badge.text]
        assert badge.state == BAD
        assert "not all received" in badge.text
        assert badge.sentence.endswith("whether more were lost there is not known.")

    def test_what_limited_the_generator_is_a_badge(self, sample: Path) -> None:
        calm = changed(store.load_run(sample), every=True, warnings=lambda _: (), limiting=limited(Resource.OFFERED))
        states = {
            resource: next(
                badge for badge in answer(changed(calm, limiting=limited(resource))).badges if "enerator" in badge.text
            )
            for resource in (Resource.CLIENT_CPU, Resource.HOST_CPU, Resource.DISK)
        }
        assert [badge.state for badge in states.values()] == [DOUBT, DOUBT, GOOD]
        assert states[Resource.CLIENT_CPU].text.startswith("Generator limited 1 of")

    def test_a_generator_that_was_late_is_bad_where_that_spoilt_a_trial(self, sample: Path) -> None:
        run = store.load_run(sample)
        late = {
            "reasons": lambda _: reasons_of("the load generator itself was late: its own lag", kind=ReasonKind.OWN_LAG),
            "validity": lambda _: Validity.INVALID,
        }
        (badge,) = [badge for badge in answer(changed(run, **late)).badges if "enerator" in badge.text]
        assert (badge.state, badge.text[:25]) == (BAD, "Generator was late in 1 o")
        first = changed(
            run,
            warnings=lambda _: (
                Reason(ReasonKind.GENERATOR_FIRST, "producers waited for the system 3% of the time only"),
            ),
        )
        assert any(badge.text.startswith("Generator limited 1 of") for badge in answer(first).badges)

    def test_a_clock_that_ran_backwards_is_bad(self, sample: Path) -> None:
        run = store.load_run(sample)
        back = changed(run, subscriptions=lambda result: (replace(result.subscriptions[0], negative_latency=3),))
        states = [[badge.state for badge in answer(each).badges if "lock" in badge.text] for each in (run, back)]
        assert states == [[GOOD], [BAD]]

    def test_clocks_of_several_hosts_are_not_called_one(self, sample: Path) -> None:
        run = store.load_run(sample)
        bound = ClockBound(1, 2, 7_200_000_000_000 - 30_000, 7_200_000_000_000 + 54_000)
        (badge,) = [badge for badge in answer(changed(run, clocks=lambda _: (bound,))).badges if "lock" in badge.text]
        assert (badge.state, badge.text) == (GOOD, "Clocks known to \u00b142 us")
        (badge,) = [badge for badge in answer(run).badges if "lock" in badge.text]
        assert badge.text == "One clock for all times"

    def test_a_level_that_cuts_refuted_is_bad(self, sample: Path) -> None:
        run = store.load_run(sample)
        wording = {"": "not attested", "attested: 0 lost in 9 cuts (all)": "attested", "REFUTED: 3 lost": "REFUTED"}
        for attested, words in wording.items():
            known = changed(
                run,
                every=True,
                level=lambda result, said=attested: replace(result.level, attested=EarlierCuts.from_text(said)),
            )
            (badge,) = [badge for badge in answer(known).badges if badge.text.startswith("Level 3")]
            assert words in badge.text
            assert (badge.state == BAD) == ("REFUTED" in attested)

    def test_cuts_that_lost_what_the_level_allows_and_cuts_of_others_refute_nothing(self, sample: Path) -> None:
        allowed = attestation(verdict=AttestVerdict.REFUTED, lost=90, losing_cuts=9, promised=False)
        refuted = attestation(verdict=AttestVerdict.REFUTED, lost=1, losing_cuts=1, scenario=Scenario.LEADER)
        findings = (
            Finding("a", "attest", "kafka@4.3.1", 0, True, (), refuted=True, attestations=(allowed, refuted)),
            Finding("b", "attest", "pulsar@4.2.4", 0, True, (), attestations=(attestation(),)),
        )
        badges = [badge.text for badge in answer(replace(store.load_run(sample), findings=findings)).badges]
        assert "REFUTED in 20 cuts: lost 1 acknowledged message" in badges

    def test_of_a_search_alone_its_confirmation_counts_and_not_its_steps(self, tmp_path: Path) -> None:
        badges = [badge.text for badge in answer(store.load_run(search_of_goals(tmp_path))).badges]
        assert "2 trials: 2 valid; and 4 steps of max-throughput" in badges, (
            "steps that were too fast are INVALID, which is what a search looks for"
        )

    def test_a_goal_that_is_open_is_named(self, tmp_path: Path) -> None:
        (verdict,) = answer(store.load_run(search_of_goals(tmp_path))).verdicts
        assert verdict.sentence.endswith("not decided for Pulsar (goal: prompt).")

    def test_what_it_does_not_say_depends_on_repeats(self, sample: Path) -> None:
        run = store.load_run(sample)
        first = tuple(trial for trial in run.trials if trial.spec is not None and trial.spec.block == 0)
        assert answer(run).unsaid[0].startswith("Repeated within one run")
        assert answer(replace(run, trials=first)).unsaid[0].startswith("One trial each")
        listed_twice = changed(run, every=True, spec=lambda result: replace(result.spec, block=0))
        assert answer(listed_twice).unsaid[0].startswith("One trial each"), "points and rates are no repeats"

    def test_a_search_says_what_was_sent_with_all_that_its_steps_tried(self) -> None:
        (sizing,) = answer(run_named("sizing")[0]).loads
        assert sizing.startswith("Load: 1 KiB messages, 1 topic x 1 partition or 1 topic x 2 partitions or ")
        assert len(answer(run_named("search-of-goals")[0]).loads) == 1
        assert answer(replace(run_named("sizing")[0], trials=(), planned=())).loads == ()


def changed(run: StoredRun, every: bool = False, **how: Callable[[LoadResult], object]) -> StoredRun:
    """The run with fields of its first result, or of all of them, computed anew."""
    trials = [
        replace(one, result=replace(one.result, **{name: make(one.result) for name, make in how.items()}))  # type: ignore[arg-type]
        if one.result is not None and (every or place == 0)
        else one
        for place, one in enumerate(run.trials)
    ]
    return replace(run, trials=tuple(trials))


def changed_where(run: StoredRun, applies: Callable[[LoadResult], bool], **spec: object) -> StoredRun:
    """The run with fields of the specs of some of its fixed loads changed."""
    trials = [
        replace(one, result=replace(one.result, spec=replace(one.result.spec, **spec)))
        if isinstance(one.result, LoadResult) and one.result.spec.experiment == "latency" and applies(one.result)
        else one
        for one in run.trials
    ]
    return replace(run, trials=tuple(trials))


def limited(resource: Resource) -> Callable[[LoadResult], Limiting]:
    return lambda _: Limiting(resource, "", 0.97, "busy")


class TestPicture:
    def test_it_has_each_systems_figure_each_trial_and_the_most_it_took(self, sample: Path) -> None:
        run = store.load_run(sample)
        picture = overview(run, [])
        assert picture is not None
        assert (picture.y.scale, picture.systems) == (Scale.LOG, (KAFKA, PULSAR))
        for system in (KAFKA, PULSAR):
            own = [series for series in picture.series if series.system == system]
            (limit,) = [series for series in own if series.mark is Mark.LIMITS]
            (pale,) = [series for series in own if series.minor]
            assert limit.x == (52_000.0,)
            assert len(pale.y) == 2
            assert set(pale.x) == {20_000.0}, "at the rate that was offered, not beside it"

    def test_an_invalid_trial_is_hollow_and_named(self, sample: Path) -> None:
        run = store.load_run(sample)
        spoilt = changed(replace(run, findings=()), every=True, validity=spoilt_if_pulsar)
        picture = overview(spoilt, [])
        assert picture is not None
        bold = {series.system: series for series in picture.series if series.mark is Mark.POINTS and not series.minor}
        assert {system: one.hollow for system, one in bold.items()} == {KAFKA: (False,), PULSAR: (True,)}
        assert bold[PULSAR].notes == ("INVALID",)

    def test_a_run_of_peaks_shows_rates_and_one_of_nothing_has_none(self, sample: Path) -> None:
        run = store.load_run(sample)
        peaks = tuple(trial for trial in run.trials if trial.spec is not None and trial.spec.experiment == "peak")
        picture = overview(replace(run, trials=peaks, findings=()), [])
        assert picture is not None
        assert picture.title == "Throughput, closed loop"
        assert overview(replace(run, trials=(), findings=()), []) is None

    def test_trials_in_which_more_went_on_than_load_are_not_among_ordinary_ones(self, sample: Path) -> None:
        run = store.load_run(sample)
        fault = Fault(FaultKind.PAUSE, 2.0, "leader", 1.5)
        second_block = changed_where(run, lambda result: result.spec.block == 1, faults=(fault,))
        picture = overview(second_block, [])
        assert picture is not None
        dots = [series for series in picture.series if series.mark is Mark.POINTS]
        assert [len(series.y) for series in dots] == [1, 1], "those of the trials without a fault"
        everyone = changed_where(run, lambda result: True, faults=(fault,))
        other = overview(replace(everyone, findings=()), [])
        assert other is not None
        assert {len(series.y) for series in other.series if series.minor} == {2}

    def test_variants_without_a_valid_trial_are_not_drawn_into_one_column_of_their_system(self) -> None:
        p99_ms = {"linger-0": (3.0, 3.3, 2.7), "linger-20": (23.0, 23.5, 22.6)}
        assert overview(run_with_variants(p99_ms), []) is not None
        assert overview(run_with_variants(p99_ms, validity=Validity.INVALID), []) is None

    def test_of_several_pictures_of_one_figure_the_first_says_that_there_are_more(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tidegauge.report.plots.sweep.POINTS_SHOWN_MAX", 5)
        picture = overview(store.load_run(sweep_of_three(tmp_path)), [])
        assert picture is not None
        assert picture.title == "Response p99 of kafka@4.3.1 by partitions and durability", "a heat map of each system"
        assert picture.reading.endswith("One of 3 such pictures of this run.")

    def test_charts_that_are_compared_have_one_scale(self, sample: Path) -> None:
        run = store.load_run(sample)
        details = store.details_of(run)
        spans = {
            plot.y.span
            for plot in plots_of(run, details)
            if plot.plot_id.startswith("02-latency-1-") and plot.y.form is Form.MS
        }
        assert len(spans) == 2
        assert None in spans  # Of resources, on an axis from zero.


def spoilt_if_pulsar(result: LoadResult) -> Validity:
    return Validity.INVALID if result.spec.system == PULSAR else result.validity


class TestIndex:
    def test_runs_with_links_to_their_reports(self, sample: Path) -> None:
        run = store.load_run(sample)
        page = index_page([index_row(run, "a b/report.html"), index_row(run, "")])
        assert '<a href="a b/report.html">' in page
        assert page.count("<tr><th") == 2 + 2, "two runs, and the heads of two tables"
        assert str(escape(answer(run).headline)) in page

    def test_hostile_names_stay_names(self, sample: Path) -> None:
        run = replace(store.load_run(sample), status=HOSTILE)
        page = index_page([index_row(run, "")])
        assert handlers(page) == []
        assert len(scripts(page)) == 1

    def test_a_missed_threshold_is_no_good_end(self, sample: Path) -> None:
        run = store.load_run(sample)
        missed, met = (
            index_row(replace(run, status="finished", thresholds=(text,)), "")
            for text in ("response_ms_p99 < 0.001", "msgs_per_s > 1")
        )
        assert (missed["state"], missed["status"]) == ("bad", "finished, threshold missed")
        assert '<td class="bad">finished, threshold missed</td>' in index_page([missed])
        assert "threshold missed" not in met["status"]

    def test_figures_of_every_experiment_can_be_sorted(self, sample: Path) -> None:
        run = store.load_run(sample)
        row = index_row(run, "")
        rows_expected = {
            (table.experiment, system) for table in sort_compared_trials(run.results) for system in table.systems
        }
        shown = {(line["experiment"], line["system"]): line for line in row["figures"]}
        assert rows_expected <= set(shown)
        peaks = [line for (experiment, _), line in shown.items() if experiment == "peak"]
        rate, *times = peaks[0]["cells"]
        assert float(rate[1]) > 0
        assert times == [("", "")] * 3, "times of a closed loop hide waiting"
        page = index_page([row])
        assert f'<td class="number" data-sort="{rate[1]}">{rate[0]}</td>' in page
        assert "response p99, ms" in page

    def test_one_run_is_no_runs(self, sample: Path) -> None:
        row = index_row(store.load_run(sample), "")
        assert "<h1>1 run</h1>" in index_page([row])
        assert "<h1>2 runs</h1>" in index_page([row, row])

    def test_no_runs(self) -> None:
        assert "There are no runs yet." in index_page([])


def table_of(page: str, caption: str) -> list[list[str]]:
    """The cells of a table, its heads first, as a reader sees them."""
    table = page.partition(f'<caption class="hidden">{caption}</caption>')[2].partition("</table>")[0]
    return [
        [unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.DOTALL)]
        for row in re.findall("<tr>.*?</tr>", table, re.DOTALL)
    ]


class TestHosts:
    def test_a_fleets_hosts_are_a_table_on_the_first_screen(self, tmp_path: Path) -> None:
        text = page_of(fleet(tmp_path))
        assert table_of(text, "Hosts") == [
            ["host", "runs", "CPUs", "memory", "data on", "link out/in, MB/s", "clock, us"],
            ["10.77.0.2", "node 1", "16", "64 GiB", "xfs on nvme1n1", "1,250/1,200", "-"],
            ["10.77.0.3", "node 2", "16", "64 GiB", "xfs on nvme1n1", "1,250/1,200", "-"],
            ["10.77.0.4", "node 3 and what belongs to no node", "16", "64 GiB", "xfs on nvme1n1", "1,250/1,200", "-"],
            ["10.77.0.5", "load generator 1", "8", "32 GiB", "-", "1,250/1,200", "\u00b19"],
            ["10.77.0.6", "load generator 2", "8", "32 GiB", "-", "0.12/0.12", "\u00b19"],
        ]
        assert text.index('id="hosts"') < text.index("<nav")
        assert "<details open><summary>5 hosts: 3 with servers, 2 with load generators</summary>" in text
        same = (
            "The same on all of them: processor Xeon Gold 6326, kernel Linux 6.1.0-28, clock source tsc and Tidegauge "
        )
        assert same in text
        # Once on the first screen: the table says it, and the sentence stands with how to reproduce it.
        assert text.count("node 3 and what belongs to no node on 10.77.0.4") == 1

    def test_what_differs_is_a_column_and_what_no_host_says_is_none(self, tmp_path: Path) -> None:
        path = fleet(tmp_path)
        kept = json.loads((path / "environment.json").read_text())
        for number, host in enumerate(kept["hosts"].values()):
            host["facts"]["kernel"] = f"Linux 6.{number % 2}"
            host["facts"]["disks"] = {"/dev/shm": {"file_system": "tmpfs", "in_memory": "tmpfs at /dev/shm"}}
            host["link"] = None
        (path / "environment.json").write_text(json.dumps(kept))
        heads, first, second, *_ = table_of(page_of(path), "Hosts")
        assert heads == ["host", "runs", "CPUs", "memory", "kernel", "data on", "clock, us"]
        assert first[4:6] == ["Linux 6.0", "tmpfs, in memory"]
        assert second[4] == "Linux 6.1"

    def test_many_are_shown_on_demand(self, tmp_path: Path) -> None:
        text = page_of(fleet_of_twenty(tmp_path))
        assert "<details><summary>20 hosts: 12 with servers, 8 with load generators</summary>" in text
        assert len(table_of(text, "Hosts")) == 21

    def test_the_host_of_the_command_is_one_where_load_generators_are_there(self, tmp_path: Path) -> None:
        path = fleet(tmp_path)
        kept = json.loads((path / "environment.json").read_text())
        for host in list(kept["hosts"])[3:]:
            del kept["hosts"][host]
        (path / "environment.json").write_text(json.dumps(kept))
        assert table_of(page_of(path), "Hosts")[-1][:3] == ["laptop", "load generator 1", "4"]

    def test_a_run_on_one_host_has_none(self, page: str) -> None:
        assert 'id="hosts"' not in page


@pytest.mark.parametrize("name", ["one-system", "search-of-goals", "sweep-of-levels", "variants"])
def test_no_heading_repeats_the_note_of_the_heading_above_it(name: str) -> None:
    run, details = run_named(name)
    page = report_page(run, details)
    notes = re.findall(r'<summary><h2>[^<]*</h2> <span class="note">([^<]*)</span></summary>\s*<h3>([^<]*)</h3>', page)
    assert not [note for note, heading in notes if note == heading]
    headings = re.findall(r'</h2> <span class="note">([^<]*)</span>|<h3>([^<]*)</h3>', page)
    shown = [note or heading for note, heading in headings]
    for section in sections(run, details):
        assert [part.title for part in section.parts] == [unescape(title) for title in shown[: len(section.parts)]], (
            "each part is named once"
        )
        shown = shown[len(section.parts) :]
