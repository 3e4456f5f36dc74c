"""Counts what keeps a reader of Python code waiting: names of one word, helpers called once, classes of one name.

    python scripts/readability.py [DIRECTORY ...]      src/tidegauge, or any other project's packages

Functions whose names the language or a library decides (`__enter__`, overloads) are left out, and so is generated code.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BANNED_LOCALS = ("found", "own", "known", "here")
"""They say where a value comes from, not what it is."""
GENERATED = "generated"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Counts:
    """Of all modules below some directories; what is listed is worst first."""

    functions: int
    one_word: int
    private_one_word: int
    called_once: int
    classes_of_one_name: tuple[tuple[str, int], ...]
    bound_names: int
    banned_locals: int

    def share(self, count: int) -> float:
        """Of all functions, 0 to 1."""
        return count / max(1, self.functions)


def count_words(directories: list[Path]) -> Counts:
    """Read every module below these directories. Raises `OSError`, `SyntaxError`."""
    paths = sorted(path for directory in directories for path in directory.rglob("*.py"))
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths if GENERATED not in path.parts]
    modules = [list(ast.walk(tree)) for tree in trees]
    functions = [function.name for nodes in modules for function in _functions(nodes)]
    classes = Counter(node.name for nodes in modules for node in nodes if isinstance(node, ast.ClassDef))
    locals_bound = [name for tree in trees for name in _bound_in(tree)]
    return Counts(
        functions=len(functions),
        one_word=sum(_is_one_word(name) for name in functions),
        private_one_word=sum(_is_one_word(name) for name in functions if name.startswith("_")),
        called_once=sum(map(_called_once, modules)),
        classes_of_one_name=tuple((name, count) for name, count in classes.most_common() if count > 1),
        bound_names=len(locals_bound),
        banned_locals=sum(name in BANNED_LOCALS for name in locals_bound),
    )


def _functions(nodes: Iterable[ast.AST]) -> Iterator[Function]:
    for node in nodes:
        if isinstance(node, Function) and not _is_given(node.name):
            yield node


def _is_given(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_one_word(name: str) -> bool:
    return "_" not in name.strip("_")


def _called_once(nodes: Sequence[ast.AST]) -> int:
    """How many private functions of a module are named in exactly one other place of it."""
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    named += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    return sum(named[function.name] == 1 for function in _functions(nodes) if function.name.startswith("_"))


def _bound_in(tree: ast.AST) -> Iterator[str]:
    """Each binding of a name in a function, its parameters included."""
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, is_counted = left.pop()
        if isinstance(node, Function):
            is_counted = not _is_given(node.name)
            named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs) if is_counted else ()
            yield from (argument.arg for argument in named if argument.arg not in ("self", "cls"))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and is_counted:
            yield node.id
        left += [(child, is_counted) for child in ast.iter_child_nodes(node)]


def main() -> None:
    """Print the counts of the directories on the command line."""
    directories = [Path(name) for name in sys.argv[1:]] or [Path(__file__).resolve().parents[1] / "src/tidegauge"]
    counts = count_words(directories)
    print(f"functions                    {counts.functions:,}")
    for words, count in (
        ("of one word", counts.one_word),
        ("private ones of one word", counts.private_one_word),
        ("private ones called once", counts.called_once),
    ):
        print(f"  {words:<26} {count:,} ({counts.share(count):.0%})")
    print(f"bound names                  {counts.bound_names:,}")
    print(f"  {', '.join(BANNED_LOCALS):<26} {counts.banned_locals:,}")
    print(f"class names of several       {len(counts.classes_of_one_name)}")
    print("  " + ", ".join(f"{name} {count}" for name, count in counts.classes_of_one_name[:12]))


if __name__ == "__main__":
    main()
