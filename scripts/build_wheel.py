"""Builds a wheel, dist/tidegauge-*.whl, with the worker's jars and the ready campaigns inside; dist/schemas beside it.

The jars are staged below src/tidegauge/_worker only while the wheel is made, so that a checkout never runs stale ones.
They lose what no host that measures can load: native code for other systems than Linux on x86-64 and 64-bit ARM, for
which alone the packages that Tidegauge needs are there.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tidegauge.cli.main import run_command
from tidegauge.errors import did_you_mean

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src/tidegauge"
NULL = "null"
"""The driver of no system, for calibrations: every wheel has it."""
NATIVE = re.compile(r".+\.(so|dll|dylib|jnilib|a)")
FOREIGN = re.compile(
    r"(?:^|[/_-])(?:win|windows|darwin|osx|mac|macos|freebsd|aix|sunos|android"
    r"|i386|x86|ppc|ppc64|ppc64le|s390x|riscv64|loongarch64|mips64|arm|armv6|armv7|sparc)(?=[/_.-](?!64)|$)",
    re.IGNORECASE,
)
"""Systems and processors, as the paths of native code name them."""
TLS_OF_GRPC = "META-INF/native/libio_grpc_netty_shaded_netty_tcnative_"
"""The worker's own service uses the JDK's TLS: `tidegauge.worker.launch`."""


def is_needed(name: str) -> bool:
    """Whether a file of a jar, by its path in it, can be loaded by a worker."""
    return not NATIVE.fullmatch(name) or not (FOREIGN.search(name) or name.startswith(TLS_OF_GRPC))


def copy_jar(source: str, target: str) -> str:
    """Copy a jar without native code that is not needed; as it is if there is none, so that signatures hold."""
    with zipfile.ZipFile(source) as jar:
        entries = [entry for entry in jar.infolist() if is_needed(entry.filename)]
        if len(entries) == len(jar.infolist()):
            return shutil.copy2(source, target)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as smaller:
            for entry in entries:
                smaller.writestr(entry, jar.read(entry), compress_type=entry.compress_type)
    shutil.copystat(source, target)
    return target


def built_drivers() -> list[str]:
    """The drivers in the source, by the folders of their modules."""
    factories = ROOT.glob("worker/*/src/main/resources/META-INF/services/*DriverFactory")
    return sorted(factory.relative_to(ROOT / "worker").parts[0] for factory in factories)


def stage(drivers: list[str]) -> None:
    """Copy jars and campaigns into the package."""
    folders = {"core": ROOT / "worker/app/target/dist/core"}
    folders |= {driver: ROOT / "worker" / driver / "target/dist" for driver in drivers}
    for name, folder in folders.items():
        shutil.copytree(folder, PACKAGE / "_worker" / name, copy_function=copy_jar)
    shutil.copytree(ROOT / "campaigns", PACKAGE / "_campaigns")
    shutil.copytree(ROOT / "workloads", PACKAGE / "_workloads")


def unstage() -> None:
    """Remove what `stage` copied."""
    for name in ("_worker", "_campaigns", "_workloads"):
        shutil.rmtree(PACKAGE / name, ignore_errors=True)


def main() -> int:
    """Build into the directory named; returns the builder's exit code, or 2 for a system that there is not."""
    drivers = built_drivers()
    parser = argparse.ArgumentParser(description="Builds a wheel with the worker's jars inside.")
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "dist")
    parser.add_argument("--systems", nargs="+", default=drivers, help="whose clients it carries (default: of all)")
    arguments = parser.parse_args()
    for system in arguments.systems:
        if system not in drivers:
            print(f"There is no system '{system}'{did_you_mean(system, drivers)}.", file=sys.stderr)
            return 2
    uv = shutil.which("uv", path=f"{ROOT / '.tools/uv/bin'}:{Path(sys.prefix) / 'bin'}") or shutil.which("uv")
    if uv is None:
        print("uv is missing: run `make build` first.", file=sys.stderr)
        return 1
    out = arguments.directory
    unstage()
    try:
        stage(sorted({NULL, *arguments.systems}))
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
