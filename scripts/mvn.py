"""Runs Maven with a JDK that can compile, whatever the machine has.

Both are looked for first (JAVA_HOME, PATH, /usr/lib/jvm); a missing Maven comes from Maven Central, a missing JDK from
Debian's packages, unpacked into .tools without root. Used by the Makefile: `python scripts/mvn.py ARGUMENTS`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path

from jdk import find_or_fetch_jdk

from tidegauge.distribution.java import JavaRuntime
from tidegauge.distribution.maven import find_or_fetch_maven, jvm_options, repository_settings
from tidegauge.distribution.resolve import explain_unreached
from tidegauge.errors import TidegaugeError

TOOLS = Path(__file__).resolve().parent.parent / ".tools"
TAIL_LINES = 200
INTERRUPTED = 130


def main() -> int:
    """Run Maven and return its exit code; what it could not fetch is named last."""
    try:
        jdk = find_or_fetch_jdk(TOOLS)
        maven = find_or_fetch_maven(lambda text: print(text, file=sys.stderr))
    except TidegaugeError as error:
        print(f"{error.message}\n{error.hint}".strip(), file=sys.stderr)
        return error.exit_code
    # A JDK that was fetched does not know this machine's certificate authorities.
    options = jvm_options(JavaRuntime(jdk, "", 0, bundled=jdk.is_relative_to(TOOLS)))
    environment = {
        **os.environ,
        "JAVA_HOME": str(jdk),
        "JDK_JAVA_OPTIONS": options,
        # A build lasts some seconds: the second compiler costs it more CPU than it gains. What the user gives wins.
        "MAVEN_OPTS": f"-XX:TieredStopAtLevel=1 {os.environ.get('MAVEN_OPTS', '')}",
    }
    with tempfile.TemporaryDirectory(prefix="tidegauge-maven-") as scratch:
        code, tail = run(
            [str(maven), "--threads=2", "--strict-checksums", *repository_settings(Path(scratch)), *sys.argv[1:]],
            environment,
        )
    missing = explain_unreached("".join(tail)) if code else ""
    if missing:
        print(
            f"\nThe worker could not be built: {missing}.\nCheck the network, or name a repository that can be reached "
            "in MAVEN_REPO; then run make again: what was fetched is kept.",
            file=sys.stderr,
        )
    return code


def run(command: list[str], environment: dict[str, str]) -> tuple[int, deque[str]]:
    """Run a program and pass on what it prints. Returns its exit code and the end of its output."""
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Picked up JDK_JAVA_OPTIONS" not in line:
                tail.append(line)
                print(line, end="", flush=True)
    return process.returncode, tail


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted. The same command resumes; what was fetched is kept.", file=sys.stderr)
        sys.exit(INTERRUPTED)
