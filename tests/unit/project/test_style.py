"""Keeps the style that CONTRIBUTING.md states: lengths, boundaries, who may print and write."""

from __future__ import annotations

import ast
import re
import runpy
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "src/tidegauge"
TESTS = ROOT / "tests"
FUNCTION_LINES_MAX = 60
JAVA_METHOD_LINES_MAX = 70

PURE = (
    "model",
    "statistics",
    "durability",
    "fairness",
    "search",
    "experiments",
    "thresholds",
    "comparison",
    "usage",
    "limiting",
)
PURE_MODULES = ("campaign/run/trial/result.py",)
"""Pure modules of packages that are not; they have no clock either."""
LAYERS = (
    *("errors", "extras", "atomic", "regular", "places", "numbers", "plain", "model"),
    *("statistics", "config", "durability", "fairness", "hosts", "distribution", "limiting", "usage", "thresholds"),
    *("search", "attestation", "experiments", "published"),
    *("agent", "fleet", "worker", "systems", "store"),
    "campaign",
    *("comparison", "report", "live", "omb"),
    "cli",
)
"""All packages and top-level modules, the bottom first: each may import only what stands before it."""
APART = {("comparison", "campaign"), ("report", "campaign"), ("live", "campaign")}
"""What people look at is made of what is stored, also where whoever measured it is long gone."""
IO_MODULES = {"subprocess", "socket", "shutil", "tempfile", "os", "grpc", "requests", "urllib"}


def python_files() -> list[Path]:
    return [path for path in PACKAGE.rglob("*.py") if "generated" not in path.parts and "_worker" not in path.parts]


def java_files() -> list[Path]:
    return [path for path in (ROOT / "worker").rglob("*.java") if "target" not in path.parts]


@lru_cache(1)
def nodes_of(source: str) -> Sequence[ast.AST]:
    """Returns the module itself and all in it. Parsing takes most of the time, and several look at a file in turn."""
    return list(ast.walk(ast.parse(source)))


class Facts(NamedTuple):
    """What is to be known of a file, found while it is parsed once; `decisions` as by `decided_by_sentences`."""

    long_functions: list[str]
    imports: list[str]
    systems: list[str]
    prints: bool
    renames: list[int]
    decisions: list[str]
    later_names: list[str]


@cache
def facts_of(path: Path) -> Facts:
    source = path.read_text()
    place = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else ""
    return Facts(
        long_functions(source, FUNCTION_LINES_MAX),
        list(imports_of(source)),
        named_systems(source),
        prints(source),
        renames(source),
        decided_by_sentences(source, phrases=bool(place) and not place.startswith(OTHERS_WORDS)),
        newer_than_3_11_0(source),
    )


def imports_of(source: str) -> Iterator[str]:
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def long_functions(source: str, lines_max: int) -> list[str]:
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > lines_max:
                found.append(f"{node.name} ({lines} lines)")
    return found


TYPES = ("plain", "numbers", "errors", "config", "published", "attestation", "extras")
"""What pure code may import beside pure code: types, how they are written, what is installed. Two read data files."""
GIVEN = {("comparison", "store")}
"""Runs as they were stored are what comparisons are about."""


def impure_import(path: Path, name: str) -> str:
    """Why a file at `path` (relative to the package), which is pure, may not import `name`; "" if it may."""
    here, (package, there, *_) = path.parts[0].removesuffix(".py"), (*name.split("."), "")
    if package != "tidegauge":
        if path.as_posix() in PURE_MODULES and package in {*IO_MODULES, "time"}:
            return f"{path.name} is pure: no {package}"
        return f"{here} is pure: no {package}" if here in PURE and package in IO_MODULES else ""
    allowed = here not in PURE or there in (*PURE, *TYPES, "") or (here, there) in GIVEN
    return "" if allowed else f"{here} is pure: no {there}"


