"""Which Secrets the templates of a chart may look up. Objects of any other kind they may.

Of the namespace of their release all but those that the operator issued; of the system namespace those of their own
deployment, and those of their own release that helm left; of any other namespace none. A setting opens namespaces. A
Secret of the operator itself is never shown, whatever the setting says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rukpak_py.api.names import (
    HELM_RELEASE_ANNOTATION,
    HELM_RELEASE_NAMESPACE_ANNOTATION,
    MANAGED_BY_LABEL,
    RELEASED_ANNOTATION,
)
from rukpak_py.api.own_secrets import own_by_marks, own_by_name
from rukpak_py.apply.marks import released_value
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import SECRETS

EVERY_NAMESPACE: Final = "*"
FLAG: Final = "--lookup-secrets-in"
_HELM: Final = "Helm"


@dataclass(frozen=True, kw_only=True, slots=True)
class LookupPolicy:
    """`opened`: namespaces whose Secrets every chart may look up; `EVERY_NAMESPACE` for all of them."""

    system_namespace: str
    opened: frozenset[str] = frozenset()

    def opens(self, namespace: str) -> bool:
        return not self.opened.isdisjoint({namespace, EVERY_NAMESPACE})


@dataclass(frozen=True, kw_only=True, slots=True)
class LookingUp:
    """Who looks Secrets up: a release, of the deployment with this uid."""

    release: str
    namespace: str
    uid: str
    policy: LookupPolicy

    def hidden_by_name(self, namespace: str, name: str) -> str:
        """Why a Secret of this name is not even read; an empty `name`: none of the namespace, "" for all of them."""
        if not namespace:
            return "a list of all Secrets of the cluster has those of the operator"
        if self._is_system(namespace):
            return own_by_name(name)
        if namespace == self.namespace or self.policy.opens(namespace):
            return ""
        return (
            f"it is not in {self.namespace}, the namespace of its release; {FLAG}={namespace} of the operator opens "
            "the Secrets of that namespace to all charts"
        )

    def hidden(self, metadata: Metadata, secret_type: str) -> str:
        """Why this Secret of a namespace in which some can be seen is not shown; empty: it is."""
        is_system = self._is_system(metadata.namespace)
        name, labels, annotations = metadata.name, metadata.labels, metadata.annotations
        own = own_by_name(name) if is_system else ""
        own = own or own_by_marks(name, kind=secret_type if is_system else "", labels=labels, annotations=annotations)
        if own or not is_system or self.policy.opens(metadata.namespace):
            return own
        if self._is_of_deployment(metadata) or self._is_left_by_helm(labels, annotations):
            return ""
        return (
            "it is in the system namespace, and neither of this BundleDeployment nor of its release; set "
            f"spec.installNamespace to a namespace of its own, or {FLAG}={metadata.namespace} for the operator"
        )

    def _is_system(self, namespace: str) -> bool:
        return namespace == self.policy.system_namespace

    def _is_of_deployment(self, metadata: Metadata) -> bool:
        """What it has, or has left when it left the content."""
        key = SECRETS.key(metadata.namespace, metadata.name)
        seen = observed_object(key, SECRETS.gvk, metadata)
        is_owned = seen.owner_uid == self.uid and seen.is_proven_of(self.uid)
        return is_owned or metadata.annotations.get(RELEASED_ANNOTATION) == released_value(self.uid, key, metadata)

    def _is_left_by_helm(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
        return (
            labels.get(MANAGED_BY_LABEL) == _HELM
            and annotations.get(HELM_RELEASE_ANNOTATION) == self.release
            and annotations.get(HELM_RELEASE_NAMESPACE_ANNOTATION) == self.namespace
        )
