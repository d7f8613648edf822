"""The layers of an image to a Tree, one after the other, as they stream by; nothing is ever extracted to disk.

A later layer replaces what earlier ones have on its paths, and its whiteouts remove what only earlier ones have.
Content is held of kept paths only, and limits on count and size are theirs; links are held of all paths, so that a
kept link may lead through others. A link becomes a copy of what it leads to, a file or a directory. What is not kept
is held for that when the layers can be read again (`tree_of_image`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rukpak_py.content.inflate import inflate
from rukpak_py.content.tar import Member, MemberKind, TarMembers
from rukpak_py.content.tree import Tree, TreeBuilder, clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources.image.descriptors import check_digest, new_hash, streaming
from rukpak_py.sources.image.links import Copier, Link, end_of, paths_below, target_of

Keep: TypeAlias = Callable[[str], bool]
# What stands on a path: content, a link, or a directory.
Entry: TypeAlias = bytes | Link | None

WHITEOUT = ".wh."  # such names do not stand for files: they remove some of the layers below
_OPAQUE = ".wh..wh..opq"
_AUFS = ".wh..wh."  # notes of an old file system, not content
_LINKS = frozenset({MemberKind.SYMBOLIC_LINK, MemberKind.HARD_LINK})
_MOST_PASSES = 3
MOST_OTHERS = 100_000  # links of paths that are not kept, and whiteouts


def everything(_path: str) -> bool:
    return True


def below(*directories: str) -> Keep:
    """Paths that are one of the directories, or lie below one. As quick for thousands of directories as for one."""
    wanted = frozenset(directories)
    longest = max(map(len, wanted), default=0)

    def keep(path: str) -> bool:
        if path in wanted:
            return True
        slash = path.find("/")
        while 0 <= slash <= longest:
            if path[:slash] in wanted:
                return True
            slash = path.find("/", slash + 1)
        return False

    return keep


def _either(one: Keep, other: Keep) -> Keep:
    return lambda path: one(path) or other(path)


def apply_layers(
    layers: Iterable[Iterable[bytes]], *, keep: Keep = everything, limits: Limits = DEFAULT_LIMITS
) -> Tree:
    """The Tree of an image's layers, lowest first, each a tar (with gzip, zstd or neither) in chunks of any size."""
    return _read(layers, keep, frozenset(), limits).tree()


def tree_of_image(
    layers: Callable[[], Iterable[Iterable[bytes]]], *, keep: Keep = everything, limits: Limits = DEFAULT_LIMITS
) -> Tree:
    """The same, the layers being read again when a kept link leads to what is not kept: it may be in any of them."""
    missed: frozenset[str] = frozenset()
    for _ in range(_MOST_PASSES):
        image = _read(layers(), keep, missed, limits)
        if (now := image.missed()) <= missed:
            break
        missed |= now
    return image.tree()


def unpacked(chunks: Iterable[bytes], digest: str, limits: Limits) -> Iterator[bytes]:
    """The tar of a layer, verified as it streams by: the configuration of an image has digests of these."""
    found = new_hash(digest)
    for chunk in inflate(chunks, streaming(limits), with_zstd=True):
        found.update(chunk)
        yield chunk
    check_digest(found, digest)


def _read(layers: Iterable[Iterable[bytes]], keep: Keep, missed: frozenset[str], limits: Limits) -> "ImageFiles":
    image = ImageFiles(keep=keep, led_to=below(*missed), limits=limits)
    for layer in layers:
        image.add(layer)
    return image


@dataclass(kw_only=True)
class _Layer:
    entries: dict[str, Entry] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)  # opaque directories