def crossed_boundary(path: Path, name: str) -> str:
    """Why a file at `path` (relative to the package) may not import `name`; "" if it may."""
    here, parts = path.parts[0].removesuffix(".py"), name.split(".")
    there = parts[1] if len(parts) > 1 else ""
    if parts[0] != "tidegauge" or impure_import(path, name):
        return impure_import(path, name)
    if there == "cli" and here != "cli":
        return "nothing imports cli"
    if there == "systems" and len(parts) > 2 and not (PACKAGE / "systems" / f"{parts[2]}.py").is_file():
        own = here == "systems" and len(path.parts) > 2 and path.parts[1] == parts[2]
        return "" if own else "a system's folder is known to the registry only"
    if there == "worker" and "generated" in parts and here != "worker":
        return "worker.proto is known to the worker client only"
    return ""


def test_pure_code_that_reaches_out_is_seen() -> None:
    assert crossed_boundary(Path("limiting/decide.py"), "tidegauge.hosts.procfs") == "limiting is pure: no hosts"
    assert crossed_boundary(Path("usage.py"), "tidegauge.store.read") == "usage is pure: no store"
    assert not crossed_boundary(Path("usage.py"), "tidegauge.model.ceilings")
    assert not crossed_boundary(Path("agent/main.py"), "tidegauge.hosts.procfs")


def test_python_functions_fit_a_screen() -> None:
    long = {str(p.relative_to(ROOT)): f for p in python_files() if (f := facts_of(p).long_functions)}
    assert long == {}


JAVA_METHOD = re.compile(r"^  (?!\s|//|\*|@|return|record).*\)\s*(throws [\w, .]+)?\s*\{$")


def long_java_methods(source: str, lines_max: int) -> list[str]:
    """Methods of top-level classes in google-java-format: they open at two spaces and close at two spaces."""
    found, opened = [], None
    for number, line in enumerate(source.splitlines(), 1):
        if opened is None and JAVA_METHOD.match(line):
            opened = number
        elif opened is not None and line == "  }":
            if number - opened + 1 > lines_max:
                found.append(f"line {opened} ({number - opened + 1} lines)")
            opened = None
    return found


def test_java_methods_fit_a_screen() -> None:
    long = {
        str(p.relative_to(ROOT)): f
        for p in java_files()
        if (f := long_java_methods(p.read_text(), JAVA_METHOD_LINES_MAX))
    }
    assert long == {}


def goes_up(path: Path, name: str) -> str:
    """Why a file at `path` (relative to the package) may not import `name` of another package; "" if it may."""
    here, there = path.parts[0].removesuffix(".py"), f"{name}.".split(".")[1]
    if not name.startswith("tidegauge.") or here in (there, "__init__") or there == "__version__":
        return ""
    if (here, there) in APART or LAYERS.index(there) > LAYERS.index(here):
        return f"{here} may not import {there}"
    return ""


def test_imports_between_packages_go_down_only() -> None:
    up = [
        f"{path.relative_to(ROOT)}: {name}: {why}"
        for path in python_files()
        for name in facts_of(path).imports
        if (why := goes_up(path.relative_to(PACKAGE), name))
    ]
    assert up == []
    packages = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in python_files()}
    assert packages - {"__init__"} == set(LAYERS)
    drawn = (ROOT / "docs/architecture.md").read_text().partition("## Packages")[2]
    assert [package for package in LAYERS if not re.search(rf"^.*\b{package}\b", drawn, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("model/x.py", "tidegauge.statistics.intervals"),
        ("numbers.py", "tidegauge.model.trial"),
        ("hosts/x.py", "tidegauge.fleet"),
        ("report/x.py", "tidegauge.campaign.plan.plan"),
    ],
)
def test_an_import_that_goes_up_is_named(path: str, name: str) -> None:
    assert (
        goes_up(Path(path), name) == f"{path.partition('/')[0].removesuffix('.py')} may not import {name.split('.')[1]}"
    )


@pytest.mark.parametrize(("path", "name"), [("report/x.py", "tidegauge.store.read"), ("cli/x.py", "tidegauge.cli.y")])
def test_an_import_that_goes_down_is_fine(path: str, name: str) -> None:
    assert goes_up(Path(path), name) == ""


