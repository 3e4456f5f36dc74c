"""What the wheel's jars lose: native code that no host of ours loads, and nothing else."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import build_wheel  # noqa: E402

NEEDED = (
    "linux/amd64/libzstd-jni-1.5.6-10.so",
    "linux/aarch64/libzstd-jni-1.5.6-10.so",
    "org/xerial/snappy/native/Linux/x86_64-musl/libsnappyjava.so",
    "META-INF/native/liborg_apache_pulsar_shade_netty_tcnative_linux_aarch_64.so",
    "META-INF/native/libio_grpc_netty_shaded_netty_transport_native_epoll_x86_64.so",
    "lib/libcirce-checksum.so",
    "org/xerial/snappy/win/Native.class",
    "META-INF/LICENSE",
)
FOREIGN = (
    "linux/i386/libzstd-jni-1.5.6-10.so",
    "linux/ppc64le/libzstd-jni-1.5.6-10.so",
    "win/amd64/libzstd-jni-1.5.6-10.dll",
    "org/xerial/snappy/native/Linux/x86/libsnappyjava.so",
    "org/xerial/snappy/native/Linux/android-aarch64/libsnappyjava.so",
    "org/xerial/snappy/native/AIX/ppc/libsnappyjava.a",
    "META-INF/native/liborg_apache_pulsar_shade_netty_tcnative_osx_x86_64.jnilib",
    "META-INF/native/liborg_apache_pulsar_shade_netty_resolver_dns_native_macos_x86_64.jnilib",
    "META-INF/native/libio_grpc_netty_shaded_netty_tcnative_linux_x86_64.so",
)


def make_jar(path: Path, names: tuple[str, ...]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for name in names:
            jar.writestr(name, name * 9)
    return path


def test_a_jar_loses_foreign_native_code_alone(tmp_path: Path) -> None:
    jar = make_jar(tmp_path / "whole.jar", NEEDED + FOREIGN)
    build_wheel.copy_jar(str(jar), str(tmp_path / "copy.jar"))
    with zipfile.ZipFile(tmp_path / "copy.jar") as copy:
        assert tuple(copy.namelist()) == NEEDED
        assert copy.read(NEEDED[0]).decode() == NEEDED[0] * 9
    assert (tmp_path / "copy.jar").stat().st_mtime_ns == jar.stat().st_mtime_ns


def test_a_jar_without_foreign_native_code_stays_as_it_is_signed(tmp_path: Path) -> None:
    jar = make_jar(tmp_path / "whole.jar", NEEDED)
    build_wheel.copy_jar(str(jar), str(tmp_path / "copy.jar"))
    assert (tmp_path / "copy.jar").read_bytes() == jar.read_bytes()


def test_a_system_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["build_wheel.py", str(tmp_path), "--systems", "kafak"])
    assert build_wheel.main() == 2
    assert "no system 'kafak' (did you mean 'kafka'?)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
