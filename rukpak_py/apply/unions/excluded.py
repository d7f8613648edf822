"""Fields of a live object that exclude what the content wants of it: the members of unions that must go first.

A member that the content has is never among them.
"""

from collections.abc import Iterator
from typing import Any

from rukpak_py.apply.field_paths import FieldSet, Path, indexed, subset
from rukpak_py.apply.unions.table import EACH, NAME, Holder, unions_of
from rukpak_py.core.objects import GroupKind


def excluded(kind: GroupKind, wanted: Any, live: Any, *, ours: FieldSet, others: FieldSet) -> dict[Path, Any]:
    """Their values, by path. `ours`, `others`: who owns which fields of the live object."""
    found: dict[Path, Any] = {}
    for union in unions_of(kind):
        for path, wanted_there, live_there in _holders(union.path, wanted, live):
            holder = Holder(
                wanted=wanted_there,
                live=live_there,
                ours=subset(ours, path) or {},
                others=subset(others, path) or {},
            )
            found |= {(*path, name): live_there[name] for name in sorted(union.rule.excluded(holder))}
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
