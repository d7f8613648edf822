"""Links inside an image: where they lead, and copies of what is there. Nothing leads out of the image."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rukpak_py.content.tree import TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import LINK_HOPS, LINK_STEPS, LONGEST_LINK


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    target: str  # from the root of the image; may lead through other links


Entries: TypeAlias = Mapping[str, bytes | Link | None]


def target_of(path: str, link: str) -> str:
    """The target of a symbolic link at the path; as in a container, the root is the image's and `..` ends there."""
    if not link or "\0" in link or len(link) > LONGEST_LINK:
        raise ContentError(f"link {path!r} points nowhere: {link[:200]!r}")
    parts = [] if link.startswith("/") else path.split("/")[:-1]
    for part in link.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


class Copier:
    """Puts copies of what links lead to into a builder, whose limits bound the work."""

    def __init__(self, entries: Entries, builder: TreeBuilder) -> None:
        self._entries = entries
        self._paths = sorted(entries)
        self._builder = builder

    def copy(self, path: str) -> None:
        """The link at `path`."""
        self._copy(path, source=path, around=frozenset())

    def _copy(self, path: str, *, source: str, around: frozenset[str]) -> None:
        """Add the entries at and below `source` under the names that they get at and below `path`."""
        end = end_of(source, self._entries)
        entry = self._entries.get(end)
        if isinstance(entry, bytes):
            self._builder.check_room(path, len(entry))
            self._builder.add(path, entry)
            return
        below = paths_below(end, self._paths) if end else []
        if end not in self._entries and not below:
            raise ContentError(f"link {path!r} points to {end or '/'!r}, which is not a file of the image that is read")
        if end in around or source.startswith(f"{end}/"):
            raise ContentError(f"link {path!r} points to a directory that it lies in")
        self._builder.add_directory(path)
        for name in below:
            copy = f"{path}/{name[len(end) + 1 :]}"
            found = self._entries[name]
            if found is None:
                self._builder.add_directory(copy)
            elif isinstance(found, bytes):
                self._builder.add(copy, found)
            else:
                self._copy(copy, source=name, around=around | {end})


def paths_below(directory: str, paths: Sequence[str]) -> Sequence[str]:
    """The sorted paths that lie below the directory."""
    start = bisect_left(paths, f"{directory}/")
    return paths[start : bisect_left(paths, f"{directory}0", start)]  # "0" is what follows "/"


def end_of(path: str, entries: Entries) -> str:
    """The path without links in any of its parts."""
    end = ""
    todo = path.split("/")[::-1]
    steps = hops = 0
    while todo:
        steps += 1
        end = f"{end}/{todo.pop()}" if end else todo.pop()
        entry = entries.get(end)
        if isinstance(entry, Link):
            hops += 1
            todo.extend(reversed(entry.target.split("/") if entry.target else []))
            end = ""
        if hops > LINK_HOPS:
            raise ContentError(f"link {path!r} never ends at a file")
        if steps + len(todo) > LINK_STEPS:
            raise ContentError(f"link {path!r} leads too far: through more than {LINK_STEPS} names")
    return end
