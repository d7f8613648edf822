"""Fields of the content that are not applied, because another client sets them (`spec.overrides[].ignore`).

A JSON pointer names a field of the content; an index in it means the element that the content has there, whatever its
place in the cluster. Such a field is left out of what is sent. Where our `Apply` entry already has it, it is subtracted
from that entry first, with everything below it: an apply without it would remove what we own, or reset it to its
default. So the field stays as it is, with those who set it. That takes one patch, which names the version that was
read. Until the apply nothing else has changed, and after a crash in between the subtraction is found done.

An element can be found by its list-map keys only, which our entry shows. A list that is owned as a whole has none: a
pointer below it is refused.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.names import GROUP
from rukpak_py.apply.field_paths import ITSELF, FieldSet, Item, Path, Step, canonical, name_of, step_of, without_paths
from rukpak_py.apply.normalise.notes import Notes
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.core.text import named
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import ErrorAnswer, StaleError
from rukpak_py.kube.metadata import Entry, Metadata, entry_with, fields_in, is_ours
from rukpak_py.kube.resources import Resource

_FREE_MAPS = frozenset({"labels", "annotations"})


@dataclass(frozen=True, kw_only=True, slots=True)
class IgnoredField:
    """`steps`: names, and elements of lists as the content has them."""

    pointer: str
    steps: tuple[str | dict[str, Any], ...]


def leave_out(
    manifest: dict[str, Any], pointers: Iterable[str], notes: Notes
) -> tuple[dict[str, Any], tuple[IgnoredField, ...]]:
    """The manifest without these fields, and what they are. What the content does not have is told."""
    ignored: list[IgnoredField] = []
    result = manifest
    found: list[tuple[str, ...]] = []
    for pointer in pointers:
        tokens = tuple(one.replace("~1", "/").replace("~0", "~") for one in pointer.split("/")[1:])
        if not _is_free(tokens):
            raise notes.error(f"spec.overrides[].ignore: {pointer} is not the content's to leave out; remove it")
        if _is_item_without_keys(manifest, tokens):
            raise notes.error(
                f"spec.overrides[].ignore: {pointer} is an item of a list that can only be owned as a whole; "
                "ignore the list"
            )
        steps, is_there = _resolved(manifest, tokens)
        if not is_there:
            notes.warn(f"spec.overrides[].ignore: {pointer} is not in the content")
        else:
            found.append(tokens)
        if steps is not None:
            ignored.append(IgnoredField(pointer=pointer, steps=steps))
    for tokens in sorted(found, key=_from_the_end, reverse=True):
        result = _without(result, tokens)
    return result, tuple(ignored)


def without_ignored(fields: FieldSet, ignored: Iterable[IgnoredField]) -> FieldSet:
    """A set of fields without these and all below them."""
    ours = canonical(fields)
    paths = [path for one in ignored if (path := _path(ours, one.steps)) is not None]
    return without_paths(ours, paths) if paths else ours


def below_whole_lists(fields: FieldSet, ignored: Iterable[IgnoredField]) -> list[str]:
    """The pointers that lead into lists which are owned as a whole."""
    ours = canonical(fields)
    return [one.pointer for one in ignored if _is_below_whole_list(ours, one.steps)]


def _is_free(tokens: Sequence[str]) -> bool:
    match tokens:
        case ["metadata", holder, name, *_] if holder in _FREE_MAPS:
            return name != GROUP and not name.startswith(f"{GROUP}/")
        case [] | ["apiVersion" | "kind" | "metadata" | "status", *_]:
            return False
        case _:
            return "" not in tokens[:1]


def _resolved(manifest: dict[str, Any], tokens: Sequence[str]) -> tuple[tuple[str | dict[str, Any], ...] | None, bool]:
    """The steps, and whether the content has the field. No steps: an element is named that is not there."""
    steps: list[str | dict[str, Any]] = []
    value: Any = manifest
    is_there = True
    for token in tokens:
        if isinstance(value, list):
            value = _element(value, token)
            if not isinstance(value, dict):
                return None, False
            steps.append(value)
            continue
        steps.append(token)
        is_there = is_there and isinstance(value, dict) and token in value
        value = value[token] if is_there else None
    return tuple(steps), is_there


def _is_item_without_keys(manifest: dict[str, Any], tokens: Sequence[str]) -> bool:
    """An item that is a plain value, or a list: nothing tells it from the others."""
    value: Any = manifest
    for token in tokens:
        if isinstance(value, list):
            value = _element(value, token)
            if value is not None and not isinstance(value, dict):
                return True
        else:
            value = value.get(token) if isinstance(value, dict) else None
    return False


def _element(items: list[Any], token: str) -> Any:
    is_index = token.isdecimal() and len(token) <= len(str(len(items)))
    return items[int(token)] if is_index and int(token) < len(items) else None


def _from_the_end(tokens: Sequence[str]) -> list[tuple[int, str]]:
    """So that a removed element moves none that is still to be removed."""
    return [(int(token), token) if token.isdecimal() else (0, token) for token in tokens]


def _without(value: Any, tokens: Sequence[str]) -> Any:
    """A mapping that nothing is left in goes, too."""
    token, *rest = tokens
    if isinstance(value, list):
        index = int(token)
        if index >= len(value):
            return value
        inner = [_without(value[index], rest)] if rest else []
        return [*value[:index], *inner, *value[index + 1 :]]
    if not isinstance(value, dict) or token not in value:
        return value
    inner = _without(value[token], rest) if rest else {}
    others = {name: one for name, one in value.items() if name != token}
    return {**others, token: inner} if rest and inner not in ({}, []) else others


def _path(ours: FieldSet, steps: Sequence[str | dict[str, Any]]) -> Path | None:
    """The path in the set; None: the set does not have it."""
    path: list[Step] = []
    fields = ours
    for step in steps:
        name = name_of(step) if isinstance(step, str) else _name_of_element(fields, step)
        found = step_of(name) if name is not None else None
        if name not in fields or name is None or found is None:
            return None
        path.append(found)
        fields = fields[name]
    return tuple(path)


def _name_of_element(fields: FieldSet, element: dict[str, Any]) -> str | None:
    for name in fields:
        item = step_of(name)
        if isinstance(item, Item) and Item.of(element, item.names) == item:
            return name
    return None


def _is_below_whole_list(ours: FieldSet, steps: Sequence[str | dict[str, Any]]) -> bool:
    fields = ours
    for step in steps:
        if not isinstance(step, str):
            if not fields.keys() - {ITSELF}:
                return True
            name = _name_of_element(fields, step)
        else:
            name = name_of(step)
        if name is None or name not in fields:
            return False
        fields = fields[name]
    return False


ATTEMPTS = 4  # an autoscaler that writes between two requests costs one


async def disown(
    client: Client,
    resource: Resource,
    live: ObservedObject,
    manager: str,
    ignored: Sequence[IgnoredField],
) -> str | None:
    """The resourceVersion to apply on; None: none of these fields is ours."""
    key = live.key
    for attempt in range(1, ATTEMPTS + 1):
        before = await client.get_metadata(resource, key.namespace, key.name)
        if before.uid != live.uid:
            raise StaleError(ErrorAnswer(subject=str(key), status=409, message="it was replaced since it was read"))
        entries = entries_without(before, manager, ignored)
        if entries is None:
            return None
        patch = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": before.resource_version},
            {"op": "add", "path": "/metadata/managedFields", "value": entries},
        ]
        try:
            answer = await client.patch(
                resource, key.namespace, key.name, canonical_json(patch), content_type=JSON_PATCH
            )
        except StaleError:
            if attempt == ATTEMPTS:
                raise
        else:
            return answer.metadata.resource_version
    raise AssertionError("unreachable: the last attempt returns or raises")


def entries_without(metadata: Metadata, manager: str, ignored: Sequence[IgnoredField]) -> list[Entry] | None:
    """`managedFields` as it must be; None when nothing of ours changes."""
    entries, is_changed = list[Entry](), False
    for entry in metadata.managed_fields:
        fields = fields_in(entry)
        left = without_ignored(fields, ignored) if is_ours(entry, manager) else fields
        if is_ours(entry, manager) and left != canonical(fields):
            fields, is_changed = left, True
        entries.append(entry_with(entry, fields))
    return entries if is_changed else None


def owned_as_a_whole(
    key: ObjectKey, metadata: Metadata, manager: str, ignored: Sequence[IgnoredField]
) -> Failure | None:
    """A failure for pointers below a list that an answer shows to be owned as a whole: what others set is drift."""
    ours = (fields_in(entry) for entry in metadata.managed_fields if is_ours(entry, manager))
    pointers = [pointer for fields in ours for pointer in below_whole_lists(fields, ignored)]
    if not pointers:
        return None
    message = (
        f"{key}: spec.overrides[].ignore: {named(pointers)} is below a list that can only be owned as a whole; "
        "ignore the list"
    )
    return Failure(key=key, kind=FailureKind.CONTENT, message=message)
