"""git as processes of this machine, all of one command together, run from a thread and stopped from anywhere.

Each command has a process group of its own, so that its helpers (git-remote-https, ssh, index-pack) end with it. It
sees only the environment that it is given: nothing of the operator's, and no configuration of the system or of a user.
`core.launcher` bounds what each process may take; how many there are, and what they write together, is watched while
they run. `timeout` ends the group when its time is over, or when the thread that waits for it is gone with its process.

What git writes to stderr is a server's text: it is redacted, then cut here, before anything else reads it.
"""

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING

from rukpak_py.core.errors import ContentError
from rukpak_py.core.launcher import launcher_command
from rukpak_py.core.limits import MIB, Limits
from rukpak_py.core.text import excerpt
from rukpak_py.sources.budget import Budget, Share
from rukpak_py.sources.git.processes import GroupProcesses

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # without git, other sources still work

from git.cmd import Git
from git.exc import CommandError

if TYPE_CHECKING:
    import subprocess

NOISE_BYTES = 2_000_000  # that a server may say on a fetch, beside the content
SAID_CHARACTERS = 16_384  # of them anything here reads
_OPEN_FILES = 256
_GRACE_SECONDS = 10.0  # for the thread that stops git when its time is over
# What the kernel allows beyond the limits, so that the watch is what refuses it, and says why.
_ALLOWED_BYTES = MIB
_ALLOWED_SECONDS = 5
_TICK_SECONDS = 0.05
_REST = 20  # times as long as a check takes, until the next one
_REAP_SECONDS = 1.0  # after SIGKILL
_PIECE = 65536
_KEPT = frozenset({"PATH", "LANGUAGE", "LC_ALL"})  # GitPython sets the latter two


# The first releases of each series that know GIT_NO_LAZY_FETCH.
_NO_LAZY_FETCH = ((2, 39, 4), (2, 40, 2), (2, 41, 1), (2, 42, 2), (2, 43, 4), (2, 44, 1))


class StoppedError(Exception):
    """`stop` was called: its caller knows why."""


class GitError(Exception):
    """git ended with an error.

    `said`: what it wrote, cut, for `failures` to find the reason in. The text is the same with secrets redacted.
    """

    def __init__(self, said: str, shown: str | None = None) -> None:
        super().__init__(said if shown is None else shown)
        self.said = said


def _unchanged(text: str) -> str:
    return text


def git_error(written: bytes, redacted: Callable[[str], str] = _unchanged) -> GitError:
    """Redacted before it is cut: half a secret would not be found any more."""
    text = written.decode(errors="replace")
    return GitError(excerpt(text, SAID_CHARACTERS), excerpt(redacted(text), SAID_CHARACTERS))


@cache
def knows_no_lazy_fetch() -> bool:
    """Whether git can be told not to fetch what a repository with a filter has left out. Blocks."""
    try:
        version = (*Git().version_info, 0, 0)[:3]
    except (CommandError, IndexError):  # there is none, which its first use says better
        return False
    of_series = next((first for first in _NO_LAZY_FETCH if first[:2] == version[:2]), _NO_LAZY_FETCH[-1])
    return version >= of_series


def _nothing() -> None:
    """Watch nothing."""


