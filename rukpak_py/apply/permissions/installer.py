"""The permissions that an identity needs to install, upgrade and remove a set of objects, and not one more.

Every object is read, created, patched and deleted by its name (`create` cannot be restricted to names). The server does
not let a client write a role with permissions that it lacks, nor bind one: an installer has what the objects grant, or
may `escalate` and `bind` those roles. Roles that are not among the objects, and those that the server fills itself
(aggregated ones), can only be bound by the permission to do so.

Kinds become resources without a server to ask: what a CRD of the same content says wins; kinds that Kubernetes itself
serves stand in a table; for the others the name is guessed as English makes plurals, and an object that names no
namespace is taken for one that lives in the install namespace.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from rukpak_py.apply.permissions.grants import bindings_of, bounded, roles_of
from rukpak_py.apply.permissions.permission import Permission, mapping, permissions_of, reduced, rules_of, text
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.objects import RBAC_GROUP, GroupKind, GroupVersionKind

Json = dict[str, Any]

_CLUSTER_SCOPED: Mapping[str, str] = {
    "": "Namespace Node PersistentVolume",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
    "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
    "ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
    "console.openshift.io": "ConsoleCLIDownload ConsoleExternalLogLink ConsoleLink ConsoleNotification ConsolePlugin "
    "ConsoleQuickStart ConsoleSample ConsoleYAMLSample",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "networking.k8s.io": "IngressClass IPAddress ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodSecurityPolicy",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
    "resource.k8s.io": "DeviceClass ResourceSlice",
    "scheduling.k8s.io": "PriorityClass",
    "security.openshift.io": "SecurityContextConstraints",
    "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
}
_CLUSTER_KINDS = {GroupKind(group, kind) for group, kinds in _CLUSTER_SCOPED.items() for kind in kinds.split()}
_ALREADY_PLURAL = {"Endpoints", "SecurityContextConstraints"}


class PermittedResource(NamedTuple):
    group: str
    plural: str
    is_namespaced: bool


class Resources:
    def __init__(self, objects: Iterable[Json]) -> None:
        self._defined = dict(filter(None, map(_definition, objects)))

    def of(self, manifest: Json) -> PermittedResource:
        gvk = GroupVersionKind.parse(text(manifest.get("apiVersion")), text(manifest.get("kind")))
        if defined := self._defined.get(gvk.group_kind):
            return defined
        return PermittedResource(gvk.group, plural_of(gvk.kind), gvk.group_kind not in _CLUSTER_KINDS)


def plural_of(kind: str) -> str:
    lower = kind.lower()
    if kind in _ALREADY_PLURAL:
        return lower
    if lower.endswith(("s", "x", "ch", "sh")):
        return f"{lower}es"
    return f"{lower[:-1]}ies" if re.search("[^aeiou]y$", lower) else f"{lower}s"


def _definition(manifest: Json) -> tuple[GroupKind, PermittedResource] | None:
    crd = crd_facts(manifest) if manifest.get("kind") == "CustomResourceDefinition" else None
    if crd is None:
        return None
    return crd.kind, PermittedResource(crd.kind.group, crd.plural, crd.namespaced)


_BY_NAME = ("get", "patch", "delete")


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """Rules by scope: "" is the whole cluster, everything else a namespace."""

    rules: dict[str, list[Json]]


def needs_of(objects: Iterable[Json], *, install_namespace: str, escalate: bool = False) -> Needs:
    objects = list(objects)
    permissions = {*_writing(objects, install_namespace), *bounded(_granting(objects, escalate=escalate))}
    least = reduced(permissions)
    scopes = sorted({permission.scope for permission in least})
    return Needs(
        rules={scope: rules_of(permission for permission in least if permission.scope == scope) for scope in scopes}
    )


def _writing(objects: list[Json], install_namespace: str) -> Iterator[Permission]:
    resources = Resources(objects)
    for manifest in objects:
        metadata = mapping(manifest.get("metadata"))
        resource = resources.of(manifest)
        scope = (text(metadata.get("namespace")) or install_namespace) if resource.is_namespaced else ""
        yield Permission(scope, "create", resource.group, resource.plural)
        for verb in _BY_NAME:
            yield Permission(scope, verb, resource.group, resource.plural, text(metadata.get("name")))


def _granting(objects: list[Json], *, escalate: bool) -> Iterator[Permission]:
    roles = {role.key: role for role in roles_of(objects)}
    for made in roles.values():
        if escalate or made.is_aggregated:
            yield Permission(made.namespace, "escalate", RBAC_GROUP, f"{made.kind.lower()}s", made.name)
        else:
            yield from permissions_of(made.rules, made.namespace)
    for binding in bindings_of(objects):
        role = roles.get(binding.key)
        if escalate or role is None or role.is_aggregated:
            yield Permission(binding.scope, "bind", RBAC_GROUP, f"{binding.role_kind.lower()}s", binding.role)
        else:
            yield from permissions_of(role.rules, binding.scope)


def manifests_of(needs: Needs, *, name: str, account: tuple[str, str] | None) -> list[Json]:
    """A ClusterRole and a Role per namespace, with their bindings when an account (namespace, name) is given."""
    return [manifest for scope, rules in needs.rules.items() for manifest in _role(scope, rules, name, account)]


def _role(scope: str, rules: list[Json], name: str, account: tuple[str, str] | None) -> Iterator[Json]:
    kind = "Role" if scope else "ClusterRole"
    metadata = {"name": name, "namespace": scope} if scope else {"name": name}
    yield {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    if account is not None:
        namespace, account_name = account
        yield {
            "apiVersion": f"{RBAC_GROUP}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account_name, "namespace": namespace}],
        }
