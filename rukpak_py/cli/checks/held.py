"""Rights of an account by the roles that are bound to it, for callers that may not ask for access reviews.

A right that a role gives is there. One that no role gives is missing only where every binding and role could be read.
"""

from collections.abc import Iterable, Mapping

import orjson

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.grants import Binding, bindings_of
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.permissions.rules import Rules
from rukpak_py.cli.checks.reader import Reader
from rukpak_py.cli.checks.results import Answer, Unread
from rukpak_py.kube.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Resource


async def held_rights(
    reader: Reader, account: Account, permissions: Iterable[Permission]
) -> Mapping[Permission, Answer]:
    permissions = list(permissions)
    scopes = {"", *(one.scope for one in permissions)}
    held = {scope: await _rules_in(reader, account, scope) for scope in sorted(scopes)}
    return {one: _answer(one, held[""], held[one.scope]) for one in permissions}


def _answer(asked: Permission, *held: tuple[Rules, Unread | None]) -> Answer:
    if any(rules.allow(asked) for rules, _ in held):
        return True
    return next((doubt for _, doubt in held if doubt is not None), False)


async def _rules_in(reader: Reader, account: Account, scope: str) -> tuple[Rules, Unread | None]:
    """Rules of the roles that are bound there, and why there may be more."""
    bindings = ROLE_BINDINGS if scope else CLUSTER_ROLE_BINDINGS
    listed = await reader.every(bindings, scope)
    if isinstance(listed, Unread):
        return Rules(()), listed
    kind = {
        "apiVersion": ROLE_BINDINGS.gvk.api_version,
        "kind": (ROLE_BINDINGS if scope else CLUSTER_ROLE_BINDINGS).gvk.kind,
    }
    rules, doubt = list[Mapping[str, object]](), None
    for binding in bindings_of({**orjson.loads(one), **kind} for one in listed):
        if not _is_of(binding, account):
            continue
        resource: Resource = ROLES if binding.role_kind == ROLES.gvk.kind else CLUSTER_ROLES
        role = await reader.read(resource, scope if resource.namespaced else "", binding.role)
        if isinstance(role, Unread):
            doubt = role
        elif role is not None:
            rules += role.get("rules") or ()
    return Rules(rules), doubt


def _is_of(binding: Binding, account: Account) -> bool:
    groups = {"system:serviceaccounts", f"system:serviceaccounts:{account.namespace}", "system:authenticated"}
    return any(
        (one.kind == "ServiceAccount" and (one.namespace, one.name) == account)
        or (one.kind == "User" and one.name == account.user)
        or (one.kind == "Group" and one.name in groups)
        for one in binding.subjects
    )
