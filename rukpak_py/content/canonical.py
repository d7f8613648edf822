"""The canonical tar of a Tree: the same content gives the same bytes on every machine and in every release.

In the order of a walk, the root `.` first, every directory as an entry; no times, no owners, modes 0644 and 0755, pax
records only for paths that ustar cannot say. This is the layout of the original's archives without what varies.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Protocol

from rukpak_py.content import tar_header


class Content(Protocol):
    """The part of a Tree that the writer reads; a protocol, because the Tree needs the writer for its digest."""

    @property
    def directories(self) -> AbstractSet[str]: ...

    def __iter__(self) -> Iterator[str]: ...

    def __getitem__(self, path: str, /) -> bytes: ...


def walk_order(path: str) -> list[str]:
    """Sorts a directory's entries by name, and what is below an entry right behind it."""
    return path.split("/")


def write_tar(content: Content) -> Iterator[bytes]:
    directories = content.directories
    yield tar_header.directory_header(b".")
    for path in sorted([*content, *directories], key=walk_order):
        if path in directories:
            yield tar_header.directory_header(path.encode())
            continue
        data = content[path]
        yield tar_header.file_header(path.encode(), len(data))
        yield data
        yield tar_header.padding(len(data))
    yield tar_header.END_MARK
