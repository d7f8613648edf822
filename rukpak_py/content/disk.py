"""Files below a directory descriptor: nothing follows a link out of it, and a file gets its name when it is whole.

A temporary file is fsynced and renamed, and the directory is fsynced after it; so a crash at any step leaves either
nothing or a temporary file, which `remove_temporary` takes away and which no name of ours looks like.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from rukpak_py.core.errors import UnavailableError

TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{16}")
_FILE_MODE = 0o640
_PRIVATE_MODE = 0o700
_ADVICE = {
    errno.EROFS: "mount its volume writable, or name another directory",
    errno.EACCES: "let the user of the operator write to it, or name another directory",
    errno.EPERM: "let the user of the operator write to it, or name another directory",
    errno.ENOSPC: "free space on its volume, or enlarge it",
    errno.EDQUOT: "free space within its quota, or raise the quota",
}


class StoreUnavailableError(UnavailableError):
    """A directory of ours cannot be read or written; the text says which, why, and what to do."""


@contextmanager
def reporting_failures(what: str, directory: Path) -> Iterator[None]:
    """OSErrors come out as StoreUnavailableError."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0)
        text = f"{what} {directory} failed: {error.strerror or error}{f'; {advice}' if advice else ''}"
        raise StoreUnavailableError(text) from error


@contextmanager
def private_folder(directory: Path, name: str, *, what: str) -> Iterator[int]:
    """A descriptor of a folder that only this user may enter; it is created when it is missing, as is the directory."""
    path = directory / name
    with reporting_failures(what, path):
        directory.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.mkdir(_PRIVATE_MODE)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if stat.S_IMODE(os.fstat(folder).st_mode) != _PRIVATE_MODE:
                os.fchmod(folder, _PRIVATE_MODE)  # a volume may have been given to a group meanwhile
            yield folder
        finally:
            os.close(folder)


def temporary_name() -> str:
    return f".tmp-{token_hex(8)}"


def remove_temporary(directory: int) -> None:
    for name in names(directory):
        if TEMPORARY.fullmatch(name):
            os.unlink(name, dir_fd=directory)


def mode(directory: int, name: str) -> int:
    """0 when it is not there."""
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def is_file(directory: int, name: str) -> bool:
    return stat.S_ISREG(mode(directory, name))


def is_link(directory: int, name: str) -> bool:
    return stat.S_ISLNK(mode(directory, name))


def names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def open_file(directory: int, name: str) -> BufferedReader:
    return os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory), "rb")


def create(directory: int, name: str, mode: int = _FILE_MODE) -> BinaryIO:
    """A new file, to be written and read."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.fdopen(os.open(name, flags, mode, dir_fd=directory), "w+b")


def publish(directory: int, file: BinaryIO, temporary: str, name: str) -> None:
    """Give the file its name, for good."""
    file.flush()
    os.fsync(file.fileno())
    os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)


def _nothing() -> None:
    """Nothing has to be there before the file is."""


def write(
    directory: int,
    name: str,
    pieces: Iterable[bytes],
    mode: int = _FILE_MODE,
    *,
    before_publishing: Callable[[], None] = _nothing,
) -> None:
    """`before_publishing` is called when all of it was written, and before the file has its name."""
    temporary = temporary_name()
    try:
        with create(directory, temporary, mode) as file:
            for piece in pieces:
                file.write(piece)
            before_publishing()
            publish(directory, file, temporary, name)
    except BaseException:  # whatever ends it, no temporary file stays
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise
