"""Generates the Python side of proto/worker.proto into src/tidegauge/worker/generated (or the directory given)."""

from __future__ import annotations

import re
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[1]
PROTO = ROOT / "proto" / "worker.proto"
TARGET = ROOT / "src" / "tidegauge" / "worker" / "generated"
INIT = '"""Generated from proto/worker.proto by `make proto`; never edited."""\n'


def generate(target: Path) -> None:
    """Write the generated package. Exits with protoc's code if the contract does not compile."""
    target.mkdir(parents=True, exist_ok=True)
    well_known = resources.files("grpc_tools") / "_proto"
    with tempfile.TemporaryDirectory() as draft:
        code = protoc.main(
            [
                "protoc",
                f"-I{PROTO.parent}",
                f"-I{well_known}",
                f"--python_out={draft}",
                f"--pyi_out={draft}",
                f"--grpc_python_out={draft}",
                PROTO.name,
            ]
        )
        if code != 0:
            sys.exit(code)
        for file in sorted(Path(draft).iterdir()):
            # protoc imports its modules from the top level; ours are inside a package.
            text = re.sub(r"^import worker_pb2 as", "from . import worker_pb2 as", file.read_text(), flags=re.MULTILINE)
            (target / file.name).write_text(text)
    (target / "__init__.py").write_text(INIT)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
