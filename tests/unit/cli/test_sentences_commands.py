"""Every sentence that a command prints beside its results: where it is said, and where it would be false."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from calibration_samples import calibration
from report_samples import ceilings, interrupted_run, sample_run
from run_samples import reading
from sentence_scenes import Scene, Stage, make_tests
from sentence_templates import Claim, claims_of, modules_of

from tidegauge import store
from tidegauge.campaign.run.recorded import Recorded
from tidegauge.cli import (
    comparing,
    doctor,
    ending,
    fleet,
    history,
    omb,
    one_line,
    ready,
    reports,
    reproducing,
    resuming,
    running,
)
from tidegauge.cli.main import run_command
from tidegauge.cli.options import RunOptions, WantedFiles
from tidegauge.comparison.regression import RegressionOutcome
from tidegauge.errors import AccessRefusedError, RunFailedError, TidegaugeError, UserError
from tidegauge.fleet import ray_node
from tidegauge.model.trial import Validity
from tidegauge.published.reproduction import CampaignOfReport

MODULES = [module for module in modules_of("cli") if module != "cli/planning.py"]
"""Those of `planning.py` are in `test_sentences_planning.py`."""
NO_SENTENCES = (
    # Examples in help, and what an argument is.
    "Example: ",
    "Examples:",
    "A run: a name or tag given to it",
    # What a run is called, the head of a file about a defect, and of what the program itself takes for granted.
    "{} examines no report",
    "Workload {} on driver {}",
    "tidegauge {}, Python {}",
    # The command to be copied on another host, and the option in a hint.
    "{} fleet check {}",
    "{} fleet join {} --token token",
    "Name this host's own: --address",
)
REFUSED = RunFailedError("The port 8080 is taken.")


class Heard:
    """An output that keeps what is said."""

    as_json, program = False, "tidegauge"

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.progress = SimpleNamespace(is_terminal=False, is_dumb_terminal=True)

    def say(self, text: str) -> None:
        self.said.append(text)

    alert = say

    def error(self, error: TidegaugeError, with_json: bool = True) -> None:
        self.said.append(error)

    def show(self, renderable: Any, content: Any) -> None:
        self.said.append(getattr(renderable, "text", renderable))


def heard(call: Callable[[Any], Any]) -> list[Any]:
    """What is said in a call, with the error that it raises."""
    out: Any = Heard()
    try:
        call(out)
    except TidegaugeError as error:
        out.said.append(error)
    return list(out.said)


def typed(*words: str) -> Scene:
    """What a command prints."""

    def scene(stage: Stage) -> Any:
        stage.patch.setenv("TIDEGAUGE_RUNS", str(stage.path / "runs"))
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            run_command(list(words))
        return text.getvalue()

    return scene


def listed(*, has_runs: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        if has_runs:
            interrupted_run(stage.path / "runs")
        return typed("runs")(stage)

    return scene


def cleaned(*notes: str) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr("tidegauge.agent.reap.clean_leftovers", lambda: list(notes))
        topics = SimpleNamespace(deleted=[], remaining=[])
        stage.patch.setattr(running, "leftover_topics", lambda *, forget: topics)
        return typed("clean")(stage)

    return scene


def served(address: str) -> Scene:
    def scene(stage: Stage) -> Any:
        server = SimpleNamespace(url=lambda: "http://host", serve=lambda: None)
        stage.patch.setattr("tidegauge.live.server.LiveServer", lambda *_: server)
        return heard(lambda out: reports.serve(stage.path, address, 0, out))

    return scene


def followed(error: RunFailedError | None) -> Scene:
    """What is said of the live page of a run, where it can't be served for a reason."""

    def scene(stage: Stage) -> Any:
        def server(*_: Any) -> Any:
            if error is not None:
                raise error
            return SimpleNamespace(start=lambda: None, live_url=lambda _: "http://host", close=lambda: None)

        stage.patch.setattr("tidegauge.live.server.LiveServer", server)
        stage.patch.setattr(sys.stdout, "isatty", lambda: False, raising=False)
        return heard(lambda out: reports._start_live_page(stage.path, out))

    return scene


