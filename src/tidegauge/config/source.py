"""A YAML file as plain data together with the line of every key, and what is wrong with it.

Data and lines are kept apart: a path such as ("experiments", 1, "measure") finds both. The file is composed to nodes
and built from these, because that is the only way to see duplicate keys with the lines of both.
"""

from __future__ import annotations

import copy
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, RootModel, Tag, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, ComposerError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent
from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

from tidegauge.config.fields import REFUSED, Fields
from tidegauge.errors import UserError, did_you_mean, nearest_names, without_passwords, without_user
from tidegauge.places import expand_path, resolve_path
from tidegauge.regular import checked_content

KeyPath = tuple[str | int, ...]

FILE_KIB_MAX = 64
"""Of a file that is read here: ten times what the largest ready campaign has."""
_DEPTH_MAX = 32
_NODES_MAX = 6_000
_INTEGER_MAX = 1 << 127
_PROBLEMS_MAX = 50
_FILES_KEPT_MAX = 64
_DIRECTIONS = "\u202a-\u202e\u2066-\u2069"
_UNFIT = re.compile(rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f{_DIRECTIONS}\ud800-\udfff]")
"""What no text of a file may have: a terminal obeys it, no file name can have it, or it is half of a character."""
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_QUOTED = re.compile(r" ?(['\"])(?!<)[^'\"]{2,}\1")
_TEXT_CHARS_MAX = 3000
"""Of a problem: lists of all names are shorter, and a value that somebody repeated without end is not."""
_LISTED_CHARS_MAX = 100
"""How much is listed of keys that are allowed, beside the one that was meant."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file. `where` is "file:line" or the command-line option that brought the value."""

    where: str
    line: int
    text: str

    def __str__(self) -> str:
        # The value of one setting may be the lines of another, if a line's end is missing.
        text = without_passwords(self.text)
        cut = f"{text[:_TEXT_CHARS_MAX]}... ({len(text):,} characters)"
        return f"{self.where}: {cut if len(text) > _TEXT_CHARS_MAX else text}"


@dataclass(frozen=True)
class Origin:
    """Where a value stands that takes another's place: the file and line, its key there, and the value.

    `option`: of the command line that brought it instead.
    """

    path: Path
    line: int
    shown: str
    value: Any
    option: str = ""

    @property
    def where(self) -> str:
        """The place as messages name it: an option, or a file and its line."""
        return self.option or f"{self.path}:{self.line}"


