"""The bounds of git, and that it ends with the fetch that waits for it."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from e2e.waiting import eventually as eventually_sync
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, MIB, LimitError, Limits
from rukpak_py.sources.git.command import Commands, GitError, knows_no_lazy_fetch
from rukpak_py.sources.git.environment import local_environment
from rukpak_py.sources.git.fetched import Commit, FetchedRepository, NoCommit, find_commit, read_content
from rukpak_py.sources.git.source import memory_of_all
from rukpak_py.sources.spool import Spool
from rukpak_py.workers.pool import WorkerProcesses
from tests.git_fetching import NAME, fetcher, git_source, request
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.waiting import eventually, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the bounds are Linux's")
HANGING = '#!/bin/sh\ncase $1 in cat-file) exec sleep 600;; *) exec {git} "$@";; esac\n'


def shell(directory: Path, script: str, limits: Limits = DEFAULT_LIMITS) -> None:
    """Run a script in the place of git, with all that git has."""
    Commands(directory, local_environment(directory), limits=limits).run("-c", f"alias.x=!{script}", "x")


def test_the_command_with_most_of_the_memory_gives_way_to_the_others(tmp_path: Path) -> None:
    memory = memory_of_all(replace(DEFAULT_LIMITS, git_total_memory_bytes=64 * MIB))
    go_on = tmp_path / "go-on"

    def git(script: str) -> None:
        commands = Commands(tmp_path, local_environment(tmp_path), limits=DEFAULT_LIMITS, memory=memory)
        commands.run("-c", f"alias.x=!{script}", "x")

    with ThreadPoolExecutor() as threads:
        small = threads.submit(git, f"(head -c 8M /dev/zero; until [ -e {go_on} ]; do sleep 0.1; done) | tail -c 8M")
        eventually_sync(lambda: memory.used > 8 * MIB, what="the small one runs")
        with pytest.raises(UnavailableError) as error:
            git("(head -c 128M /dev/zero; sleep 600) | tail -c 128M")
        assert str(error.value) == (
            "git needs more than 64 MiB of memory for all Bundles at a time (RUKPAK_LIMIT_GIT_TOTAL_MEMORY_BYTES and "
            "the memory limit of the container set it), most of it here; retrying later"
        )
        assert 8 * MIB < memory.used < 64 * MIB, "what was ended does not count any more"
        go_on.touch()
        small.result(timeout=30)
    assert memory.used == 0


def members(group: int) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(path.name)) == group and not is_zombie(path):
                found.append((path / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def is_zombie(process: Path) -> bool:
    return (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def with_text(text: str) -> list[int]:
    """Processes that have the text in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def test_processes_are_counted_and_ended(tmp_path: Path) -> None:
    limits = replace(DEFAULT_LIMITS, git_processes=10)
    with pytest.raises(LimitError) as error:
        shell(tmp_path, "for i in $(seq 20); do sleep 600 & done; wait", limits)
    assert str(error.value) == (
        "the number of processes that git starts exceeds the limit of 10 (RUKPAK_LIMIT_GIT_PROCESSES sets it)"
    )
    eventually_sync(lambda: not with_text(str(tmp_path)), what="they have ended")


def test_processor_time_is_that_of_all_processes_together(tmp_path: Path) -> None:
    limits = replace(DEFAULT_LIMITS, git_processor_seconds=1)
    with pytest.raises(LimitError, match="RUKPAK_LIMIT_GIT_PROCESSOR_SECONDS sets it"):
        shell(tmp_path, "(while :; do :; done) & (while :; do :; done) & wait", limits)
    eventually_sync(lambda: not with_text(str(tmp_path)), what="they have ended")


@pytest.mark.parametrize(
    ("option", "bound"),
    [("-d", "524288"), ("-f", "525312"), ("-t", "65"), ("-n", "256"), ("-c", "0")],  # kB, blocks of 1 kB, seconds
)
def test_the_kernel_bounds_each_process(tmp_path: Path, option: str, bound: str) -> None:
    shell(tmp_path, f'test "$(bash -c "ulimit {option}")" = {bound}')


