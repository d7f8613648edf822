"""Calls of worker processes on a repository that was fetched: find its commit, and read its files.

Each call starts a git of its own, which may reach no network. That git ends with the call, or with its process.

Nothing of a commit is on disk but git's own pack. Directories are read one by one as they are walked, so what is
outside of the bundle's directory costs nothing, unless a link leads there; links are followed inside the repository.
Limits hold while walking and before content is read. A submodule is an empty directory here, which git does not have:
it is left out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from pathlib import Path

from rukpak_py.content.tree import Tree, TreeBuilder, clean_path
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import LINK_HOPS, LINK_STEPS, LONGEST_LINK, MIB, Limits
from rukpak_py.sources.git.command import Commands, GitError
from rukpak_py.sources.git.environment import local_environment
from rukpak_py.sources.git.failures import needs_too_much_memory
from rukpak_py.sources.git.objects import (
    DIRECTORY_MODE,
    LINK_MODE,
    SUBMODULE_MODE,
    AmbiguousNameError,
    MissingObjectError,
    Objects,
    TreeEntry,
    reading,
)

_LARGEST_DIRECTORY = 4 * MIB  # about a hundred thousand entries; whole ones are in memory
_REMEMBERED = 100_000  # entries of directories that links lead through


class NoDirectoryError(Exception):
    """The text says what is there instead."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """`path`: in the repository, without links."""

    path: str
    entry: TreeEntry


def read_tree(objects: Objects, root: str, directory: str, limits: Limits) -> Tree:
    """Read the files below the directory of the tree `root`. Raises NoDirectoryError when it is not there."""
    repository = _Repository(objects=objects, root=root, limits=limits)
    bundle = repository.find(directory.split("/") if directory else [])
    if bundle is None:
        raise NoDirectoryError("there is no such directory in the repository")
    if bundle.entry.mode != DIRECTORY_MODE:
        raise NoDirectoryError("it is not a directory")
    files = list(_Walk(repository=repository, limits=limits).files("", bundle, frozenset()))
    builder = TreeBuilder(limits)
    contents = objects.contents(
        [file for _, file in files], lambda position, size: builder.check_room(files[position][0], size)
    )
    for (path, _), content in zip(files, contents, strict=True):
        builder.add(path, content)
    return builder.build()


@dataclass(kw_only=True)
class _Repository:
    objects: Objects
    root: str
    limits: Limits
    _directories: dict[str, dict[str, TreeEntry]] = field(default_factory=dict)
    _remembered: int = 0

    def entries(self, directory: TreeEntry) -> dict[str, TreeEntry]:
        known = self._directories.get(directory.hash)
        if known is None:
            known = self.objects.tree(directory.hash, at_most=_LARGEST_DIRECTORY)
            if self._remembered + len(known) <= _REMEMBERED:
                self._remembered += len(known)
                self._directories[directory.hash] = known
        return known

    def find(self, parts: list[str], *, start: str = "", name: str = "") -> Found | None:
        """Find the entry at the parts, seen from the directory `start`, for the link `name`. None: there is none."""
        todo = [*reversed(parts), *reversed(start.split("/") if start else [])]
        around = [Found(path="", entry=TreeEntry(mode=DIRECTORY_MODE, hash=self.root))]
        steps = hops = 0
        while todo:
            steps += 1
            if steps + len(todo) > LINK_STEPS:
                raise ContentError(
                    f"link {name or '/'.join(parts)[:200]!r} leads too far: through more than {LINK_STEPS} names"
                )
            part = todo.pop()
            here = around[-1]
            if part in {"", "."}:
                continue
            if part == "..":
                if len(around) == 1:
                    raise ContentError(f"link {name!r} points out of the repository: put a copy in its place")
                around.pop()
                continue
            entry = self.entries(here.entry).get(part) if here.entry.mode == DIRECTORY_MODE else None
            if entry is None:
                return None
            path = f"{here.path}/{part}" if here.path else part
            if entry.mode == LINK_MODE:
                hops += 1
                if hops > LINK_HOPS:
                    raise ContentError(f"link {name or path!r} never ends at a file")
                todo.extend(reversed(self.target(name or path, entry).split("/")))
            else:
                around.append(Found(path=path, entry=entry))
        return around[-1]

    def target(self, path: str, link: TreeEntry) -> str:
        content = self.objects.content(link.hash, partial(_check_target, path))
        target = content.decode(errors="surrogateescape")
        if not target or "\0" in target:
            raise ContentError(f"link {path!r} points nowhere")
        if target.startswith("/"):
            raise ContentError(f"link {path!r} points out of the repository, to {target!r}: put a copy in its place")
        return target


def _check_target(path: str, size: int) -> None:
    if size > LONGEST_LINK:
        raise ContentError(f"link {path!r} points nowhere: its target has {size} bytes")


@dataclass(kw_only=True)
class _Walk:
    """`path`: the name in the bundle. Behind a link it is not where the file is in the repository."""

    repository: _Repository
    limits: Limits
    count: int = 0

    def files(self, path: str, directory: Found, around: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Paths, and the hashes of their content."""
        around |= {directory.path}
        for name, entry in self.repository.entries(directory.entry).items():
            if entry.mode == SUBMODULE_MODE:
                continue
            inner = self._checked(f"{path}/{name}" if path else name, name)
            found = self._end(inner, name, entry, directory, around)
            if found.entry.mode == DIRECTORY_MODE:
                yield from self.files(inner, found, around)
            elif found.entry.mode != SUBMODULE_MODE:
                yield inner, found.entry.hash

    def _checked(self, path: str, name: str) -> str:
        self.count += 1
        if self.count > self.limits.content_files:
            raise self.limits.exceeded("content_files", "the number of files and directories")
        if name in {"", ".", ".."} or "/" in name:  # fetching refuses such names, too
            raise ContentError(f"a directory of the repository has an entry with the name {name!r}")
        return clean_path(path, self.limits)

    def _end(self, path: str, name: str, entry: TreeEntry, directory: Found, around: frozenset[str]) -> Found:
        """The entry itself, or what it leads to."""
        if entry.mode != LINK_MODE:
            return Found(path=f"{directory.path}/{name}" if directory.path else name, entry=entry)
        found = self.repository.find([name], start=directory.path, name=path)
        if found is None:
            raise ContentError(
                f"link {path!r} points to {self.repository.target(path, entry)!r}, which is not in the repository: "
                "put the file in its place, or remove it"
            )
        if found.path in around:
            raise ContentError(f"link {path!r} points to a directory that it lies in: remove it")
        return found


