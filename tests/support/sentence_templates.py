"""The sentences that a module can say, read from its source, so that none of them goes unlisted.

A template is a string with at least four words, of which those in braces stand for what is put in; with fewer than two
of its own it says nothing by itself. Docstrings, help texts of options, and errors about what a user wrote are none:
they claim nothing of a run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src/tidegauge"
WORDS_MIN, OWN_WORDS_MIN = 4, 2
_WORD = re.compile(r"\{\}|[A-Za-z][A-Za-z'-]+")


@dataclass(frozen=True)
class Template:
    """What a string literal says, with "{}" for what is put in, and where it stands."""

    module: str
    line: int
    text: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches what the template becomes, whatever is put in and wherever lines are broken."""
        parts = [r"\s+".join(map(re.escape, part.split())) for part in self.text.split("{}")]
        return re.compile(r"\s*.*?\s*".join(parts), re.DOTALL)

    def is_in(self, text: str) -> bool:
        """Whether one line of a text says it, be it at the beginning of a sentence.

        As the pattern finds it, but in a time that does not explode with what is put in.
        """
        first, *rest = _parts_of(self.text)
        begins = {first, first[:1].upper() + first[1:]}
        return any(_in_order((begin, *rest), line) for begin in begins for line in _lines_of(text))


@cache
def _parts_of(template: str) -> tuple[str, ...]:
    """What stands between the things that are put in."""
    return tuple(" ".join(part.split()) for part in template.split("{}"))


@cache
def _lines_of(text: str) -> tuple[str, ...]:
    """Of each text once: it is compared with hundreds of templates."""
    return tuple(" ".join(line.split()) for line in text.splitlines())


def _in_order(parts: Sequence[str], line: str) -> bool:
    place = 0
    for part in parts:
        place = line.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def modules_of(*folders: str) -> list[str]:
    """All modules of these folders below `src/tidegauge`, each by its path there."""
    return [f"{folder}/{path.name}" for folder in folders for path in sorted((SOURCE / folder).glob("*.py"))]


@cache
def templates_of(module: str) -> list[Template]:
    """All templates of a module, given by its path below `src/tidegauge`, in their order."""
    tree = ast.parse((SOURCE / module).read_text())
    left_out = {id(node) for skipped in _skipped(tree) for node in ast.walk(skipped)}
    found = []
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in ast.walk(node)}
        text = _text_of(node)
        if text is not None and _is_sentence(text):
            found.append(Template(module, node.lineno, text))  # type: ignore[attr-defined]
    return sorted(found, key=lambda template: template.line)


def _text_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def _is_sentence(text: str) -> bool:
    words = _WORD.findall(text)
    # What has no blank is a name.
    return " " in text.strip() and len(words) >= WORDS_MIN and len(words) - words.count("{}") >= OWN_WORDS_MIN


def _skipped(tree: ast.AST) -> Iterator[ast.AST]:
    """Docstrings, what stands alone as a comment to an attribute, help texts, and what is raised."""
    for node in ast.walk(tree):
        stands_alone = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        helps = isinstance(node, ast.keyword) and node.arg == "help"
        if stands_alone or helps or isinstance(node, ast.Raise):
            yield node


@dataclass(frozen=True)
class Claim:
    """A template, a scene in which it is true and must be said, and one in which it would be false and must not.

    `template`: its beginning, as far as no other's is alike. Scenes are names; what they are is up to who lists them.
    The two differ in as little as makes the sentence false.
    """

    template: str
    true_in: str
    false_in: str


def claims_of(true_in: str, false_in: str, *templates: str) -> list[Claim]:
    """A claim about each of these templates, with the same two scenes."""
    return [Claim(template, true_in, false_in) for template in templates]


def unlisted(modules: Sequence[str], claims: Sequence[Claim], no_sentences: Sequence[str] = ()) -> list[str]:
    """Templates of these modules, with their places, that begin like no claim and like none of `no_sentences`."""
    begun = (*(claim.template for claim in claims), *no_sentences)
    return [
        f"{template.module}:{template.line}: {template.text}"
        for module in modules
        for template in templates_of(module)
        if not template.text.startswith(begun)
    ]


def outlived(modules: Sequence[str], no_sentences: Sequence[str]) -> list[str]:
    """Those that are listed as no sentence and are no longer there."""
    texts = [template.text for module in modules for template in templates_of(module)]
    return [listed for listed in no_sentences if not any(text.startswith(listed) for text in texts)]


def template_of(claim: Claim, modules: Sequence[str]) -> Template:
    """The one that a claim is about. Raises `LookupError` if there is none, so that no claim outlives its sentence."""
    alike = [
        template for module in modules for template in templates_of(module) if template.text.startswith(claim.template)
    ]
    # Its own before one that only begins alike.
    for template in sorted(alike, key=lambda template: template.text != claim.template):
        return template
    raise LookupError(f"No template of {', '.join(modules)} begins with '{claim.template}'.")
