"""Size and SHA-256 of the files of the store as they are on disk, kept beside them and checked before they are used.

    <directory>/checksums/<file>.json

A checksum is on disk before its file has its name, so a crash leaves one without a file at most: it says nothing, and
the next sweep removes it. A file is hashed once for each (inode, size, mtime, ctime), not for each request. A ctime
cannot be set, so a file that was changed is hashed again although its mtime and its size are the old ones. A change of
the last moments is not remembered: another one in the same tick of the clock would have the same ctime.

Blocking: call it from threads.
"""

import hashlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum, auto
from io import BufferedReader
from typing import Final, NamedTuple

import msgspec

from rukpak_py.content import disk
from rukpak_py.core.objects import canonical_json

FOLDER: Final = "checksums"
_SUFFIX: Final = ".json"
_VERSION: Final = 1
_MOST_BYTES: Final = 1024  # of the file of a checksum
_MOST_REMEMBERED: Final = 4096  # files
_TICK_NS: Final = 100_000_000  # longer than a tick of the clock that makes the times of files


class Checksum(msgspec.Struct, frozen=True, kw_only=True):
    size: int
    sha256: str  # hexadecimal


class Verdict(Enum):
    WHOLE = auto()
    DAMAGED = auto()
    UNKNOWN = auto()  # of a release that kept no checksums


class _File(msgspec.Struct, frozen=True, kw_only=True):
    version: int = 0
    size: int = -1
    sha256: str = ""


class _Identity(NamedTuple):
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Checksums:
    """`folder`: a descriptor of the directory that the checksums are in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._whole: OrderedDict[str, _Identity] = OrderedDict()
        self._damaged: OrderedDict[str, _Identity] = OrderedDict()  # what could not be removed

    def write(self, folder: int, name: str, checksum: Checksum) -> None:
        values = {"version": _VERSION, "size": checksum.size, "sha256": checksum.sha256}
        disk.write(folder, name + _SUFFIX, [canonical_json(values)])

    def remove(self, folder: int, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name + _SUFFIX, dir_fd=folder)

    def names(self, folder: int) -> Iterator[str]:
        """Names of the files that have a checksum."""
        return (name.removesuffix(_SUFFIX) for name in disk.names(folder) if name.endswith(_SUFFIX))

    def verdict(self, folder: int, name: str, file: BufferedReader) -> Verdict:
        """Judge an open file by its checksum; its position is at the beginning afterwards."""
        before = _identity(file)
        if self._is_remembered(self._whole, name, before):
            return Verdict.WHOLE
        if self._is_remembered(self._damaged, name, before):
            return Verdict.DAMAGED
        expected = _read(folder, name)
        if expected is None:
            return Verdict.UNKNOWN
        if before.size != expected.size:
            return Verdict.DAMAGED
        found = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        if found != expected.sha256:
            return Verdict.DAMAGED
        if _identity(file) == before and abs(time.time_ns() - before.ctime_ns) > _TICK_NS:
            self._remember(self._whole, name, before)
        return Verdict.WHOLE

    def stays_damaged(self, name: str, file: BufferedReader) -> None:
        """It could not be removed: while it stays unchanged, it does not count."""
        self._remember(self._damaged, name, _identity(file))

    def is_known_as_damaged(self, name: str, found: os.stat_result) -> bool:
        return self._is_remembered(self._damaged, name, _identity_of(found))

    def _is_remembered(self, known: OrderedDict[str, _Identity], name: str, identity: _Identity) -> bool:
        with self._lock:
            return known.get(name) == identity

    def _remember(self, known: OrderedDict[str, _Identity], name: str, identity: _Identity) -> None:
        with self._lock:
            known[name] = identity
            known.move_to_end(name)
            if len(known) > _MOST_REMEMBERED:
                known.popitem(last=False)


class Summed:
    """Pieces on their way to a file, and their checksum once all have passed."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self._size = 0
        self._hash = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._size += len(piece)
            self._hash.update(piece)
            yield piece

    @property
    def checksum(self) -> Checksum:
        return Checksum(size=self._size, sha256=self._hash.hexdigest())


def checksum_of(file: BufferedReader) -> Checksum:
    """Checksum of an open file, whose position is at the beginning before and after."""
    sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    size = file.tell()
    file.seek(0)
    return Checksum(size=size, sha256=sha256)


def _read(folder: int, name: str) -> Checksum | None:
    """None: it is missing, damaged or of a release that writes others."""
    if not disk.is_file(folder, name + _SUFFIX):
        return None
    with disk.open_file(folder, name + _SUFFIX) as file:
        data = file.read(_MOST_BYTES)
    try:
        found = msgspec.json.decode(data, type=_File)
    except msgspec.DecodeError:
        return None
    return Checksum(size=found.size, sha256=found.sha256) if found.version == _VERSION else None


def _identity(file: BufferedReader) -> _Identity:
    return _identity_of(os.fstat(file.fileno()))


def _identity_of(found: os.stat_result) -> _Identity:
    return _Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