@dataclass
class Source:
    """A parsed file. `placed` are values put in from elsewhere (`put`), as by options of the command line.

    What is wrong with them is reported for the place they come from. `unreadable` are keys of whose values it is noted
    that they can't be read. `has_lines`: whether there is such a file for people, whose lines can be named.
    """

    path: Path
    data: dict[str, Any]
    lines: dict[KeyPath, int]
    problems: list[Problem] = field(default_factory=list)
    placed: dict[KeyPath, Origin] = field(default_factory=dict)
    unreadable: set[KeyPath] = field(default_factory=set)
    has_lines: bool = True

    def variant(self) -> Source:
        """The same file to put other values into, without the problems found so far."""
        return replace(self, data=copy.deepcopy(self.data), problems=[], placed=dict(self.placed))

    def put(self, key_path: KeyPath, origin: Origin) -> None:
        """Put a value at a key. Where the file has no mapping around it, `placed` alone knows it."""
        self.placed[key_path] = origin
        holder: Any = self.data
        for part in key_path[:-1]:
            if isinstance(holder, dict) and isinstance(part, str):
                holder = holder.setdefault(part, {})
            elif isinstance(holder, list) and isinstance(part, int) and part < len(holder):
                holder = holder[part]
            else:
                return
        if isinstance(holder, dict):
            holder[key_path[-1]] = origin.value

    def option_of(self, key_path: KeyPath) -> str:
        """The command-line option that has the value at a key, for all of a list's items too; "" if none has."""
        origins = (self.placed.get(at) for at in (key_path, key_path[-1:]))
        return next((origin.option for origin in origins if origin and origin.option), "")

    def origin_at(self, key_path: KeyPath, value: Any) -> Origin:
        """Where a value stands in the file; an option that has it says the key as well."""
        option = self.option_of(key_path)
        return Origin(self.path, self.line_of(key_path), "" if option else show_path(key_path), value, option)

    def file_of(self, key_path: KeyPath) -> Path:
        """The file in which the value at a key stands."""
        origin = self._origin_of(key_path)
        return origin[1].path if origin else self.path

    def place_of(self, key_path: KeyPath, name: str) -> Path | None:
        """The absolute path that a name at a key means, beside the file in which it stands; None after a complaint."""
        try:
            path = resolve_path(self.file_of(key_path).parent / expand_path(name))
        except UserError as error:
            self.complain(key_path, error.message.rstrip("."))
            return None
        return path

    def _origin_of(self, key_path: KeyPath) -> tuple[int, Origin] | None:
        """Where the value comes from if it was put in, and how many parts of the key that is known of."""
        ends = range(len(key_path), 0, -1)
        return next(((end, self.placed[key_path[:end]]) for end in ends if key_path[:end] in self.placed), None)

    def line_of(self, key_path: KeyPath) -> int:
        """Line of the key, or of the nearest thing around it that the file has."""
        ends = range(len(key_path), 0, -1)
        return next((self.lines[key_path[:end]] for end in ends if key_path[:end] in self.lines), 1)

    def where(self, key_path: KeyPath) -> str:
        """The place of a key, or of the nearest around it, as messages name it: a file and its line, or an option."""
        placed = self._origin_of(key_path)
        if placed is not None:
            return placed[1].where
        return f"{self.path}:{self.line_of(key_path)}" if self.has_lines else str(self.path)

    def complain(self, key_path: KeyPath, text: str) -> None:
        """Note a problem at a key, unless it is noted already that its value can't be read."""
        placed = self._origin_of(key_path)
        if placed is None and key_path in self.unreadable:
            return
        shown, line = show_path(key_path), self.line_of(key_path)
        if placed is not None:
            end, origin = placed
            line = origin.line
            shown = show_path((*([origin.shown] if origin.shown else []), *key_path[end:]))
        self.problems.append(Problem(self.where(key_path), line, f"{shown}: {text}" if shown else text))


def show_path(key_path: KeyPath) -> str:
    """A key path as text: ("experiments", 1, "rate") is "experiments[1].rate"."""
    text = ""
    for part in key_path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read_source(
    path: Path, what: str, text: str | None = None, example: str = "campaigns/quick.yaml is an example"
) -> Source:
    """Read a YAML mapping. `what` names it in messages: "campaign", "workload". Raises `UserError` if unreadable.

    `text` is taken for the file's content if it is given, such as a copy that a run has kept. `example` says where
    such a file can be seen.
    """
    text = read_text(path, what, example) if text is None else text
    hint = f"Write it as 'key: value' lines; {example}."
    root = _compose_root(path, text)
    if root is None:
        raise UserError(f"{path}:1: the {what} file is empty.", hint)
    if not isinstance(root, MappingNode):
        instead = "a list" if isinstance(root, SequenceNode) else "a single value"
        raise UserError(
            f"{path}:{root.start_mark.line + 1}: a {what} file must hold keys and values, not {instead}.", hint
        )
    source = Source(path, {}, {})
    source.data = _Builder(source).mapping(root, (), 0)
    return source


