"""Files that a catalog leaves out, by the `.indexignore` files of its tree.

The format is that of `.gitignore`, as the reference reads it, which is not as git does:

    x                a pattern without a slash: any one component of the path, so all below a directory too
    x/               the same, directories only
    /x, x/y          from the directory of the pattern file; all below what it matches is left out as well
    **/x, x/**/y     any number of directories; the component behind `**` is bound to its first occurrence
    !x               takes back; also a file of a directory that is left out

Patterns of all files form one list, in the order of a walk, and the last one that matches decides. So the file of a
directory decides over those above it, unless its directory sorts before `.indexignore` (`-d`). A malformed pattern
matches nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from rukpak_py.core.errors import ContentError
from rukpak_py.core.go_patterns import expression
from rukpak_py.core.go_text import SPACE

INDEX_IGNORE: Final = ".indexignore"
_ANY_DIRECTORIES: Final = "**"
_MOST_PATTERNS: Final = 2000
_MOST_WORK: Final = 1 << 31  # characters of all patterns times those of all paths


def ignored(files: Iterable[str], patterns: Mapping[str, str]) -> frozenset[str]:
    """Paths of `files` that are no content of the catalog.

    `patterns`: the text of each `.indexignore` file by its path. Raises ContentError where there is too much to match.
    """
    paths = list(files)
    found = [pattern for path in sorted(patterns, key=_walk_order) for pattern in _patterns(path, patterns[path])]
    if len(found) > _MOST_PATTERNS:
        raise ContentError(f"{INDEX_IGNORE} files have {len(found)} patterns, more than {_MOST_PATTERNS}")
    if sum(pattern.length for pattern in found) * sum(map(len, paths)) > _MOST_WORK:
        raise ContentError(f"{INDEX_IGNORE} files have too many long patterns for a catalog of {len(paths)} files")
    found.reverse()
    return frozenset(path for path in paths if _is_ignored(path, found))


def _is_ignored(path: str, patterns: list["_Pattern"]) -> bool:
    parts = path.split("/")
    if parts[-1] == INDEX_IGNORE:
        return True
    decisive = next((pattern for pattern in patterns if pattern.matches(parts)), None)
    return decisive is not None and not decisive.takes_back


def _walk_order(path: str) -> list[str]:
    return path.split("/")


def _patterns(path: str, text: str) -> Iterator["_Pattern"]:
    domain = tuple(path.split("/")[:-1])
    for line in text.split("\n"):
        pattern = line.strip(SPACE)
        if pattern and not pattern.startswith("#"):
            yield _Pattern.read(domain, pattern)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Component:
    """A part of a pattern between two slashes, for one part of a path."""

    text: str
    expression: re.Pattern[str] | None  # None: malformed
    known: dict[str, bool] = field(default_factory=dict)  # paths of one catalog share their directories

    @classmethod
    def read(cls, text: str) -> "_Component":
        try:
            return cls(text=text, expression=re.compile(expression(text), re.DOTALL))
        except ContentError:
            return cls(text=text, expression=None)

    def matches(self, part: str) -> bool:
        if part not in self.known:
            self.known[part] = self.expression is not None and self.expression.fullmatch(part) is not None
        return self.known[part]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pattern:
    domain: tuple[str, ...]  # the directory of its file
    components: tuple[_Component, ...]
    takes_back: bool
    is_for_directories: bool
    length: int

    @classmethod
    def read(cls, domain: tuple[str, ...], text: str) -> "_Pattern":
        rest = text.removeprefix("!")
        path = rest.removesuffix("/")
        return cls(
            domain=domain,
            components=tuple(map(_Component.read, path.split("/"))),
            takes_back=rest != text,
            is_for_directories=path != rest,
            length=len(text),
        )

    def matches(self, path: list[str]) -> bool:
        depth = len(self.domain)
        if len(path) <= depth or tuple(path[:depth]) != self.domain:
            return False
        below = path[depth:]
        return self._matches_name(below) if len(self.components) == 1 else self._matches_path(below)

    def _matches_name(self, path: list[str]) -> bool:
        (component,) = self.components
        among = path[:-1] if self.is_for_directories else path
        return any(map(component.matches, among))

    def _matches_path(self, path: list[str]) -> bool:
        """Consume the path component by component; what is left of it lies below what matched."""
        position, has_matched, may_skip = 0, False, False
        last = len(self.components) - 1
        for index, component in enumerate(self.components):
            if not component.text:
                may_skip = False
            elif component.text == _ANY_DIRECTORIES:
                may_skip = index < last
            elif _ANY_DIRECTORIES in component.text or position >= len(path):
                return False
            else:
                reached = range(position, len(path)) if may_skip else range(position, position + 1)
                at = next((number for number in reached if component.matches(path[number])), None)
                if at is None:
                    return False
                position, has_matched, may_skip = at + 1, True, False
        return has_matched and not (self.is_for_directories and position == len(path))
