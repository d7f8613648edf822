"""The marks that say whose an object is: those of a BundleDeployment, and those of other tools.

The annotation `applied` says for which object of which deployment it was written, and what was sent:

    v2:<identity>:sha256:<digest>
    sha256:<digest>                 of the releases before

Labels, annotations and owner references travel with copies: Kubernetes copies the labels of a Service to its Endpoints,
and clients copy whole objects. The identity covers the uid of the deployment and the key of the object, so a copy under
another name carries one that does not fit. An object that the content does not have is proven to be the deployment's
by an identity that fits and by an entry of our field manager; of the former form the entry alone is asked for.

The annotation `released`, `v1:<digest>`, stands on an object that left the content and stayed in the cluster: the
deployment may take it again. The digest covers the uids of the deployment and of the object, the key of the object, and
which other tool managed it then. So it proves nothing for a copy, an object that was made anew, another deployment of
the same name, or an object that another tool has taken since. It is the only mark of ours that such an object has.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    HELM_RELEASE_ANNOTATION,
    HELM_RELEASE_NAMESPACE_ANNOTATION,
    MANAGED_BY_LABEL,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    ca_field_manager,
    field_manager,
)
from rukpak_py.core.objects import GroupKind, ObjectKey, canonical_json
from rukpak_py.kube.metadata import Metadata

DELETE = "Delete"  # the value of the annotation `deletion-policy` of what goes with its deployment
_KINDS = frozenset(
    {
        GroupKind("", "Namespace"),
        GroupKind("", "PersistentVolume"),
        GroupKind("", "PersistentVolumeClaim"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)


def holds_what_cannot_be_had_again(kind: GroupKind) -> bool:
    """Deleting an object of these kinds destroys contents, data or instances of others.

    They have owner annotations instead of an owner reference, so that no way of deleting a deployment goes past the
    policy; and what a bundle says of their deletion does not count, only what the owner of the deployment says.
    """
    return kind in _KINDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """One BundleDeployment, as it is written into the objects that it owns."""

    name: str
    uid: str
    blocks_deletion: bool = field(default=True, compare=False)  # needs a right on the deployment to be written

    @classmethod
    def of(cls, deployment: BundleDeployment, *, blocks_deletion: bool = True) -> "Owner":
        metadata = deployment.metadata
        return cls(name=metadata.name, uid=metadata.uid, blocks_deletion=blocks_deletion)

    @property
    def manager(self) -> str:
        return field_manager(self.name)

    @property
    def ca_manager(self) -> str:
        return ca_field_manager(self.name)

    @property
    def labels(self) -> dict[str, str]:
        return {OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND, OWNER_NAME_LABEL: self.name}

    @property
    def reference(self) -> dict[str, Any]:
        return {
            "apiVersion": API_VERSION,
            "kind": BUNDLE_DEPLOYMENT_KIND,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": self.blocks_deletion,
        }


_FORM = "v2"
_LENGTH = 32  # hexadecimal digits


def identity(owner_uid: str, key: ObjectKey) -> str:
    named = f"{owner_uid}\n{key.group}\n{key.kind}\n{key.namespace}\n{key.name}"  # none of them has a line break
    return hashlib.sha256(named.encode()).hexdigest()[:_LENGTH]


def applied_value(identified: str, digest: str) -> str:
    return f"{_FORM}:{identified}:{digest}"


def read_applied(value: str) -> tuple[str, str]:
    """The identity, empty in the former form, and the digest."""
    if not value.startswith(f"{_FORM}:"):
        return "", value
    identified, _, digest = value.removeprefix(f"{_FORM}:").partition(":")
    return identified or "none", digest


OUR_NAMES = frozenset({"rukpak", "rukpak-operator"})  # values of the label `managed-by` that mean us

Marks = Mapping[str, str]


def other_tool(labels: Marks, annotations: Marks) -> str:
    """The other tool that manages an object, as a message names it; empty: none. A controller does not change that.

    The first mark found names the tool: Flux installs charts with Helm's marks beside its own.
    """
    return next((text for mark in _MARKS if (text := mark(labels, annotations))), "")


def _flux(controller: str, kind: str) -> Callable[[Marks, Marks], str]:
    name_label, namespace_label = f"{controller}.toolkit.fluxcd.io/name", f"{controller}.toolkit.fluxcd.io/namespace"

    def mark(labels: Marks, _annotations: Marks) -> str:
        name = labels.get(name_label, "")
        return f"Flux ({kind} {_place(labels.get(namespace_label, ''), name)})" if name else ""

    return mark


def _argo(labels: Marks, annotations: Marks) -> str:
    application = (
        annotations.get("argocd.argoproj.io/tracking-id", "").partition(":")[0]
        or annotations.get("argocd.argoproj.io/instance", "")
        or labels.get("argocd.argoproj.io/instance", "")
    )
    return f"Argo CD (application {application})" if application else ""


def _helm(_labels: Marks, annotations: Marks) -> str:
    release = annotations.get(HELM_RELEASE_ANNOTATION, "")
    namespace = annotations.get(HELM_RELEASE_NAMESPACE_ANNOTATION, "")
    return f"Helm (release {_place(namespace, release)})" if release else ""


def _managed_by(labels: Marks, _annotations: Marks) -> str:
    value = labels.get(MANAGED_BY_LABEL, "")
    return f'"{value}" (label {MANAGED_BY_LABEL})' if value and value not in OUR_NAMES else ""


def _place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


_MARKS = (_flux("kustomize", "Kustomization"), _flux("helm", "HelmRelease"), _argo, _helm, _managed_by)


_RELEASED_FORM = "v1"


def released_value(owner_uid: str, key: ObjectKey, metadata: Metadata) -> str:
    return released_mark(owner_uid, key, metadata.uid, other_tool(metadata.labels, metadata.annotations))


def released_mark(owner_uid: str, key: ObjectKey, uid: str, tool: str) -> str:
    digest = hashlib.sha256(canonical_json([owner_uid, [*key], uid, tool])).hexdigest()
    return f"{_RELEASED_FORM}:{digest[:_LENGTH]}"