def test_files_that_git_writes_are_in_its_private_directory(tmp_path: Path) -> None:
    shell(tmp_path, 'touch "$HOME/home" "$TMPDIR/temporary" "$(mktemp)"')
    assert {path.name for path in tmp_path.iterdir()} > {"home", "temporary"}
    assert len(list(tmp_path.iterdir())) == 3


def test_git_is_the_first_to_go_when_memory_is_short(tmp_path: Path) -> None:
    shell(tmp_path, 'test "$(cat /proc/self/oom_score_adj)" = 1000')


def test_no_environment_lets_git_fetch_lazily(tmp_path: Path) -> None:
    shell(tmp_path, 'test "$GIT_NO_LAZY_FETCH" = 1')


@pytest.mark.parametrize(
    ("version", "knows"),
    [
        ((2, 30, 2), False),
        ((2, 39, 3), False),
        ((2, 39, 5), True),
        ((2, 40, 1), False),
        ((2, 44), False),
        ((2, 44, 1), True),
        ((2, 45, 0), True),
        ((3, 0), True),
        ((), False),
    ],
)
def test_releases_that_can_be_told_not_to_fetch_lazily(
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, ...],
    knows: bool,  # noqa: FBT001 - a case
) -> None:
    knows_no_lazy_fetch.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr("git.cmd.Git.version_info", version)
        assert knows_no_lazy_fetch() is knows
    knows_no_lazy_fetch.cache_clear()


ASKING = """
import sys
from pathlib import Path
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.git.command import Commands
from rukpak_py.sources.git.environment import local_environment

directory = Path(sys.argv[1])
commands = Commands(directory, local_environment(directory), limits=DEFAULT_LIMITS)
with commands.started("-c", "alias.x=!sleep 600 & echo begun; sleep 600", "x") as process:
    process.stdout.readline()
    print(process.pid, flush=True)
    sys.stdin.read()
"""


async def test_git_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    asking = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ASKING, str(tmp_path)), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert asking.stdout is not None
    group = int(await asking.stdout.readline())
    assert len(members(group)) >= 3
    asking.kill()
    await asking.wait()
    await until(lambda: not members(group))


@pytest.fixture
async def one_worker() -> AsyncIterator[WorkerProcesses]:
    processes = WorkerProcesses(1)
    yield processes
    await processes.close()


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    (tmp_path / "spool").mkdir()
    return Spool(DEFAULT_LIMITS, tmp_path / "spool")


@dataclass(frozen=True, kw_only=True)
class HangingRead:
    """A fetch whose git hangs when it is to read."""

    fetch: "asyncio.Task[Any]"
    spool: Spool
    directory: Path  # of the spool

    def programs(self) -> list[int]:
        return [one for one in self._all() if b"sleep" in cmdline(one)]

    def workers(self) -> set[int]:
        """The program is a child of `timeout`, and that one of its worker."""
        return {parent_of(parent_of(one)) for one in self.programs()}

    def left(self) -> list[object]:
        return [*self.directory.glob("*/*"), *self._all(), *([self.spool.used] if self.spool.used else [])]

    def _all(self) -> list[int]:
        return with_text(f"HOME={self.directory}")


