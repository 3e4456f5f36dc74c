"""Builds a wheel, dist/tidegauge-*.whl, with the worker's jars and the ready campaigns inside; dist/schemas beside it.

The jars are staged below src/tidegauge/_worker only while the wheel is made, so that a checkout never runs stale ones.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tidegauge.cli.main import run_command

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/tidegauge"


def stage() -> None:
    """Copy jars and campaigns into the package."""
    core = ROOT / "worker/app/target/dist/core"
    shutil.copytree(core, PACKAGE / "_worker/core")
    for services in sorted(ROOT.glob("worker/*/src/main/resources/META-INF/services/*DriverFactory")):
        driver = services.relative_to(ROOT / "worker").parts[0]
        shutil.copytree(ROOT / "worker" / driver / "target/dist", PACKAGE / "_worker" / driver)
    shutil.copytree(ROOT / "campaigns", PACKAGE / "_campaigns")
    shutil.copytree(ROOT / "workloads", PACKAGE / "_workloads")


def unstage() -> None:
    """Remove what `stage` copied."""
    for name in ("_worker", "_campaigns", "_workloads"):
        shutil.rmtree(PACKAGE / name, ignore_errors=True)


def main() -> int:
    """Build into the directory named (default: dist); returns the builder's exit code."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    uv = shutil.which("uv", path=f"{ROOT / '.tools/uv/bin'}:{Path(sys.prefix) / 'bin'}") or shutil.which("uv")
    if uv is None:
        print("uv is missing: run `make build` first.", file=sys.stderr)
        return 1
    unstage()
    try:
        stage()
        code = subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", out, ROOT], check=False).returncode
    finally:
        unstage()
    if code == 0:
        code = run_command(["schema", "--output", str(out / "schemas")])
    for wheel in sorted(out.glob("*.whl")):
        print(f"{wheel}  {wheel.stat().st_size / 1e6:.0f} MB")
    return code


if __name__ == "__main__":
    sys.exit(main())
