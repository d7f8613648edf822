"""One helm process in its sandbox: bounded in time, memory and output, and ended as a group whatever happens.

It may get an API server that only reads, and which is ours (`api_server`). Then what it renders goes through a
post-renderer into a pipe of ours, and helm goes on with nothing: with the manifests in hand it would ask for each kind.

Its input is in files of memory that it reads by descriptor, so nothing is written to disk. It sees nothing of our
environment: no kubeconfig, no service of the cluster, no proxy but one that does not answer; its home is a directory
that does not exist, and it cannot write files. See `core.launcher` for what the kernel bounds.

`RUKPAK_HELM` names the program, or an option does; else it is `helm` on PATH. Asked for its version once for each
binary.
"""

import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.launcher import NOT_STARTED, launcher_command
from rukpak_py.core.limits import MIB
from rukpak_py.formats.helm.api_server import API_SERVER_VARIABLE, Answer, ApiServer

NOWHERE: Final = "/nonexistent"
_DEAD_PROXY: Final = "http://127.0.0.1:9"  # the port of the discard service
_OPEN_FILES: Final = 64
_HAS_NETWORK = False
_ERROR_BYTES: Final = 32 * 1024  # at the start, where helm says what fails; as many at the end, with the cause
_PIECE: Final = 64 * 1024
_THREADS: Final = 2
_ENVIRONMENT: Final = {
    "HOME": NOWHERE,
    "PATH": NOWHERE,
    "TMPDIR": NOWHERE,
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "KUBECONFIG": f"{NOWHERE}/kubeconfig",
    **{f"XDG_{kind}_HOME": NOWHERE for kind in ("CACHE", "CONFIG", "DATA", "STATE")},
    **{f"HELM_{kind}_HOME": NOWHERE for kind in ("CACHE", "CONFIG", "DATA")},
    "HELM_PLUGINS": NOWHERE,
    "HELM_NO_PLUGINS": "1",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _DEAD_PROXY),
    "NO_PROXY": "",
    # client-go keeps discovery on disk, and as root it would make the directory; below a file it cannot.
    "KUBECACHEDIR": "/dev/null/cache",
    "GOTRACEBACK": "none",
    "GOMAXPROCS": str(_THREADS),
}


_TAKE: Final = """import os, sys
while piece := os.read(0, 65536):
    while piece:
        piece = piece[os.write(int(sys.argv[1]), piece):]
"""
VARIABLE: Final = "RUKPAK_HELM"
OLDEST: Final = (3, 16)  # of which `--skip-schema-validation` is
NEWEST: Final = 4  # not any more: its command line is another one
_VERSION = re.compile(r"v(\d{1,6})\.(\d{1,6})\.")
_WANTED: Final = f"helm {OLDEST[0]}.{OLDEST[1]} or newer, below {NEWEST}"
_ADVICE: Final = f"Install {_WANTED}, or set {VARIABLE} to the path of one"


class Stop(Enum):
    """Why we ended it."""

    TIME = auto()
    OUTPUT = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    memory: int  # bytes
    seconds: float
    output: int  # bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    code: int
    output: bytes  # what the post-renderer was given comes first
    errors: str
    stop: Stop | None
    memory: int  # bytes that it had: fewer than were asked for in a process that has fewer itself


@contextmanager
def memory_file(name: str, pieces: Iterable[bytes]) -> Iterator[int]:
    """A file that is nowhere; its descriptor, at the start."""
    with os.fdopen(os.memfd_create(name), "w+b") as file:
        file.writelines(pieces)
        file.seek(0)
        yield file.fileno()


class Pipe:
    """A pipe whose reading end is ours and whose writing end belongs to a started process."""

    def __init__(self) -> None:
        source, self.end = os.pipe()
        self.source = os.fdopen(source, "rb", buffering=0)
        self._is_ours = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_end()
        self.source.close()

    def close_end(self) -> None:
        """Ours: else it never ends."""
        if self._is_ours:
            os.close(self.end)
        self._is_ours = False


