"""Calls of worker processes on a repository that was fetched: find its commit, and read its files.

Each call starts a git of its own, which may reach no network. That git ends with the call, or with its process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.git.command import Commands, GitError
from rukpak_py.sources.git.environment import local_environment
from rukpak_py.sources.git.failures import needs_too_much_memory
from rukpak_py.sources.git.objects import AmbiguousNameError, MissingObjectError, Objects, reading
from rukpak_py.sources.git.reading import NoDirectoryError, read_tree


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
