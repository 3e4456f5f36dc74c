"""The live page's server: who may read, what it answers, and that it reads no more of a run than it must."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from http.client import HTTPConnection, HTTPResponse
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from report_samples import interrupted_run
from run_samples import reading, result, second, spec, totals
from schema_checks import check_content
from use_samples import SAMPLE
from worker_samples import second_of_several, several, totals_of_several

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.errors import RunFailedError
from tidegauge.experiments.procedure import seconds_expected
from tidegauge.live import server as live_server
from tidegauge.live import state as live_state
from tidegauge.live.server import Access, LiveServer, is_loopback
from tidegauge.live.state import RunFollower, run_seconds_left
from tidegauge.model.use import OtherHostUse
from tidegauge.store.seconds import last_seconds

TOKEN = "a-token-of-a-test"


class TestAccess:
    @pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:1", "LOCALHOST", "[::1]:9", "127.0.0.1"])
    def test_names_of_this_machine(self, host: str) -> None:
        assert Access("127.0.0.1", "").host_problem(host) == ""

    @pytest.mark.parametrize("host", ["evil.example:8000", "", "127.0.0.1.evil.example", "10.0.0.7:80"])
    def test_other_names_are_refused(self, host: str) -> None:
        assert "not one of its names" in Access("127.0.0.1", "").host_problem(host)

    def test_with_a_token_the_name_does_not_matter_but_the_token_does(self) -> None:
        access = Access("0.0.0.0", TOKEN)
        assert access.host_problem("bench.example:80") == ""
        assert access.is_permitted(TOKEN, "")
        assert access.is_permitted("", f"a=b; tidegauge-token={TOKEN}")
        for query, cookie in (("", ""), ("wrong", ""), ("", "tidegauge-token=wrong"), ("", "no;;=cookie")):
            assert not access.is_permitted(query, cookie)

    @pytest.mark.parametrize(
        ("address", "loopback"),
        [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("", False)],
    )
    def test_only_loopback_needs_none(self, address: str, loopback: bool) -> None:
        assert is_loopback(address) is loopback


@pytest.fixture
def going(tmp_path: Path) -> store.RunStore:
    """A run with a finished trial and one that is measuring."""
    run = store.create_run(tmp_path / "runs", "going", "name: going\n")
    first, now = spec(number=1), spec(system="pulsar@4.2.4", number=2)
    run.write_plan([first, now, spec(number=3)])
    done = run.open_trial(first)
    done.append_second(second())
    done.finish(result(first), totals())
    trial = run.open_trial(now)
    for number in range(3):
        trial.append_second(second(number))
    return run


@pytest.fixture
def server(going: store.RunStore) -> Iterator[LiveServer]:
    started = LiveServer(going.path.parent, "127.0.0.1", 0)
    started.start()
    yield started
    started.close()


def ask(server: LiveServer, path: str, **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


class TestServer:
    def test_the_state_of_a_run_that_goes(self, server: LiveServer, going: store.RunStore) -> None:
        answer, text = ask(server, f"/state/{going.path.name}")
        state = json.loads(text)
        assert answer.status == 200
        check_content(state)
        assert (state["run"]["trials_finished"], state["run"]["trials_planned"]) == (1, 3)
        assert [trial["status"] for trial in state["trials"]] == ["finished", "running"]
        assert state["trial"]["trial_id"] == "0002-latency-pulsar"
        assert [second["msgs_per_s"] for second in state["trial"]["seconds"]] == [19_990.0] * 3

    def test_a_trial_that_has_ended_is_shown_with_its_seconds_and_figures(
        self, server: LiveServer, going: store.RunStore
    ) -> None:
        _, text = ask(server, f"/state/{going.path.name}/0001-latency-kafka")
        state = json.loads(text)
        check_content(state)
        chosen = state["chosen"]
        assert (chosen["trial_id"], chosen["phase"], len(chosen["seconds"])) == ("0001-latency-kafka", "finished", 1)
        figures = {figure["name"]: figure["value"] for figure in chosen["figures"]}
        assert figures["validity"] == "valid"
        assert figures["response p99, ms"] == "7.80"
        assert state["trial"]["trial_id"] == "0002-latency-pulsar", "the newest stays known"
        for other in ("", "/0009-no-such-trial", "/main"):
            assert json.loads(ask(server, f"/state/{going.path.name}{other}")[1])["chosen"] is None
        assert ask(server, "/state/no-run/0001-latency-kafka")[0].status == 404

    def test_the_newest_trial_has_its_figures_once_it_has_ended(
        self, server: LiveServer, going: store.RunStore
    ) -> None:
        assert "figures" not in json.loads(ask(server, f"/state/{going.path.name}")[1])["trial"]
        newest = going.open_trial(spec(number=3))
        newest.append_second(second(), "measure")
        newest.finish(result(newest.spec), totals())
        for _ in range(2):  # Read once, and told again.
            state = json.loads(ask(server, f"/state/{going.path.name}")[1])
            check_content(state)
            figures = {figure["name"]: figure["value"] for figure in state["trial"]["figures"]}
            assert figures["response p99, ms"] == "7.80"

    def test_pages(self, server: LiveServer, going: store.RunStore) -> None:
        name = going.path.name
        answer, index = ask(server, "/")
        assert answer.status == 200
        assert f'href="/live/{name}"' in index
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Frame-Options"] == "DENY"
        _, live = ask(server, f"/live/{name}")
        assert f'data-state="/state/{name}"' in live
        assert "connect-src 'self'" in live
        (going.path / "report.html").write_text("written before")
        answer, text = ask(server, f"/report/{name}")
        assert text == "written before"
        assert answer.headers["Content-Security-Policy"].startswith("sandbox allow-scripts; default-src 'none'; ")

    def test_a_report_that_is_a_link_is_not_followed(
        self, server: LiveServer, going: store.RunStore, tmp_path: Path
    ) -> None:
        (tmp_path / "secret").write_text("nobody else's")
        (going.path / "report.html").symlink_to(tmp_path / "secret")
        answer, text = ask(server, f"/report/{going.path.name}")
        assert answer.status == 200
        assert "nobody else's" not in text
        assert "sandbox" in answer.headers["Content-Security-Policy"]

    def test_a_page_that_fails_is_an_answer(
        self, server: LiveServer, going: store.RunStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_run: object) -> None:
            raise ZeroDivisionError("nobody foresaw it")

        monkeypatch.setattr(store, "load_run", fail)
        answer, text = ask(server, f"/report/{going.path.name}")
        assert answer.status == 500
        assert "This page can't be made" in text
        assert "nobody foresaw it" in text

    def test_who_says_nothing_keeps_nobody_out(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(live_server, "THREADS_MAX", 2)
        monkeypatch.setattr(live_server, "REQUEST_S_MAX", 0.1)
        server = LiveServer(tmp_path, "127.0.0.1", 0)
        server.start()
        silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
        try:
            assert ask(server, "/")[0].status == 200
        finally:
            for connection in silent:
                connection.close()
            server.close()

    def test_addresses_of_the_other_kind(self, tmp_path: Path) -> None:
        try:
            server = LiveServer(tmp_path, "::1", 0)
        except RunFailedError:
            pytest.skip("no IPv6 here")
        server.start()
        try:
            assert server.url() == f"http://[::1]:{server.port}/"
            with urlopen(server.url(), timeout=20) as answer:
                assert answer.status == 200
        finally:
            server.close()

    @pytest.mark.parametrize("address", ["", "0.0.0.0", "::"])
    def test_the_address_of_every_one_is_none_to_go_to(self, address: str) -> None:
        named = live_server.reachable_address(address)
        assert ip_address(named.strip("[]")) not in (ip_address("0.0.0.0"), ip_address("::"))
        assert named.startswith("[") is (":" in address)

    @pytest.mark.parametrize(
        "path", ["/state/none", "/report/..%2F..%2Fetc", "/../../etc/passwd", "/live", "/runs/x/y", "/state/."]
    )
    def test_there_is_nothing_else(self, server: LiveServer, path: str) -> None:
        assert ask(server, path)[0].status == 404

    def test_a_page_of_another_site_reads_nothing(self, server: LiveServer) -> None:
        answer, text = ask(server, "/", Host=f"evil.example:{server.port}")
        assert answer.status == 403
        assert "going" not in text

    def test_a_token_once_in_the_address_stays_in_a_cookie(self, going: store.RunStore) -> None:
        server = LiveServer(going.path.parent, "127.0.0.1", 0, TOKEN)
        server.start()
        try:
            assert ask(server, "/")[0].status == 403
            assert server.url().endswith(f"?token={TOKEN}")
            answer, _ = ask(server, f"/?token={TOKEN}")
            assert answer.status == 200
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert ask(server, "/", Cookie=cookie.split(";")[0])[0].status == 200
        finally:
            server.close()

    def test_a_port_that_is_taken_is_one_message(self, server: LiveServer, tmp_path: Path) -> None:
        with pytest.raises(RunFailedError, match="can't be served"):
            LiveServer(tmp_path, "127.0.0.1", server.port)


class TestFollower:
    def test_those_who_ask_at_once_get_whole_answers(
        self, going: store.RunStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        follower, real = RunFollower(going.path), live_state._run_content
        reading, others = threading.Event(), threading.Event()

        def slowly(run: store.StoredRun) -> dict[str, Any]:
            reading.set()
            others.wait(0.2)
            return real(run)

        monkeypatch.setattr(live_state, "_run_content", slowly)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(follower.state)
            reading.wait(20)
            second_one = pool.submit(follower.state)
            assert {"run", "trials"} <= set(second_one.result(60))
            assert {"run", "trials"} <= set(first.result(60))

    def test_new_seconds_are_seen_without_reading_the_run_again(
        self, going: store.RunStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        follower = RunFollower(going.path)
        assert len(follower.state()["trial"]["seconds"]) == 3
        growing = going.path / "trials/0002-latency-pulsar/seconds.jsonl"
        growing.write_text(growing.read_text() + growing.read_text())
        monkeypatch.setattr("tidegauge.live.state.time.monotonic", lambda: 0.0)
        follower.state()
        monkeypatch.setattr(store, "load_run", lambda path: 1 / 0)
        assert len(follower.state()["trial"]["seconds"]) == 6

    def test_the_trial_before_stays_until_the_next_one_has_seconds(
        self, going: store.RunStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        follower = RunFollower(going.path)
        assert follower.state()["before"] is None
        third = going.open_trial(spec(number=3))
        state = follower.state()
        assert (state["trial"]["trial_id"], state["trial"]["seconds"]) == ("0003-latency-kafka", [])
        assert (state["before"]["trial_id"], len(state["before"]["seconds"])) == ("0002-latency-pulsar", 3)
        monkeypatch.setattr("tidegauge.live.state.time.monotonic", lambda: 0.0)
        follower.state()
        monkeypatch.setattr("tidegauge.live.state.use_rows", lambda *_: 1 / 0)
        assert follower.state()["before"]["trial_id"] == "0002-latency-pulsar", "read once"
        third.append_second(second())
        assert follower.state()["before"] is None

    def test_trials_to_come_are_listed_with_their_rates(
        self, going: store.RunStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        state = RunFollower(going.path).state()
        check_content(state)
        begun = {trial["trial_id"] for trial in state["trials"]}
        planned = store.load_run(going.path).planned
        assert (
            [trial["trial_id"] for trial in state["pending"]]
            == [one.trial_id for one in planned if one.trial_id not in begun]
            != []
        )
        assert {trial["target_msgs_per_s"] for trial in state["pending"]} == {20_000.0}
        assert (state["pending_more"], state["trial"]["target_msgs_per_s"]) == (0, 20_000.0)
        monkeypatch.setattr("tidegauge.live.state.PENDING_MAX", 0)
        shortened = RunFollower(going.path).state()
        assert (shortened["pending"], shortened["pending_more"]) == ([], len(state["pending"]))
        going.finish("finished")
        assert RunFollower(going.path).state()["pending"] == []

    def test_a_closed_loop_has_no_target(self, going: store.RunStore) -> None:
        going.open_trial(replace(spec(number=3), msgs_per_s=None))
        assert RunFollower(going.path).state()["trial"]["target_msgs_per_s"] is None

    def test_a_trial_that_only_reads_shows_what_it_receives(self, going: store.RunStore) -> None:
        trial = going.open_trial(replace(reading().spec, trial_id="0003-read-kafka"))
        trial.append_second(replace(second(), acked=0), "read")
        newest = RunFollower(going.path).state()["trial"]
        (shown,) = newest["seconds"]
        assert newest["phase"] == "read"
        assert shown["msgs_per_s"] == sum(sub.received for sub in second().subscriptions)
        assert (shown["backlog_msgs"], shown["in_flight_msgs"]) == (None, None), "of what others sent nobody knows it"

    def test_a_trial_that_a_resumed_run_makes_again_is_the_newest(self, going: store.RunStore) -> None:
        later = going.open_trial(spec(number=3))
        later.finish(result(later.spec), totals())
        for trial in store.load_run(going.path).trials:
            head = trial.directory / "trial.json"
            head.write_text(head.read_text().replace(trial.started_at, f"2026-11-21T03:24:0{trial.trial_id[3]}+00:00"))
        follower = RunFollower(going.path)
        assert follower.state()["trial"]["trial_id"] == "0003-latency-kafka"
        going.open_trial(spec(system="pulsar@4.2.4", number=2))
        state = follower.state()
        assert [trial["status"] for trial in state["trials"]] == ["finished", "running", "finished"]
        assert (state["trial"]["trial_id"], state["trial"]["phase"]) == ("0002-latency-pulsar", "starting")

    def test_several_load_generators_have_their_rates(self, going: store.RunStore) -> None:
        follower = RunFollower(going.path)
        assert follower.state()["trial"]["workers"] == []
        trial = going.open_trial(spec(number=3))
        for number in range(2):
            trial.append_second(second_of_several(number))
        state = follower.state()
        check_content(state)
        shown = state["trial"]["workers"]
        assert [worker["worker"] for worker in shown] == [1, 2, 3]
        assert shown[1] == {
            "worker": 2, "offered_msgs_per_s": 6_666.7, "msgs_per_s": 6_602.0, "received_msgs_per_s": 5_000.0,
            "own_lag_max_ms": 2.0,
        }  # fmt: skip
        trial.finish(several(trial.spec), totals_of_several())
        ended = follower.state()["trial"]["workers"]
        assert [worker["offered_msgs_per_s"] for worker in ended] == [6_667.0] * 3
        assert ended[1]["own_lag_max_ms"] == several().workers[1].own_lag.max_ms

    def test_each_other_host_of_a_fleet_is_shown_as_it_was_heard_last(self, going: store.RunStore) -> None:
        follower = RunFollower(going.path)
        assert follower.state()["trial"]["hosts"] == []
        trial = going.open_trial(spec(number=3))
        used = replace(SAMPLE.host, cpu_s=SAMPLE.host.cpus, io_stall_s=0.5, network_sent_bytes=8_000_000)
        others = [OtherHostUse("10.0.0.3", 2.0, replace(used, io_stall_s=None)), OtherHostUse("10.0.0.2", 2.0, used)]
        trial.telemetry.append_sample(
            replace(SAMPLE, others=(OtherHostUse("10.0.0.2", 1.0, replace(used, cpu_s=0.0)),))
        )
        trial.telemetry.append_sample(replace(SAMPLE, others=tuple(others)))
        state = follower.state()
        check_content(state)
        first, second = state["trial"]["hosts"]
        assert (first["host"], first["cpu_percent"], first["io_stall_percent"]) == ("10.0.0.2", 50.0, 25.0)
        assert (second["host"], second["io_stall_percent"], second["sent_mb_per_s"]) == ("10.0.0.3", None, 4.0)

    def test_the_end_of_a_run_is_seen(self, going: store.RunStore) -> None:
        follower = RunFollower(going.path)
        assert follower.state()["run"]["status"] == "running"
        going.finish("interrupted", "interrupted by the user")
        state = follower.state()
        assert state["run"]["status"] == "interrupted"
        assert state["trial"]["phase"] == "interrupted"

    def test_the_time_left_is_the_plans_less_what_has_gone_by(self, going: store.RunStore) -> None:
        run = store.load_run(going.path)
        each_s = seconds_expected(spec())
        begun = datetime.fromisoformat(run.trials[1].started_at)
        assert run_seconds_left(run, begun) == pytest.approx(2 * each_s)
        assert run_seconds_left(run, begun + timedelta(seconds=20)) == pytest.approx(2 * each_s - 20)
        # A trial that takes longer than expected takes nothing from the others.
        assert run_seconds_left(run, begun + timedelta(hours=2)) == pytest.approx(each_s)
        assert RunFollower(going.path).state()["seconds_left"] == pytest.approx(2 * each_s, abs=each_s)

    def test_what_a_trial_used_stays_until_the_next_one_begins(
        self, going: store.RunStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trial = going.open_trial(spec(number=3))
        trial.append_second(second())
        follower = RunFollower(going.path)
        for ended in (False, True):
            # Of the same clock, so that the look covers the second's middle.
            if ended:
                trial.finish(result(trial.spec), totals())
            else:
                trial.telemetry.append_sample(replace(SAMPLE, from_mono_ns=0, until_mono_ns=2**62))
            (shown,) = follower.state()["trial"]["seconds"]
            assert shown["server_memory_mib"] == 600
        monkeypatch.setattr("tidegauge.live.state.use_rows", lambda *_: 1 / 0)
        assert follower.state()["trial"]["phase"] == "finished"

    def test_time_left_where_no_trial_goes(self, going: store.RunStore) -> None:
        run = store.load_run(going.path)
        now = datetime.fromisoformat(run.trials[0].started_at)
        unknown = replace(run, trials=(run.trials[0], replace(run.trials[1], started_at="")))
        between = replace(run, trials=run.trials[:1])
        for one in (unknown, between):
            assert run_seconds_left(one, now) == pytest.approx(2 * seconds_expected(spec()))
        assert run_seconds_left(replace(run, planned=(), trials=()), now) is None, "nobody knows what is to come"
        going.finish("finished")
        assert run_seconds_left(store.load_run(going.path), now) is None
        assert RunFollower(going.path).state()["seconds_left"] is None

    def test_of_a_long_trial_only_the_end_is_read(self, tmp_path: Path) -> None:
        with (tmp_path / "seconds.jsonl").open("w") as file:
            for number in range(5000):
                edges = {"second": number, "from_mono_ns": number, "until_mono_ns": number + 1}
                file.write(json.dumps({**edges, "filler": "x" * 200}) + "\n")
            file.write('{"second": 5000, "cut')
        rows = last_seconds(tmp_path, 100)
        assert [row["second"] for row in rows] == list(range(4900, 5000))

    def test_finished_and_empty_trials(self, tmp_path: Path) -> None:
        run = store.load_run(interrupted_run(tmp_path))
        assert len(last_seconds(run.trials[0].directory, 5)) == 5
        (tmp_path / "empty").mkdir()
        assert last_seconds(tmp_path / "empty", 5) == []


def test_serving_a_directory_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["serve", "--runs-dir", str(tmp_path / "none")]) == 2
    assert "There is no directory" in capsys.readouterr().err
