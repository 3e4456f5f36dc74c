"""Scenes in which a sentence is said, and neighbours in which it would be false: each is made once.

A scene is a function from the stage that it is built on to whatever it came to; every string in that counts as said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from sentence_templates import Claim, Template, outlived, template_of, unlisted

from tidegauge.errors import TidegaugeError


@dataclass(frozen=True)
class Stage:
    """What a scene is built on: a directory of its own, and changes that are undone when it is over."""

    path: Path
    patch: pytest.MonkeyPatch


Scene = Callable[[Stage], Any]


class Texts:
    """What is said in each scene, which is made when it is asked for first."""

    def __init__(self, scenes: Mapping[str, Scene], make_directory: Callable[[], Path]) -> None:
        self._scenes = scenes
        self._make_directory = make_directory
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, scene: str) -> tuple[str, ...]:
        """All texts of a scene."""
        if scene not in self._known:
            with pytest.MonkeyPatch.context() as patch:
                self._known[scene] = tuple(strings(self._scenes[scene](Stage(self._make_directory(), patch))))
        return self._known[scene]


def strings(value: Any) -> Iterator[str]:
    """Every string in a value, however deep; of an error its message and hint."""
    if isinstance(value, str):
        yield str(value)
    elif isinstance(value, TidegaugeError):
        yield from (value.message, value.hint)
    elif isinstance(value, BaseException):
        yield str(value)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from strings(getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from strings([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from strings(item)


def check(claim: Claim, modules: Sequence[str], texts: Texts, *, may_be_silent: bool = False) -> None:
    """Fail unless the sentence is said in the one scene, and the other has something to say and not that.

    `may_be_silent`: the other may say nothing at all.
    """
    pattern = _pattern(template_of(claim, modules))
    true, false = texts.of(claim.true_in), texts.of(claim.false_in)
    assert any(map(pattern.search, true)), f"not said in '{claim.true_in}': {true}"
    assert may_be_silent or any(false), f"nothing at all is said in '{claim.false_in}'"
    said = [*filter(pattern.search, false)]
    assert said == [], f"said in '{claim.false_in}': {said}"


def _pattern(template: Template) -> re.Pattern[str]:
    """A template that begins with a word does not begin within another word."""
    pattern = template.pattern
    return re.compile(rf"(?<![A-Za-z]){pattern.pattern}", re.DOTALL) if template.text[:1].isalpha() else pattern


def make_tests(
    modules: Sequence[str],
    scenes: Mapping[str, Scene],
    claims: Sequence[Claim],
    no_sentences: Sequence[str] = (),
    *,
    may_be_silent: bool = False,
) -> tuple[Any, ...]:
    """The fixture `texts`, a test that every sentence is listed, and one of each claim, for a file of tests to name."""

    @pytest.fixture(scope="module")
    def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
        return Texts(scenes, lambda: tmp_path_factory.mktemp("scene"))

    def test_listed() -> None:
        left = unlisted(modules, claims, no_sentences)
        gone = outlived(modules, no_sentences)
        assert (left, gone) == ([], []), f"not listed: {left}; listed as no sentence and gone: {gone}"

    @pytest.mark.parametrize("claim", claims, ids=[claim.template for claim in claims])
    def test_said(claim: Claim, texts: Texts) -> None:
        check(claim, modules, texts, may_be_silent=may_be_silent)

    return texts, test_listed, test_said
