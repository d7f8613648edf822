"""Defects of roles and their bindings."""

from collections.abc import Iterator
from typing import Final

from rukpak_py.formats import dns
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort

_RBAC: Final = "rbac.authorization.k8s.io"
_ROLE_KINDS: Final = {"RoleBinding": ("Role", "ClusterRole"), "ClusterRoleBinding": ("ClusterRole",)}
_SUBJECT_GROUPS: Final = {"ServiceAccount": "", "User": _RBAC, "Group": _RBAC}


def policy_rule(part: Part) -> Iterator[Defect]:
    urls, resources = part.items("nonResourceURLs"), part.items("resources")
    if urls:
        if part.around is not None and part.around.struct == "Role":
            yield part.defect(Sort.UNION, "nonResourceURLs are for ClusterRoles", "nonResourceURLs")
        if resources or part.items("apiGroups") or part.items("resourceNames"):
            message = "nonResourceURLs exclude apiGroups, resources and resourceNames"
            yield part.defect(Sort.UNION, message, "nonResourceURLs")
        return
    if not part.items("apiGroups"):
        yield part.defect(Sort.REQUIRED, "apiGroups are required; the core group is the empty text", "apiGroups")
    if not resources:
        yield part.defect(Sort.REQUIRED, "resources are required", "resources")


def binding(part: Part) -> Iterator[Defect]:
    role = part.mapping("roleRef")
    kinds = _ROLE_KINDS[part.struct]
    kind, group = role.get("kind"), role.get("apiGroup")
    if not role:
        yield part.defect(Sort.REQUIRED, "roleRef is required", "roleRef")
    if isinstance(kind, str) and kind and kind not in kinds:
        message = f'roleRef.kind is "{kind[:60]}", and may be {", ".join(kinds)}'
        yield part.defect(Sort.CHOICE, message, "roleRef", "kind")
    if isinstance(group, str) and group and group != _RBAC:
        message = f'roleRef.apiGroup is "{group[:60]}", and must be {_RBAC}'
        yield part.defect(Sort.CHOICE, message, "roleRef", "apiGroup")


def subject(part: Part) -> Iterator[Defect]:
    kind, group = part.text("kind"), part.text("apiGroup")
    if not kind:
        return  # told as missing
    if kind not in _SUBJECT_GROUPS:
        message = f'kind is "{kind[:60]}", and may be Group, ServiceAccount, User'
        yield part.defect(Sort.CHOICE, message, "kind")
        return
    if group and group != _SUBJECT_GROUPS[kind]:
        wanted = _SUBJECT_GROUPS[kind] or "empty"
        yield part.defect(Sort.CHOICE, f'apiGroup is "{group[:60]}", and must be {wanted} for a {kind}', "apiGroup")
    for reason in dns.subdomain(part.text("name")) if kind == "ServiceAccount" and part.text("name") else []:
        yield part.defect(Sort.NAME, f'name "{part.text("name")[:80]}": {reason}', "name")
    is_for_cluster = part.around is not None and part.around.struct == "ClusterRoleBinding"  # else its own is meant
    if kind == "ServiceAccount" and not part.text("namespace") and is_for_cluster:
        yield part.defect(Sort.REQUIRED, "namespace is required for a ServiceAccount", "namespace")