def test_no_import_crosses_a_boundary() -> None:
    crossed = [
        f"{path.relative_to(ROOT)}: {name}: {why}"
        for path in python_files()
        for name in facts_of(path).imports
        if (why := crossed_boundary(path.relative_to(PACKAGE), name))
    ]
    assert crossed == []


NAMES = re.compile("kafka|pulsar|rabbit|bookie|bookkeeper", re.IGNORECASE)
"""Of systems, and of what only one of them is made of."""
EXAMPLES = ("cli/", "campaign/plan/plan.py", "campaign/read/", "thresholds.py")
"""Where help and messages may name a system as an example."""
REPORTS = ("published/", "fairness.py")
"""Where published reports are spoken of."""


def named_systems(source: str) -> list[str]:
    """Identifiers and texts that name a system, but for docstrings."""
    found, prose = [], set()
    for node in nodes_of(source):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.add(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            found += [node.value] if NAMES.search(node.value) else []
        else:
            names = (getattr(node, kind, None) for kind in ("name", "id", "attr", "arg", "module"))
            found += [name for name in names if isinstance(name, str) and NAMES.search(name)]
    return found


def test_no_system_is_named_outside_of_its_folder() -> None:
    """Adding one would need a change there, too."""
    named = {
        place: found
        for path in python_files()
        if not re.match(r"systems/\w+/", place := path.relative_to(PACKAGE).as_posix())
        if (found := facts_of(path).systems)
    }
    assert {place: found for place, found in named.items() if not place.startswith((*EXAMPLES, *REPORTS))} == {}
    exactly = [place for place, found in named.items() if any(NAMES.fullmatch(name) for name in found)]
    assert exactly == [], "an example is part of a sentence; a name by itself is a decision"
    java = [
        path for module in ("api", "app", "engine") for path in (ROOT / "worker" / module / "src/main").rglob("*.java")
    ]
    code = {path.name: re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL) for path in java}
    assert java
    assert [name for name, text in code.items() if NAMES.search(text)] == []


@pytest.mark.parametrize(
    "source", ["if name == 'kafka': pass", "import tidegauge.systems.pulsar", "from x import bookies", "rabbit = 1"]
)
def test_a_named_system_is_found(source: str) -> None:
    assert named_systems(source)
    assert not named_systems('"""As Kafka does."""\nx = 1')


def prints(source: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        for node in nodes_of(source)
    )


def test_only_cli_prints() -> None:
    assert [str(p.relative_to(ROOT)) for p in python_files() if "cli" not in p.parts and facts_of(p).prints] == []


RENAMES_DIRECTORIES = {"distribution/cache.py", "distribution/maven.py", "store/files.py", "store/run.py"}


def renames(source: str) -> list[int]:
    """Lines that rename a file. `replace` with one argument is a path's: a text's has two, a record's has names."""
    calls = [node for node in nodes_of(source) if isinstance(node, ast.Call)]
    methods = [(node, node.func.attr) for node in calls if isinstance(node.func, ast.Attribute)]
    return [
        node.lineno
        for node, name in methods
        if name in ("rename", "renames") or (name == "replace" and len(node.args) == 1 and not node.keywords)
    ]


def test_files_are_replaced_in_one_place() -> None:
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in python_files()}
    renaming = {name for name, path in paths.items() if facts_of(path).renames}
    assert renaming == {"atomic.py", *RENAMES_DIRECTORIES}


def test_a_rename_is_seen() -> None:
    assert renames("draft.replace(path)\nos.rename(draft, path)\npart.rename(path)") == [1, 2, 3]
    assert renames("text.replace('a', 'b')\nreplace(record, worker=None)\nnow.replace(tzinfo=UTC)") == []


NAMES_AT_MOST = {"one_word": 0.19, "private_one_word": 0.01, "called_once": 0.22}
"""Shares of all functions, by `scripts/readability.py`: they may fall, and then these are to follow."""


