"""Permissions of the CSV as roles and their bindings.

An operator that watches everything has its namespaced permissions in the whole cluster: they are promoted, and may
read namespaces as well. That added rule is a part of what the role's name is the hash of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rukpak_py.formats.registry_v1.bundle import Json, Permission
from rukpak_py.formats.registry_v1.render.installation import Installation
from rukpak_py.formats.registry_v1.render.names import account_of, role_name

_GROUP = "rbac.authorization.k8s.io"
_VERSION = f"{_GROUP}/v1"


def roles(installation: Installation) -> Iterator[Json]:
    if installation.watches_everything:
        return
    for target in installation.targets:
        for permission in installation.bundle.csv.permissions:
            name = role_name(installation.bundle.csv, permission)
            head = installation.object(_VERSION, "Role", name, namespace=target)
            yield {**head, "rules": permission.rules}
            yield _binding(installation, permission, name, {"name": name, "namespace": target}, "Role")


def cluster_roles(installation: Installation) -> Iterator[Json]:
    csv = installation.bundle.csv
    promoted = map(_promoted, csv.permissions) if installation.watches_everything else ()
    for permission in (*csv.cluster_permissions, *promoted):
        name = role_name(csv, permission)
        yield {
            "apiVersion": _VERSION,
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": permission.rules,
        }
        yield _binding(installation, permission, name, {"name": name}, "ClusterRole")


def _promoted(permission: Permission) -> Permission:
    rules: Sequence[Json] = permission.rules or ()
    read_namespaces = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}
    return replace(permission, rules=[*rules, read_namespaces])


def _binding(installation: Installation, permission: Permission, role: str, metadata: Json, kind: str) -> Json:
    subject = {"kind": "ServiceAccount", "name": account_of(permission), "namespace": installation.namespace}
    return {
        "apiVersion": _VERSION,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    }
