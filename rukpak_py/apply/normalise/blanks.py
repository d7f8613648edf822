"""Blanks of a manifest of a built-in kind: nulls and empty maps. Server-side apply owns both.

* A null in a field means absence. Owned, `replicas: null` would fight an autoscaler for what the author left open.
* A null as a value of a map is stored as the map's zero value, and in `binaryData` or in a Secret's `data` every apply
  writes it again: so the zero value is what we send.
* An empty map is stored as no map. Owned, `annotations: {}` looks like drift as soon as a client adds the first key.

Raw JSON inside a built-in kind (the schema of a CRD, opaque device parameters, revision data) is left alone: a null is
a value there. So are elements of lists. Custom resources never come here: a field of theirs may be nullable.
"""

from typing import Any

from rukpak_py.apply.normalise.notes import Notes
from rukpak_py.core.objects import GroupKind

_TEXT_MAPS = ("annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector", "stringData")
_QUANTITY_MAPS = ("hard", "limits", "requests")
_ZERO_OF_MAP = dict.fromkeys(_TEXT_MAPS, "") | dict.fromkeys(_QUANTITY_MAPS, "0")
_RAW_FIELDS = {"openAPIV3Schema", "opaque"}
_RAW_KINDS = {GroupKind("apps", "ControllerRevision")}
_SELECTOR_IS_A_MAP = {GroupKind("", "Service"), GroupKind("", "ReplicationController")}  # elsewhere it is a structure
_MAX_DEPTH = 250  # the JSON writer ends at 254; no built-in kind comes near


def without_blanks(manifest: dict[str, Any], kind: GroupKind, notes: Notes) -> dict[str, Any]:
    if kind in _RAW_KINDS:
        return manifest
    zeroes = {**_ZERO_OF_MAP, "selector": ""} if kind in _SELECTOR_IS_A_MAP else _ZERO_OF_MAP
    return _Walk(zeroes, notes).fields(manifest, 0)


class _Walk:
    def __init__(self, zeroes: dict[str, str], notes: Notes) -> None:
        self._zeroes = zeroes
        self._notes = notes

    def fields(self, holder: dict[str, Any], depth: int, zero: str | None = None) -> dict[str, Any]:
        """`zero` is given when the holder is a map, whose keys are the author's."""
        if depth > _MAX_DEPTH:
            raise self._notes.error("is nested too deeply")
        changed: dict[str, Any] = {}
        for key, value in holder.items():
            new = zero if value is None else self._value(key, value, depth, is_field=zero is None)
            if new is not value or new is None:
                changed[key] = new
        if not changed:
            return holder
        merged = {**holder, **changed}
        return {key: value for key, value in merged.items() if value is not None}

    def _value(self, key: str, value: Any, depth: int, *, is_field: bool) -> Any:
        if isinstance(value, dict):
            if is_field and key in _RAW_FIELDS:
                return value
            if is_field and key in self._zeroes and not value:
                return None
            return self.fields(value, depth + 1, self._zeroes.get(key) if is_field else None)
        return self._elements(value, depth + 1) if isinstance(value, list) else value

    def _elements(self, items: list[Any], depth: int) -> list[Any]:
        if depth > _MAX_DEPTH:
            raise self._notes.error("is nested too deeply")
        changed = False
        result = []
        for item in items:
            new = item
            if isinstance(item, dict):
                new = self.fields(item, depth + 1)
            elif isinstance(item, list):
                new = self._elements(item, depth + 1)
            changed = changed or new is not item
            result.append(new)
        return result if changed else items