def counted(*directories: Path) -> Any:
    return runpy.run_path(str(ROOT / "scripts/readability.py"))["count_words"](list(directories))


def test_names_do_not_get_worse() -> None:
    counts = counted(PACKAGE)
    assert counts.classes_of_one_name == ()
    assert counts.banned_locals == 0
    for what, share_max in NAMES_AT_MOST.items():
        assert round(counts.share(getattr(counts, what)), 2) <= share_max, what


def test_names_that_say_nothing_are_counted(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "class Kind:\n    pass\n\n\ndef _kept(rows):\n    found = rows\n    return found\n\n\n_kept([])\n"
    )
    (tmp_path / "two.py").write_text("class Kind:\n    pass\n\n\ndef read_rows(path):\n    return path\n")
    counts = counted(tmp_path)
    assert (counts.functions, counts.one_word, counts.private_one_word, counts.called_once) == (2, 1, 1, 1)
    assert counts.classes_of_one_name == (("Kind", 2),)
    assert counts.banned_locals == 1


CUTS = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"}
PATTERNS = {"search", "match", "fullmatch", "split", "sub", "findall"}
SENTENCES = {
    "reason",
    "warning",
    "note",
    "words",
    "attested",
    "title",
    "why",
    "cause",
    "problem",
    "sentence",
    "rate_rule",
}
"""Names of texts that Tidegauge words for people; as attributes `message` and `text`, too."""
PHRASE = re.compile(r"[A-Za-z,:;'] [A-Za-z('{]|^ [a-z(]|[a-z] $")
OTHERS_WORDS = ("distribution/", "fleet/", "hosts/", "systems/", "worker/client.py")
"""Where phrases of other programs, of the kernel and of its files are read."""
SENTENCES_READ = {"store/reasons.py": "runs of before, which have texts alone"}
"""What is still decided by words, and why; where a type would say it, it is to go."""


def decided_by_sentences(source: str, phrases: bool = True) -> list[str]:
    """Expressions that decide by what a sentence says, or cut it; `from_text` reads what was written by its `str`.

    Asserts of tests may look into any. `phrases`: whether a literal of several words is enough to know a sentence.
    """
    decisions = []
    nodes = deque(nodes_of(source)[:1])
    while nodes:
        node = nodes.popleft()
        if isinstance(node, ast.Assert) or (isinstance(node, ast.FunctionDef) and node.name == "from_text"):
            continue
        nodes += ast.iter_child_nodes(node)
        if decides_by_sentence(node, phrases):
            decisions.append(ast.unparse(node))
    return decisions


def decides_by_sentence(node: ast.AST, phrases: bool) -> bool:
    if isinstance(node, ast.Compare):
        sides = [(node.left, *node.comparators)[place : place + 2] for place in range(len(node.ops))]
        return any(
            isinstance(operator, ast.In | ast.NotIn)
            and (
                is_sentence(whole)
                or (phrases and is_phrase(part))
                or (isinstance(part, ast.Attribute) and is_sentence(part))
            )
            for operator, (part, whole) in zip(node.ops, sides, strict=True)
        )
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
        return node.func.attr in PATTERNS and any(map(is_sentence, node.args[1:]))
    phrased = phrases and any(map(is_phrase, node.args))
    return node.func.attr in CUTS and (phrased or is_sentence(node.func.value))


def is_sentence(node: ast.AST) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        of_text = isinstance(node.func, ast.Name) and node.func.id == "str" and node.args
        return bool(of_text) and is_sentence(node.args[0])
    if isinstance(node, ast.Attribute):
        return node.attr in SENTENCES | {"message", "text", "reasons", "warnings"}
    return isinstance(node, ast.Name) and node.id in SENTENCES


def is_phrase(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple | ast.JoinedStr):
        return any(map(is_phrase, node.elts if isinstance(node, ast.Tuple) else node.values))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and PHRASE.search(node.value) is not None


