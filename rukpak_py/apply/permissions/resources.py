"""Kinds as resources, without a server to ask: the name in rules, and whether objects live in namespaces.

What a CRD of the same content says wins; kinds that Kubernetes itself serves stand in a table; for the others the name
is guessed as English makes plurals, and an object that names no namespace is taken for one that lives in the install
namespace.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rukpak_py.apply.permissions.grants import text
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.objects import GroupKind, GroupVersionKind

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
