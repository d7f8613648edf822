"""Fields of one object that a change gives other values, short enough to be served: paths, and values as masked JSON.

What the API server keeps itself, and the annotation that says what was sent, are no fields of the content.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from rukpak_py.api.names import APPLIED_ANNOTATION
from rukpak_py.apply.field_differences import Difference, Digest, FieldChange, object_differences
from rukpak_py.apply.ignored import IgnoredField
from rukpak_py.apply.upgrade_document import FIELDS_OF_OBJECT, PATH_CHARACTERS, VALUE_CHARACTERS, PlannedField
from rukpak_py.core.nesting import cut

Json = dict[str, Any]
Hide = Callable[[str], str]

_OF_THE_SERVER = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_PATH_MASKED = 10 * PATH_CHARACTERS
_BEFORE = 40  # characters in front of the first difference of long values
_CUT_MARK = "…"
_TOO_DEEP = '"(nests too deeply to be shown)"'
_STEPS_AT_MOST = 100_000  # of the comparison of one object
_DIFFERENCES_AT_MOST = 10_000  # that are counted


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldChanges:
    """`left_out`: fields that are not among them; at least so many, where an object has very many differences."""

    fields: tuple[PlannedField, ...] = ()
    left_out: int = 0


NO_FIELDS = FieldChanges()


def changed_fields(
    old: bytes, new: bytes, *, ignored: Collection[IgnoredField] = (), hide: Hide, digest: Digest
) -> FieldChanges:
    """`ignored`: fields that stay as they are. `hide`: masks secret values in a text."""
    before, after = (_content(orjson.loads(cut(side)), ignored) for side in (old, new))
    found = list[PlannedField]()
    number = 0
    compared = object_differences(before, after, digest, steps=_STEPS_AT_MOST)
    for number, difference in enumerate(islice(compared, _DIFFERENCES_AT_MOST), start=1):
        if number <= FIELDS_OF_OBJECT:
            found.append(_field(difference, hide))
    return FieldChanges(fields=tuple(found), left_out=number - len(found))


def _content(manifest: Json, ignored: Collection[IgnoredField]) -> Json:
    metadata = {name: value for name, value in manifest.get("metadata", {}).items() if name not in _OF_THE_SERVER}
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(APPLIED_ANNOTATION, None)
    if annotations:
        metadata["annotations"] = annotations
    content = {**manifest, "metadata": metadata}
    content.pop("status", None)
    for one in ignored:
        content = _without(content, one.steps)
    return content


def _without(value: Any, steps: tuple[str | Mapping[str, Any], ...]) -> Any:
    match value, steps:
        case dict(), (str(name), *rest) if name in value:
            others = {key: one for key, one in value.items() if key != name}
            return {**others, name: _without(value[name], tuple(rest))} if rest else others
        case list(), (Mapping() as wanted, *rest):
            is_it = [_is_element(one, wanted) for one in value]
            kept = (one for one, found in zip(value, is_it, strict=True) if rest or not found)
            return [_without(one, tuple(rest)) if rest and _is_element(one, wanted) else one for one in kept]
        case _:
            return value


def _is_element(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether it has the name or the ports of the element, by which lists of such elements are merged."""
    keys = [name for name in ("name", "containerPort", "port", "mountPath", "key", "ip") if name in wanted]
    return isinstance(value, dict) and bool(keys) and all(value.get(name) == wanted[name] for name in keys)


def _field(found: Difference, hide: Hide) -> PlannedField:
    # a cut in front of the mask is one that the mask knows: it hides the beginning of a value before the mark
    path = _short(hide(_short(found.path, _PATH_MASKED)), PATH_CHARACTERS)
    old, new = (found.old, found.new) if found.is_secret else _values(found, hide)
    return PlannedField(path=path, change=found.change.value, old=old, new=new, secret=found.is_secret)


def _values(found: Difference, hide: Hide) -> Iterator[str | None]:
    """All is masked before anything is cut: the mask does not know the middle of a long value."""
    old, new = (hide(_json(value)) for value in (found.old, found.new))
    start = _common_start(old, new) if found.change is FieldChange.CHANGED else 0
    yield _part(old, start) if found.change is not FieldChange.ADDED else None
    yield _part(new, start) if found.change is not FieldChange.REMOVED else None


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # orjson's limit is lower than that of what is decoded
        return _TOO_DEEP


def _part(text: str, start: int) -> str:
    """All of a short value; of a long one the part where it begins to differ."""
    if len(text) <= VALUE_CHARACTERS:
        return text
    begin = max(0, start - _BEFORE)
    part = f"{_CUT_MARK if begin else ''}{text[begin : begin + VALUE_CHARACTERS]}"
    return part if begin + VALUE_CHARACTERS >= len(text) else part + _CUT_MARK


def _common_start(old: str, new: str) -> int:
    if len(old) <= VALUE_CHARACTERS and len(new) <= VALUE_CHARACTERS:
        return 0
    low, high = 0, min(len(old), len(new))
    while low < high:  # as many characters as are the same in both, by halves: values have megabytes
        middle = (low + high + 1) // 2
        low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
    return low


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT_MARK