def test_nothing_is_decided_by_sentences() -> None:
    """Whoever rewords one would change what is decided: a reason has a kind, and so has whatever else is asked for."""
    deciding = {
        place: decisions
        for path in python_files()
        if (place := path.relative_to(PACKAGE).as_posix()) not in SENTENCES_READ
        and (decisions := facts_of(path).decisions)
    }
    assert deciding == {}
    settled = [place for place in SENTENCES_READ if not decided_by_sentences((PACKAGE / place).read_text())]
    assert settled == [], "no longer an exception"


def test_no_test_decides_by_reasons() -> None:
    pattern = re.compile(r"\b(reasons?|warnings?|attested|rate_rule)\b")
    # Parsing takes most of the time, so only who has such a word is looked at.
    paths = [
        path for path in TESTS.rglob("*.py") if path.name != Path(__file__).name and pattern.search(path.read_text())
    ]
    deciding = {
        path.name: decisions
        for path in paths
        if (decisions := [hit for hit in facts_of(path).decisions if pattern.search(hit)])
    }
    assert deciding == {}


@pytest.mark.parametrize(
    "source",
    [
        "if reason.startswith(OWN_LAG): pass",
        "if result.reasons[0].endswith(REMEDY): pass",
        "late = [r for r in results if 'was late' in str(r.warnings[0])]",
        "why, at, _ = missing.partition(' at the place ')",
        "if 'could not create' in text: pass",
        "if KIND in error.message: pass",
        "shown = any(trial.reason and trial.reason in run.reason for trial in run.trials)",
        "if error.message in texts: pass",
        "if re.search(PATTERN, finding.attested): pass",
        "if plot.title.startswith(TITLE): pass",
        "if name.removesuffix(f' ({remedy})'): pass",
    ],
)
def test_a_decision_by_a_sentence_is_found(source: str) -> None:
    assert decided_by_sentences(source)


@pytest.mark.parametrize(
    "source",
    [
        "if reason.kind is ReasonKind.OWN_LAG: pass",
        "if kind in kinds: pass",
        "if name.startswith('kafka@'): pass",
        "name, _, version = system.partition('@')",
        "if system in reasons: pass",
        "def from_text(cls, text):\n    return text.partition(' is ')",
        "assert 'was late' in result.reasons[0].text",
        "if re.fullmatch(PATTERN, value): pass",
    ],
)
def test_what_is_no_decision_by_a_sentence_is_not(source: str) -> None:
    assert not decided_by_sentences(source)


def test_figures_for_people_have_no_exponent() -> None:
    """`:g` writes a million as 1e+06; `numbers.trimmed` does not."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "src/tidegauge").rglob("*.py"))
        # Ticks of a scale have its unit, and are below a thousand of it.
        if path.name != "draw.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r":,?g\}", line)
    ]
    assert not found


def test_nothing_is_left_undone() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    left = [str(p.relative_to(ROOT)) for p in [*python_files(), *java_files()] if marks.search(p.read_text())]
    assert left == []


LATER_ARGUMENTS = {
    "extractall": "filter",
    "extract": "filter",
    "unpack_archive": "filter",
    "getaddresses": "strict",
    "parseaddr": "strict",
}
"""Of the standard library: arguments that came with a later 3.11.x, which vermin, knowing types seldom, can't see."""
LATER_NAMES = {"data_filter", "tar_filter", "fully_trusted_filter", "extraction_filter", "ALLOW_MISSING"}


