"""Content on disk: each Tree once, under its digest, as the gzipped canonical tar that is also what gets served.

    <directory>/content/sha256-<hex>.tgz              the content
    <directory>/content/sha256-<hex>.converted.tgz    another form of it, if it has one
    <directory>/<bundle>.tgz                          a symbolic link to what is served as that Bundle's content

Content appears by rename only, after an fsync, so a crash at any step leaves either nothing or a temporary file, which
the next `Store` removes: one process owns a directory. Links appear by rename too, but nothing waits for the disk: one
that a power failure loses is made again when its Bundle is next looked at, one that it brings back is swept.
Everything works relative to directory descriptors that were opened without following links. The converted form
follows from the content, so it has no digest of its own: it comes before the content and goes with it.

Blocking: call it from threads. OSErrors come out as UnavailableError.
"""

import os
import re
import threading
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from io import BufferedReader
from pathlib import Path

from rukpak_py.content import disk
from rukpak_py.content.tar import read_archive, write_tgz
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

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
    """What is served; a part of the name of its file."""

    ORIGINAL = ""
    CONVERTED = ".converted"  # where there is none, the content as it came


class Store:
    def __init__(self, directory: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        self.directory = directory
        # The digest vouches for what we wrote ourselves; such content may compress better than strangers' may.
        self._limits = replace(limits, inflation_ratio=_NO_LIMIT, archive_bytes=_NO_LIMIT)
        self._lock = threading.Lock()
        self._in_flight: Counter[str] = Counter()
        with self._opened() as (root, content):
            disk.remove_temporary(root)
            disk.remove_temporary(content)

    def has(self, digest: str) -> bool:
        with self._opened() as (_, content):
            return disk.is_file(content, _content_name(digest))

    def put(self, tree: Tree, converted: Tree | None = None) -> str:
        """Store the Tree unless it is there; its digest. Keep it from a concurrent sweep with `in_flight`."""
        digest = tree.digest
        forms = ((converted, StoredForm.CONVERTED), (tree, StoredForm.ORIGINAL))
        with self.in_flight(digest), self._opened() as (_, content):
            for files, form in forms:
                name = _content_name(digest, form)
                if files is not None and not disk.is_file(content, name):
                    disk.write(content, name, write_tgz(files))
        return digest

    def get(self, digest: str) -> Tree | None:
        """The Tree, verified; None when it is not there, or damaged: then it is removed."""
        name = _content_name(digest)
        with self._opened() as (_, content):
            if not disk.is_file(content, name):
                return None
            try:
                with disk.open_file(content, name) as file:
                    tree = read_archive(iter(lambda: file.read(_CHUNK), b""), limits=self._limits)
                if tree.digest == digest:
                    return tree
            except ContentError:
                pass  # it was whole when it was written, so the disk has damaged it
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=content)
            return None

    def open_archive(self, digest: str, form: StoredForm = StoredForm.ORIGINAL) -> BufferedReader | None:
        """The file that is served, as it is on disk; it can be read to its end whatever a sweep removes meanwhile."""
        with self._opened() as (_, content):
            try:
                return disk.open_file(content, _served_name(content, digest, form))
            except FileNotFoundError:
                return None

    def link(self, bundle_name: str, digest: str, form: StoredForm = StoredForm.ORIGINAL) -> None:
        """Serve this content under the Bundle's name from now on."""
        name = _link_name(bundle_name)
        with self._opened() as (root, content):
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

    def unlink(self, bundle_name: str) -> None:
        name = _link_name(bundle_name)
        with self._opened() as (root, _):
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
        with self._opened() as (root, content):
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
                with self._lock:  # held while removing, so that nobody takes the content into flight in between
                    if digest not in self._in_flight:
                        os.unlink(name, dir_fd=content)
                        swept.append(digest)
        return list(dict.fromkeys(swept))

    @contextmanager
    def _opened(self) -> Iterator[tuple[int, int]]:
        """Descriptors of the directory and of its content, made again when somebody removed them."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            root = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with suppress(FileExistsError):
                    os.mkdir(_CONTENT, _DIRECTORY_MODE, dir_fd=root)
                content = os.open(_CONTENT, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
                try:
                    yield root, content
                finally:
                    os.close(content)
            finally:
                os.close(root)
        except OSError as error:
            raise UnavailableError(f"the content store {self.directory} failed: {error.strerror or error}") from error


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
