"""Where typed decoding stands, and what it met.

A place (`At`) is a chain of cells (parent, part, struct) from the value to the root, so that a step down costs one
tuple; paths are made only of what was found.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.type_defects import TypeDefect, Wanted

At: TypeAlias = tuple[Any, ...]  # () is the root; `struct` names the type whose field it is, and is empty for an item
# Enough for any author; a hostile document has a million, each with a long path.
MOST = 1000


class Absent:
    """Placeholder for a value that could not be decoded."""


ABSENT: Final = Absent()


@dataclass(kw_only=True, slots=True)
class Trace:
    keep_unknown: bool
    wraps: bool  # integers that do not fit their type
    _defects: list[tuple[At, Wanted, Any]] = field(default_factory=list)
    _unknown: list[At] = field(default_factory=list)

    def refuse(self, value: Any, wanted: Wanted, at: At) -> Absent:
        if len(self._defects) < MOST:
            self._defects.append((at, wanted, value))
        return ABSENT

    def keeps_unknown(self, at: At) -> bool:
        """Whether the member that no type knows stays; it is remembered."""
        if len(self._unknown) < MOST:
            self._unknown.append(at)
        return self.keep_unknown and _is_open(at)

    def defects(self) -> list[TypeDefect]:
        return [TypeDefect(path=_path(at), wanted=wanted, got=value) for at, wanted, value in self._defects]

    def unknown(self) -> list[Path]:
        return list(map(_path, self._unknown))


def _is_open(at: At) -> bool:
    """Whether unknown fields stay. In a ClusterServiceVersion only pods keep them; its other types are closed."""
    for part, struct in _cells(at):
        if struct == "PodTemplateSpec":
            return part == "spec"
        if struct == "ClusterServiceVersion":
            return False
    return True


def _cells(at: At) -> Iterator[tuple[str | int, str]]:
    """From the value up to the root."""
    while at:
        at, part, struct = at
        yield part, struct


def _path(at: At) -> Path:
    return tuple(part for part, _ in _cells(at))[::-1]