def path_of(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"


def post_renderer(pipe: int) -> list[str]:
    """Options by which helm hands out what it rendered, into a pipe that `run` reads."""
    arguments = ("-I", "-S", "-c", _TAKE, str(pipe))
    return [f"--post-renderer={sys.executable}", *(f"--post-renderer-args={argument}" for argument in arguments)]


def run(
    command: Sequence[str],
    *,
    bounds: Bounds,
    stdin: int = subprocess.DEVNULL,
    files: Sequence[int] = (),
    taken: Pipe | None = None,
    answer: Answer | None = None,
) -> Ended:
    """Blocks; UnavailableError when the program cannot be started. `answer`: of the API server that it gets."""
    # A worker process is bounded itself, and the processes that it starts cannot have more.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    memory = bounds.memory if most == resource.RLIM_INFINITY else min(bounds.memory, most)
    with ExitStack() as stack:
        server = stack.enter_context(ApiServer(answer)) if answer is not None else None
        process = _started(command, bounds, memory, stdin, files=files, taken=taken, server=server)
        stack.callback(_end, process)
        if server is not None:
            server.started()
        if taken is not None:
            taken.close_end()
        output, errors, stop = _read(process, bounds, taken)
        code = _end(process) if stop else process.wait()
    text = errors.decode(errors="replace")
    if code == NOT_STARTED:
        raise UnavailableError(f"helm cannot be started: {text.strip()}")
    return Ended(code=code, output=output, errors=text, stop=stop, memory=memory)


def _started(
    command: Sequence[str],
    bounds: Bounds,
    memory: int,
    stdin: int,
    *,
    files: Sequence[int],
    taken: Pipe | None,
    server: ApiServer | None,
) -> subprocess.Popen[bytes]:
    launcher = launcher_command(
        memory=memory,
        file_size=0,  # it writes none
        cpu_seconds=int(bounds.seconds * _THREADS) + 1,
        open_files=_OPEN_FILES,
        end_signal=signal.SIGKILL,
        has_network=_HAS_NETWORK,
        listener=(server.channel, API_SERVER_VARIABLE) if server is not None else None,
    )
    passed = [*files, *([server.channel] if server is not None else []), *([taken.end] if taken is not None else [])]
    try:
        return subprocess.Popen(  # noqa: S603 - an argument list, and no shell
            [*launcher, *command],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=passed,
            env={**_ENVIRONMENT, "GOMEMLIMIT": f"{memory * 3 // 4 // MIB}MiB"},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise UnavailableError(f"helm cannot be started: {error}") from error


def _read(process: subprocess.Popen[bytes], bounds: Bounds, taken: Pipe | None) -> tuple[bytes, bytes, Stop | None]:
    """All streams to their ends, or until one of the bounds."""
    deadline = time.monotonic() + bounds.seconds
    given, output, errors = bytearray(), bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for stream, target in ((process.stdout, output), (process.stderr, errors)):
            selector.register(_open(stream), selectors.EVENT_READ, target)
        if taken is not None:
            selector.register(taken.source, selectors.EVENT_READ, given)
        while selector.get_map():
            ready = selector.select(max(deadline - time.monotonic(), 0))
            if not ready or time.monotonic() > deadline:
                return b"", bytes(errors), Stop.TIME
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data is errors:
                    errors += piece
                    del errors[_ERROR_BYTES:-_ERROR_BYTES]
                else:
                    key.data.extend(piece)
            if len(given) + len(output) > bounds.output:
                return b"", bytes(errors), Stop.OUTPUT
    return bytes(given + output), bytes(errors), None


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - both are pipes
    return stream


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill the whole group: helm starts no processes, but the program installed as helm may be a script."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return process.wait()


_ASKING: Final = Bounds(memory=256 * MIB, seconds=20, output=64 * 1024)


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmProgram:
    path: str

    @classmethod
    def find(cls, path: str | None = None) -> Self:
        """UnavailableError when there is none, or one of a version that we do not know."""
        named = path or os.environ.get(VARIABLE) or "helm"
        found = shutil.which(named)
        if found is None:
            missing = f"there is no program {named!r}" if "/" in named else f"{named!r} is not on PATH"
            raise UnavailableError(f"charts are rendered by helm, and {missing}. {_ADVICE}")
        program = Path(found).resolve()
        status = program.stat()
        _demand_known(str(program), status.st_mtime_ns, status.st_size)
        return cls(path=str(program))

    def run(
        self,
        arguments: Sequence[str],
        *,
        bounds: Bounds,
        stdin: int,
        files: Sequence[int],
        taken: Pipe | None = None,
        answer: Answer | None = None,
    ) -> Ended:
        return run([self.path, *arguments], bounds=bounds, stdin=stdin, files=files, taken=taken, answer=answer)


@lru_cache
def _demand_known(path: str, _modified: int, _size: int) -> None:
    ended = run([path, "version", "--template={{.Version}}"], bounds=_ASKING)
    said = ended.output.decode(errors="replace").strip()
    found = _VERSION.match(said)
    if ended.code != 0 or found is None:
        raise UnavailableError(f"{path} does not say which version of helm it is. {_ADVICE}")
    version = int(found[1]), int(found[2])
    if not OLDEST <= version < (NEWEST, 0):
        raise UnavailableError(f"{path} is helm {said[:50]}. {_ADVICE}")
