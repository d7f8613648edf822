"""Content on disk: each Tree once, under its digest, as the gzipped canonical tar that is also what gets served.

    <directory>/content/sha256-<hex>.tgz              the content
    <directory>/content/sha256-<hex>.converted.tgz    another form of it, if it has one
    <directory>/checksums/<file of content>.json      what each of them is like on disk, see `checksums`
    <directory>/<bundle>.tgz                          a symbolic link to what is served as that Bundle's content

Content appears by rename only, after an fsync, so a crash at any step leaves either nothing or a temporary file, which
the next `Store` removes: one process owns a directory. Links appear by rename too, but nothing waits for the disk: one
that a power failure loses is made again when its Bundle is next looked at, one that it brings back is swept.
Everything works relative to directory descriptors that were opened without following links. The converted form
follows from the content, so it has no digest of its own: it comes before the content and goes with it.

The disk may damage or shorten a file. Each is checked before its first byte is used, and one that fails makes its
content count as lost, in all its forms: it is removed, and a line of the log names it. A file from before checksums
were kept is verified by its digest once; a converted one cannot be, and counts as lost.

Blocking: call it from threads. OSErrors come out as StoreUnavailableError.
"""

import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from rukpak_py.content import checksums, disk
from rukpak_py.content.checksums import Checksums, Summed, Verdict, checksum_of
from rukpak_py.content.tar import read_archive, write_tgz
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

LOG = logging.getLogger(__name__)
_CONTENT = "content"
_SUFFIX = ".tgz"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_CONTENT_NAME = re.compile(r"sha256-([0-9a-f]{64})(?:\.converted)?\.tgz")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 251  # a file name has 255 bytes at most
_DIRECTORY_MODE = 0o750
_CHUNK = 1024 * 1024
_NO_LIMIT = 1 << 62


class StoredForm(StrEnum):
    """The form in which content is served; a part of the name of its file."""

    ORIGINAL = ""
    CONVERTED = ".converted"  # where there is none, the content as it came


class _Folders(NamedTuple):
    """Descriptors."""

    root: int
    content: int
    checksums: int


