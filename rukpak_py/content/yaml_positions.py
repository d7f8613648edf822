"""Lines and columns of paths in YAML and JSON files, found on request.

Documents count, and keys are written, as `yaml.load_all` does it. A document that is asked for is parsed once more into
a tree of nodes that know their character's number, nothing else; it is kept, so many requests cost one pass. The tree
grows from its root, so a broken document answers with what stands before its defect. An alias stands where it is used,
its members where they are written; that also keeps the tree as small as the file.
"""

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from yaml.error import YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from rukpak_py.content.yaml_events import events_of
from rukpak_py.content.yaml_scalars import MERGE_TAG, Raw, as_key, resolve, tagged
from rukpak_py.content.yaml_streams import Chunk, JsonValue, Piece, check_size, pieces
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits

Path: TypeAlias = tuple[str | int, ...]

_MERGE: Final = object()
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# A string without an end takes the rest: a search that failed there would begin again at each of its quotes.
_JSON_MARK = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]|[^\s\[\]{},:"]++', re.DOTALL)


class Position(NamedTuple):
    line: int  # from 1
    column: int


class Positions:
    def __init__(self, data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._data = data
        self._limits = limits
        self._pieces: list[Piece] | None = None
        self._trees: dict[int, _Tree] = {}
        self._json_lines: _Lines | None = None  # of the whole text, which all its values share
        self._nodes_left = limits.yaml_nodes

    def of(self, document: int, path: Path, *, on_key: bool = False) -> Position | None:
        """Where the path's value (or key) begins, or what is there of its ancestors; None for what cannot be read."""
        tree = self._tree(document)
        return tree.position(path, on_key=on_key) if tree is not None else None

    def repeated_keys(self) -> Iterator[tuple[str, Position]]:
        """Keys that a mapping gives again, which every reader lets overwrite the earlier ones."""
        for document in range(len(self._all_pieces())):
            tree = self._tree(document)
            if tree is not None:
                yield from ((str(key), tree.lines.position(index)) for key, index in tree.repeated)

    def _all_pieces(self) -> list[Piece]:
        if self._pieces is None:
            self._pieces = list(_until_defect(self._data, self._limits))
        return self._pieces

    def _tree(self, document: int) -> "_Tree | None":
        if document not in self._trees:
            found = self._all_pieces()
            if not 0 <= document < len(found):
                return None
            tree = self._grown(found[document])
            if document == 0 and not tree.top:
                # As a stream it begins with an empty document, so the caller has read the file as `load` does.
                tree = self._grown(Chunk(self._data))
            self._trees[document] = tree
        return self._trees[document]

    def _grown(self, piece: Piece) -> "_Tree":
        tree = _grown(piece, self._lines(piece), self._limits, self._nodes_left)
        self._nodes_left = tree.nodes_left
        return tree

    def _lines(self, piece: Piece) -> "_Lines":
        if isinstance(piece, Chunk):
            return _Lines(piece)
        if self._json_lines is None:
            self._json_lines = _Lines(piece)
        return self._json_lines


def position_in(chunk: bytes, path: tuple[Any, ...], *, on_key: bool, limits: Limits) -> Position | None:
    """Where a path of the chunk's document begins; as `load_document` counts lines."""
    piece = Chunk(chunk)
    return _grown(piece, _Lines(piece), limits, limits.yaml_nodes).position(path, on_key=on_key)


def _grown(piece: Piece, lines: "_Lines", limits: Limits, nodes: int) -> "_Tree":
    tree = _Tree(lines, limits=limits, nodes_left=nodes)
    try:
        if isinstance(piece, JsonValue):
            _grow_from_json(tree, piece)
        else:
            _grow_from_yaml(tree, piece)
    except (YAMLError, ValueError, _BrokenOffError):
        pass  # UnicodeDecodeError is a ValueError; loading the file reports its defect
    return tree


def _until_defect(data: bytes, limits: Limits) -> Iterator[Piece]:
    try:
        check_size(data, limits)
        yield from pieces(data, limits)
    except ContentError:
        return


class _Lines:
    """From a character's number to its line and column in the file."""

    def __init__(self, piece: Piece) -> None:
        if isinstance(piece, JsonValue):
            text, self.line, self.column = piece.text, 0, 0
        else:
            encoding = "utf-16" if piece.data.startswith(_UTF16_MARKS) else "utf-8-sig"
            text, self.line, self.column = piece.data.decode(encoding, "replace"), piece.line, piece.column
        self.starts = array("I", [0])
        self.starts.extend(match.end() for match in re.finditer("\n", text))

    def position(self, index: int) -> Position:
        line = bisect_right(self.starts, index) - 1
        column = index - self.starts[line] + (0 if line else self.column)
        return Position(self.line + line + 1, column + 1)


class _BrokenOffError(Exception):
    """The loader would refuse what comes next, or a limit is reached."""


class _Container:
    __slots__ = ("index", "members")

    def __init__(self, index: int, members: "_Members") -> None:
        self.index = index
        self.members = members


# A scalar is no more than the number of its first character. With each node goes that of its key; a list's members
# are numbered.
_Node: TypeAlias = "_Container | int"
_Members: TypeAlias = "dict[Any, tuple[int, _Node]]"


def _index(node: _Node) -> int:
    return node if isinstance(node, int) else node.index


class _Tree:
    def __init__(self, lines: _Lines, *, limits: Limits, nodes_left: int) -> None:
        self.lines = lines
        self.depth_limit = limits.yaml_depth
        self.nodes_left = nodes_left
        self.top: _Members = {}
        # the open container: its members; whether it is a mapping; its key that waits for a value, and where that is
        self.members = self.top
        self.is_mapping = False
        self.key: Any = None
        self.key_index: int | None = None
        self.around: list[tuple[_Members, bool, Any, int | None]] = []
        self.anchors: dict[str, tuple[_Node, Raw]] = {}
        self.repeated: list[tuple[Any, int]] = []
        self.merged: set[int] = set()  # keys that a merge brought; giving those again is what merges are for

    @property
    def key_is_due(self) -> bool:
        return self.is_mapping and self.key_index is None

    def leaf(self, index: int, raw: Any, anchor: str | None = None) -> None:
        if anchor is not None:
            self.anchors[anchor] = (index, "<<" if raw is _MERGE else raw)
        if self.key_is_due:
            self.key = raw if raw is _MERGE else as_key(raw)
            self.key_index = index
        else:
            self.add(index)

    def open(self, index: int, *, is_mapping: bool, anchor: str | None = None) -> None:
        if self.key_is_due or len(self.around) >= self.depth_limit:
            raise _BrokenOffError
        members: _Members = {}
        node = _Container(index, members)
        if anchor is not None:
            self.anchors[anchor] = (node, None)
        if self.key is not _MERGE:
            self.add(node)
        self.around.append((self.members, self.is_mapping, self.key, self.key_index))
        self.members, self.is_mapping, self.key, self.key_index = members, is_mapping, None, None

    def close(self) -> None:
        members = self.members
        self.members, self.is_mapping, self.key, self.key_index = self.around.pop()
        if self.key is _MERGE:
            self.merge(members)

    def alias(self, index: int, name: str) -> None:
        if name not in self.anchors:
            raise _BrokenOffError
        node, raw = self.anchors[name]
        if isinstance(node, int):
            self.leaf(index, raw)
        elif self.key_is_due:
            raise _BrokenOffError
        elif self.key is _MERGE:
            self.merge(node.members)
        else:
            self.add(_Container(index, node.members))

    def add(self, node: _Node) -> None:
        self.count(1)
        if self.key is _MERGE:
            raise _BrokenOffError
        if not self.is_mapping:
            self.members[len(self.members)] = (_index(node), node)
        elif self.key_index is not None:
            before = self.members.get(self.key)
            if before is not None and before[0] not in self.merged:
                self.repeated.append((self.key, self.key_index))
            self.members[self.key] = (self.key_index, node)
        self.key = self.key_index = None

    def merge(self, merged: _Members) -> None:
        maps = [merged]
        if 0 in merged:
            maps = [node.members for _, node in merged.values() if isinstance(node, _Container)]
        for members in reversed(maps):
            self.count(len(members))
            self.members.update(members)
            self.merged.update(index for index, _ in members.values())
        self.key = self.key_index = None

    def count(self, nodes: int) -> None:
        self.nodes_left -= nodes
        if self.nodes_left < 0:
            raise _BrokenOffError

    def position(self, path: Path, *, on_key: bool) -> Position | None:
        if not self.top:
            return None
        index, node = self.top[0]
        for part in path:
            if isinstance(node, int) or part not in node.members:
                break
            index, node = node.members[part]
        return self.lines.position(index if on_key else _index(node))


def _grow_from_yaml(tree: _Tree, chunk: Chunk) -> None:
    next_event = events_of(chunk.data)
    while True:
        event = next_event()
        kind = type(event)
        if kind is ScalarEvent:
            is_key = tree.key_is_due
            raw = _raw(event, is_key=is_key) if is_key or event.anchor is not None else None
            tree.leaf(event.start_mark.index, raw, event.anchor)
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            tree.open(event.start_mark.index, is_mapping=kind is MappingStartEvent, anchor=event.anchor)
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            tree.close()
        elif kind is AliasEvent:
            tree.alias(event.start_mark.index, event.anchor)
        elif kind is DocumentEndEvent or kind is StreamEndEvent:
            return


def _raw(event: Any, *, is_key: bool) -> Any:
    plain, quoted = event.implicit
    if is_key and event.value == "<<" and (plain or event.tag == MERGE_TAG):
        return _MERGE
    if plain and event.tag is None:
        return resolve(event.value)
    return event.value if plain or quoted else tagged(event.tag, event.value)


def _grow_from_json(tree: _Tree, value: JsonValue) -> None:
    for match in _JSON_MARK.finditer(value.text, value.start, value.end):
        mark = match[0]
        if mark in "{[":
            tree.open(match.start(), is_mapping=mark == "{")
        elif mark in "}]":
            tree.close()
        else:
            tree.leaf(match.start(), json.loads(mark) if tree.key_is_due else None)