class _Bounded(Composer):
    """Makes nodes of a file, of which neither depth nor number may take the program beyond its means.

    They are counted as they are made: a file of few bytes can hold more than is made in a minute.
    """

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self._nodes = self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node as the library does, which has no bounds and only warns of an anchor that is given twice."""
        event = self.parser.peek_event()
        self._nodes += 1
        self._depth += 1
        if self._depth > _DEPTH_MAX or self._nodes > _NODES_MAX:
            raise ComposerError(problem=_too_much(self._depth), problem_mark=event.start_mark)
        if not isinstance(event, AliasEvent) and event.anchor in self.anchors:
            raise ComposerError(problem="an anchor is given twice", problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _too_much(depth: int) -> str:
    if depth > _DEPTH_MAX:
        return f"nested more than {_DEPTH_MAX} deep, or something refers to itself"
    return f"it holds more than {_NODES_MAX:,} keys and values"


@lru_cache(_FILES_KEPT_MAX)
def _compose_root(path: Path, text: str) -> Node | None:
    """The file's nodes, which nobody changes; None of an empty file. Raises `UserError`.

    They are kept: a campaign is read once for each of its scales, and most of reading it is this.

    What a message quotes is left out: a password that begins with '*' or '!' is an alias or a tag to YAML.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Bounded
    try:
        root: Node | None = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = _QUOTED.sub("", error.problem or error.context or "")
        starred = " (text that begins with '*', '&' or '!' must be in quotes)" if error.problem != problem else ""
        if "'\\t'" in (error.problem or ""):
            problem, starred = "a line begins with a tab", " (write spaces)"
        raise UserError(
            f"{path}:{line}: this is not valid YAML: {problem}{starred}.",
            "Fix that line: most often it is the indentation, a missing ':' or an unclosed quote.",
        ) from None
    except (YAMLError, ValueError) as error:
        # A number of thousands of digits as the version of YAML is a ValueError.
        first_line = _QUOTED.sub("", str(error).partition("\n")[0]).rstrip(".")
        raise UserError(f"{path}:1: this is not valid YAML: {first_line}.", "Fix the file.") from None
    return root


def raise_problems(sources: Sequence[Source], what: str, keys_in: str = "docs/reference.md") -> None:
    """Raise one `UserError` that shows every problem on a line of its own; nothing if there are none.

    Args:
        keys_in: the document that lists the keys of such files.
    """
    sorted_problems = [p for source in sources for p in sorted(source.problems, key=lambda p: p.line)]
    # One option may have brought several values, each of which is on a line of its own.
    problems = list(dict.fromkeys(map(str, sorted_problems)))
    if not problems:
        return
    hint = f"Fix the {what} and start again; {keys_in} lists every key."
    if len(problems) == 1:
        raise UserError(problems[0], hint)
    shown = [f"  {problem}" for problem in problems[:_PROBLEMS_MAX]]
    if len(problems) > _PROBLEMS_MAX:
        shown.append(f"  and {len(problems) - _PROBLEMS_MAX} more")
    listed = "\n".join(shown)
    raise UserError(f"{len(problems)} problems in the {what}:\n{listed}", hint)