class Store:
    def __init__(self, directory: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        self.directory = directory
        # The digest vouches for what we wrote ourselves; such content may compress better than strangers' may.
        self._limits = replace(limits, inflation_ratio=_NO_LIMIT, archive_bytes=_NO_LIMIT)
        self._lock = threading.Lock()
        self._in_flight: Counter[str] = Counter()
        self._checks = Checksums()
        with self._opened() as folders:
            # Remove what a crash left behind. On a read-only disk it stays, and stored content can still be read.
            try:
                for folder in folders:
                    disk.remove_temporary(folder)
            except OSError as error:
                LOG.warning("temporary files stay in the content store %s: %s", self.directory, error.strerror)

    def has(self, digest: str) -> bool:
        """It is not looked into, but what is known to be damaged is not there."""
        name = _content_name(digest)
        with self._opened() as folders:
            if not disk.is_file(folders.content, name):
                return False
            found = os.stat(name, dir_fd=folders.content, follow_symlinks=False)
            return not self._checks.is_known_as_damaged(name, found)

    def put(self, tree: Tree, converted: Tree | None = None) -> str:
        """Store the Tree unless it is there; its digest. Keep it from a concurrent sweep with `in_flight`."""
        digest = tree.digest
        forms = ((converted, StoredForm.CONVERTED), (tree, StoredForm.ORIGINAL))
        with self.in_flight(digest), self._opened() as folders:
            for files, form in forms:
                name = _content_name(digest, form)
                if files is not None and not self._is_whole(folders, name):
                    self._write(folders, name, Summed(write_tgz(files)))
        return digest

    def get(self, digest: str) -> Tree | None:
        """The Tree, verified; None when it is not there, or damaged: then it is removed."""
        with self._opened() as folders:
            file = self._open_whole(folders, digest, _content_name(digest))
            if file is None:
                return None
            with file:
                tree = self._read(file, digest)
                if tree is None:
                    self._discard(folders, digest, "it does not have its digest")
                return tree

    def open_archive(self, digest: str, form: StoredForm = StoredForm.ORIGINAL) -> BufferedReader | None:
        """The file that is served, verified; it can be read to its end whatever a sweep removes meanwhile."""
        with self._opened() as folders:
            return self._open_whole(folders, digest, _served_name(folders.content, digest, form))

    def link(self, bundle_name: str, digest: str, form: StoredForm = StoredForm.ORIGINAL) -> None:
        """Serve this content under the Bundle's name from now on."""
        name = _link_name(bundle_name)
        with self._opened() as (root, content, _):
            target = _served_name(content, digest, form)
            if not disk.is_file(content, target):
                raise UnavailableError(f"the content {digest} of Bundle {bundle_name} is not in {self.directory}")
            if _target(root, name) == target:
                return
            temporary = disk.temporary_name()
            try:
                os.symlink(f"{_CONTENT}/{target}", temporary, dir_fd=root)
                os.rename(temporary, name, src_dir_fd=root, dst_dir_fd=root)
            except BaseException:  # whatever ends it, no temporary file stays
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=root)
                raise

    def is_linked(self, bundle_name: str, digest: str) -> bool:
        """Whether this content is there, and is linked to the Bundle's name."""
        if not _DIGEST.fullmatch(digest):
            return False  # a status may say anything
        forms = {_content_name(digest, form) for form in StoredForm}
        with self._opened() as (root, content, _):
            return disk.is_file(content, _content_name(digest)) and _target(root, _link_name(bundle_name)) in forms

    def unlink(self, bundle_name: str) -> None:
        name = _link_name(bundle_name)
        with self._opened() as (root, *_):
            if disk.is_link(root, name):
                os.unlink(name, dir_fd=root)

    @contextmanager
    def in_flight(self, digest: str) -> Iterator[None]:
        """No sweep removes this content meanwhile, though nothing refers to it yet."""
        with self._lock:
            self._in_flight[digest] += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight[digest] -= 1
                if not self._in_flight[digest]:
                    del self._in_flight[digest]

    def sweep(self, keep: AbstractSet[str], linked: AbstractSet[str]) -> list[str]:
        """Remove the links of all Bundles but `linked`, and the content that neither `keep` nor a link names."""
        swept = []
        with self._opened() as folders:
            root, content, _ = folders
            needed = {match[1] for match in map(_DIGEST.fullmatch, keep) if match}  # a status may say anything
            for name in disk.names(root):
                if not name.endswith(_SUFFIX) or not disk.is_link(root, name):
                    continue
                if name.removesuffix(_SUFFIX) in linked:
                    target = _CONTENT_NAME.fullmatch(_target(root, name))
                    needed |= {target[1]} if target else set()
                else:
                    os.unlink(name, dir_fd=root)
            for name in disk.names(content):
                match = _CONTENT_NAME.fullmatch(name)
                if match is None or match[1] in needed:
                    continue
                digest = f"sha256:{match[1]}"
                with self._lock:  # held while removing, so that no other thread takes the content into flight
                    if digest not in self._in_flight:
                        os.unlink(name, dir_fd=content)
                        swept.append(digest)
            self._sweep_checksums(folders)
        return list(dict.fromkeys(swept))

    def _sweep_checksums(self, folders: _Folders) -> None:
        """Remove the checksums of files that are gone."""
        for name in self._checks.names(folders.checksums):
            match = _CONTENT_NAME.fullmatch(name)
            if match is None or disk.is_file(folders.content, name):
                continue
            with self._lock:  # the checksum of what is in flight comes first
                if f"sha256:{match[1]}" not in self._in_flight:
                    self._checks.remove(folders.checksums, name)

    def _write(self, folders: _Folders, name: str, pieces: Summed) -> None:
        disk.write(
            folders.content,
            name,
            pieces,
            before_publishing=lambda: self._checks.write(folders.checksums, name, pieces.checksum),
        )

    def _is_whole(self, folders: _Folders, name: str) -> bool:
        """As it was written by a release that keeps checksums."""
        if not disk.is_file(folders.content, name):
            return False
        with disk.open_file(folders.content, name) as file:
            return self._checks.verdict(folders.checksums, name, file) is Verdict.WHOLE

    def _open_whole(self, folders: _Folders, digest: str, name: str) -> BufferedReader | None:
        if not disk.is_file(folders.content, name):
            return None
        try:
            file = disk.open_file(folders.content, name)
        except FileNotFoundError:
            return None
        try:
            verdict = self._checks.verdict(folders.checksums, name, file)
            if verdict is Verdict.UNKNOWN and self._is_as_its_digest(folders, digest, name, file):
                verdict = Verdict.WHOLE
            if verdict is Verdict.WHOLE:
                return file
            if not self._checks.is_known_as_damaged(name, os.fstat(file.fileno())):
                self._discard(folders, digest, "its bytes are not those that were written")
        except BaseException:  # whatever ends it, the descriptor does not stay open
            file.close()
            raise
        file.close()
        return None

    def _is_as_its_digest(self, folders: _Folders, digest: str, name: str, file: BufferedReader) -> bool:
        """Check a file of an operator that kept no checksums, and record one.

        A converted form has no digest of its own: it is one that gzip's checksum and length say is whole.
        """
        if self._read(file, digest if name == _content_name(digest) else None) is None:
            return False
        with suppress(OSError):  # on a disk that cannot be written it is found out again
            self._checks.write(folders.checksums, name, checksum_of(file))
        return True

    def _read(self, file: BufferedReader, digest: str | None) -> Tree | None:
        """None: it is not the archive of a tree, or of one with another digest than this."""
        try:
            tree = read_archive(iter(lambda: file.read(_CHUNK), b""), limits=self._limits)
        except ContentError:
            return None  # it was whole when it was written, so the disk has damaged it
        finally:
            file.seek(0)
        return tree if digest in {None, tree.digest} else None

    def _discard(self, folders: _Folders, digest: str, why: str) -> None:
        """Without its original no form counts, so that one goes first."""
        original, converted = (_content_name(digest, form) for form in StoredForm)
        path = self.directory / _CONTENT / original
        LOG.warning("the stored content %s is damaged and counts as lost: %s", path, why)
        try:
            for name in (original, converted):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folders.content)
        except OSError as error:
            LOG.warning("%s cannot be removed: %s", path, error.strerror)
            self._set_aside(folders, (original, converted))

    def _set_aside(self, folders: _Folders, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError), disk.open_file(folders.content, name) as file:
                self._checks.stays_damaged(name, file)

    @contextmanager
    def _opened(self) -> Iterator[_Folders]:
        """The directory, its content and its checksums, which are created again when they are missing."""
        with disk.reporting_failures("the content store", self.directory), ExitStack() as stack:
            self.directory.mkdir(parents=True, exist_ok=True)
            root = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, root)
            content, sums = (_folder(root, name, stack) for name in (_CONTENT, checksums.FOLDER))
            yield _Folders(root, content, sums)


