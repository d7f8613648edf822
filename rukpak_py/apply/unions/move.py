"""The switch of unions of a live object, as two JSON patches.

A member that excludes what the content wants becomes ours, whole, as it is live: it moves into our `Apply` entry and
out of the others'. The apply then removes it, like any field that we own and no longer send. A member that the content
has is never among them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import orjson

from rukpak_py.apply.field_paths import FieldSet, Path, canonical, indexed, placed, subset, union, without_paths
from rukpak_py.apply.unions.outcome import JsonPatch, outcome_patch
from rukpak_py.apply.unions.table import EACH, NAME, Holder, unions_of
from rukpak_py.core.nesting import cut, nests_deeper
from rukpak_py.core.objects import GroupKind, GroupVersionKind
from rukpak_py.kube.metadata import Entry, ManagedFields, decode_metadata, entry_with, fields_in, is_ours

DEEPEST = 200  # no union lies in an object that nests so deeply


@dataclass(frozen=True, kw_only=True, slots=True)
class UnionSwitch:
    """`move` changes whose the members are; `outcome`, sent as a dry run, is what the apply will leave."""

    uid: str
    version: int
    move: JsonPatch
    outcome: JsonPatch


def union_switch(json: bytes, wanted: dict[str, Any], gvk: GroupVersionKind, manager: str) -> UnionSwitch | None:
    """`json`: the live object. None: nothing has to be moved, or it cannot be.

    The version of an entry does not matter: a kind with unions has the same fields in each of its versions.
    """
    live: dict[str, Any] = orjson.loads(cut(json))
    if nests_deeper(live, DEEPEST):
        return None
    metadata = decode_metadata(json)
    ours, theirs, kept = FieldSet(), list[_Others](), list[Entry]()
    for entry in metadata.managed_fields:
        fields = canonical(fields_in(entry))
        if is_ours(entry, manager):
            ours = fields
        elif entry.subresource:
            kept.append(entry_with(entry, fields_in(entry)))
        else:
            theirs.append(_Others(entry, fields))
    others = _united(other.fields for other in theirs)
    rivals = excluded(gvk.group_kind, wanted, live, ours=ours, others=others)
    mine = union(ours, placed(rivals))
    left = [_Others(entry, without_paths(fields, rivals.keys())) for entry, fields in theirs]
    if (mine, left) == (ours, theirs):
        return None
    kept += [entry_with(entry, fields) for entry, fields in left if fields]
    kept.append(entry_with(ManagedFields(manager=manager, operation="Apply", api_version=gvk.api_version), mine))
    return UnionSwitch(
        uid=metadata.uid,
        version=metadata.version,
        move=[
            {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
            {"op": "add", "path": "/metadata/managedFields", "value": kept},
        ],
        outcome=outcome_patch(live, wanted, ours=mine, others=_united(other.fields for other in left)),
    )


class _Others(NamedTuple):
    entry: ManagedFields
    fields: FieldSet


def _united(sets: Iterable[FieldSet]) -> FieldSet:
    return reduce(union, sets, FieldSet())


def excluded(kind: GroupKind, wanted: Any, live: Any, *, ours: FieldSet, others: FieldSet) -> dict[Path, Any]:
    """Their values, by path. `ours`, `others`: who owns which fields of the live object."""
    found: dict[Path, Any] = {}
    for one in unions_of(kind):
        for path, wanted_there, live_there in _holders(one.path, wanted, live):
            holder = Holder(
                wanted=wanted_there,
                live=live_there,
                ours=subset(ours, path) or {},
                others=subset(others, path) or {},
            )
            found |= {(*path, name): live_there[name] for name in sorted(one.rule.excluded(holder))}
    return found


def _holders(
    path: tuple[str, ...], wanted: Any, live: Any, at: Path = ()
) -> Iterator[tuple[Path, dict[str, Any], dict[str, Any]]]:
    """The holders of the live object: the path to each, and what the content and the live object have there."""
    if not path:
        if isinstance(live, dict):
            yield at, wanted if isinstance(wanted, dict) else {}, live
        return
    step, rest = path[0], path[1:]
    if step == EACH:
        mine = indexed(wanted, (NAME,)) if isinstance(wanted, list) else {}
        for item, value in (indexed(live, (NAME,)) if isinstance(live, list) else {}).items():
            if item in mine:
                yield from _holders(rest, mine[item], value, (*at, item))
    elif isinstance(live, dict) and step in live:
        yield from _holders(rest, wanted.get(step) if isinstance(wanted, dict) else None, live[step], (*at, step))