@dataclass(frozen=True, kw_only=True)
class Commit:
    name: str  # all of its hexadecimal digits
    tree: str


class NoCommit(Enum):
    MISSING = auto()
    AMBIGUOUS = auto()


@dataclass(frozen=True, kw_only=True)
class FetchedRepository:
    """`directory`: the private one that it is in. `shown`: its URL for messages."""

    path: Path
    directory: Path
    shown: str
    limits: Limits


def find_commit(repository: FetchedRepository, name: str) -> Commit | NoCommit:
    """The commit that a ref, a tag or the start of a hash names."""
    with _objects(repository) as objects:
        try:
            found, tree = objects.commit(name)
        except MissingObjectError:
            return NoCommit.MISSING
        except AmbiguousNameError:
            return NoCommit.AMBIGUOUS
    return Commit(name=found, tree=tree)


def read_content(repository: FetchedRepository, tree: str, directory: str) -> Tree:
    """The files below the directory; ContentError where it is not there, or when they are too large or wrong."""
    try:
        with _objects(repository) as objects:
            return read_tree(objects, tree, directory, repository.limits)
    except NoDirectoryError as error:
        raise ContentError(f'get subdirectory "{directory}" for repository "{repository.shown}": {error}') from error


@contextmanager
def _objects(repository: FetchedRepository) -> Iterator[Objects]:
    environment = local_environment(repository.directory) | {"GIT_DIR": str(repository.path)}
    commands = Commands(repository.directory, environment, limits=repository.limits)
    try:
        with reading(commands) as objects:
            yield objects
    except ContentError as error:
        raise ContentError(f"bundle unpack error: {error}") from error
    except GitError as error:
        raise _of_git(error, repository.shown) from error
    except MissingObjectError as error:
        raise _incomplete(repository.shown) from error
    except OSError as error:
        text = f"bundle unpack error: {repository.shown}: the operator failed: {error.strerror or error}"
        raise UnavailableError(text) from error


def _of_git(error: GitError, shown: str) -> ContentError | UnavailableError:
    if needs_too_much_memory(error):
        return ContentError(f"bundle unpack error: {shown}: the repository has objects that need too much memory")
    return _incomplete(shown)


def _incomplete(shown: str) -> UnavailableError:
    return UnavailableError(f"bundle unpack error: {shown}: the server sent an incomplete repository")