@dataclass(kw_only=True)
class ImageFiles:
    """The files of the layers added so far. `add` them lowest first."""

    keep: Keep
    led_to: Keep  # held, but no content by itself
    limits: Limits
    entries: dict[str, Entry] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)  # of the entries, sorted
    kept_bytes: int = 0  # of all layers, replaced content included
    kept_files: int = 0
    others: int = 0
    unnamed: dict[str, str] = field(default_factory=dict)  # kept hard links, to what is not there
    transferred: int = 0

    def add(self, chunks: Iterable[bytes]) -> None:
        layer = _Layer()
        members = TarMembers(inflate(self._counted(chunks), streaming(self.limits), with_zstd=True))
        for member in members:
            path = "/".join(part for part in member.path.split("/") if part not in {"", "."})
            # A link may lead to a file that is kept, and a whiteout may remove one.
            if path and (self._is_held(path) or member.kind in _LINKS or path.rpartition("/")[2].startswith(WHITEOUT)):
                self._read(layer, clean_path(path, self.limits), member, members)
        self._overlay(layer)

    def tree(self) -> Tree:
        for path, end in self._not_held().items():
            raise ContentError(f"link {path!r} points to {end!r}, which is not a file of the image that is read")
        builder = TreeBuilder(self.limits)
        copier = Copier(self.entries, builder)
        for path in sorted(filter(self.keep, self.entries)):
            entry = self.entries[path]
            if entry is None:
                builder.add_directory(path)
            elif isinstance(entry, Link):
                copier.copy(path)
            else:
                builder.add(path, entry)
        return builder.build()

    def hold(self, paths: Iterable[str]) -> None:
        """Hold from now on what is at and below these paths, too, for links to lead to."""
        self.led_to = _either(self.led_to, below(*paths))

    def missed(self) -> frozenset[str]:
        """The paths that kept links lead to and that are not kept, whether the image has them or not."""
        return frozenset(self._not_held().values())

    def _not_held(self) -> dict[str, str]:
        links = [path for path, entry in self.entries.items() if isinstance(entry, Link) and self._is_held(path)]
        ends = {path: end_of(path, self.entries) for path in links}
        return self.unnamed | {path: end for path, end in ends.items() if end and not self._is_held(end)}

    def _is_held(self, path: str) -> bool:
        return self.keep(path) or self.led_to(path)

    def _read(self, layer: _Layer, path: str, member: Member, members: TarMembers) -> None:
        directory, _, name = path.rpartition("/")
        if name.startswith(WHITEOUT):
            self._count_other()
            if name == _OPAQUE:
                layer.emptied.add(directory)
            elif not name.startswith(_AUFS):
                hidden = name.removeprefix(WHITEOUT)
                if hidden in {"", ".", ".."}:
                    raise ContentError(f"{path!r} removes nothing that has a name")
                layer.removed.add(f"{directory}/{hidden}" if directory else hidden)
            return
        self._count(path, member.size)
        match member.kind:
            case MemberKind.DIRECTORY:
                layer.entries.setdefault(path, None)
            case MemberKind.FILE:
                layer.entries[path] = members.read()
            case MemberKind.SYMBOLIC_LINK:
                layer.entries[path] = Link(target=target_of(path, member.link))
            case MemberKind.HARD_LINK:
                self._add_hard_link(layer, path, clean_path(member.link.lstrip("/"), self.limits))
            case MemberKind.DEVICE:
                raise ContentError(f"{path!r} is a device or a FIFO")

    def _add_hard_link(self, layer: _Layer, path: str, target: str) -> None:
        """Another name of a file that came before: in this layer, or in an earlier one."""
        found = layer.entries.get(target, self.entries.get(target))
        if found is not None:
            layer.entries[path] = found
            if isinstance(found, bytes) and self._is_held(path):
                self._count_bytes(path, len(found))
        elif self._is_held(path):
            self.unnamed[path] = target

    def _count(self, path: str, size: int) -> None:
        if not self._is_held(path):
            self._count_other()
            return
        self.kept_files += 1
        if self.kept_files > self.limits.content_files:
            raise self.limits.exceeded("content_files", "the number of files and directories in the image")
        self._count_bytes(path, size)

    def _count_other(self) -> None:
        self.others += 1
        if self.others > MOST_OTHERS:
            raise ContentError(f"the image has more than {MOST_OTHERS} links and whiteouts")

    def _count_bytes(self, path: str, size: int) -> None:
        if size > self.limits.file_bytes:
            raise self.limits.exceeded("file_bytes", f"the size of file {path!r}")
        self.kept_bytes += size
        if self.kept_bytes > self.limits.content_bytes:
            raise self.limits.exceeded("content_bytes", "the size of the content of the image")

    def _overlay(self, layer: _Layer) -> None:
        """Add a layer. Of earlier ones (there may be a thousand) only entries that it removes are looked at."""
        hidden = set(layer.removed)
        for path in layer.removed | layer.emptied:
            hidden.update(self._below(path))
        # A file or a link makes room for a directory, and a directory, with all that is below it, for a file or a link.
        for path, entry in layer.entries.items():
            hidden.update(parent for parent in _parents(path) if self.entries.get(parent) is not None)
            if entry is not None:
                hidden.update(self._below(path))
        for path in hidden:
            self.entries.pop(path, None)
        added = [path for path in layer.entries if path not in self.entries]
        self.entries |= layer.entries
        if added or hidden:
            self.paths = sorted([*(path for path in self.paths if path in self.entries and path not in hidden), *added])

    def _below(self, directory: str) -> Sequence[str]:
        return paths_below(directory, self.paths) if directory else self.paths

    def _counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.transferred += len(chunk)
            if self.transferred > self.limits.image_bytes:
                raise self.limits.exceeded("image_bytes", "the size of all layers together")
            yield chunk


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
