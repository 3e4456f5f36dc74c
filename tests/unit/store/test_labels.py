"""Which run is meant by a name, a tag, or the beginning of a date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidegauge import store
from tidegauge.errors import UserError
from tidegauge.model.labels import RunLabels, parse_labels


def labelled_run(runs: Path, day: int, label: str = "", *tags: str) -> Path:
    """A run of the campaign "quick" that began on a day of November; its directory."""
    path = store.create_run(runs, "quick", "", labels=RunLabels(label, tags)).path
    head: dict[str, Any] = json.loads((path / "run.json").read_text())
    head["started_at"] = f"2026-11-{day:02d}T02:00:00+00:00"
    (path / "run.json").write_text(json.dumps(head))
    return path.rename(runs / f"2026-11-{day:02d}T02-00-00-quick")


def test_a_run_keeps_its_name_and_tags(tmp_path: Path) -> None:
    run = store.create_run(tmp_path, "quick", "", labels=RunLabels("nightly-4", ("main", "ci")))
    run.finish("finished")
    stored = store.load_run(run.path)
    assert stored.labels == RunLabels("nightly-4", ("main", "ci"))
    assert stored.labels.words == "nightly-4 [main, ci]"
    with store.writing(run.path):
        store.resume_run(run.path).finish("finished")
    assert store.load_run(run.path).labels == stored.labels


def test_a_run_of_before_has_none(tmp_path: Path) -> None:
    path = store.create_run(tmp_path, "quick", "").path
    head = json.loads((path / "run.json").read_text())
    del head["label"], head["tags"]
    (path / "run.json").write_text(json.dumps(head))
    assert store.load_run(path).labels.words == ""


def test_the_newest_that_fits_is_taken_and_said(tmp_path: Path) -> None:
    first = labelled_run(tmp_path, 3, "before", "main")
    second = labelled_run(tmp_path, 9, "before", "main", "ci")
    third = labelled_run(tmp_path, 12, "after")
    said: list[str] = []

    def chosen(wanted: str) -> Path:
        return store.find_run(tmp_path, wanted, said.append)

    assert chosen("latest") == chosen("last") == chosen("after") == third
    assert chosen("ci") == chosen("2026-11-09") == second
    assert said == []
    assert chosen("before") == second
    assert chosen("main") == second
    assert chosen("2026-11-0") == second
    assert chosen(first.name) == first
    assert [sentence.partition("; ")[0] for sentence in said] == [
        "'before' is the name of 2 runs",
        "'main' is a tag of 2 runs",
        "'2026-11-0' is how the names begin of 2 runs",
    ]
    assert all(sentence.endswith(f"the newest is taken: {second.name}.") for sentence in said)


def test_a_name_comes_before_a_tag_and_a_tag_before_a_beginning(tmp_path: Path) -> None:
    by_name = labelled_run(tmp_path, 3, "2026")
    by_tag = labelled_run(tmp_path, 9, "", "2026", "2026-11")
    labelled_run(tmp_path, 12)
    assert store.find_run(tmp_path, "2026") == by_name
    assert store.find_run(tmp_path, "2026-11") == by_tag


def test_a_mistyped_tag_is_told_the_nearest(tmp_path: Path) -> None:
    labelled_run(tmp_path, 3, "", "release-2.1")
    with pytest.raises(UserError, match=r"No run 'relaese-2\.1' in .* \(did you mean 'release-2\.1'\?\)"):
        store.find_run(tmp_path, "relaese-2.1")
    with pytest.raises(UserError, match="No run ''"):
        store.find_run(tmp_path, "")


def test_a_run_that_cannot_be_read_is_never_the_newest(tmp_path: Path) -> None:
    good = labelled_run(tmp_path, 3, "", "main")
    (labelled_run(tmp_path, 9) / "run.json").write_text("{")
    assert store.find_run(tmp_path, "latest") == good
    assert store.find_run(tmp_path, "main") == good


@pytest.mark.parametrize(
    ("name", "tags", "problem"),
    [
        ("", (), "--name: it is empty; must be a text of 1 to 100 characters"),
        (None, ("main", ""), "--tag: it is empty (on a detached HEAD"),
        (None, (" main",), "--tag ' main': must be a text"),
        (None, ("a\nb",), r"--tag 'a\nb': must be a text"),
        ("x" * 101, (), "must be a text of 1 to 100 characters"),
        ("latest", (), "--name 'latest': this word already means a run"),
        (None, ("last-week",), "--tag 'last-week': this word already means a run"),
        (None, tuple(map(str, range(21))), "21 tags are too many; at most 20"),
    ],
)
def test_a_label_that_cannot_be_is_named(name: str | None, tags: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_labels(name, tags)
    assert problem in str(caught.value)


def test_a_tag_given_twice_is_one() -> None:
    assert parse_labels("n", ("feature/x", "ci", "feature/x")) == RunLabels("n", ("feature/x", "ci"))
    assert parse_labels(None, ()).words == ""
