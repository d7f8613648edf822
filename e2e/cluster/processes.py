"""The processes of one cluster, by name.

Each is recorded the moment it starts: `up` may be killed at any point, and a later `down` still finds it.
A recorded process counts as ours only while its pid, its start time and the machine's boot agree, so a
pid that another process has by now is never touched. Components run in sessions of their own: Ctrl-C in
the terminal reaches `up`, which then takes them down in order.
"""

import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.cluster.errors import ClusterError, ComponentError, PortTakenError
from e2e.cluster.files import write_private
from e2e.cluster.machine import environment_without_proxies

POLL_SECONDS = 0.05
TAIL_LINES = 15
TAIL_BYTES = 16_384
KILL_SECONDS = 10.0
# The control plane has memory to spare, and the garbage collector of Go takes a tenth of its processor otherwise.
COLLECT_LESS = {"GOGC": "300", "GOMEMLIMIT": "700MiB"}
PROGRAMS = (
    *("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    *("containerd", "containerd-shim-runc-v2", "kubelet", "kube-proxy", "dockerd"),
)


@dataclass(frozen=True, kw_only=True)
class Process:
    pid: int
    started: str
    boot: str
    argv: tuple[str, ...]

    @property
    def is_alive(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)  # a dead child of ours stays a zombie until asked for
        # A process that ended before it was recorded has no start time: "" matches none.
        return self.started != "" and self.boot == boot_id() and self.started == start_time(self.pid)


class Processes:
    def __init__(self, *, record: Path, logs: Path) -> None:
        self._record = record
        self._logs = logs
        self._processes: dict[str, Process] = {}
        if record.exists():
            entries: dict[str, dict[str, object]] = json.loads(record.read_text())
            self._processes = {name: _process(entry) for name, entry in entries.items()}

    @property
    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items() if process.is_alive}

    @property
    def names(self) -> list[str]:
        return list(self._processes)

    def is_alive(self, name: str) -> bool:
        return name in self._processes and self._processes[name].is_alive

    def start(
        self, name: str, argv: Sequence[str], *, tied_to_caller: bool = False, through_proxy: bool = False
    ) -> None:
        """Start a component; `tied_to_caller` ends it with the thread that called (its process, usually).

        Its environment has the machine's HTTP proxies only when it asks: nothing of a local cluster goes through one.
        """
        if tied_to_caller and (setpriv := shutil.which("setpriv")):
            argv = [setpriv, "--pdeathsig", "KILL", *argv]
        self._logs.mkdir(parents=True, exist_ok=True)
        appended = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        pid = os.posix_spawn(
            argv[0],
            list(argv),
            COLLECT_LESS | (dict(os.environ) if through_proxy else environment_without_proxies()),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.log(name)), appended, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
        self._processes[name] = Process(pid=pid, started=start_time(pid), boot=boot_id(), argv=tuple(map(str, argv)))
        self._save()

    def line_of(self, name: str) -> tuple[str, ...]:
        """The command line of one, as it was started last."""
        return self._processes[name].argv

    def start_again(self, name: str, *, through_proxy: bool = False) -> None:
        self.start(name, self._processes[name].argv, through_proxy=through_proxy)

    def stop(self, name: str, number: signal.Signals, *, seconds: float = KILL_SECONDS) -> None:
        process = self._processes.get(name)
        if process is None or not process.is_alive:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
        deadline = time.monotonic() + seconds
        while process.is_alive:
            if time.monotonic() > deadline:
                raise ClusterError(f"{name} (pid {process.pid}) did not end within {seconds:.0f} s of {number.name}")
            time.sleep(POLL_SECONDS)

    def send(self, name: str, number: signal.Signals) -> None:
        """A signal that does not end it."""
        if self.is_alive(name):
            os.kill(self._processes[name].pid, number)

    def kill_all(self) -> None:
        for name in reversed(self.names):
            self.stop(name, signal.SIGKILL)
        self._processes.clear()
        self._record.unlink(missing_ok=True)

    def wait_until(self, what: str, ready: Callable[[], bool], *, component: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.is_alive(component):
                raise self.failure(component, f"{component} ended before {what}")
            if time.monotonic() > deadline:
                raise self.failure(component, f"{component}: not {what} within {seconds:.0f} s")
            time.sleep(POLL_SECONDS)

    def failure(self, name: str, what: str) -> ComponentError:
        tail = self.tail(name)
        kind = PortTakenError if "address already in use" in tail else ComponentError
        return kind(f"{what}. The end of {self.log(name)}:\n{tail}")

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def tail(self, name: str) -> str:
        try:
            with self.log(name).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
                lines = file.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(f"  {line}" for line in lines[-TAIL_LINES:])

    def _save(self) -> None:
        entries = {name: asdict(process) for name, process in self._processes.items()}
        write_private(self._record, json.dumps(entries, indent=1))


def strays(folder: Path) -> list[int]:
    """Find components that work for this state directory, whether or not a record knows them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it ended while we looked
        if Path(words[0]).name in PROGRAMS and any(f"{folder}/" in word for word in words[1:]):
            found.append(int(entry.parent.name))
    return found


def kill_strays(folder: Path) -> None:
    for pid in strays(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while strays(folder):
        if time.monotonic() > deadline:
            raise ClusterError(f"these processes of {folder} do not end: {strays(folder)}")
        time.sleep(POLL_SECONDS)


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> str:
    """Give the start time in clock ticks since boot, "" when no such process runs."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field is the command in brackets and may itself hold spaces and brackets.
    fields = line.rpartition(")")[2].split()
    state, threads, started = fields[0], fields[17], fields[19]
    # A zombie with threads is still ending: it holds its sockets.
    return "" if state in "ZX" and int(threads) <= 1 else started


def _process(entry: dict[str, object]) -> Process:
    argv = entry["argv"]
    return Process(
        pid=int(str(entry["pid"])),
        started=str(entry["started"]),
        boot=str(entry["boot"]),
        argv=tuple(str(word) for word in argv) if isinstance(argv, list) else (),
    )