def kept(*, can_draw: bool = True, error: TidegaugeError | None = None) -> Scene:
    """What is said at the end of a run of its report."""

    def scene(stage: Stage) -> Any:
        def write(*_: Any) -> None:
            if error is not None:
                raise error

        stage.patch.delenv(reports.SWITCH, raising=False)
        stage.patch.setattr(reports, "has_package", lambda _: can_draw)
        stage.patch.setattr(reports, "_write_report", write)
        run: Any = SimpleNamespace(path=stage.path)
        return heard(lambda out: reports.keep_report(run, out))

    return scene


def tabled(*, can_read: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        run = store.load_run(sample_run(stage.path, trials=1))
        if not can_read:
            for file in run.path.rglob("seconds.*"):
                file.write_bytes(b"no table")
        return heard(lambda out: reports._write_tables(run, stage.path / "tables", out))

    return scene


def indexed(*, has_report: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        path = interrupted_run(stage.path)
        if has_report:
            (path / store.REPORT_NAME).touch()
        return typed("index", "--runs-dir", str(stage.path))(stage)

    return scene


def resumed(*, fleet_file: str = "", is_finished: bool = False, dry_run: bool = False) -> Scene:
    """What is said as a run goes on whose plan has one trial with a result."""

    def scene(stage: Stage) -> Any:
        path = sample_run(stage.path) if is_finished else interrupted_run(stage.path)
        plan: Any = SimpleNamespace(trials=(), steps=())
        planned: Any = SimpleNamespace(
            plan=plan, terms=SimpleNamespace(refused=False), left_out=(), campaign=None,
            show=lambda *_: None,
        )  # fmt: skip
        notes: list[Any] = []

        @contextlib.contextmanager
        def nothing(*_: Any) -> Iterator[list[Any]]:
            yield []

        def run_prepared(_: Any, run: Any, out: Any, given: Any, *more: Any, **others: Any) -> None:
            notes.extend(given)

        for name, replacement in {
            "_same_campaign": lambda *_: SimpleNamespace(overrides={}),
            "prepare_campaign": lambda *_: planned,
            "recorded_of": lambda _: Recorded({}, (), (), {}, None, {}),
            "with_verdicts": lambda _, stored: stored,
            "write_wanted": lambda *_: None,
            "show_screen": lambda *_: 0,
            "await_agents": lambda *_: True,
            "disks_of": lambda _: ((), (), ()),
            "prometheus_observers": nothing,
            "live_page": nothing,
            "run_prepared": run_prepared,
            "show_end": lambda *_: 0,
            "meaning_of_campaign": lambda _: {},
        }.items():
            stage.patch.setattr(resuming, name, replacement)
        stage.patch.setattr(Recorded, "check_plan", lambda *_: None)
        stage.patch.setattr(store, "resume_run", lambda *_, **__: SimpleNamespace(path=path, write_meaning=print))
        stage.patch.setattr(resuming, "replace", lambda whole, **changes: SimpleNamespace(
            show=lambda *_: notes.extend(changes.get("left_out", ()))
        ))  # fmt: skip
        options: Any = SimpleNamespace(
            dry_run=dry_run, files=None, live=False, prometheus=None, prometheus_push=None, runs_directory=stage.path
        )
        said = heard(lambda out: resuming._resume_stored_run(path, None, options, out, fleet_file))
        return [*said, *notes]

    return scene


def begun_anew(status: str) -> Scene:
    """What is said before a campaign is run whose newest run ended so."""

    def scene(stage: Stage) -> Any:
        run = interrupted_run(stage.path)
        newest = replace(store.load_run(run), status=status, meaning={})
        stage.patch.setattr(store, "newest_run_of", lambda *_: newest)
        options: Any = SimpleNamespace(runs_directory=stage.path, prometheus=None, prometheus_push=None)

        @contextlib.contextmanager
        def refused(*_: Any) -> Iterator[list[Any]]:
            raise REFUSED
            yield []

        stage.patch.setattr(running, "prometheus_observers", refused)
        asked: Any = SimpleNamespace()
        return heard(lambda out: running.measure_campaign(asked, asked, options, out, "name: x\n"))

    return scene


def ended(validity: Validity) -> Scene:
    """What stands beside the JSON of a run whose trials are all so."""

    def scene(stage: Stage) -> Any:
        run = store.load_run(sample_run(stage.path, trials=1))
        trials = tuple(
            replace(trial, result=replace(trial.result, validity=validity)) if trial.result is not None else trial
            for trial in run.trials
        )

        def show(out: Any) -> None:
            out.as_json = True
            running.show_screen(replace(run, trials=trials), out)

        return [words for words in heard(show) if isinstance(words, str)]

    return scene


def interrupted(processes: int) -> Scene:
    def scene(stage: Stage) -> Any:
        children = [object()] * processes
        stage.patch.setattr(running.psutil, "Process", lambda _: SimpleNamespace(children=lambda recursive: children))
        return running._interruption_words([1])

    return scene


def left_fleet(*, was_in: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        node = SimpleNamespace(head="10.0.0.1:6379") if was_in else None
        stage.patch.setattr(ray_node, "running_node", lambda: node)
        stage.patch.setattr(ray_node, "end_node", list)
        return typed("fleet", "down")(stage)

    return scene


def joined_by_ssh(*, runs_here: bool = True, joins: bool = True) -> Scene:
    """A host that joins over ssh, or has nobody who answers, the head of a fleet that runs here already or not."""

    def scene(stage: Stage) -> Any:
        node = ray_node.RayNode("10.0.0.1", "10.0.0.1:6379", "controller", "mark", "/tmp/x")
        stage.patch.setenv("TIDEGAUGE_STATE", str(stage.path / "state"))
        stage.patch.setattr(ray_node, "running_node", lambda: node if runs_here else None)
        stage.patch.setattr(ray_node, "own_address", lambda: "10.0.0.1")
        stage.patch.setattr(ray_node, "start_node", lambda *_: node)
        ray_node.make_token()
        (stage.path / "hosts.txt").write_text("10.0.0.2 server\n")
        ssh = "/bin/true" if joins else "/bin/false"
        return typed("fleet", "up", str(stage.path / "hosts.txt"), "--program", "tidegauge", "--ssh", ssh)(stage)

    return scene


def began_fleet(*, can_begin: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        def start(*_: Any, **__: Any) -> Any:
            raise REFUSED

        stage.patch.setattr(ray_node, "start_node", start)
        addresses = ["10.0.0.1"] if can_begin else []
        stage.patch.setattr(ray_node, "own_addresses", lambda: addresses)
        if not can_begin:
            return heard(lambda _: fleet._checked_address("10.0.0.9"))
        return heard(lambda out: fleet._start_ray("10.0.0.1:6379", "10.0.0.1", "server", out))

    return scene


def addressed(*own: str) -> Scene:
    def scene(stage: Stage) -> Any:
        stage.patch.setattr(ray_node, "own_addresses", lambda: list(own))
        return heard(lambda _: fleet._checked_address("10.0.0.9"))

    return scene


def past(*, can_draw: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        sample_run(stage.path, trials=1)
        stage.patch.setattr(history, "has_package", lambda _: can_draw)
        return heard(lambda out: history.show_history(stage.path, None, None, None, out))

    return scene


def against_earlier(*, is_there: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        sample_run(stage.path, trials=1)
        if is_there:
            time.sleep(1.0)  # Runs are told apart by the second in which they began.
            sample_run(stage.path, trials=1)
        return typed("compare", "--against", "latest", "--runs-dir", str(stage.path))(stage)

    return scene


def judged(outcome: RegressionOutcome, *, strict: bool = False) -> Scene:
    judgement: Any = SimpleNamespace(outcome=outcome)
    return lambda _: heard(lambda out: comparing._say_code(judgement, strict, out))


def examined(interruption: bool = False) -> Scene:
    """What `doctor` says meanwhile, or as it is interrupted."""

    def scene(stage: Stage) -> Any:
        @contextlib.contextmanager
        def interruptible(announce: Callable[[], None]) -> Iterator[None]:
            if interruption:
                announce()
            yield

        def measure(*given: Any) -> Any:
            given[3]("Disk", 5.0)
            return ceilings().ceilings

        patched: dict[str, Any] = {
            "interruptible": interruptible,
            "measure_ceilings": measure,
            "keep_ceilings": lambda _: None,
            "keep_calibrations": lambda _: None,
            "calibrate": lambda *_: [calibration()],
            "clean_leftovers": list,
        }
        for name, replacement in patched.items():
            stage.patch.setattr(doctor, name, replacement)
        host = SimpleNamespace(track_directory=None)
        stage.patch.setattr(doctor.LocalHost, "open", lambda: contextlib.nullcontext(host))
        return heard(lambda out: doctor.examine([stage.path], stage.path, out, measures=True))

    return scene


def looked_at(_: Stage) -> Any:
    return heard(lambda out: doctor.examine([Path("/")], Path("/"), out, measures=False))


def crashed(stage: Stage) -> Any:
    return ending.error_of_crash(ValueError("no such thing"), stage.path)


def fetched(*errors: UserError | None) -> Scene:
    """What is said where files of systems could not be fetched, for these reasons."""

    def scene(stage: Stage) -> Any:
        left = iter(errors)

        def fetch(*_: Any) -> Any:
            if (error := next(left)) is not None:
                raise error
            return {}

        stage.patch.setattr(ready, "_fetch_one", fetch)
        return heard(lambda out: ready.fetch_systems(["kafka", "pulsar"][: len(errors)], out))

    return scene


def results_of_omb(*, confirmed: bool, reads: bool = False) -> Scene:
    """Why there is no JSON for OMB of a run of searches alone, whose rate was confirmed or not."""

    def scene(stage: Stage) -> Any:
        run = store.load_run(sample_run(stage.path, trials=1))
        run = replace(run, findings=() if not confirmed else run.findings)
        stage.patch.setattr(omb, "_trials_with_figures", lambda _: {})
        trials = tuple(replace(trial, reason="", result=reading() if reads else trial.result) for trial in run.trials)
        run = replace(run, trials=trials, reason="ended" * confirmed)
        translation: Any = SimpleNamespace()
        return omb._write_results(translation, run, None, None)[1]  # type: ignore[arg-type]

    return scene


def cluster(
    *,
    by_default: int = 0,
    nodes: int = 3,
    file: str = "",
    answers: bool = True,
    keeps_out: bool = False,
    takes_properties: bool = True,
) -> Scene:
    """What is said of the partitions of an attached cluster, or of one that does not answer."""

    def scene(stage: Stage) -> Any:
        def ask(*_: Any) -> Any:
            if keeps_out:
                raise AccessRefusedError("wrong password")
            if not answers:
                raise RunFailedError("connection refused")
            return SimpleNamespace(settings=(), nodes=nodes)

        system = SimpleNamespace(
            partitions_by_default=lambda _: by_default,
            default_version="4.3.1",
            name="kafka",
            client_properties=lambda *_: () if takes_properties else None,
        )
        stage.patch.setattr(one_line, "cluster_book", lambda: SimpleNamespace(ask=ask))
        stage.patch.setattr(one_line, "label_of_system", lambda *_: "kafka@attached")
        composed: Any = SimpleNamespace(system=system, put=lambda *_: None)
        campaign: Any = SimpleNamespace(systems=[SimpleNamespace(attach=object())])
        said: list[Any] = []
        path = Path(file) if file else None
        errors = heard(lambda _: said.append(one_line._take_partitions(composed, campaign, path)))
        return [*said, *errors]

    return scene


def reproduced(*states: str, code: int = 0) -> Scene:
    """What is said as campaigns of a report are run, an hour each, whose runs have these states; "" of none."""

    def scene(stage: Stage) -> Any:
        planned: Any = [
            SimpleNamespace(campaign=None, facts=CampaignOfReport(f"campaign-{number}", 1, seconds_expected=3600.0))
            for number in range(len(states))
        ]
        runs: Any = {
            f"campaign-{number}": SimpleNamespace(status=state, path=stage.path, can_go_on=False)
            for number, state in enumerate(states)
            if state
        }
        for name, came in {
            "_plan_campaigns": planned,
            "_tag_to_resume": "streamnative-2020-2026",
            "_runs_of_tag": runs,
            "_refuse_other_terms": None,
            "reproduction_plan": "",
            "run_parsed": code,
            "_examine_reproduction": 0,
        }.items():
            stage.patch.setattr(reproducing, name, lambda *_, came=came: came)
        wishes = reproducing.Wishes((), {}, None, resume=True)
        options = RunOptions(stage.path, WantedFiles(), dry_run=False)
        return heard(lambda out: reproducing.reproduce_report("streamnative-2020", wishes, options, out))

    return scene


def planned_report(stage: Stage) -> Any:
    def refuse(*_: Any) -> Any:
        raise REFUSED

    stage.patch.setattr(reproducing, "_plan_campaigns", refuse)
    wishes: Any = SimpleNamespace(only=())
    return heard(lambda out: reproducing.reproduce_report("streamnative-2020", wishes, wishes, out))


def reexamined(*, has_results: bool) -> Scene:
    def scene(stage: Stage) -> Any:
        runs = {"a": SimpleNamespace(path=stage.path, results=(1,))} if has_results else {}
        stage.patch.setattr(reproducing, "_runs_of_tag", lambda *_: runs)
        stage.patch.setattr(reports, "examined_report", lambda *_: None)
        stage.patch.setattr(reports, "show_report", lambda *_: None)
        return heard(lambda out: reproducing._examine_reproduction("streamnative-2020", "tag", stage.path, out))

    return scene


def newest(*scales: str) -> Scene:
    """Runs of a report's campaigns at these scales, the newest last."""

    def scene(stage: Stage) -> Any:
        runs = [
            SimpleNamespace(
                name=f"campaign-{number}",
                results=(SimpleNamespace(spec=SimpleNamespace(experiment="peak", system="a", choice=1, point={})),),
                published=SimpleNamespace(report="streamnative-2020", scale=scale),
            )
            for number, scale in enumerate(scales)
        ]
        stage.patch.setattr(reports.store, "list_runs", lambda *_: runs)
        return heard(lambda out: reports._newest_runs_of_report("streamnative-2020", stage.path, out))

    return scene


SCENES: dict[str, Scene] = {
    "judged: regressed": judged(RegressionOutcome.REGRESSED, strict=True),
    "judged: undecided": judged(RegressionOutcome.NOT_DECIDED),
    "judged: undecided, strictly": judged(RegressionOutcome.NOT_DECIDED, strict=True),
    "a report planned": planned_report,
    "a report, its first campaign finished": reproduced("finished", ""),
    "a report, its campaigns finished": reproduced("finished", "finished"),
    "a report, its last campaign finished": reproduced("", "finished"),
    "a report, interrupted": reproduced("", code=130),
    "a report without results": reexamined(has_results=False),
    "a report with results": reexamined(has_results=True),
    "runs of a report at one scale": newest("brief", "brief"),
    "runs of a report at two scales": newest("shares", "brief"),
    "no runs": listed(has_runs=False),
    "a run": listed(has_runs=True),
    "nothing left": cleaned(),
    "something left": cleaned("Removed the network ab12, left by an earlier run."),
    "an unknown verb": typed("measure"),
    "an unknown key of bench": typed("bench", "kafka", "localhost:9092", "--compression", "lz4"),
    "an unknown scenario": typed("attest", "kafka", "--scenario", "leaders"),
    "an unknown port": typed("serve", "--port", "many"),
    "an unknown campaign": typed("run", "no-such-campaign"),
    "serve here": served("127.0.0.1"),
    "serve to all": served("0.0.0.0"),
    "a live page": followed(None),
    "no live page": followed(REFUSED),
    "a report": kept(),
    "a report, without matplotlib": kept(can_draw=False),
    "a report on a full disk": kept(error=RunFailedError("The disk is full.")),
    "tables": tabled(can_read=True),
    "tables of damaged seconds": tabled(can_read=False),
    "a list of a run with a report": indexed(has_report=True),
    "a list of a run without a report": indexed(has_report=False),
    "resumed": resumed(),
    "resumed on another fleet": resumed(fleet_file="fleet.yaml"),
    "resumed, finished": resumed(is_finished=True),
    "resumed, a plan": resumed(dry_run=True),
    "run after an interruption": begun_anew("interrupted"),
    "run after a finished one": begun_anew("finished"),
    "an end, INVALID": ended(Validity.INVALID),
    "an end": ended(Validity.VALID),
    "interrupted amid processes": interrupted(3),
    "interrupted before any process": interrupted(0),
    "joined by ssh": joined_by_ssh(),
    "joined by ssh, with a new head": joined_by_ssh(runs_here=False),
    "not joined by ssh": joined_by_ssh(joins=False),
    "out of the fleet": left_fleet(was_in=True),
    "never in a fleet": left_fleet(was_in=False),
    "a fleet begun": began_fleet(can_begin=True),
    "a host with another address": addressed("10.0.0.1"),
    "a host without addresses": addressed(),
    "history": past(can_draw=True),
    "history, without matplotlib": past(can_draw=False),
    "the first night": against_earlier(is_there=False),
    "the second night": against_earlier(is_there=True),
    "examined": examined(),
    "examined and interrupted": examined(interruption=True),
    "looked at": looked_at,
    "a defect": crashed,
    "a refused port": lambda _: REFUSED,
    "two fetched": fetched(None, None),
    "one of two fetched": fetched(None, UserError("not found.", "Check the version.")),
    "no rate": results_of_omb(confirmed=False),
    "a run that read": results_of_omb(confirmed=False, reads=True),
    "no JSON for OMB": lambda _: omb._words_on_results([], "no rate was confirmed"),
    "JSON for OMB": lambda _: omb._words_on_results([Path("workload-kafka.json")], ""),
    "a run that ended": results_of_omb(confirmed=True),
    "a cluster with a default": cluster(by_default=6),
    "a cluster without a default": cluster(),
    "a silent cluster": cluster(answers=False),
    "a cluster that keeps out": cluster(keeps_out=True),
    "a cluster that keeps out who a file says": cluster(keeps_out=True, file="clusters.yaml"),
    "a cluster that keeps out, of a system without such files": cluster(keeps_out=True, takes_properties=False),
    "a silent cluster of a file": cluster(answers=False, file="clusters.yaml"),
}
CLAIMS = [
    Claim("Exit code {}: a figure got worse by", "judged: regressed", "judged: undecided, strictly"),
    Claim("Exit code {}: not everything could be", "judged: undecided, strictly", "judged: undecided"),
    Claim("Not decided: there is no earlier", "the first night", "the second night"),
    *claims_of("examined", "looked at", "{} ... (about {} left)", "What one load generator can make"),
    Claim("What this machine allows ...", "looked at", "a refused port"),
    Claim("Interrupted: removing what was", "examined and interrupted", "examined"),
    *claims_of("a defect", "a refused port", "Tidegauge itself failed", "This is a defect, not your mistake"),
    Claim("starting the head on {}", "joined by ssh, with a new head", "joined by ssh"),
    Claim("{}: joined as {}", "joined by ssh", "not joined by ssh"),
    Claim("{} of {} joined {}.", "not joined by ssh", "never in a fleet"),
    Claim("This host is no longer in", "out of the fleet", "never in a fleet"),
    Claim("starting Ray on {}", "a fleet begun", "a host with another address"),
    Claim("none but that of loopback", "a host without addresses", "a host with another address"),
    Claim("No page was written. For one", "history, without matplotlib", "history"),
    Claim("There are no runs in {} yet", "no runs", "a run"),
    Claim("Nothing was left behind.", "nothing left", "something left"),
    Claim("no rate was confirmed", "no rate", "a run that ended"),
    Claim("no rate was confirmed", "no rate", "a run that read"),
    Claim("OMB's fields are of messages that are sent", "a run that read", "no rate"),
    Claim("No JSON for OMB was written", "no JSON for OMB", "JSON for OMB"),
    Claim(
        "Check what {} says of encryption, and of who",
        "a cluster that keeps out who a file says",
        "a cluster that keeps out",
    ),
    Claim(
        "--client-properties FILE (that of the system's own tools), or ",
        "a cluster that keeps out",
        "a cluster that keeps out, of a system without such files",
    ),
    Claim(
        "Say in a file how clients get in: {}.", "a cluster that keeps out", "a cluster that keeps out who a file says"
    ),
    Claim("Check what {} says of it.", "a silent cluster of a file", "a silent cluster"),
    Claim("Check the address, and that", "a silent cluster", "a silent cluster of a file"),
    Claim("its default is {}, and it has {}", "a cluster with a default", "a cluster without a default"),
    Claim("{}: topics get {}", "a cluster without a default", "a silent cluster"),
    Claim("`tidegauge campaigns` lists", "an unknown campaign", "an unknown verb"),
    Claim("{}: could not be fetched: {}", "one of two fetched", "two fetched"),
    Claim("Planning {} of {} ...", "a report planned", "a report without results"),
    Claim("Campaign {} of {}: {} is finished", "a report, its first campaign finished", "a report, interrupted"),
    Claim(
        "Campaign {} of {}: {}; about {} left",
        "a report, its first campaign finished",
        "a report, its campaigns finished",
    ),
    Claim("To go on with the report: {}", "a report, interrupted", "a report, its last campaign finished"),
    Claim("No campaign has a result, so no", "a report without results", "a report with results"),
    Claim("Left out, since the newest run is at", "runs of a report at two scales", "runs of a report at one scale"),
    Claim("Runs in {}: {}", "serve here", "a live page"),
    Claim("Whoever has this address can", "serve to all", "serve here"),
    Claim("No live page: {}", "no live page", "a live page"),
    Claim("No report was written. For one", "a report, without matplotlib", "a report"),
    Claim("The report could not be written", "a report on a full disk", "a report"),
    Claim("The seconds of {} can't be read", "tables of damaged seconds", "tables"),
    Claim("{} without a report: make one", "a list of a run without a report", "a list of a run with a report"),
    Claim("Run {} is finished: there is", "resumed, finished", "resumed"),
    Claim(" It goes on with the fleet of {}.", "resumed on another fleet", "resumed"),
    *claims_of("resumed", "resumed, finished", "Session {} of this run: {}{}", "its {} {} kept."),
    Claim("This run resumes: {} A step", "resumed, a plan", "resumed"),
    Claim("The newest run of this campaign", "run after an interruption", "run after a finished one"),
    Claim("Exit code {}: {} {}", "an end, INVALID", "an end"),
    Claim("Interrupted: stopping {};", "interrupted amid processes", "interrupted before any process"),
    Claim("Interrupted: what was measured", "interrupted before any process", "interrupted amid processes"),
    Claim("`{} --help` lists {}.", "an unknown verb", "an unknown key of bench"),
    Claim("Such a key is given by: --set", "an unknown key of bench", "an unknown verb"),
    Claim("must be one of {}{}", "an unknown scenario", "an unknown port"),
    Claim("must be {}{}", "an unknown port", "an unknown verb"),
]
texts, test_every_sentence_is_listed, test_a_sentence_is_said_where_it_is_true_and_not_beside = make_tests(
    MODULES, SCENES, CLAIMS, NO_SENTENCES, may_be_silent=True
)


def test_every_scene_is_of_a_claim() -> None:
    assert SCENES.keys() == {scene for claim in CLAIMS for scene in (claim.true_in, claim.false_in)}


def test_the_time_left_for_a_report_is_that_of_campaigns_that_are_still_to_run(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        said = reproduced("", "finished", "")(Stage(tmp_path, patch))
    assert [words for words in said if "left for all" in words] == [
        "Campaign 1 of 3: campaign-0; about 2 h left for all",
        "Campaign 3 of 3: campaign-2; about 1 h left for all",
    ]
