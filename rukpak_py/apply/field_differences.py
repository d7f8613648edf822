"""Two manifests compared field by field, lists the way Kubernetes merges them.

Entries that have a key (containers by name, ports by number and protocol, volume mounts by path) are the same entry
when the key is the same; other lists are aligned. The comparison goes along a list of open comparisons instead of
recursing: content may have any depth. The content of Secrets is taken out of what is found.

Content of others is compared, so the work is bounded: only short stretches of lists are aligned, longer ones are
compared by position, and after a number of steps what is left is compared as a whole.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import orjson

from rukpak_py.core.objects import NotJsonError, canonical_json

Json = dict[str, Any]
Digest: TypeAlias = Callable[[bytes], str]
Path: TypeAlias = "tuple[Path, str] | None"  # the path before, then a step: `.name`, `[3]`, `[name=manager]`
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
_ALIGNED_AT_ONCE = 20_000  # product of both lengths; aligning takes up to its power of 3/2
_ALIGNED_AT_MOST = 5 * _ALIGNED_AT_ONCE  # in all lists of two values
_BYTES_AT_MOST = 30_000_000


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


_Pair: TypeAlias = tuple[Path, bool, Any, bool, Any]  # a path, then for each side whether it is there, and its value


@dataclass(slots=True)
class _Room:
    """How much may still be aligned, and how many bytes of entries compared for it: deep lists are in many entries."""

    left: int = _ALIGNED_AT_MOST
    left_bytes: int = _BYTES_AT_MOST

    def takes(self, work: int) -> bool:
        if work > min(self.left, _ALIGNED_AT_ONCE):
            return False
        self.left -= work
        return True


def differences(old: Any, new: Any, steps: int = sys.maxsize) -> Iterator[Difference]:
    """After so many steps, values that differ are told as a whole, not by their fields."""
    open_pairs: list[_Pair] = [(None, True, old, True, new)]
    room = _Room()
    while open_pairs:
        path, in_old, one, in_new, other = open_pairs.pop()
        steps -= 1
        if not in_old:
            yield Difference(change=FieldChange.ADDED, path=_text(path), new=other)
        elif not in_new:
            yield Difference(change=FieldChange.REMOVED, path=_text(path), old=one)
        elif steps >= 0 and isinstance(one, dict) and isinstance(other, dict):
            open_pairs += reversed(list(_members(path, one, other)))
        elif steps >= 0 and isinstance(one, list) and isinstance(other, list):
            open_pairs += reversed(list(_items(path, one, other, room)))
        elif _differ(one, other):
            yield Difference(change=FieldChange.CHANGED, path=_text(path), old=one, new=other)


def _differ(one: Any, other: Any) -> bool:
    if isinstance(one, dict | list) and type(one) is type(other):
        return _token(one) != _token(other)
    return type(one) is not type(other) or one != other


def _token(value: Any) -> bytes:
    """The same for equal values; what nests too deeply for JSON counts with the order of its members."""
    try:
        return canonical_json(value)
    except NotJsonError:
        return repr(value).encode()


def _text(path: Path) -> str:
    steps = []
    while path is not None:
        path, step = path
        steps.append(step)
    return "".join(reversed(steps))


def _members(path: Path, old: dict[str, Any], new: dict[str, Any]) -> Iterator[_Pair]:
    for key in [*old, *(key for key in new if key not in old)]:
        yield (path, _member(key, is_first=path is None)), key in old, old.get(key), key in new, new.get(key)


def _member(key: str, *, is_first: bool) -> str:
    if key and all(character.isalnum() or character in "-_$" for character in key):
        return key if is_first else f".{key}"
    return f"[{orjson.dumps(key).decode()}]"


def _items(path: Path, old: list[Any], new: list[Any], room: _Room) -> Iterator[_Pair]:
    for fields in _KEYS:
        old_keys, new_keys = _keys(old, fields), _keys(new, fields)
        if old_keys is not None and new_keys is not None:
            by_old, by_new = dict(zip(old_keys, old, strict=True)), dict(zip(new_keys, new, strict=True))
            for key in [*by_old, *(key for key in by_new if key not in by_old)]:
                yield (path, f"[{key}]"), key in by_old, by_old.get(key), key in by_new, by_new.get(key)
            return
    yield from _aligned(path, old, new, room)


def _keys(items: Sequence[Any], fields: tuple[str, ...]) -> list[str] | None:
    """One key per entry, when all have one and no two the same. The first field must be there, the others may."""
    keys = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get(fields[0]), str | int):
            return None
        keys.append(",".join(f"{field}={item[field]}" for field in fields if isinstance(item.get(field), str | int)))
    return keys if len(set(keys)) == len(keys) else None


def _aligned(path: Path, old: list[Any], new: list[Any], room: _Room) -> Iterator[_Pair]:
    for old_from, old_to, new_from, new_to in _blocks(old, new, room):
        for offset in range(max(old_to - old_from, new_to - new_from)):
            at_old, at_new = old_from + offset, new_from + offset
            in_old, in_new = at_old < old_to, at_new < new_to
            step = f"[{at_old if in_old else at_new}]"
            yield (path, step), in_old, old[at_old] if in_old else None, in_new, new[at_new] if in_new else None


def _blocks(old: list[Any], new: list[Any], room: _Room) -> list[tuple[int, int, int, int]]:
    """The stretches that are not equal, by where they begin and end on both sides."""
    if room.left_bytes <= 0:
        return [(0, len(old), 0, len(new))]
    a, b = list(map(_token, old)), list(map(_token, new))
    room.left_bytes -= sum(map(len, a)) + sum(map(len, b))
    start = _common_start(a, b)
    a, b = a[start:], b[start:]
    end = _common_start(a[::-1], b[::-1])
    a, b = a[: len(a) - end], b[: len(b) - end]
    if not a or not b or not room.takes(len(a) * len(b)):
        return [(start, start + len(a), start, start + len(b))]
    from difflib import SequenceMatcher  # noqa: PLC0415 - only some comparisons need it, every start would pay

    matcher = SequenceMatcher(a=a, b=b, autojunk=False)
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for operation, i1, i2, j1, j2 in matcher.get_opcodes()
        if operation != "equal"
    ]


def _common_start(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


_HIDDEN_FIELDS = ("data", "stringData")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def object_differences(
    old: Json, new: Json, digest: Digest | None = None, steps: int = sys.maxsize
) -> Iterator[Difference]:
    """`digest`: of the content of Secrets, which stands for it; None: nothing does."""
    is_secret = "Secret" in {old.get("kind"), new.get("kind")}
    for found in differences(old, new, steps):
        yield _masked(found, digest) if is_secret else found


def _masked(found: Difference, digest: Digest | None) -> Difference:
    root = found.path.partition(".")[0].partition("[")[0]
    if root not in _HIDDEN_FIELDS and _LAST_APPLIED not in f"{found.path}{(found.old, found.new)!r}":
        return found
    old, new = (None if one is None or digest is None else digest(_token(one)) for one in (found.old, found.new))
    return Difference(change=found.change, path=found.path, old=old, new=new, is_secret=True)
