"""Runs Maven with a JDK that can compile, whatever the machine has.

Both are looked for first (JAVA_HOME, PATH, /usr/lib/jvm); a missing Maven comes from Maven Central, a missing JDK from
Debian's packages, unpacked into .tools without root. Used by the Makefile: `python scripts/mvn.py ARGUMENTS`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jdk import find_or_fetch_jdk

from tidegauge.distribution.maven import find_or_fetch_maven
from tidegauge.errors import TidegaugeError


def main() -> int:
    """Replace this process by Maven; only errors return."""
    try:
        jdk = find_or_fetch_jdk(Path(__file__).parent.parent / ".tools")
        maven = find_or_fetch_maven(lambda text: print(text, file=sys.stderr))
    except TidegaugeError as error:
        print(f"{error.message}\n{error.hint}".strip(), file=sys.stderr)
        return error.exit_code
    environment = {**os.environ, "JAVA_HOME": str(jdk)}
    return os.execve(maven, [str(maven), *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
