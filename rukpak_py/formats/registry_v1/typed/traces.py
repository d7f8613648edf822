"""Where typed decoding stands, what it met, and in which order Go would have met it.

A place (`At`) is a chain of cells (parent, part, step) from the value to the root, so that a step down costs one
tuple; paths and ranks are made only of what was found. Go's converter goes through a struct in the order of its fields.
A value whose type has JSON code of its own is a *document*: its text (keys sorted) is read by a JSON decoder, which
remembers the first wrong type and goes on, but stops at once when a document inside the document is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.gojson import encode
from rukpak_py.formats.registry_v1.typed.shapes import INTEGER_BITS, Map, Scalar, Shape, Struct

At: TypeAlias = tuple[Any, ...]  # () is the root
# Enough for any author; a hostile document has a million, each with a long path.
MOST = 1000


class Absent:
    """What a value that could not be decoded is replaced by."""


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Step:
    """What is known of a step down before the value is seen; all values of one field share theirs."""

    rank: int | str | None = None  # None: the part itself, an index or a map's key
    struct: str = ""  # whose field it is
    document: bool = False


ITEM: Final = Step()
DOCUMENT_ITEM: Final = Step(document=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeDefect:
    path: Path  # within the value that was restored
    text: str  # in Go's words


@dataclass(kw_only=True, slots=True)
class Trace:
    keep_unknown: bool
    wraps: bool  # integers that do not fit their type
    _defects: list[tuple[At, str]] = field(default_factory=list)
    _unknown: list[At] = field(default_factory=list)

    def report(self, at: At, text: str) -> Absent:
        if len(self._defects) < MOST:
            self._defects.append((at, text))
        return ABSENT

    def refuse(self, value: Any, shape: Shape, at: At) -> Absent:
        """A value of a type that the shape cannot hold."""
        if len(self._defects) < MOST:
            context = _context(at)
            text = _converter_text(value, shape) if context is None else _decoder_text(value, shape, context)
            self._defects.append((at, text))
        return ABSENT

    def keeps_unknown(self, at: At) -> bool:
        """Whether the member that no type knows stays; it is remembered."""
        if len(self._unknown) < MOST:
            self._unknown.append(at)
        return self.keep_unknown and _is_open(at)

    def defects(self) -> list[TypeDefect]:
        """The first is the one that Go reports."""
        return [TypeDefect(path=_path(at), text=text) for at, text in sorted(self._defects, key=_rank)]

    def unknown(self) -> list[Path]:
        return list(map(_path, self._unknown))


def overflow_text(value: float, bits: int) -> str:
    """Ours: Go's converter says nothing."""
    return f"{encode(value).decode()} does not fit an integer of {bits} bits"


def _is_open(at: At) -> bool:
    """Of a ClusterServiceVersion only pods stay as they were written; what else it makes objects of is closed."""
    for part, step in _cells(at):
        if step.struct == "PodTemplateSpec":
            return part == "spec"
        if step.struct == "ClusterServiceVersion":
            return False
    return True


def _cells(at: At) -> Iterator[tuple[str | int, Step]]:
    """From the value up to the root."""
    while at:
        at, part, step = at
        yield part, step


def _path(at: At) -> Path:
    return tuple(part for part, _ in _cells(at))[::-1]


def _rank(defect: tuple[At, str]) -> list[int | str]:
    ranks: list[int | str] = []
    in_inner_document = False
    for part, step in _cells(defect[0]):
        if step.document:
            ranks.append(0 if in_inner_document else 1)
            in_inner_document = True
        ranks.append(part if step.rank is None else step.rank)
    return ranks[::-1]


def _context(at: At) -> tuple[str, str] | None:
    """What Go's JSON decoder knows: the struct within the outermost document, and all fields from there on."""
    known: tuple[str, str] | None = None
    struct = ""
    names: list[str] = []
    for part, step in _cells(at):
        if step.document:
            known = (struct or (known[0] if known else ""), ".".join(names[::-1]))
            struct = ""
        if step.struct:
            names.append(str(part))
            struct = struct or step.struct
    return known


def _converter_text(value: Any, shape: Shape) -> str:
    kind = _KINDS[type(value)]
    match shape:
        case Struct():
            return f"cannot restore struct from: {kind}"
        case Map():
            return f"cannot restore map from {kind}"
        case Scalar():
            if (kind, shape.kind) in _CONVERTIBLE:
                return f"cannot convert {kind} to {shape.go}"
            return f"unrecognized type: {shape.kind}"
        case _:
            return f"cannot restore slice from {kind}"


def _decoder_text(value: Any, shape: Shape, context: tuple[str, str]) -> str:
    struct, names = context
    target = f"struct field {struct}.{names}" if names else "value"
    return f"json: cannot unmarshal {json_word(value, shape)} into Go {target} of type {shape.go}"


def json_word(value: Any, shape: Shape) -> str:
    """How Go's JSON decoder calls a value that it has no place for."""
    word = _JSON_WORDS[type(value)]
    if word == "number" and isinstance(shape, Scalar) and shape.kind in INTEGER_BITS:
        return f"number {encode(value).decode()}"
    return word


_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", dict: "map", list: "slice"}
_JSON_WORDS = {str: "string", bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
# Go knows a conversion, but not for the JSON of this value.
_CONVERTIBLE = {("int64", "string"), *(("float64", kind) for kind in INTEGER_BITS)}
