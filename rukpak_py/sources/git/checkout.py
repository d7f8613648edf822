"""One fetch, in a thread: a bare repository with one commit in it, and then its files. See `source` for the order.

What git writes is watched while it writes. A commit is asked for by its hash; servers that send only what has a name
cost all branches and tags. A hash that is cut short is completed first, by the commits of all branches and tags,
without their files where the server can leave those out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.addresses import AddressPolicy, resolve_blocking
from rukpak_py.sources.git import redirects
from rukpak_py.sources.git.access import GitAccess
from rukpak_py.sources.git.command import Commands, GitError, StoppedError
from rukpak_py.sources.git.environment import environment_of, local_environment
from rukpak_py.sources.git.failures import (
    REDIRECTED,
    explain,
    is_no_connection,
    is_not_sent_by_hash,
    object_format_of,
)
from rukpak_py.sources.git.objects import AmbiguousNameError, MissingObjectError, reading
from rukpak_py.sources.git.reading import NoDirectoryError, read_tree
from rukpak_py.sources.git.refs import EVERYTHING, LOCAL_REF, RefKind, Revision
from rukpak_py.sources.git.remote import Remote
from rukpak_py.sources.git.workspace import Workspace
from rukpak_py.sources.proxies import proxy_for

_MOST_ADDRESSES = 3
_GRACE_SECONDS = 10.0  # for whoever stops git when its time is over
_FETCH = ("fetch", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet")


@dataclass(frozen=True, kw_only=True)
class Commit:
    name: str  # all of its hexadecimal digits
    tree: str


class Checkout:
    def __init__(
        self, remote: Remote, revision: Revision, access: GitAccess, *, addresses: AddressPolicy, limits: Limits
    ) -> None:
        self._remote = remote
        self._revision = revision
        self._access = access
        self._policy = addresses
        self._limits = limits
        self._workspace: Workspace | None = None
        self._commands: Commands | None = None
        self._stopped = False
        self._object_format = revision.object_format

    def stop(self) -> None:
        """From any thread: what runs ends soon."""
        self._stopped = True
        if self._commands is not None:
            self._commands.stop()

    def close(self) -> None:
        """When nothing runs any more."""
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    def fetch(self) -> Commit:
        try:
            self._workspace = Workspace()
            return self._fetch(self._remote)
        except GitError as error:
            raise explain(str(error), self._remote, self._revision, self._access.redacted) from error
        except OSError as error:
            raise self._of_this_machine(error) from error

    def read(self, commit: Commit, directory: str) -> Tree:
        try:
            with reading(self._git(local_environment(self._in_use().directory))) as objects:
                return read_tree(objects, commit.tree, directory, self._limits)
        except NoDirectoryError as error:
            raise ContentError(
                f'get subdirectory "{directory}" for repository "{self._remote.shown}": {error}'
            ) from error
        except ContentError as error:
            raise ContentError(f"bundle unpack error: {error}") from error
        except (MissingObjectError, GitError) as error:
            raise UnavailableError(
                f"bundle unpack error: {self._remote.shown}: the server sent an incomplete repository"
            ) from error
        except OSError as error:
            raise self._of_this_machine(error) from error

    def _of_this_machine(self, error: OSError) -> UnavailableError:
        """No space for a file, or no process."""
        return UnavailableError(
            f"bundle unpack git clone error: {self._remote.shown}: the operator failed: {error.strerror or error}"
        )

    def _fetch(self, remote: Remote) -> Commit:
        for _ in range(redirects.MOST):
            try:
                return self._fetch_from_addresses(remote)
            except GitError as error:
                if other := object_format_of(str(error)):
                    self._object_format = other
                    self._in_use().clear()
                    continue
                if not REDIRECTED.search(str(error)):
                    raise
                remote = self._moved(remote)
        raise ContentError(f"bundle unpack git clone error: {remote.shown}: more than {redirects.MOST} redirects")

    def _fetch_from_addresses(self, remote: Remote) -> Commit:
        """All at once for curl; ssh takes one."""
        addresses = self._addresses(remote)
        if not remote.is_ssh:
            return self._fetch_from(remote, addresses)
        *others, last = addresses[:_MOST_ADDRESSES]
        for address in others:
            try:
                return self._fetch_from(remote, [address])
            except GitError as error:
                if not is_no_connection(str(error)):
                    raise
        return self._fetch_from(remote, [last])

    def _addresses(self, remote: Remote) -> Sequence[str]:
        """Behind a proxy, names are the proxy's business; what is an address already is still ours."""
        if not remote.is_ssh and proxy_for(remote.scheme, remote.host, remote.port):
            self._policy.check_unresolved(remote.host, remote.port)
            return ()
        return resolve_blocking(remote.host, remote.port, self._policy)

    def _fetch_from(self, remote: Remote, addresses: Sequence[str]) -> Commit:
        workspace = self._in_use()
        environment = environment_of(remote, self._access, addresses=addresses, directory=workspace.directory)
        revision = self._revision
        if revision.kind is RefKind.COMMIT and not revision.is_full_commit:
            revision = self._completed(remote, environment)
        git = self._repository(environment, workspace.repository)
        try:
            self._run_fetch(git, "--depth=1", "--", remote.url, *revision.refspecs)
            return self._commit(git, LOCAL_REF)
        except GitError as error:
            if revision.kind is not RefKind.COMMIT or not is_not_sent_by_hash(str(error)):
                raise
        self._run_fetch(git, "--", remote.url, *EVERYTHING)
        return self._commit(git, revision.name)

    def _completed(self, remote: Remote, environment: dict[str, str]) -> Revision:
        """By commits in a repository of their own: one with a filter has gaps, which git would fill by itself."""
        git = self._repository(environment, self._in_use().commits)
        self._run_fetch(git, "--filter=tree:0", "--", remote.url, *EVERYTHING)
        return replace(self._revision, name=self._commit(git, self._revision.name).name)

    def _repository(self, environment: dict[str, str], path: Path) -> Commands:
        git = self._git(environment, path)
        if not path.exists():
            git.run("init", "--bare", "--quiet", "--template=", f"--object-format={self._object_format}", str(path))
        return git

    def _run_fetch(self, git: Commands, *arguments: str) -> None:
        git.run(*_FETCH, *arguments, watch=self._watch)

    def _watch(self) -> None:
        if self._in_use().size() > self._limits.git_bytes:
            raise self._limits.exceeded("git_bytes", f"what {self._remote.shown} sends")

    def _commit(self, git: Commands, name: str) -> Commit:
        try:
            with reading(git) as objects:
                found, tree = objects.commit(name)
        except MissingObjectError as error:
            raise self._revision.missing(self._remote.shown) from error
        except AmbiguousNameError as error:
            raise self._revision.ambiguous() from error
        return Commit(name=found, tree=tree)

    def _moved(self, remote: Remote) -> Remote:
        workspace = self._in_use()
        environment = environment_of(
            remote, self._access, addresses=self._addresses(remote), directory=workspace.directory
        )
        trace = workspace.directory / "trace"
        trace.unlink(missing_ok=True)
        git = self._git(environment | redirects.tracing(trace))
        try:
            git.run("ls-remote", "--quiet", "--", remote.url, "HEAD")
        except GitError:
            moved = redirects.redirected(remote, trace)
            self._access.check(moved)
            return moved
        return remote  # not any more

    def _git(self, environment: dict[str, str], repository: Path | None = None) -> Commands:
        workspace = self._in_use()
        git = Commands(
            workspace.directory,
            environment | {"GIT_DIR": str(repository or workspace.repository)},
            seconds=self._limits.git_seconds + _GRACE_SECONDS,
        )
        self._commands = git
        if self._stopped:
            raise StoppedError
        return git

    def _in_use(self) -> Workspace:
        if self._workspace is None:
            raise AssertionError("fetch comes first")
        return self._workspace
