"""Two manifests compared field by field, lists the way Kubernetes merges them.

Entries that have a key (containers by name, ports by number and protocol, volume mounts by path) are the same entry
when the key is the same; other lists are aligned. The comparison goes along a list of open comparisons instead of
recursing: content may have any depth. The content of Secrets is taken out of what is found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import orjson

from rukpak_py.core.objects import canonical_json

Json = dict[str, Any]
Digest: TypeAlias = Callable[[bytes], str]
Step: TypeAlias = str  # `.name`, `[3]`, `[name=manager]`
_KEYS: tuple[tuple[str, ...], ...] = (
    ("name",),
    ("mountPath",),
    ("containerPort", "protocol"),
    ("port", "protocol"),
    ("devicePath",),
    ("type", "topologyKey"),
    ("type",),
    ("rule",),
    ("ip",),
    ("key",),
    ("kind", "name"),
)
_LONGEST_ALIGNED = 2_000  # aligning takes the product of both lengths


class FieldChange(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    change: FieldChange
    path: str
    old: Any = None
    new: Any = None
    is_secret: bool = False  # the values were taken out, or their digests stand for them


_Pair: TypeAlias = tuple[Step, bool, Any, bool, Any]  # a step, then for each side whether it is there, and its value


def differences(old: Any, new: Any) -> Iterator[Difference]:
    open_pairs: list[_Pair] = [("", True, old, True, new)]
    while open_pairs:
        path, in_old, one, in_new, other = open_pairs.pop()
        if not in_old:
            yield Difference(change=FieldChange.ADDED, path=path, new=other)
        elif not in_new:
            yield Difference(change=FieldChange.REMOVED, path=path, old=one)
        elif isinstance(one, dict) and isinstance(other, dict):
            open_pairs += reversed(list(_members(path, one, other)))
        elif isinstance(one, list) and isinstance(other, list):
            open_pairs += reversed(list(_items(path, one, other)))
        elif type(one) is not type(other) or one != other:
            yield Difference(change=FieldChange.CHANGED, path=path, old=one, new=other)


def _members(path: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[_Pair]:
    for key in [*old, *(key for key in new if key not in old)]:
        yield f"{path}{_member(key, is_first=not path)}", key in old, old.get(key), key in new, new.get(key)


def _member(key: str, *, is_first: bool) -> str:
    if key and all(character.isalnum() or character in "-_$" for character in key):
        return key if is_first else f".{key}"
    return f"[{orjson.dumps(key).decode()}]"


def _items(path: str, old: list[Any], new: list[Any]) -> Iterator[_Pair]:
    for fields in _KEYS:
        old_keys, new_keys = _keys(old, fields), _keys(new, fields)
        if old_keys is not None and new_keys is not None:
            by_old, by_new = dict(zip(old_keys, old, strict=True)), dict(zip(new_keys, new, strict=True))
            for key in [*by_old, *(key for key in by_new if key not in by_old)]:
                yield f"{path}[{key}]", key in by_old, by_old.get(key), key in by_new, by_new.get(key)
            return
    yield from _aligned(path, old, new)


def _keys(items: Sequence[Any], fields: tuple[str, ...]) -> list[str] | None:
    """One key per entry, when all have one and no two the same. The first field must be there, the others may."""
    keys = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get(fields[0]), str | int):
            return None
        keys.append(",".join(f"{field}={item[field]}" for field in fields if isinstance(item.get(field), str | int)))
    return keys if len(set(keys)) == len(keys) else None


def _aligned(path: str, old: list[Any], new: list[Any]) -> Iterator[_Pair]:
    for old_from, old_to, new_from, new_to in _blocks(old, new):
        for offset in range(max(old_to - old_from, new_to - new_from)):
            at_old, at_new = old_from + offset, new_from + offset
            in_old, in_new = at_old < old_to, at_new < new_to
            step = f"{path}[{at_old if in_old else at_new}]"
            yield step, in_old, old[at_old] if in_old else None, in_new, new[at_new] if in_new else None


def _blocks(old: list[Any], new: list[Any]) -> list[tuple[int, int, int, int]]:
    """The stretches that are not equal, by where they begin and end on both sides."""
    if max(len(old), len(new)) > _LONGEST_ALIGNED:
        return [(0, len(old), 0, len(new))]
    from difflib import SequenceMatcher  # noqa: PLC0415 - only some comparisons need it, every start would pay

    matcher = SequenceMatcher(a=list(map(canonical_json, old)), b=list(map(canonical_json, new)), autojunk=False)
    return [(i1, i2, j1, j2) for operation, i1, i2, j1, j2 in matcher.get_opcodes() if operation != "equal"]


_HIDDEN_FIELDS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def object_differences(old: Json, new: Json, digest: Digest | None = None) -> Iterator[Difference]:
    """`digest`: of the content of Secrets, which stands for it; None: nothing does."""
    is_secret = "Secret" in {old.get("kind"), new.get("kind")}
    for found in differences(old, new):
        yield _masked(found, digest) if is_secret else found


def _masked(found: Difference, digest: Digest | None) -> Difference:
    root = found.path.partition(".")[0].partition("[")[0]
    if root not in _HIDDEN_FIELDS and _LAST_APPLIED not in f"{found.path}{(found.old, found.new)!r}":
        return found
    old, new = (
        None if one is None or digest is None else digest(canonical_json(one)) for one in (found.old, found.new)
    )
    return Difference(change=found.change, path=found.path, old=old, new=new, is_secret=True)
