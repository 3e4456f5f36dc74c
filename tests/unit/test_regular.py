"""Files that others may have made: none but regular ones are read, and no directory of others is taken."""

from __future__ import annotations

import json
import os
import stat
import zlib
from pathlib import Path

import pytest

from tidegauge.agent import main as agent
from tidegauge.cli.main import run_command
from tidegauge.errors import StartFailedError, UserError, printable_json
from tidegauge.hosts.storage import check_owner, make_own_directory
from tidegauge.regular import checked_content, is_regular, read_regular
from tidegauge.statistics.histograms import decode_histogram

NOBODY = 65534


def test_a_regular_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(path, 4)


@pytest.mark.parametrize("kind", ["link", "device", "FIFO", "directory"])
def test_nothing_else_is(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    (tmp_path / "other").write_text("x")
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match=f"no regular file but a {kind}"):
        read_regular(path, 1 << 20)
    assert not is_regular(path)


def test_what_is_called_a_file_and_has_nothing_to_read_yet_is_none() -> None:
    # What reading /proc/kmsg without waiting gives.
    with pytest.raises(OSError, match="nothing to read yet"):
        checked_content(None, 5)


def test_a_histogram_is_unpacked_within_bounds() -> None:
    zeros = zlib.compress(bytes(64 << 20))
    outer = (0x1C849304 | 0x10).to_bytes(4, "big") + len(zeros).to_bytes(4, "big")
    with pytest.raises(ValueError, match="too large"):
        decode_histogram(outer + zeros)


def test_json_shows_what_a_terminal_would_obey_as_escapes() -> None:
    text = json.dumps({"a": "\x9b31m \u202e \ud800 \x1b[0m"}, ensure_ascii=False)
    shown = printable_json(text)
    assert shown.isascii()
    assert json.loads(shown) == json.loads(text)


@pytest.fixture
def everybodys(tmp_path: Path) -> Path:
    """A directory like /tmp."""
    place = tmp_path / "everybodys"
    place.mkdir()
    place.chmod(0o1777)
    return place


class TestDirectoriesAmongOthers:
    def test_a_new_one_is_nobody_elses(self, everybodys: Path) -> None:
        made = everybodys / "run-trial"
        make_own_directory(made / "kafka-1")
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
        make_own_directory(made / "kafka-1")

    def test_a_link_is_not_taken(self, everybodys: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (everybodys / "run-trial").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(PermissionError, match="is no directory"):
            make_own_directory(everybodys / "run-trial" / "kafka-1")
        assert not list((tmp_path / "elsewhere").iterdir())
        with pytest.raises(StartFailedError, match="is no directory"):
            agent.make_directories([everybodys / "run-trial"], None)

    def test_a_file_is_not_written_through_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "victim").write_text("as it was")
        (tmp_path / "rabbitmq.conf").symlink_to(tmp_path / "victim")
        with pytest.raises(StartFailedError, match="can't be written"):
            agent.write_file(tmp_path / "rabbitmq.conf", "new", None)
        assert (tmp_path / "victim").read_text() == "as it was"

    @pytest.mark.root
    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
    def test_one_of_somebody_else_is_not_taken(self, everybodys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("SUDO_UID", raising=False)
        theirs = everybodys / "run-trial"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
        with pytest.raises(StartFailedError, match=rf"run-trial belongs to the user .*{NOBODY}"):
            agent.write_file(theirs / "rabbitmq-1/rabbitmq.conf", "text", None)
        monkeypatch.setenv("SUDO_UID", str(NOBODY))
        agent.write_file(theirs / "rabbitmq-1/rabbitmq.conf", "text", None)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
class TestRoot:
    @pytest.fixture
    def state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A state directory with a record that names a directory to be removed."""
        monkeypatch.setenv("TIDEGAUGE_STATE", str(tmp_path / "state"))
        (tmp_path / "victim").mkdir()
        agents = tmp_path / "state/agents"
        agents.mkdir(parents=True)
        (agents / "0123456789abcdef.json").write_text(
            json.dumps({
                "agent_id": "0123456789abcdef", "agent": {"pid": 1, "start_ticks": 1}, "boot": "another",
                "namespace": "x", "processes": [], "directories": [str(tmp_path / "victim")], "ports": [],
            })
        )  # fmt: skip
        return tmp_path / "state"

    @pytest.mark.parametrize("place", [".", "agents", "agents/0123456789abcdef.json"])
    def test_what_another_user_owns_is_not_obeyed(
        self, place: str, state: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        os.chown(state / place, NOBODY, NOBODY)
        assert run_command(["clean"]) == 2
        message = capsys.readouterr().err
        assert message.count("Error: ") == 1
        assert f"({NOBODY}): root does only what stands in a state directory of its own" in " ".join(message.split())
        assert "chown" not in message, "then what that user wrote would be obeyed"
        assert (state.parent / "victim").is_dir()

    def test_nor_what_others_may_write(self, state: Path) -> None:
        state.chmod(0o777)
        with pytest.raises(UserError, match="can be written by others"):
            check_owner(state)

    def test_its_own_is(self, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_command(["clean"]) == 0
        assert "Removed" in capsys.readouterr().out
        assert not (state.parent / "victim").exists()
