"""The files of a bundle: an immutable map of relative path to bytes, plus the directories that hold nothing.

Paths are normalised by `clean_path`, the one place that knows which paths are allowed. A Tree can only be made by a
`TreeBuilder`, which enforces the limits while content arrives. Empty directories count, because formats tell an empty
directory from a missing one. Reading goes through the mapping and `size_of`, so content may come to live elsewhere
than in memory without any reader noticing. The identity of a Tree is the SHA-256 of its canonical tar.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property

from rukpak_py.content import canonical
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits


def clean_path(path: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """The path in its normal form, `` for the root itself; ContentError for what may not be in a Tree."""
    shown = repr(path[:200])
    try:
        size = len(path.encode())
    except UnicodeEncodeError as error:
        raise ContentError(f"path {shown} is not UTF-8") from error
    if size > limits.path_bytes:
        raise limits.exceeded("path_bytes", f"the length of path {shown}")
    if "\0" in path or "\\" in path:
        raise ContentError(f"path {shown} contains a NUL byte or a backslash")
    if path.startswith("/"):
        raise ContentError(f"path {shown} is absolute")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise ContentError(f'path {shown} contains ".."')
    if len(parts) > limits.path_depth:
        raise limits.exceeded("path_depth", f"the depth of path {shown}")
    return "/".join(parts)


class Tree(Mapping[str, bytes]):
    """Made by a TreeBuilder. Iterates like a walk: a directory's entries by name, each with what is below it."""

    def __init__(self, files: Mapping[str, bytes], empty_directories: frozenset[str] = frozenset()) -> None:
        self._files = {path: files[path] for path in sorted(files, key=canonical.walk_order)}
        self.empty_directories = empty_directories

    def __getitem__(self, path: str) -> bytes:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self._files == other._files and self.empty_directories == other.empty_directories

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Tree of {len(self)} files, {self.total_bytes} bytes>"

    def size_of(self, path: str) -> int:
        return len(self._files[path])

    @cached_property
    def total_bytes(self) -> int:
        return sum(map(self.size_of, self._files))

    @cached_property
    def digest(self) -> str:
        tar = hashlib.sha256()
        for piece in canonical.write_tar(self):
            tar.update(piece)
        return f"sha256:{tar.hexdigest()}"

    def with_files(self, changed: Mapping[str, bytes]) -> "Tree":
        """The tree with other content of some of its files."""
        return Tree(
            {**self._files, **{path: changed[path] for path in self._files.keys() & changed}}, self.empty_directories
        )

    @cached_property
    def directories(self) -> frozenset[str]:
        """Every directory but the root."""
        return frozenset(self.empty_directories.union(*map(_parents, [*self._files, *self.empty_directories])))

    def names_in(self, directory: str) -> list[str]:
        """The names of the files and directories directly in the directory (`` is the root), sorted."""
        prefix = f"{directory}/" if directory else ""
        below = (path[len(prefix) :] for path in (*self._files, *self.directories) if path.startswith(prefix))
        return sorted({path.partition("/")[0] for path in below})


class TreeBuilder:
    """Collects files until `build`; every refusal is a ContentError and leaves what was added before."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._files: dict[str, bytes] = {}
        self._directories: set[str] = set()
        self._bytes = 0

    def add(self, path: str, content: bytes) -> None:
        path = clean_path(path, self.limits)
        if not path:
            raise ContentError("a file has no name")
        self.check_room(path, len(content))
        if path in self._files:
            raise ContentError(f"file {path!r} is there twice")
        if path in self._directories:
            raise ContentError(f"{path!r} is both a file and a directory")
        self._add_directories(_parents(path))
        self._check_count()
        self._files[path] = content
        self._bytes += len(content)

    def get(self, path: str) -> bytes | None:
        return self._files.get(path)

    def add_directory(self, path: str) -> None:
        path = clean_path(path, self.limits)
        if path:
            self._add_directories([*_parents(path), path])

    def check_room(self, path: str, size: int) -> None:
        """Refuse a file of that size before its content is read."""
        if size > self.limits.file_bytes:
            raise self.limits.exceeded("file_bytes", f"the size of file {path!r}")
        if self._bytes + size > self.limits.content_bytes:
            raise self.limits.exceeded("content_bytes", "the size of the content")

    def build(self) -> Tree:
        occupied = set().union(*map(_parents, [*self._files, *self._directories]))
        return Tree(self._files, frozenset(self._directories - occupied))

    def _add_directories(self, paths: list[str]) -> None:
        for path in paths:
            if path in self._files:
                raise ContentError(f"{path!r} is both a file and a directory")
        for path in paths:
            if path not in self._directories:
                self._check_count()
                self._directories.add(path)

    def _check_count(self) -> None:
        if len(self._files) + len(self._directories) >= self.limits.content_files:
            raise self.limits.exceeded("content_files", "the number of files and directories")


def _parents(path: str) -> list[str]:
    """The directories around the path, outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
