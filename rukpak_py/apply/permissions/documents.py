"""Permissions as plain data for programs: grants, risks, and the needs of an installer.

The members are documented: some may be added, none changes its meaning.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from rukpak_py.apply.permissions.grants import Grants, RoleReference
from rukpak_py.apply.permissions.installer import Needs
from rukpak_py.apply.permissions.permission import Permission, rules_of
from rukpak_py.apply.permissions.risky import warnings_of

Json = dict[str, Any]


def permissions_document(grants: Grants, needs: Needs) -> Json:
    return {
        "grants": [
            {
                "holder": holder._asdict(),
                "namespace": scope or None,
                "rules": rules_of(of_scope(permissions, scope)),
                "warnings": [
                    {"id": warning.id, "text": warning.text, "rules": rules_of(warning.permissions)}
                    for warning in warnings_of(of_scope(permissions, scope))
                ],
            }
            for holder, permissions in grants.permissions.items()
            for scope in scopes_of(permissions)
        ],
        "references": [reference_document(reference) for reference in grants.references],
        "installer": rules_document(needs.rules),
    }


def rules_document(needs: Mapping[str, list[Json]]) -> list[Json]:
    return [{"namespace": scope or None, "rules": rules} for scope, rules in needs.items()]


def scopes_of(permissions: Iterable[Permission]) -> list[str]:
    return sorted({permission.scope for permission in permissions})


def of_scope(permissions: Iterable[Permission], scope: str) -> list[Permission]:
    return [permission for permission in permissions if permission.scope == scope]


def reference_document(reference: RoleReference) -> Json:
    return {
        "holder": reference.holder._asdict(),
        "namespace": reference.scope or None,
        "role": {"kind": reference.role_kind, "name": reference.role},
    }
