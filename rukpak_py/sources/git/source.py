"""Content of a directory of a git repository, at one commit.

git runs in processes that a thread waits for, never the event loop; what it wrote is read in worker processes. The end
of a fetch, by whatever cause, is the end of its processes and of its private directory. Content is in memory only after
`content_arrives`.
"""

import asyncio
import posixpath
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import GitRef
from rukpak_py.api.source_types import GitSource as GitSpec
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits, readable_size, variable_of
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.budget import Budget
from rukpak_py.sources.git.access import access_to
from rukpak_py.sources.git.checkout import Checkout
from rukpak_py.sources.git.remote import Remote, parse_remote, revision_of, shown
from rukpak_py.sources.logins import Logins
from rukpak_py.sources.source import Fetched, Fetcher, FetchRequest, Workers
from rukpak_py.sources.spool import Spool

_THREADS = 256  # of which most wait, eight for a host that hangs: lanes and the budget for content bound the work


class GitFetcher(Fetcher):
    def __init__(
        self,
        logins: Logins,
        *,
        addresses: AddressPolicy,
        limits: Limits,
        workers: Workers,
        spool: Spool,
    ) -> None:
        self._logins = logins
        self._addresses = addresses
        self._limits = limits
        self._workers = workers
        self._spool = spool
        self._memory = memory_of_all(limits)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="git")

    def lane(self, source: Source) -> str:
        try:
            return parse_remote(source.git.repository if source.git else "").host
        except ContentError:
            return SourceType.GIT

    async def fetch(self, request: FetchRequest) -> Fetched:
        spec = request.source.git
        if spec is None:
            raise ContentError("bundle source git configuration is unset")
        remote = parse_remote(spec.repository)
        directory = clean_directory(spec)
        checkout = await self._checkout(spec, remote, request)
        try:
            commit = await checkout.fetch()
            await request.content_arrives()
            tree = await checkout.read(commit, directory)
        finally:
            await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._threads, checkout.close))
        return Fetched(tree=tree, resolved=replace(request.source, git=replace(spec, ref=GitRef(commit=commit.name))))

    async def _checkout(self, spec: GitSpec, remote: Remote, request: FetchRequest) -> Checkout:
        access = await access_to(remote, spec, self._logins, request)
        return Checkout(
            remote,
            revision_of(spec.ref),
            access,
            addresses=self._addresses,
            limits=self._limits,
            threads=self._threads,
            workers=self._workers,
            spool=self._spool,
            memory=self._memory,
        )


def memory_of_all(limits: Limits) -> Budget:
    """The budget of all fetches of a process: without it, enough of them at a time have the container killed."""
    most = readable_size(limits.git_total_memory_bytes)
    return Budget(
        limits.git_total_memory_bytes,
        refusal=f"git needs more than {most} of memory for all Bundles at a time "
        f"({variable_of('git_total_memory_bytes')} and the memory limit of the container set it), most of it here; "
        "retrying later",
    )


def clean_directory(spec: GitSpec) -> str:
    """Empty: the root of the repository."""
    cleaned = posixpath.normpath(spec.directory) if spec.directory else "."
    if cleaned == ".." or cleaned.startswith(("../", "/")):
        raise ContentError(
            f'get subdirectory "{spec.directory}" for repository "{shown(spec.repository)}": '
            "directory can not start with '../' or '/'"
        )
    return "" if cleaned == "." else cleaned
