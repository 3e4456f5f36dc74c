"""How far downloads are is shown while they last; what a user should know is kept with the run too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegauge import store
from tidegauge.campaign.run.execute import _event_of_message
from tidegauge.cli.running import _noting_observer
from tidegauge.distribution import maven
from tidegauge.distribution.cache import Progress
from tidegauge.model.events import Event, FetchProgress, Note


def test_what_a_provisioning_system_says_is_kept_unless_it_is_progress(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "")
    seen: list[Event] = []
    observe = _noting_observer(run, seen.append, ())
    for text in (Progress("Fetching kafka 4.3.1", "22 files so far."), "kafka.jar is damaged: fetching it again."):
        observe(_event_of_message(text))
    run.finish("finished")
    assert seen == [FetchProgress("Fetching kafka 4.3.1: 22 files so far.", "Fetching kafka 4.3.1"), Note(str(text))]
    assert store.load_run(run.path).notes == ("kafka.jar is damaged: fetching it again.",)


def test_maven_reports_its_downloads_as_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    class Running:
        stdout = iter(["Downloaded from central: a.jar\n", "BUILD SUCCESS\n"])

    monkeypatch.setattr(maven, "NOTE_EVERY_S", -1.0)
    said: list[str] = []
    assert maven._follow_output(Running(), said.append, "kafka 4.3.1") == "BUILD SUCCESS\n"  # type: ignore[arg-type]
    assert said == ["Fetching kafka 4.3.1: 1 files so far."]
    assert isinstance(said[0], Progress)
