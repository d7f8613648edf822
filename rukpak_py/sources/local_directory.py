"""A directory on disk as a Tree. Symbolic links inside the directory become copies of what they lead to.

Nothing is read through a link that leaves the directory, and only regular files are opened: no device, no FIFO that
would never end.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image.layers import Keep, everything

# The history of a checkout is no content, and often larger than all limits.
_NO_CONTENT = frozenset({".git"})


def read_directory(root: Path, *, keep: Keep = everything, limits: Limits = DEFAULT_LIMITS) -> Tree:
    builder = TreeBuilder(limits)
    real_root = root.resolve(strict=True)
    for path, real in _Walk(root=real_root, keep=keep, most_levels=limits.path_depth).files("", real_root, frozenset()):
        if real is None:
            builder.add_directory(path)
        else:
            builder.add(path, _content(path, real, builder))
    return builder.build()


@dataclass(frozen=True, kw_only=True)
class _Walk:
    root: Path
    keep: Keep
    most_levels: int

    def files(self, path: str, directory: Path, around: frozenset[Path]) -> Iterator[tuple[str, Path | None]]:
        """Files with where they really are, and directories with None, of a real directory that is known as `path`."""
        if directory in around:
            raise ContentError(f"link {path!r} points to a directory that it lies in")
        for child in sorted(directory.iterdir()):
            if child.name in _NO_CONTENT:
                continue
            entry = f"{path}/{child.name}" if path else child.name
            real = self._real(entry, child)
            mode = real.stat().st_mode
            if stat.S_ISDIR(mode):
                if self.keep(entry):
                    yield entry, None
                if entry.count("/") < self.most_levels:
                    yield from self.files(entry, real, around | {directory})
            elif self.keep(entry):
                if not stat.S_ISREG(mode):
                    raise ContentError(f"{entry!r} is a device, a FIFO or a socket")
                yield entry, real

    def _real(self, entry: str, path: Path) -> Path:
        if not path.is_symlink():
            return path
        try:
            real = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ContentError(f"link {entry!r} points to {str(path.readlink())!r}, which is not there") from error
        if not real.is_relative_to(self.root):
            raise ContentError(
                f"link {entry!r} points out of the directory, to {str(path.readlink())!r}: put a copy of the file there"
            )
        return real


def _content(path: str, real: Path, builder: TreeBuilder) -> bytes:
    # It may have become a link or a FIFO since it was looked at: neither is followed, nor waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(real, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ContentError(f"{path!r} is a device, a FIFO or a socket")
        size = found.st_size
        builder.check_room(path, size)
        content = file.read(size + 1)  # one more than it had, so that a growing file is noticed
    builder.check_room(path, len(content))
    return content
