"""Archives to Trees and back. Nothing is ever extracted to disk, so nothing can be written through a link.

Read: regular files and directories; a link becomes a copy of the file that it names inside the archive; whatever
leaves the archive, is not a file, or comes twice is refused. Written: the canonical tar, gzipped without time and name
(the gzip bytes may differ between versions of the library; identity is the tar's).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from isal import isal_zlib

from rukpak_py.content.canonical import write_tar
from rukpak_py.content.inflate import inflate
from rukpak_py.content.tar_members import Member, MemberKind, TarMembers
from rukpak_py.content.tree import Tree, TreeBuilder, clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, LINK_HOPS, Limits

__all__ = ["read_archive", "write_tar", "write_tgz"]

_LEVEL = 2
_GZIP_WINDOW = 31


def read_archive(chunks: Iterable[bytes], *, limits: Limits = DEFAULT_LIMITS) -> Tree:
    """The Tree of a tar, gzipped or not, in chunks of any size."""
    builder = TreeBuilder(limits)
    links: dict[str, _Link] = {}
    members = TarMembers(inflate(chunks, limits))
    for number, member in enumerate(members):
        if number >= limits.content_files:
            raise limits.exceeded("content_files", "the number of entries in the archive")
        path = clean_path(member.path, limits)
        match member.kind:
            case MemberKind.DIRECTORY:
                builder.add_directory(path)
            case MemberKind.FILE:
                builder.check_room(path, member.size)
                builder.add(path, members.read())
            case MemberKind.DEVICE:
                raise ContentError(f"{path!r} is a device or a FIFO")
            case MemberKind.HARD_LINK | MemberKind.SYMBOLIC_LINK:
                if path in links:
                    raise ContentError(f"link {path!r} is there twice")
                links[path] = _link(path, member, limits)
    for path, link in links.items():
        builder.add(path, _content(link, links, builder))
    return builder.build()


def write_tgz(tree: Tree) -> Iterator[bytes]:
    gzip: Any = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW)
    for piece in write_tar(tree):
        if data := gzip.compress(piece):
            yield data
    yield gzip.flush()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Link:
    path: str
    target: str  # normalised, from the root of the archive


def _link(path: str, member: Member, limits: Limits) -> _Link:
    if not member.link or member.link.startswith("/"):
        raise ContentError(f"link {path!r} points out of the archive: {member.link[:200]!r}")
    if member.kind is MemberKind.HARD_LINK:
        return _Link(path=path, target=clean_path(member.link, limits))
    parts = path.split("/")[:-1]
    for part in member.link.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in {"", ".", ".."}:
            parts.append(part)
        elif part == "..":
            raise ContentError(f"link {path!r} points out of the archive: {member.link[:200]!r}")
    return _Link(path=path, target=clean_path("/".join(parts), limits))


def _content(link: _Link, links: dict[str, _Link], builder: TreeBuilder) -> bytes:
    end = link
    for _ in range(LINK_HOPS):
        if end.target not in links:
            content = builder.get(end.target)
            if content is None:
                raise ContentError(f"link {link.path!r} points to {end.target!r}, which is not a file of the archive")
            return content
        end = links[end.target]
    raise ContentError(f"link {link.path!r} never ends at a file")