class Commands:
    def __init__(
        self,
        directory: Path,
        environment: Mapping[str, str],
        *,
        limits: Limits,
        memory: Budget | None = None,
        redacted: Callable[[str], str] = _unchanged,
    ) -> None:
        """`memory`: what `run` counts for; a worker process has a bound of its own."""
        self._git = Git(str(directory))
        self._environment = dict(environment)
        self._limits = limits
        self._memory = memory
        self._redacted = redacted
        self._live: list[Git.AutoInterrupt] = []
        self._lock = Lock()
        self._stopped = False

    def run(
        self, *arguments: str, watch: Callable[[], None] = _nothing, environment: Mapping[str, str] | None = None
    ) -> None:
        """Run git to its end. `watch` is called often meanwhile; what it raises ends git."""
        said = bytearray()
        with (
            self._share_of_memory() as memory,
            self.started(*arguments, with_stdout=False, environment=environment) as process,
        ):
            check = _paced(self._process_check(process.pid, memory), watch)
            for piece in _pieces(_open(process.stderr)):
                said += piece
                if len(said) > NOISE_BYTES:
                    raise ContentError(f"the server sent more than {NOISE_BYTES} bytes of messages")
                check()
            watch()
            code = process.wait()
        if self._stopped:
            raise StoppedError
        if code:
            raise git_error(bytes(said), self._redacted)

    @contextmanager
    def started(
        self,
        *arguments: str,
        with_stdout: bool = True,
        istream: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """A process that ends, with all its children, at the end of the block at the latest."""
        given = self._environment | dict(environment or {})
        hidden = (f"--unset={name}" for name in sorted(os.environ) if name not in given and name not in _KEPT)
        # It ends a process whose time is over, also when the operator is gone.
        timeout = ("timeout", "--signal=KILL", f"{self._limits.git_seconds + _GRACE_SECONDS:g}")
        command = ["env", *hidden, *self._bounded(), *timeout, "git", *arguments]
        with self._lock:
            if self._stopped:
                raise StoppedError
            started = self._git.execute(
                command,
                as_process=True,
                env=given,
                istream=istream,
                with_stdout=with_stdout,
                shell=False,
                start_new_session=True,
            )
            self._live.append(started)
        process = _of(started)
        try:
            yield process
        finally:
            self._end(started, process)

    def stop(self) -> None:
        """Stop all that runs, and all that would be started."""
        with self._lock:
            self._stopped = True
            for started in self._live:
                _kill(started.proc)

    def _bounded(self) -> list[str]:
        """`timeout` takes the end signal for the end of its time."""
        return launcher_command(
            memory=self._limits.git_memory_bytes,
            file_size=self._limits.git_bytes + _ALLOWED_BYTES,
            cpu_seconds=self._limits.git_processor_seconds + _ALLOWED_SECONDS,
            open_files=_OPEN_FILES,
            end_signal=signal.SIGALRM,
            has_network=True,
        )

    @contextmanager
    def _share_of_memory(self) -> Iterator[Share | None]:
        """Hold a share of the memory until its processes have ended."""
        if self._memory is None:
            yield None
            return
        share = self._memory.share()
        try:
            yield share
        finally:
            share.release()

    def _process_check(self, group: int, memory: Share | None) -> Callable[[], None]:
        processes = GroupProcesses(group)

        def check() -> None:
            processes.look()
            if processes.count > self._limits.git_processes:
                raise self._limits.exceeded("git_processes", "the number of processes that git starts")
            if processes.processor_seconds > self._limits.git_processor_seconds:
                what = "the number of seconds of processor time that git needs for the repository"
                raise self._limits.exceeded("git_processor_seconds", what)
            if memory is not None:
                memory.set(processes.memory)

        return check

    def _end(self, started: Git.AutoInterrupt, process: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            self._live.remove(started)
            _kill(process)
        process.wait()
        _reap(process.pid)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def _of(started: Git.AutoInterrupt) -> "subprocess.Popen[bytes]":
    if started.proc is None:
        raise AssertionError("GitPython forgets it only when it ends it, at the end of our own reference")
    return started.proc


def _kill(process: "subprocess.Popen[bytes] | None") -> None:
    """The group; a leader that has ended but was not waited for keeps its number from being used again."""
    if process is not None and process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _reap(group: int) -> None:
    """End what outlived its parent: process 1 of a container, as the operator is, gets it and has to wait for it."""
    until = time.monotonic() + _REAP_SECONDS
    with suppress(ChildProcessError):  # there is none of ours, or no more
        while time.monotonic() < until:
            if os.waitpid(-group, os.WNOHANG) == (0, 0):
                os.killpg(group, signal.SIGKILL)  # one of them is ours, so the number is still theirs
                time.sleep(_TICK_SECONDS)  # in the thread of this git; the end of a killed process comes without a word


def _paced(*checks: Callable[[], None]) -> Callable[[], None]:
    """Run all checks, as often as costs a small part of the time."""
    due = 0.0

    def check() -> None:
        nonlocal due
        before = time.monotonic()
        if before < due:
            return
        for one in checks:
            one()
        after = time.monotonic()
        due = after + max(_TICK_SECONDS, _REST * (after - before))

    return check


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what arrives, and nothing now and then, until the other end is closed."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(_TICK_SECONDS):
                yield b""
            elif piece := os.read(stream.fileno(), _PIECE):
                yield piece
            else:
                return


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("the stream is a pipe")
    return stream