class _Builder:
    """Turns nodes into data, noting lines and duplicate keys on the way."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._yaml = YAML(typ="safe", pure=True)
        self._nodes = 0

    def mapping(self, node: MappingNode, at: KeyPath, depth: int) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value if isinstance(key_node.value, str) else ""
            if not key or _UNFIT.search(key):
                self._note_problem(line, at, f"a key must be plain text{', without control characters' if key else ''}")
                continue
            key_path = (*at, key)
            if key in data:
                first = self._source.lines[key_path]
                self._note_problem(line, key_path, f"the key '{key}' is given twice (first on line {first}); keep one")
                continue
            self._source.lines[key_path] = line
            data[key] = self.value(value_node, key_path, depth + 1)
        return data

    def value(self, node: Node, at: KeyPath, depth: int) -> Any:
        self._nodes += 1
        if depth > _DEPTH_MAX or self._nodes > _NODES_MAX:
            # Small as the file is, what it refers to by aliases may be large.
            line = node.start_mark.line + 1
            raise UserError(
                f"{self._source.path}:{line}: with what it refers to the file is too large: {_too_much(depth)}.",
                "Write the values out instead of using anchors (&name, *name).",
            )
        if isinstance(node, MappingNode):
            return self.mapping(node, at, depth)
        if isinstance(node, SequenceNode):
            for index, item in enumerate(node.value):
                self._source.lines[(*at, index)] = item.start_mark.line + 1
            return [self.value(item, (*at, index), depth + 1) for index, item in enumerate(node.value)]
        if node.tag in _NUMBERS and "_" in node.value:
            # Text in YAML 1.2, though the library reads `1_000` as a thousand.
            return node.value
        try:
            value = self._yaml.constructor.construct_object(node)
        except Exception:
            # The library's constructors raise whatever they stumble over: IndexError for `!!int ""`, KeyError for
            # `!!bool x`. The value is not repeated: a password that begins with '!' is a tag to YAML.
            return self._unreadable_value(node, at, "can't be read as a value (text that begins with '!' needs quotes)")
        if problem := _problem_of_value(value):
            return self._unreadable_value(node, at, problem)
        return value

    def _unreadable_value(self, node: Node, at: KeyPath, problem: str) -> None:
        self._note_problem(node.start_mark.line + 1, at, problem)
        self._source.unreadable.add(at)

    def _note_problem(self, line: int, at: KeyPath, text: str) -> None:
        shown = show_path(at)
        where = f"{self._source.path}:{line}"
        self._source.problems.append(Problem(where, line, f"{shown}: {text}" if shown else text))


def _problem_of_value(value: Any) -> str:
    """Why nothing can be made of a single value; "" if something can."""
    if isinstance(value, str) and _UNFIT.search(value):
        return "must have no control characters and no halves of characters"
    if isinstance(value, int) and abs(value) > _INTEGER_MAX:
        return "has more digits than any number here may have"
    return ""


def read_text(path: Path, what: str, example: str) -> str:
    """The text of a file. `what` it is in messages, `example`: where such a file can be seen. Raises `UserError`."""
    try:
        # A FIFO is not waited for, and a device, which may have no end, not read.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError
            if not stat.S_ISREG(status.st_mode):
                raise UserError(f"{path}: this is no regular file, so it is no {what} file.", "Check the path.")
            content = checked_content(file.read((FILE_KIB_MAX << 10) + 1), (FILE_KIB_MAX << 10) + 1)
        if len(content) > FILE_KIB_MAX << 10:
            raise UserError(f"{path}: larger than {FILE_KIB_MAX} KiB, so it is no {what} file.", "Check the path.")
        return content.decode("utf-8")
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such {what} file.", f"Check the path; {example}.") from error
    except IsADirectoryError as error:
        raise UserError(f"{path}: this is a directory, not a {what} file.", "Name a .yaml file in it.") from error
    except PermissionError as error:
        raise UserError(f"{path}: no permission to read this {what} file.", "Change its permissions.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not a text file in UTF-8.", "Check the path, or save it as UTF-8.") from error
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}.", "Check the path.") from error
    except ValueError as error:
        raise UserError(f"{path}: this can't be the name of a file.", "Check the path.") from error


_Model = TypeVar("_Model", bound=BaseModel)

_WANTED = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number with fewer digits",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must hold keys and values",
    "model_type": "must hold keys and values",
    "finite_number": "must be a finite number",
}
_LIMITS = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be above {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be below {}"),
    "string_pattern_mismatch": ("pattern", "must match {}"),
    "string_too_long": ("max_length", "must have at most {} characters"),
    "string_too_short": ("min_length", "must have at least {} characters"),
    "too_long": ("max_length", "must have at most {} items"),
}


def validate(
    model: type[_Model],
    data: Any,
    source: Source,
    at: KeyPath,
    otherwise: str = "",
    *,
    context: object = None,
    beside: Sequence[str] = (),
) -> _Model | None:
    """The model's object, or None after noting each problem in `source`.

    Args:
        model: of `Fields`, or a `RootModel` of a union of them.
        at: where `data` sits in the file.
        otherwise: the complaint where it may be no mapping.
        context: what validators of the model need to know beside the value.
        beside: keys that may stand in the same mapping and were taken out of `data`.
    """
    if otherwise and not isinstance(data, dict):
        source.complain(at, otherwise)
        return None
    try:
        return model.model_validate(dict(data), by_alias=True, by_name=False, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)[: _PROBLEMS_MAX + 1]
        complaints: list[tuple[KeyPath, str]] = []
        missing: set[KeyPath] = set()
        meant: set[KeyPath] = set()
        for detail in details:
            where, _ = _follow_path(model, detail["loc"])
            _, models = _follow_path(model, detail["loc"][:-1])
            allowed = [*dict.fromkeys(key for one in models for key in keys_of(one)), *(() if where[1:] else beside)]
            complaints.append(
                ((*where, *detail.get("ctx", {}).get("key", ())), _complaint_about(detail, models, allowed))
            )
            if detail["type"] == "missing":
                missing.add(where)
            elif detail["type"] == "extra_forbidden":
                meant.add((*where[:-1], key_meant(str(where[-1]), allowed)))
        for key_path, text in complaints:
            # Of a mistyped key it is said what was meant: that this one is missing follows.
            if key_path not in missing & meant:
                source.complain((*at, *key_path), text)
        return None


def _follow_path(model: type[BaseModel], path: Sequence[str | int]) -> tuple[KeyPath, list[type[Fields]]]:
    """Where in a file a path below a model leads, which names variants of unions as well, and whose mapping is there.

    The first of the models has the keys that may stand there; others are further variants of a union.
    """
    key_path: list[str | int] = []
    models = dict(_models_in(model))
    variants = list(models.values())
    for part in path:
        if part in models:
            variants = [models.pop(part), *models.values()]
            models = {}
            continue
        key_path.append(part)
        field_named = next(
            (field for name, field in variants[0].model_fields.items() if part in (field.alias or name, name)), None
        )
        # What is no key of the model is a place in a list, or a name that a mapping of such models has.
        if field_named is not None and (nested := dict(_models_in(field_named.annotation))):
            models, variants = nested, list(nested.values())
    return tuple(key_path), variants


def _models_in(annotation: Any, tag: str = "") -> Iterator[tuple[str, type[Fields]]]:
    """The models in a type, each with the tag that it has in a union."""
    if isinstance(annotation, type) and issubclass(annotation, RootModel):
        yield from _models_in(annotation.model_fields["root"].annotation)
    elif isinstance(annotation, type) and issubclass(annotation, Fields):
        yield tag, annotation
    parts = get_args(annotation)
    tag = next((part.tag for part in parts if isinstance(part, Tag)), tag)
    for part in parts:
        yield from _models_in(part, tag)


def keys_of(model: type[Fields]) -> list[str]:
    """The keys that a file may use for this model, in the model's order."""
    return [field.alias or name for name, field in model.model_fields.items()]


