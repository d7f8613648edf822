"""Components are recorded, recognised and ended; a process that is not ours is never touched."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster.errors import ClusterError, ComponentError, PortTakenError
from e2e.cluster.processes import Processes, kill_strays, start_time, strays
from e2e.waiting import eventually

SLEEP = ["/bin/sleep", "60"]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(record=tmp_path / "processes.json", logs=tmp_path / "logs")
    yield processes
    processes.kill_all()


def reopened(tmp_path: Path) -> Processes:
    return Processes(record=tmp_path / "processes.json", logs=tmp_path / "logs")


def test_another_run_finds_and_ends_what_was_started(processes: Processes, tmp_path: Path) -> None:
    processes.start("one", SLEEP)
    later = reopened(tmp_path)
    assert later.pids == processes.pids
    later.kill_all()
    assert not processes.is_alive("one")
    assert reopened(tmp_path).names == []


def test_pid_of_another_process_by_now_is_left_alone(processes: Processes, tmp_path: Path) -> None:
    processes.start("one", SLEEP)
    pid = processes.pids["one"]
    record = tmp_path / "processes.json"
    entries = json.loads(record.read_text())
    entries["one"]["started"] = "1"
    record.write_text(json.dumps(entries))
    later = reopened(tmp_path)
    assert later.pids == {}
    later.kill_all()
    assert start_time(pid) != ""


def test_processes_of_before_a_reboot_are_not_ours(processes: Processes, tmp_path: Path) -> None:
    processes.start("one", SLEEP)
    record = tmp_path / "processes.json"
    entries = json.loads(record.read_text())
    entries["one"]["boot"] = "another boot"
    record.write_text(json.dumps(entries))
    assert not reopened(tmp_path).is_alive("one")


def test_component_that_ended_is_dead_before_it_is_reaped(processes: Processes) -> None:
    processes.start("one", ["/bin/true"])
    with pytest.raises(ComponentError):
        processes.wait_until("ready", lambda: False, component="one", seconds=10)
    assert not processes.is_alive("one")


def test_a_failure_shows_the_end_of_the_log(processes: Processes) -> None:
    processes.start("one", ["/bin/sh", "-c", "echo this is why >&2; exit 3"])
    with pytest.raises(ComponentError, match=r"(?s)one ended before ready.*one\.log.*this is why"):
        processes.wait_until("ready", lambda: False, component="one", seconds=10)


def test_a_port_that_was_taken_meanwhile_is_an_error_of_its_own(processes: Processes) -> None:
    processes.start("one", ["/bin/sh", "-c", "echo listen: bind: address already in use"])
    with pytest.raises(PortTakenError):
        processes.wait_until("ready", lambda: False, component="one", seconds=10)


def test_waiting_ends_at_the_deadline(processes: Processes) -> None:
    processes.start("one", SLEEP)
    with pytest.raises(ComponentError, match="not ready within 0 s"):
        processes.wait_until("ready", lambda: False, component="one", seconds=0.1)


def test_a_component_that_ignores_the_signal_is_reported(processes: Processes, tmp_path: Path) -> None:
    deaf = tmp_path / "deaf"
    processes.start("one", ["/bin/sh", "-c", f"trap '' TERM; touch {deaf}; while :; do sleep 1; done"])
    processes.wait_until("deaf", deaf.exists, component="one", seconds=10)
    with pytest.raises(ClusterError, match="did not end within"):
        processes.stop("one", signal.SIGTERM, seconds=0.2)


def test_a_restart_runs_the_same_command(processes: Processes, tmp_path: Path) -> None:
    processes.start("one", SLEEP)
    first = processes.pids["one"]
    processes.stop("one", signal.SIGKILL)
    processes.start_again("one")
    assert processes.pids["one"] != first
    line = Path(f"/proc/{processes.pids['one']}/cmdline")
    # The kernel shows an empty line for an instant after a start.
    processes.wait_until("itself", lambda: line.read_bytes() == b"/bin/sleep\x0060\x00", component="one", seconds=10)


def test_proxies_of_the_machine_are_kept_from_components(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test")
    processes.start("one", SLEEP)
    processes.start("two", SLEEP, through_proxy=True)
    for name, pid in processes.pids.items():
        environment = Path(f"/proc/{pid}/environ")
        processes.wait_until("itself", lambda file=environment: file.read_bytes() != b"", component=name, seconds=10)  # type: ignore[misc]  # bound now
    seen = {name: b"proxy.test" in Path(f"/proc/{pid}/environ").read_bytes() for name, pid in processes.pids.items()}
    assert seen == {"one": False, "two": True}


def test_components_without_a_record_are_found_by_their_state_directory(tmp_path: Path) -> None:
    program = shutil.copy("/bin/sh", tmp_path / "etcd")
    # Waits without a child of its own, which would look like its parent until it runs another program.
    script = "read line"
    ours = subprocess.Popen([program, "-c", script, f"--data-dir={tmp_path}/one/etcd"], stdin=subprocess.PIPE)
    others = subprocess.Popen([program, "-c", script, f"--data-dir={tmp_path}/one-more/etcd"], stdin=subprocess.PIPE)
    try:
        eventually(lambda: strays(tmp_path / "one") == [ours.pid], what="it is found")
        kill_strays(tmp_path / "one")
        assert strays(tmp_path / "one") == []
        assert strays(tmp_path / "one-more") == [others.pid]
    finally:
        for process in (ours, others):
            process.kill()
            process.communicate()


@pytest.mark.skipif(not shutil.which("setpriv"), reason="util-linux's setpriv is not on PATH")
def test_a_tied_component_ends_with_its_caller(tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from e2e.cluster.processes import Processes
processes = Processes(record=Path({str(tmp_path / "r.json")!r}), logs=Path({str(tmp_path / "logs")!r}))
processes.start("one", {SLEEP!r}, tied_to_caller=True)
print(processes.pids["one"])
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    eventually(lambda: not start_time(int(done.stdout)), what="it ended")