def newer_than_3_11_0(source: str) -> list[str]:
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute) and node.attr in LATER_NAMES:
            found.append(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            later = LATER_ARGUMENTS.get(node.func.attr)
            found += [f"{node.func.attr}({later}=)" for keyword in node.keywords if later and keyword.arg == later]
    return found


def test_nothing_is_used_that_came_after_python_3_11_0() -> None:
    files = [*python_files(), *(ROOT / "scripts").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    used = {str(p.relative_to(ROOT)): n for p in files if (n := facts_of(p).later_names)}
    assert used == {}


def files_of_tests() -> list[Path]:
    """Returns the Python files of tests, relative to their folder, but for those of the package that stands there."""
    paths = [path.relative_to(TESTS) for path in TESTS.rglob("*.py")]
    return [path for path in paths if path.parts[0] != "toylog"]


def misplacement(path: Path) -> str:
    """Why a file of tests (relative to their folder) may not stand where it does; "" if it may."""
    folder = path.parts[0]
    if path.name == "conftest.py":
        return ""
    if not path.name.startswith("test_"):
        return "" if folder == "support" else "what tests share is in tests/support"
    if folder == "support":
        return "tests/support has no tests"
    if folder != "unit":
        return ""
    if len(path.parts) == 2:
        modules = [module.stem for module in PACKAGE.glob("*.py")]
        is_named = any(f"{path.stem}_".startswith(f"test_{module}_") for module in modules)
        return "" if is_named else "no module at the top of src/tidegauge is named so"
    of = path.parts[1]
    return "" if of == "project" or (PACKAGE / of / "__init__.py").is_file() else f"src/tidegauge has no package {of}"


def test_a_test_stands_with_those_of_its_package() -> None:
    assert {str(path): why for path in files_of_tests() if (why := misplacement(path))} == {}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("unit/test_campaign_parse.py", "no module at the top of src/tidegauge is named so"),
        ("unit/samples/test_parse.py", "src/tidegauge has no package samples"),
        ("unit/store/run_samples.py", "what tests share is in tests/support"),
        ("patience.py", "what tests share is in tests/support"),
        ("support/test_patience.py", "tests/support has no tests"),
    ],
)
def test_a_misplaced_test_is_named(path: str, why: str) -> None:
    assert misplacement(Path(path)) == why


@pytest.mark.parametrize(
    "path",
    ["unit/campaign/test_parse.py", "unit/test_fairness_rules.py", "unit/project/test_style.py", "fuzz/test_x.py"],
)
def test_a_test_in_its_place_is_fine(path: str) -> None:
    assert misplacement(Path(path)) == ""


def imported_tests(source: str) -> list[str]:
    """Returns the files of tests that are imported, also by scripts that a test has as a text and starts."""
    return re.findall(r"^\s*(?:from|import) +(tests\b[\w.]*|(?:[\w.]+\.)?test_\w+)", source, re.MULTILINE)


def test_no_test_imports_another() -> None:
    imported = {str(path): imported_tests((TESTS / path).read_text()) for path in files_of_tests()}
    assert {path: names for path, names in imported.items() if names} == {}


def test_an_imported_test_is_seen() -> None:
    script = 'SCRIPT = """\nfrom test_rigs import steps\n"""'
    imports = f"import test_a as a\nfrom tests.unit.test_b import b\n{script}"
    assert imported_tests(imports) == ["test_a", "tests.unit.test_b", "test_rigs"]
    assert imported_tests("from run_samples import result\nfrom tidegauge.x import test_c") == []


class TestBoundaries:
    """What may be imported where, by example."""

    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("report/x.py", "tidegauge.cli.main"),
            ("campaign/x.py", "tidegauge.systems.kafka"),
            ("systems/kafka/x.py", "tidegauge.systems.pulsar.config"),
            ("statistics/x.py", "subprocess"),
            ("campaign/run/trial/result.py", "time"),
            ("campaign/x.py", "tidegauge.worker.generated.worker_pb2"),
        ],
    )
    def test_crossing(self, path: str, name: str) -> None:
        assert crossed_boundary(Path(path), name)

    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("cli/x.py", "tidegauge.cli.main"),
            ("systems/kafka/x.py", "tidegauge.systems.kafka.deployment"),
            ("campaign/x.py", "tidegauge.systems.registry"),
            ("fleet/x.py", "subprocess"),
            ("comparison/x.py", "tidegauge.store.read"),
            ("worker/client.py", "tidegauge.worker.generated.worker_pb2"),
        ],
    )
    def test_allowed(self, path: str, name: str) -> None:
        assert crossed_boundary(Path(path), name) == ""