_CALLED_ELSEWHERE = {
    **dict.fromkeys(("duration", "length", "runtime", "time", "test-duration"), "measure"),
    **dict.fromkeys(("size", "record-size", "payload-size", "value-size"), "message-size"),
    **dict.fromkeys(("linger", "linger-ms", "linger.ms"), "batch-delay"),
    **dict.fromkeys(("ramp-up", "warmup", "warm-up"), "warm-up-max"),
}
"""Names that other tools have for keys, and that no spelling brings near to them."""


def unknown_key_complaint(key: str, allowed: list[str]) -> str:
    """The complaint about a key that doesn't exist."""
    meant, listed = key_meant(key, allowed), ", ".join(allowed)
    if not meant:
        return f"unknown key '{key}'; allowed: {listed}"
    near = f"unknown key '{key}' (did you mean '{meant}'?)"
    return near if len(listed) > _LISTED_CHARS_MAX else f"{near}; allowed: {listed}"


def key_meant(key: str, allowed: Sequence[str]) -> str:
    """The key that is nearest to one that doesn't exist; "" if none is near."""
    return key_called_elsewhere(key, allowed) or next(iter(nearest_names(key, allowed, 1)), "")


def key_called_elsewhere(key: str, allowed: Sequence[str]) -> str:
    """The key that other tools call so; "" if they don't, or it is not allowed."""
    other = _CALLED_ELSEWHERE.get(key.lower(), "")
    return other if other in allowed else ""


def unknown_name_complaint(what: str, name: str, known_names: Sequence[str]) -> str:
    """The complaint about the name of something that doesn't exist."""
    return f"unknown {what} '{name}'{did_you_mean(name, list(known_names))}; known: {', '.join(known_names)}"


def _complaint_about(detail: ErrorDetails, models: Sequence[type[Fields]], allowed: list[str]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == REFUSED:
        return str(context["text"])
    if kind == "extra_forbidden":
        key = str(detail["loc"][-1])
        return models[0].other_keys_refused if key in allowed else unknown_key_complaint(key, allowed)
    if kind == "missing":
        return models[0].key_missing.format_map(detail["input"])
    return f"{_value_in_words(detail['input'])}: {requirement_in_words(detail)}"


def requirement_in_words(detail: ErrorDetails) -> str:
    """What a value must be that is refused so: "must be a whole number"."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in _LIMITS:
        name, text = _LIMITS[kind]
        return text.format(context[name])
    return _WANTED.get(kind, "can't be used here")


def _value_in_words(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = without_user(str(value))
    return f"'{text[:60]}...'" if len(text) > 60 else f"'{text}'"