def _folder(root: int, name: str, stack: ExitStack) -> int:
    """A descriptor, until the stack ends."""
    with suppress(FileExistsError):
        os.mkdir(name, _DIRECTORY_MODE, dir_fd=root)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    stack.callback(os.close, folder)
    return folder


def _content_name(digest: str, form: StoredForm = StoredForm.ORIGINAL) -> str:
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ContentError(f"{digest[:100]!r} is not a digest")
    return f"sha256-{match[1]}{form}{_SUFFIX}"


def _served_name(content: int, digest: str, form: StoredForm) -> str:
    """Without its original the converted form does not count: the content is lost."""
    original, wanted = _content_name(digest), _content_name(digest, form)
    return wanted if disk.is_file(content, original) and disk.is_file(content, wanted) else original


def _link_name(bundle_name: str) -> str:
    if len(bundle_name) > _LONGEST_NAME or not _SUBDOMAIN.fullmatch(bundle_name):
        raise ContentError(f"{bundle_name[:100]!r} cannot be the name of a Bundle's archive")
    return bundle_name + _SUFFIX


def _target(root: int, link: str) -> str:
    """The name in `content` that the link points to; empty when it is no link of ours."""
    folder, _, name = (os.readlink(link, dir_fd=root) if disk.is_link(root, link) else "").partition("/")
    return name if folder == _CONTENT and _CONTENT_NAME.fullmatch(name) else ""
