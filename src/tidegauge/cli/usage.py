"""What is wrong with the words of a command, in this program's own words instead of those of its libraries."""

from __future__ import annotations

from enum import Enum
from typing import Any, get_args

from pydantic import ValidationError
from typer.exceptions import TyperException

from tidegauge.config.source import requirement_in_words
from tidegauge.errors import UserError, did_you_mean
from tidegauge.numbers import bounds_in_words


def error_of_usage(error: TyperException) -> UserError:
    """The error to show for words that no verb takes."""
    context: Any = getattr(error, "ctx", None)
    verb = context.command_path if context is not None else "tidegauge"
    hint = f"`{verb} --help` lists {'its options' if ' ' in verb else 'the verbs'}."
    option: Any = getattr(error, "param", None)
    cause = error.__cause__
    if option is not None and isinstance(cause, ValidationError):
        detail = cause.errors(include_url=False)[0]
        name = max(option.opts, key=len)
        return UserError(f"{name} {detail['input']}: {_requirement_of(option, detail)}.", hint)
    missing = getattr(error, "option_name", "")
    if missing and context is not None and context.command.name in _MADE_OF_ONE_LINE:
        from tidegauge.campaign.read.one_line import settable_keys

        key = missing.removeprefix("--")
        hint = f"Such a key is given by: --set {key}=VALUE" if key in settable_keys() else hint
    return UserError(error.format_message(), hint)


_MADE_OF_ONE_LINE = ("bench", "ab")


def _requirement_of(option: Any, detail: Any) -> str:
    """What the value of an option must be."""
    kind = next(iter(get_args(option.type_descriptor.annotation)), option.type_descriptor.annotation)
    if isinstance(kind, type) and issubclass(kind, Enum):
        names = [str(member.value) for member in kind]
        return f"must be one of {', '.join(names)}{did_you_mean(str(detail['input']), names)}"
    bounds = getattr(option.type_descriptor, "parameter_info", None)
    least, most = getattr(bounds, "min", None), getattr(bounds, "max", None)
    number = {int: "a whole number", float: "a number"}.get(kind)
    if number is None:
        return requirement_in_words(detail)
    return f"must be {number}{bounds_in_words(least, most)}"
