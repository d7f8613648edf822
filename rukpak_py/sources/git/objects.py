"""The objects of a repository by one `git cat-file --batch`: exactly the bytes that were committed, no filter applied.

The size of an object is known before its content is read, so a limit refuses it without having it in memory. All of
this is for worker processes: what is in a repository is the work of others.
"""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from rukpak_py.core.errors import ContentError
from rukpak_py.sources.git.command import Commands, git_error

_WINDOW = 500  # requests of 41 or 65 bytes: what fits into a pipe, so neither side waits for the other
LINK_MODE, DIRECTORY_MODE, SUBMODULE_MODE = 0o120000, 0o040000, 0o160000
_TYPE_BITS = 0o170000
_LONGEST_ANSWER = 1024  # of the line before an object
_LAST_WORDS = 65536  # bytes: what a pipe holds


class MissingObjectError(Exception):
    """There is no such object."""


class AmbiguousNameError(Exception):
    """There are several."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeEntry:
    mode: int  # without permissions
    hash: str


class Objects:
    """Reads one after the other; for one thread."""

    def __init__(self, process: "subprocess.Popen[bytes]", commands: Commands) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise AssertionError("all streams are pipes")
        self._requests: IO[bytes] = process.stdin
        self._answers: IO[bytes] = process.stdout
        self._messages: IO[bytes] = process.stderr
        self._commands = commands

    def commit(self, name: str) -> tuple[str, str]:
        """The full hash of the commit that a ref, a tag or the start of a hash names, and the hash of its tree."""
        check = _at_most(ContentError("the commit is larger than 1 MiB"), 1 << 20)
        try:
            self._ask([f"{name}^{{commit}}"])
            found, content = self._answer(check)
        except MissingObjectError:
            self._ask([name])  # only so does git say that it is ambiguous
            self._answer(check)
            raise
        return found, content.partition(b"\n")[0].removeprefix(b"tree ").decode()

    def tree(self, name: str, *, at_most: int) -> dict[str, TreeEntry]:
        self._ask([name])
        _, content = self._answer(_at_most(ContentError("a directory of the repository has too many entries"), at_most))
        return dict(_entries(content, hash_bytes=len(name) // 2))

    def content(self, name: str, check: Callable[[int], None]) -> bytes:
        self._ask([name])
        return self._answer(check)[1]

    def contents(self, names: Sequence[str], check: Callable[[int, int], None]) -> Iterator[bytes]:
        """Yield the contents in this order. `check` gets the position and the size of each before it is read."""
        for start in range(0, len(names), _WINDOW):
            window = names[start : start + _WINDOW]
            self._ask(window)
            for position in range(start, start + len(window)):
                yield self._answer(lambda size, position=position: check(position, size))[1]  # type: ignore[misc]

    def _ask(self, names: Sequence[str]) -> None:
        try:
            self._requests.write("".join(f"{name}\n" for name in names).encode())
            self._requests.flush()
        except BrokenPipeError as error:
            raise self._ended() from error

    def _answer(self, check: Callable[[int], None]) -> tuple[str, bytes]:
        head = self._answers.readline(_LONGEST_ANSWER).decode(errors="replace").split()
        match head:
            case [*_, "missing"]:
                raise MissingObjectError
            case [*_, "ambiguous"]:
                raise AmbiguousNameError
            case [name, _, size]:
                check(int(size))
                content = self._answers.read(int(size) + 1)
                if len(content) == int(size) + 1:
                    return name, content[:-1]
        raise self._ended()

    def _ended(self) -> Exception:
        self._commands.stop()  # so that its messages have an end
        return git_error(self._messages.read(_LAST_WORDS))


@contextmanager
def reading(commands: Commands) -> Iterator[Objects]:
    with commands.started("cat-file", "--batch", istream=subprocess.PIPE) as process:
        yield Objects(process, commands)


def _at_most(error: ContentError, size: int) -> Callable[[int], None]:
    def check(found: int) -> None:
        if found > size:
            raise error

    return check


def _entries(content: bytes, *, hash_bytes: int) -> Iterator[tuple[str, TreeEntry]]:
    """Each has its mode, its name and its hash; fetching has checked that."""
    at = 0
    while at < len(content):
        space = content.index(b" ", at)
        end = content.index(b"\0", space)
        after = end + 1 + hash_bytes
        mode = int(content[at:space], 8) & _TYPE_BITS
        yield (
            content[space + 1 : end].decode(errors="surrogateescape"),
            TreeEntry(mode=mode, hash=content[end + 1 : after].hex()),
        )
        at = after
