"""git as processes of this machine, all of one fetch together, run from a thread and stopped from anywhere.

Each has a process group of its own, so that its helpers (git-remote-https, ssh, index-pack) end with it. It sees only
the environment that it is given: nothing of the operator's, and no configuration of the system or of a user. `timeout`
ends the group of an operator that was killed: git would wait for as long as a server holds the connection.
"""

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING

from rukpak_py.core.errors import ContentError

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")  # without git, other sources still work

from git.cmd import Git

if TYPE_CHECKING:
    import subprocess

NOISE_BYTES = 2_000_000  # that a server may say on a fetch, beside the content
_TICK_SECONDS = 0.05
_REAP_SECONDS = 1.0  # after SIGKILL
_PIECE = 65536
_KEPT = frozenset({"PATH", "LANGUAGE", "LC_ALL"})  # GitPython sets the latter two


class StoppedError(Exception):
    """`stop` was called: whoever called it knows why."""


class GitError(Exception):
    """git ended with an error; the text is what it wrote, for `failures.explain`."""


def _nothing() -> None:
    """Watch nothing."""


class Commands:
    def __init__(self, directory: Path, environment: Mapping[str, str], *, seconds: float) -> None:
        """`seconds`: a process is of no use for longer, even when nobody is there any more to stop it."""
        self._git = Git(str(directory))
        self._environment = dict(environment)
        self._bound = ("timeout", "--signal=KILL", f"{seconds:g}")
        self._live: list[Git.AutoInterrupt] = []
        self._lock = Lock()
        self._stopped = False

    def run(
        self, *arguments: str, watch: Callable[[], None] = _nothing, environment: Mapping[str, str] | None = None
    ) -> None:
        """Until git has ended. `watch` is called often meanwhile; what it raises ends git."""
        said = bytearray()
        with self.started(*arguments, with_stdout=False, environment=environment) as process:
            for piece in _pieces(_open(process.stderr)):
                said += piece
                if len(said) > NOISE_BYTES:
                    raise ContentError(f"the server sent more than {NOISE_BYTES} bytes of messages")
                watch()
            watch()
            code = process.wait()
        if self._stopped:
            raise StoppedError
        if code:
            raise GitError(said.decode(errors="replace"))

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
        with self._lock:
            if self._stopped:
                raise StoppedError
            started = self._git.execute(
                ["env", *hidden, *self._bound, "git", *arguments],
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
        """Everything that runs, and everything that would be started."""
        with self._lock:
            self._stopped = True
            for started in self._live:
                _kill(started.proc)

    @property
    def is_stopped(self) -> bool:
        return self._stopped

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


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """What arrives, and nothing now and then, until the other end is closed."""
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
