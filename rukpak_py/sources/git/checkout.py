"""One fetch: a bare repository with one commit in it, and then its files. See `source` for the order.

git runs in processes that threads wait for; what it writes is watched while it writes. What it has written is read in
worker processes alone. A commit is asked for by its hash; servers that send only what has a name cost all branches and
tags. A hash that is cut short is completed first, by the commits of all branches and tags, without their files where
the server can leave those out.

Every fetch has a depth, even where it is "everything": with one, git refuses servers that are plain web servers. There
it would download whatever the server lists, in any number of requests and processes.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TypeVar

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits, variable_of
from rukpak_py.sources.addresses import AddressPolicy, resolve_blocking
from rukpak_py.sources.budget import Budget
from rukpak_py.sources.git import redirects
from rukpak_py.sources.git.access import GitAccess
from rukpak_py.sources.git.command import Commands, GitError, StoppedError, knows_no_lazy_fetch
from rukpak_py.sources.git.environment import environment_of
from rukpak_py.sources.git.failures import (
    explain,
    is_no_connection,
    is_not_sent_by_hash,
    is_redirected,
    object_format_of,
)
from rukpak_py.sources.git.fetched import Commit, FetchedRepository, NoCommit, find_commit, read_content
from rukpak_py.sources.git.remote import EVERYTHING, LOCAL_REF, RefKind, Remote, Revision
from rukpak_py.sources.git.workspace import Workspace
from rukpak_py.sources.source import Workers
from rukpak_py.sources.spool import Spool
from rukpak_py.sources.urls import proxy_for

T = TypeVar("T")


class OutOfTimeError(Exception):
    """The steps took too long, and the last one was stopped."""


class Steps:
    def __init__(self, threads: Executor, *, seconds: float, stop: Callable[[], None]) -> None:
        """`stop` ends what runs soon, and everything that would be started."""
        self._threads = threads
        self._left = seconds
        self._stop = stop

    async def run(self, step: Callable[[], T]) -> T:
        """The thread has ended when this ends."""
        begun = monotonic()  # the clock of the loop stands still while the loop is held
        running = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, step)
        try:
            async with asyncio.timeout(self._left) as deadline:
                return await asyncio.shield(running)
        except TimeoutError as error:
            await self._ended(running)
            if not deadline.expired():
                raise
            raise OutOfTimeError from error
        except BaseException:  # most often it was cancelled: its processes end first
            await self._ended(running)
            raise
        finally:
            self._left -= monotonic() - begun

    async def _ended(self, running: "asyncio.Future[T]") -> None:
        if not running.done():
            self._stop()
            await asyncio.wait([running])
            running.exception()  # that it was stopped is no news: asyncio would log it as never retrieved


_MOST_ADDRESSES = 3
_FETCH = ("fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet")
_NEWEST = "--depth=1"
_ALL = "--depth=2147483647"  # the number that means all of the history, to git and to servers
_WITHOUT_FILES = "--filter=tree:0"


class Checkout:
    def __init__(
        self,
        remote: Remote,
        revision: Revision,
        access: GitAccess,
        *,
        addresses: AddressPolicy,
        limits: Limits,
        threads: Executor,
        workers: Workers,
        spool: Spool,
        memory: Budget,
    ) -> None:
        self._remote = remote
        self._revision = revision
        self._access = access
        self._policy = addresses
        self._limits = limits
        self._workers = workers
        self._spool = spool
        self._memory = memory
        self._steps = Steps(threads, seconds=limits.git_seconds, stop=self._stop)
        self._workspace: Workspace | None = None
        self._commands: Commands | None = None
        self._stopped = False
        self._object_format = revision.object_format

    def close(self) -> None:
        """Delete the repository, once nothing runs any more. Blocks."""
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    async def fetch(self) -> Commit:
        try:
            await self._steps.run(self._open)
            commit = await self._fetch(self._remote)
        except GitError as error:
            raise explain(error, self._remote, self._revision, self._access.redacted) from error
        except OutOfTimeError as error:
            raise UnavailableError(
                f"bundle unpack git clone error: {self._remote.shown}: not done within {self._limits.git_seconds} "
                f"seconds ({variable_of('git_seconds')} sets it)"
            ) from error
        except OSError as error:  # no space for a file, or no process
            raise UnavailableError(
                f"bundle unpack git clone error: {self._remote.shown}: the operator failed: {error.strerror or error}"
            ) from error
        self._in_use().settle()
        return commit

    async def read(self, commit: Commit, directory: str) -> Tree:
        return await self._workers.run(read_content, self._fetched(self._in_use().repository), commit.tree, directory)

    def _open(self) -> None:
        self._workspace = Workspace(self._spool)

    def _stop(self) -> None:
        """Stop what runs, from any thread; it ends soon."""
        self._stopped = True
        if self._commands is not None:
            self._commands.stop()

    async def _fetch(self, remote: Remote) -> Commit:
        for _ in range(redirects.MOST):
            try:
                return await self._fetch_from_addresses(remote)
            except GitError as error:
                if other := object_format_of(error):
                    self._object_format = other
                    await self._steps.run(self._in_use().clear)
                    continue
                if not is_redirected(error):
                    raise
                remote = await self._steps.run(partial(self._moved, remote))
        raise ContentError(f"bundle unpack git clone error: {remote.shown}: more than {redirects.MOST} redirects")

    async def _fetch_from_addresses(self, remote: Remote) -> Commit:
        """Try all addresses at once with curl; ssh takes one."""
        addresses = await self._steps.run(partial(self._addresses, remote))
        if not remote.is_ssh:
            return await self._fetch_from(remote, addresses)
        *others, last = addresses[:_MOST_ADDRESSES]
        for address in others:
            try:
                return await self._fetch_from(remote, [address])
            except GitError as error:
                if not is_no_connection(error):
                    raise
        return await self._fetch_from(remote, [last])

    def _addresses(self, remote: Remote) -> Sequence[str]:
        """Behind a proxy, names are the proxy's business; what is an address already is still ours."""
        if not remote.is_ssh and proxy_for(remote.scheme, remote.host, remote.port):
            self._policy.check_unresolved(remote.host, remote.port)
            return ()
        return resolve_blocking(remote.host, remote.port, self._policy)

    async def _fetch_from(self, remote: Remote, addresses: Sequence[str]) -> Commit:
        repository = self._in_use().repository
        revision = self._revision
        if revision.kind is RefKind.COMMIT and not revision.is_full_commit:
            revision = await self._completed(remote, addresses)
        try:
            await self._run_fetch(remote, addresses, repository, _NEWEST, refspecs=revision.refspecs)
        except GitError as error:
            if revision.kind is not RefKind.COMMIT or not is_not_sent_by_hash(error):
                raise
            await self._run_fetch(remote, addresses, repository, _ALL, refspecs=EVERYTHING)
            return await self._commit(repository, revision.name)
        return await self._commit(repository, LOCAL_REF)

    async def _completed(self, remote: Remote, addresses: Sequence[str]) -> Revision:
        """Find the whole name of the commit, in a repository of its own for the history: one with a filter has gaps."""
        commits = self._in_use().commits
        options = (_ALL, _WITHOUT_FILES) if await self._steps.run(knows_no_lazy_fetch) else (_ALL,)
        await self._run_fetch(remote, addresses, commits, *options, refspecs=EVERYTHING)
        return replace(self._revision, name=(await self._commit(commits, self._revision.name)).name)

    async def _run_fetch(
        self, remote: Remote, addresses: Sequence[str], path: Path, *options: str, refspecs: Sequence[str]
    ) -> None:
        def fetch() -> None:
            git = self._git(remote, addresses, {"GIT_DIR": str(path)})
            if not path.exists():
                git.run("init", "--bare", "--quiet", "--template=", f"--object-format={self._object_format}", str(path))
            git.run(*_FETCH, *options, "--", remote.url, *refspecs, watch=self._watch)

        await self._steps.run(fetch)

    def _watch(self) -> None:
        if not self._in_use().measure(at_most=self._limits.git_bytes):
            raise self._limits.exceeded("git_bytes", f"what {self._remote.shown} sends")

    async def _commit(self, path: Path, name: str) -> Commit:
        match await self._workers.run(find_commit, self._fetched(path), name):
            case NoCommit.MISSING:
                raise self._revision.missing(self._remote.shown)
            case NoCommit.AMBIGUOUS:
                raise self._revision.ambiguous()
            case Commit() as commit:
                return commit

    def _moved(self, remote: Remote) -> Remote:
        trace = self._in_use().directory / "trace"
        trace.unlink(missing_ok=True)
        git = self._git(remote, self._addresses(remote), redirects.tracing(trace))
        try:
            git.run("ls-remote", "--quiet", "--", remote.url, "HEAD", watch=self._watch)
        except GitError:
            moved = redirects.redirected(remote, trace)
            self._access.check(moved)
            return moved
        return remote  # not any more

    def _git(self, remote: Remote, addresses: Sequence[str], more: dict[str, str]) -> Commands:
        directory = self._in_use().directory
        environment = environment_of(remote, self._access, addresses=addresses, directory=directory) | more
        git = Commands(directory, environment, limits=self._limits, memory=self._memory, redacted=self._access.redacted)
        self._commands = git
        if self._stopped:
            raise StoppedError
        return git

    def _fetched(self, path: Path) -> FetchedRepository:
        directory = self._in_use().directory
        return FetchedRepository(path=path, directory=directory, shown=self._remote.shown, limits=self._limits)

    def _in_use(self) -> Workspace:
        if self._workspace is None:
            raise AssertionError("fetch comes first")
        return self._workspace
