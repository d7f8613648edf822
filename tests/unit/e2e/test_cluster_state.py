"""A state directory holds one cluster and loses nothing of anybody else's."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from e2e import run
from e2e.cluster import foreign, lifecycle
from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.errors import ClusterError
from e2e.cluster.files import locked, write_private
from e2e.cluster.node import claim
from e2e.cluster.state import StateDir


def test_a_directory_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    with pytest.raises(ClusterError, match=r"thesis\.odt"):
        StateDir(tmp_path).claim()
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.odt"]


def test_a_reader_that_goes_away_ends_the_command_without_a_word(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "e2e.cluster", "status", f"--state={tmp_path / 'none'}"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_nothing_interrupts_the_removal_half_way(tmp_path: Path) -> None:
    """A second Ctrl-C prints what is waited for."""
    state = tmp_path / "cluster"
    (state / "node").mkdir(parents=True)  # of a cluster whose record is gone
    command = [sys.executable, "-m", "e2e.cluster", "down", f"--state={state}"]
    with contextlib.ExitStack() as stack:
        with locked(state / "lock"):
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            assert process.stdout is not None
            assert process.stdout.readline() == f"waiting for another command that works in {state} ...\n"
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                process.send_signal(number)
        assert process.stdout.read().startswith("down, ")
    assert process.returncode == 0


@pytest.mark.parametrize(("provider", "switch"), [("built", "1"), ("kubeconfig", "")])
def test_a_cluster_is_not_taken_for_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, switch: str
) -> None:
    monkeypatch.delenv(lifecycle.CHOICE, raising=False)
    monkeypatch.setenv(foreign.SWITCH, switch)
    state = StateDir(tmp_path / "cluster")
    state.claim()
    state.write({"provider": provider, "node": False})
    with pytest.raises(ClusterError, match=f"is {provider}, and RUKPAK_USE_KUBECONFIG is"):
        lifecycle.up(state.path, node=False)


def test_a_switch_that_is_neither_on_nor_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(foreign.SWITCH, "yes")
    with pytest.raises(ClusterError, match="'yes': it may be 1 or 0"):
        foreign.is_wanted()


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(ClusterError, match="none, which KUBECONFIG names, does not exist"):
        foreign.has_node()


def test_two_make_runs_do_not_share_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUKPAK_CLUSTER_STATE", str(tmp_path / "cluster"))
    with run.alone():
        second = subprocess.run([sys.executable, "-m", "e2e.run"], capture_output=True, text=True, check=False)
    assert second.returncode == 1
    assert f"another make run uses the cluster in {tmp_path / 'cluster'}" in second.stderr


def test_only_our_own_entries_are_removed(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "cluster")
    state.claim()
    state.write({"provider": "built"})
    (state.path / "notes").touch()
    state.remove()
    assert [entry.name for entry in state.path.iterdir()] == ["notes"]


def test_nothing_is_left_of_a_directory_that_was_ours_alone(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "cluster")
    with state.locked():
        state.claim()
        state.write({"provider": "built"})
        state.remove()
    assert not state.path.exists()


def test_logs_are_kept_for_reading_only_when_there_are_any(tmp_path: Path) -> None:
    for name, has_logs in (("with", True), ("without", False)):
        state = StateDir(tmp_path / name)
        state.claim()
        if has_logs:
            (state.logs / "etcd.log").touch()
        state.remove(keep={"logs"})
        assert state.path.exists() == has_logs


def test_a_second_holder_waits_even_when_the_first_removed_the_lock(tmp_path: Path) -> None:
    lock, events = tmp_path / "lock", list[str]()

    def second() -> None:
        with locked(lock):
            events.append("second")

    with locked(lock):
        thread = threading.Thread(target=second)
        thread.start()
        lock.unlink()
        events.append("first")
    thread.join(10)
    assert events == ["first", "second"]


def test_a_file_is_written_whole_and_for_its_owner(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.write_text("old")
    write_private(target, "new")
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret"]


def test_down_without_a_cluster_says_so(tmp_path: Path) -> None:
    assert lifecycle.down(tmp_path / "none") is False
    assert not (tmp_path / "none").exists()


def test_an_image_needs_a_cluster_to_go_into(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="up --node"):
        lifecycle.load_image(tmp_path / "none", tmp_path / "image.tar")


def test_a_cluster_without_a_node_does_not_get_one_in_passing(tmp_path: Path) -> None:
    state = StateDir(tmp_path / "cluster")
    state.claim()
    state.write({"provider": "built", "node": False})
    with pytest.raises(ClusterError, match="run `down` first"):
        lifecycle.up(state.path, node=True)


def test_a_directory_that_had_a_node_and_is_somebodys_by_now_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "RUN", tmp_path)
    monkeypatch.setattr("e2e.cluster.node.claim.iptables.save", lambda _: "")
    monkeypatch.setenv(lifecycle.CHOICE, "built")
    other = tmp_path / "other"
    claim.claim(other)
    (other / "logs").mkdir(parents=True)
    (other / "README").touch()
    with pytest.raises(ClusterError, match=f"{other} is not the state of a cluster"):
        lifecycle.up(tmp_path / "new", node=True)
    assert (other / "logs").exists()


@pytest.mark.parametrize("runs", [True, False])
def test_the_node_of_another_cluster_is_removed_only_when_its_programs_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, runs: bool
) -> None:
    removed = list[Path]()

    def removes_node(state: StateDir, _: object) -> None:
        removed.append(state.path)
        claim.release(state.path)

    monkeypatch.setattr(claim, "RUN", tmp_path)
    monkeypatch.setattr(lifecycle, "remove_node", removes_node)
    monkeypatch.setattr(lifecycle, "prepare_machine", lambda state: claim.claim(state.path))
    monkeypatch.setattr(ControlPlane, "start", _fails)
    monkeypatch.setenv(lifecycle.CHOICE, "built")
    monkeypatch.setattr("e2e.cluster.node.claim.iptables.save", lambda _: "")
    other, etcd = StateDir(tmp_path / "other"), tmp_path / "etcd"
    other.claim()
    claim.claim(other.path)
    etcd.symlink_to(sys.executable)
    program = subprocess.Popen(
        [str(etcd), "-c", "import sys; sys.stdin.read()", f"{other.path}/etcd"], stdin=subprocess.PIPE
    )
    with program:
        if not runs:
            program.communicate()
        with pytest.raises(ClusterError, match="already has a node" if runs else "started far enough"):
            lifecycle.up(tmp_path / "new", node=True)
    assert (other.path in removed) is not runs
    assert other.path.exists() is runs


def _fails(*_: object, **__: object) -> None:
    raise ClusterError("started far enough")
