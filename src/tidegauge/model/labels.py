"""The name and the tags that a user gives to a run, by which he finds it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NEWEST = ("latest", "last")
"""What the newest of all runs is called."""
LAST_WEEK = "last-week"
"""What a comparison calls the run of the same campaign a week before."""
CHARACTERS_MAX = 100
TAGS_MAX = 20


@dataclass(frozen=True)
class RunLabels:
    """A run's name ("" = it has none) and its tags. Several runs may have the same: the newest of them is meant."""

    label: str = ""
    tags: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """ "nightly-4 [main, ci]", "nightly-4" or "[main, ci]"; "" without any."""
        tags = f"[{', '.join(self.tags)}]" if self.tags else ""
        return " ".join(filter(None, (self.label, tags)))


NO_LABELS = RunLabels()


def parse_labels(name: str | None, tags: Sequence[str]) -> RunLabels:
    """Labels as options give them. Raises `ValueError` that says which option, what is wrong and what is allowed."""
    if name is not None:
        _check_label("--name", name)
    for tag in tags:
        _check_label("--tag", tag)
    unique = tuple(dict.fromkeys(tags))
    if len(unique) > TAGS_MAX:
        raise ValueError(f"--tag: {len(unique)} tags are too many; at most {TAGS_MAX} are allowed")
    return RunLabels(name or "", unique)


def _check_label(option: str, text: str) -> None:
    allowed = f"a text of 1 to {CHARACTERS_MAX} characters that neither begins nor ends with a space"
    if text in (*NEWEST, LAST_WEEK):
        raise ValueError(f"{option} '{text}': this word already means a run; choose another")
    if not text.strip():
        branch = " (on a detached HEAD `git branch --show-current` prints nothing)" if option == "--tag" else ""
        raise ValueError(f"{option}: it is empty{branch}; must be {allowed}")
    if text != text.strip() or len(text) > CHARACTERS_MAX or not text.isprintable():
        raise ValueError(f"{option} {text[:CHARACTERS_MAX]!r}: must be {allowed}, all of them printable")
