"""What a host has for workers is the same in a checkout and in a wheel, whose jars lack some native code."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tidegauge.worker.site import digest_of_jars


def jar(path: Path, compression: int, **files: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as content:
        for name, text in files.items():
            content.writestr(name, text)
    return path


def test_jars_are_told_by_what_they_hold_but_native_code(tmp_path: Path) -> None:
    classes = {"a/B.class": "b" * 1000, "META-INF/services/x": "a.B"}
    of_checkout = jar(tmp_path / "1/a.jar", zipfile.ZIP_STORED, **classes, **{"win/z.dll": "z", "linux/z.so.1": "z"})
    of_wheel = jar(tmp_path / "2/a.jar", zipfile.ZIP_DEFLATED, **dict(reversed(classes.items())))
    assert digest_of_jars([of_checkout]) == digest_of_jars([of_wheel])
    others = (
        jar(tmp_path / "3/a.jar", zipfile.ZIP_STORED, **{**classes, "a/B.class": "c" * 1000}),
        jar(tmp_path / "4/a.jar", zipfile.ZIP_STORED, **classes, **{"a/C.class": "c"}),
        jar(tmp_path / "5/b.jar", zipfile.ZIP_STORED, **classes),
    )
    assert digest_of_jars([of_checkout]) not in {digest_of_jars([other]) for other in others}