def cmdline(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def parent_of(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.fixture
def git_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(HANGING.format(git=real))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")


@pytest.fixture
async def hanging_read(
    git_repository: Repository,
    git_web: GitWebServer,
    spool: Spool,
    one_worker: WorkerProcesses,
    git_that_hangs: None,
) -> AsyncIterator[HangingRead]:
    git_repository.commit({"f": b"1"})
    source = git_source(git_web.url(NAME), ca_bundle=git_web.ca_bundle, branch="main")
    fetch = asyncio.create_task(fetcher(workers=one_worker, spool=spool).fetch(request(source)))
    yield HangingRead(fetch=fetch, spool=spool, directory=git_repository.path.parent.parent / "spool")
    fetch.cancel()
    await asyncio.wait([fetch])


async def test_a_worker_that_is_killed_while_it_reads_leaves_nothing(hanging_read: HangingRead) -> None:
    killed = {0, 1, os.getpid()}  # 1: the parent of a program whose worker has been killed already

    async def new_worker(others: set[int]) -> int | None:
        return next(iter(hanging_read.workers() - others), None)

    for _ in range(2):  # a call is tried twice
        worker = await eventually(partial(new_worker, killed), what="a worker reads")
        os.kill(worker, signal.SIGKILL)
        killed.add(worker)
    with pytest.raises(UnavailableError, match="a worker process was ended by SIGKILL"):
        await hanging_read.fetch
    await until(lambda: not hanging_read.left())


async def test_a_fetch_that_is_cancelled_while_a_worker_reads_leaves_nothing(hanging_read: HangingRead) -> None:
    await until(hanging_read.programs)
    assert hanging_read.spool.used > 0
    hanging_read.fetch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging_read.fetch
    await until(lambda: not hanging_read.left())


class Recorded:
    """The operator's own threads read nothing: these calls are all that reads."""

    def __init__(self, processes: WorkerProcesses) -> None:
        self.calls: list[object] = []
        self._processes = processes

    async def run(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.calls.append(call)
        return await self._processes.run(call, *args, **kwargs)


async def test_commits_and_files_are_read_in_worker_processes(
    git_repository: Repository, git_web: GitWebServer, spool: Spool, one_worker: WorkerProcesses
) -> None:
    commit = git_repository.commit({"f": b"1"})
    workers = Recorded(one_worker)
    source = git_source(git_web.url(NAME), ca_bundle=git_web.ca_bundle, commit=commit[:8])
    fetched = await fetcher(workers=workers, spool=spool).fetch(request(source))
    assert dict(fetched.tree) == {"f": b"1"}
    assert workers.calls == [find_commit, find_commit, read_content]


@pytest.fixture
def repository(git_repository: Repository, tmp_path: Path) -> FetchedRepository:
    private = tmp_path / "private"
    private.mkdir()
    return FetchedRepository(path=git_repository.path, directory=private, shown="the server", limits=DEFAULT_LIMITS)


def test_a_commit_is_found_or_not(git_repository: Repository, repository: FetchedRepository) -> None:
    commit = git_repository.commit({"f": b"1"})
    found = find_commit(repository, commit[:9])
    assert isinstance(found, Commit)
    assert found.name == commit
    assert find_commit(repository, "0" * 40) is NoCommit.MISSING


def test_a_file_that_git_has_no_memory_for(git_repository: Repository, repository: FetchedRepository) -> None:
    """The older one of two versions: a delta, for which git has both in memory."""
    large = os.urandom(12 * MIB)
    git_repository.commit({"f": large})
    git_repository.commit({"f": large + b"x"})
    git_repository.git("repack", "-adfq")
    found = find_commit(repository, "main~1")
    assert isinstance(found, Commit)
    with pytest.raises(ContentError) as error:
        read_content(replace(repository, limits=replace(DEFAULT_LIMITS, git_memory_bytes=16 * MIB)), found.tree, "")
    assert str(error.value) == ("bundle unpack error: the server: the repository has objects that need too much memory")


def test_the_text_of_an_error_is_without_secrets_but_its_reason_is_found(tmp_path: Path) -> None:
    commands = Commands(
        tmp_path,
        local_environment(tmp_path),
        limits=DEFAULT_LIMITS,
        redacted=lambda said: said.replace("ref", "***"),
    )
    with pytest.raises(GitError) as error:
        commands.run("-c", "alias.x=!echo no such remote ref >&2; exit 1", "x")
    assert str(error.value).splitlines()[0] == "no such remote ***"
    assert error.value.said.splitlines()[0] == "no such remote ref"
