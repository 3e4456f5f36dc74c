"""Generates docs/schemas from the models (`make schemas`); a test says when they are out of date."""

from __future__ import annotations

import json
from pathlib import Path

from tidegauge.report.schemas import file_name, json_schemas

TARGET = Path(__file__).resolve().parents[1] / "docs/schemas"


def texts() -> dict[str, str]:
    """The content of each file, by its name."""
    return {file_name(name): json.dumps(schema, indent=2) + "\n" for name, schema in json_schemas().items()}


def main() -> None:
    """Write all, and remove those that are no more."""
    TARGET.mkdir(parents=True, exist_ok=True)
    wanted = texts()
    for old in TARGET.glob("*.json"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        (TARGET / name).write_text(text)


if __name__ == "__main__":
    main()
