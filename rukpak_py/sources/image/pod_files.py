"""The reading of what an unpack pod has sent so far: a Tree, or what is missing for one. For a worker process.

Each archive is one more layer. What links lead to is asked for only when every directory on the way is known to be
one: what the node mounts into the container (/proc, for one) is not part of the image, and never read. So a reading
either has everything, or says what of the way has to be looked at, or where it ends.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rukpak_py.content.tree import Tree, clean_path
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.bundle_files import kept_of_image
from rukpak_py.sources.image.layer_files import chunks_of_file
from rukpak_py.sources.image.layers import ImageFiles, below
from rukpak_py.sources.image.pod_manifest import MOUNT

_MOST_WAYS: Final = 4096  # files and directories that are asked for because links lead through them
# What the node mounts, or the runtime makes: not of the image.
MOUNTED: Final = ("dev", "proc", "sys", MOUNT, "etc/hosts", "etc/hostname", "etc/resolv.conf")
_is_mounted = below(*MOUNTED)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodArchive:
    """`holds`: the paths from which on links are followed when it is read; they were found in those before it."""

    path: Path
    holds: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingFiles:
    """The targets of links beside what was asked for, and the part of the way there that was not looked at yet."""

    ends: frozenset[str]
    ways: frozenset[str]


def read_archives(
    archives: Sequence[PodArchive], looked_at: AbstractSet[str], class_name: str, limits: Limits, *, is_last: bool
) -> Tree | MissingFiles:
    """`is_last`: nothing more will be asked for, and links that lead elsewhere are refused."""
    image = ImageFiles(keep=kept_of_image(class_name), led_to=below(), limits=limits)
    held: frozenset[str] = frozenset()
    try:
        for archive in archives:
            if archive.holds:
                image.hold(archive.holds)
                held |= archive.holds
            image.add(chunks_of_file(archive.path))
    except OSError as error:
        raise UnavailableError(f"what the pod has sent cannot be read: {error.strerror or error}") from error
    if not is_last:
        ends = image.missed()
        ways = _ways_to(ends, looked_at, limits)
        if ways or not ends <= held:
            return MissingFiles(ends=ends, ways=ways)
    return image.tree()


def _ways_to(ends: frozenset[str], looked_at: AbstractSet[str], limits: Limits) -> frozenset[str]:
    unknown: set[str] = set()
    for end in ends:
        clean_path(end, limits)
        _check_is_of_image(end)
        unknown.update(way for way in _path_and_parents(end) if way not in looked_at)
        if len(unknown) + len(looked_at) > _MOST_WAYS:
            raise ContentError(f"links of the image lead through more than {_MOST_WAYS} files and directories")
    return frozenset(unknown)


def _check_is_of_image(end: str) -> None:
    if _is_mounted(end) or any(path.startswith(f"{end}/") for path in MOUNTED):
        raise ContentError(f"a link points to '/{end}', which is not a file of the image that is read")


def _path_and_parents(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[: count + 1]) for count in range(len(parts)))
