"""Content that a client uploads to the operator; see `server` for how it comes.

Until it is there the Bundle waits. It is not retried, because the server that stores an upload wakes the Bundle.

Uploaded archives are on disk as they came, one for each Bundle, as <bundle>_<uid>.tgz. The uid keeps a Bundle from
getting what was uploaded for a former one of its name, and the underscore, which no name of a Bundle has, tells our
files from all others. An archive arrives in a temporary file and gets its name when it is whole and on disk. What a
kill leaves is removed when the directory is opened again: one process owns it. Its methods block, so threads call them.
OSErrors come out as StoreUnavailableError.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from rukpak_py.content import disk
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.archive_file import ArchiveFile
from rukpak_py.sources.gzipped_tar import read_gzipped_tar
from rukpak_py.sources.source import ContentPendingError, Fetched, Fetcher, FetchRequest, Workers

_NAME = re.compile(r"[a-z0-9][-a-z0-9.]{0,250}_(?P<uid>[0-9A-Za-z-]{1,64})\.tgz")
_DIRECTORY_MODE = 0o750


@dataclass(frozen=True, kw_only=True)
class UploadedFor:
    """The Bundle that an archive belongs to."""

    bundle: str
    uid: str

    @property
    def file_name(self) -> str:
        name = f"{self.bundle}_{self.uid}.tgz"
        if not _NAME.fullmatch(name):
            raise ContentError(f"{name[:100]!r} cannot be the name of an uploaded archive")
        return name


class UploadDirectory:
    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._stored_at: dict[str, float] = {}  # by uid, monotonic; what an older list of Bundles may not know of
        self._gone: set[str] = set()  # uids of Bundles that were deleted since the last sweep

    def clean(self) -> None:
        """Remove what a crash left behind."""
        if self._directory.is_dir():
            with self._opened() as directory:
                disk.remove_temporary(directory)

    def receive(self) -> "IncomingUpload":
        with self._opened() as directory:
            temporary = disk.temporary_name()
            return IncomingUpload(self, temporary, disk.create(directory, temporary), self._limits)

    def find(self, upload: UploadedFor) -> BufferedReader | None:
        """The stored archive, for reading."""
        if not self._directory.is_dir():
            return None
        with self._opened() as directory:
            if not disk.is_file(directory, upload.file_name):
                return None
            return disk.open_file(directory, upload.file_name)

    def path(self, upload: UploadedFor) -> Path | None:
        """The path of the stored archive, for a process that reads it."""
        found = self.find(upload)
        if found is None:
            return None
        found.close()
        return self._directory / upload.file_name

    def path_of(self, temporary: str) -> Path:
        return self._directory / temporary

    def sha256(self, upload: UploadedFor) -> str | None:
        """The digest of the stored archive."""
        found = self.find(upload)
        if found is None:
            return None
        with found:
            return sha256_of(found)

    def gone(self, uid: str) -> None:
        """The Bundle was deleted: the next sweep removes its archive."""
        self._stored_at.pop(uid, None)
        self._gone.add(uid)

    def sweep(self, uids: AbstractSet[str] | None = None, asked_at: float = 0.0) -> list[str]:
        """Remove the archives of deleted Bundles, and of all but these; the names of what was removed.

        `uids`: of all Bundles in a list that was asked for at `asked_at`: what was stored since then stays. None: they
        are not known.
        """
        swept: list[str] = []
        if not self._directory.is_dir():
            return swept
        gone = set(self._gone)
        with self._opened() as directory:
            for name in disk.names(directory):
                match = _NAME.fullmatch(name)
                if match is None:
                    continue
                uid = match["uid"]
                is_unlisted = uids is not None and uid not in uids and self._stored_at.get(uid, 0.0) < asked_at
                if uid in gone or is_unlisted:
                    os.unlink(name, dir_fd=directory)
                    swept.append(name)
        self._gone -= gone
        for uid in [uid for uid, at in list(self._stored_at.items()) if at < asked_at]:
            self._stored_at.pop(uid, None)
        return swept

    def publish(self, file: BinaryIO, temporary: str, upload: UploadedFor) -> None:
        self._stored_at[upload.uid] = monotonic()
        with self._opened() as directory:
            disk.publish(directory, file, temporary, upload.file_name)

    def remove(self, temporary: str) -> None:
        with suppress(UnavailableError, FileNotFoundError), self._opened() as directory:
            os.unlink(temporary, dir_fd=directory)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """A descriptor of the directory, which is made when it is missing."""
        with disk.reporting_failures("the upload directory", self._directory):
            self._directory.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
            directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                yield directory
            finally:
                os.close(directory)


def sha256_of(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


class IncomingUpload:
    """An archive that arrives: readers do not see it before `keep`, and without that it is gone after `close`."""

    def __init__(self, directory: UploadDirectory, temporary: str, file: BinaryIO, limits: Limits) -> None:
        self.archive = ArchiveFile(limits, lambda: self, in_memory=0)
        self._directory = directory
        self._temporary = temporary
        self._file = file
        self._is_kept = False

    @property
    def path(self) -> Path:
        return self._directory.path_of(self._temporary)

    def write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise UnavailableError(f"the archive cannot be kept: {error.strerror or error}") from error

    def complete(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise UnavailableError(f"the archive cannot be kept: {error.strerror or error}") from error

    def keep(self, upload: UploadedFor) -> None:
        """Make it the Bundle's archive."""
        self._directory.publish(self._file, self._temporary, upload)
        self._is_kept = True

    def close(self) -> None:
        self._file.close()
        if not self._is_kept:
            self._directory.remove(self._temporary)


class UploadFetcher(Fetcher):
    def __init__(self, uploads: UploadDirectory, limits: Limits, workers: Workers) -> None:
        self._uploads = uploads
        self._limits = limits
        self._workers = workers

    async def fetch(self, request: FetchRequest) -> Fetched:
        upload = UploadedFor(bundle=request.bundle, uid=request.uid)
        path = await asyncio.to_thread(self._uploads.path, upload)
        if path is None:
            raise ContentPendingError("waiting for bundle to be uploaded")
        await request.content_arrives()
        tree = await self._workers.run(
            read_gzipped_tar,
            path,
            self._limits,
            not_gzip="read response as gzip: ",
            not_tar="untar bundle contents from response: ",
        )
        return Fetched(tree=tree, resolved=request.source)
