"""Permissions that holders gain and lose when one set of objects takes the place of another.

What is not known counts: a role outside the objects that is bound newly, and an account of the cluster with which a
workload runs newly, are gained as whatever they allow.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rukpak_py.apply.permissions.grants import RoleReference, RoleSubject, account_reference, grants_of
from rukpak_py.apply.permissions.permission import Permission, reduced, without
from rukpak_py.apply.permissions.pod_accounts import newly_borrowed

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class PermissionChange:
    holder: RoleSubject
    gained: set[Permission]
    lost: set[Permission]
    gained_references: tuple[RoleReference, ...] = ()
    lost_references: tuple[RoleReference, ...] = ()


def permission_changes(old: Iterable[Json], new: Iterable[Json]) -> list[PermissionChange]:
    old, new = list(old), list(new)
    before, after = grants_of(old), grants_of(new)
    borrowed = {account_reference(*one) for one in newly_borrowed(old, new).items()}
    gained_references = ({*after.references} - {*before.references}) | borrowed
    lost_references = {*before.references} - {*after.references}
    changes = []
    for holder in sorted(before.holders | after.holders | {one.holder for one in borrowed}):
        had, has = before.permissions.get(holder, set()), after.permissions.get(holder, set())
        change = PermissionChange(
            holder=holder,
            gained=reduced(without(has, had)),
            lost=reduced(without(had, has)),
            gained_references=tuple(sorted(one for one in gained_references if one.holder == holder)),
            lost_references=tuple(sorted(one for one in lost_references if one.holder == holder)),
        )
        if change.gained or change.lost or change.gained_references or change.lost_references:
            changes.append(change)
    return changes
