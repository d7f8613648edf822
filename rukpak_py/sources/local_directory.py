"""A directory on disk as a Tree: all of it, or only what bundles are read from.

A symbolic link inside the directory becomes a copy of what it leads to. Nothing is read through one that leaves the
directory, also not when a directory on the way becomes a link during the walk: files are opened part by part. Only
regular files are opened: no device, no FIFO that would never end.

A bundle may lie in a checkout of any size, so `read_bundle` looks at nothing that no format reads: the digest of such a
Tree is of these files only. Of a chart everything is read, because its templates may.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.helm.layout import CHART
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.sources.bundle_files import demanded, of_bundle, of_bundle_or_chart
from rukpak_py.sources.image.layers import everything

Chosen: TypeAlias = Callable[[str], bool]


def nothing(_path: str) -> bool:
    return False


# The history of a checkout is no content, and often larger than all limits.
_NO_CONTENT = frozenset({".git"})
_DOCUMENTS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The part of a directory that is read. By default everything."""

    keep: Chosen = everything
    enter: Chosen = everything  # directories; those that are not entered are not looked at
    demanded: Chosen = everything  # what cannot be followed is refused here, and left out elsewhere

    def without(self, ignored: Chosen) -> "Selection":
        return Selection(
            keep=lambda path: self.keep(path) and not ignored(path),
            enter=lambda path: self.enter(path) and not ignored(path),
            demanded=self.demanded,
        )


EVERYTHING = Selection()


def read_directory(root: Path, *, selection: Selection = EVERYTHING, limits: Limits = DEFAULT_LIMITS) -> Tree:
    builder = TreeBuilder(limits)
    real_root = root.resolve(strict=True)
    walk = _Walk(root=real_root, selection=selection, most_levels=limits.path_depth)
    for path, real in walk.files("", real_root, frozenset()):
        if real is None:
            builder.add_directory(path)
        else:
            builder.add(path, _content(path, real_root, real, builder))
    return builder.build()


def read_bundle(root: Path, *, limits: Limits = DEFAULT_LIMITS, ignored: Chosen = nothing) -> Tree:
    """Read the files that formats need: manifests/, metadata/, tests/scorecard/, Dockerfiles; or all of a chart.

    Where neither a bundle nor a chart is, read what advice needs: documents, and which directories hold manifests/.
    `ignored`: what is not looked at.
    """
    if os.path.lexists(root / MANIFESTS):
        keep = of_bundle_or_chart if (root / CHART).is_file() else of_bundle
        selection = Selection(keep=keep, enter=lambda path: keep(path) or path == "tests", demanded=demanded)
    elif _holds_chart(root):
        selection = Selection(
            demanded=lambda path: of_bundle_or_chart(path) or of_bundle_or_chart(path.partition("/")[2])
        )
    else:
        selection = Selection(keep=_advises, enter=_may_advise, demanded=demanded)
    return read_directory(root, selection=selection.without(ignored), limits=limits)


def _holds_chart(root: Path) -> bool:
    """Whether it has a chart at its root, or in the one directory that it has; as formats/helm/layout decides it."""
    if (root / CHART).is_file():
        return True
    entries = [entry for entry in root.iterdir() if entry.name not in _NO_CONTENT]
    return len(entries) == 1 and (entries[0] / CHART).is_file()


def _advises(path: str) -> bool:
    directory, _, name = path.rpartition("/")
    if not directory:
        return of_bundle(path) or name.endswith(_DOCUMENTS)
    return of_bundle(path) or ("/" not in directory and name == MANIFESTS)


def _may_advise(path: str) -> bool:
    return of_bundle(path) or ("/" not in path.removesuffix(f"/{MANIFESTS}") and not path.startswith("."))


@dataclass(frozen=True, kw_only=True)
class _Walk:
    root: Path
    selection: Selection
    most_levels: int

    def files(self, path: str, directory: Path, around: frozenset[Path]) -> Iterator[tuple[str, Path | None]]:
        """Files with where they really are, and directories with None, of a real directory that is known as `path`."""
        around |= {directory}
        for child in self._children(path, directory):
            entry = f"{path}/{child.name}" if path else child.name
            kept, entered = self.selection.keep(entry), self.selection.enter(entry)
            if child.name in _NO_CONTENT or not (kept or entered):
                continue
            try:
                real = self._real(entry, child, around)
            except ContentError:
                if self.selection.demanded(entry):
                    raise
                continue
            mode = real.stat().st_mode
            if stat.S_ISDIR(mode):
                if kept and entered:
                    yield entry, None
                if entered and entry.count("/") < self.most_levels:
                    yield from self.files(entry, real, around)
            elif kept:
                if not stat.S_ISREG(mode):
                    raise _not_regular(entry)
                yield entry, real

    def _children(self, path: str, directory: Path) -> list[Path]:
        try:
            return sorted(directory.iterdir())
        except PermissionError:
            if not path or self.selection.demanded(path):
                raise
            return []

    def _real(self, entry: str, path: Path, around: frozenset[Path]) -> Path:
        if not path.is_symlink():
            return path
        target = str(path.readlink())
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ContentError(
                f"link {entry!r} points to {target!r}, which is not there: put the file in its place, or remove it"
            ) from error
        if not real.is_relative_to(self.root):
            raise ContentError(f"link {entry!r} points out of the directory, to {target!r}: put a copy in its place")
        if real in around:
            raise ContentError(f"link {entry!r} points to a directory that it lies in: remove it")
        return real


def _not_regular(path: str) -> ContentError:
    return ContentError(f"{path!r} is a device, a FIFO or a socket")


def _content(path: str, root: Path, real: Path, builder: TreeBuilder) -> bytes:
    with open(_descriptor(root, real), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _not_regular(path)
        size = found.st_size
        builder.check_room(path, size)
        content = file.read(size + 1)  # one more than it had, so that a growing file is noticed
    builder.check_room(path, len(content))
    return content


def _descriptor(root: Path, real: Path) -> int:
    """A part may have become a link since it was looked at, or the file a FIFO: neither is followed, nor waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if os.open not in os.supports_dir_fd:  # Windows
        return os.open(real, flags | getattr(os, "O_BINARY", 0))
    *directories, name = real.relative_to(root).parts
    current = os.open(root, flags | os.O_DIRECTORY)
    try:
        for part in directories:
            inner = os.open(part, flags | os.O_DIRECTORY, dir_fd=current)
            os.close(current)
            current = inner
        return os.open(name, flags, dir_fd=current)
    except OSError as error:
        error.filename = str(real)  # it would be the last part only
        raise
    finally:
        os.close(current)
