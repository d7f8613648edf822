"""APIs that newer versions of Kubernetes do not serve any more, in manifests and in permissions.

RV1-910 tells of CRDs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rukpak_py.core import versions
from rukpak_py.core.findings import Severity
from rukpak_py.formats.manifests import Document
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import csvs, entries, first_documents, name_of, text, texts
from rukpak_py.formats.rules import Place, Problem

_RBAC: Final = "rbac.authorization.k8s.io/v1beta1"
# (apiVersion, kind) -> the minor version of Kubernetes 1 that removed it
_REMOVED: Final = {
    (_RBAC, "ClusterRole"): 22,
    (_RBAC, "ClusterRoleBinding"): 22,
    (_RBAC, "Role"): 22,
    (_RBAC, "RoleBinding"): 22,
    ("scheduling.k8s.io/v1beta1", "PriorityClass"): 22,
    ("policy/v1beta1", "PodDisruptionBudget"): 25,
}
# (group, resource) of which no version is left
_REMOVED_RESOURCES: Final = {("policy", "podsecuritypolicies"): 25}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Use:
    minor: int
    what: str
    place: Place


def removed_apis_are_not_used(reading: Reading) -> Iterator[Problem]:
    lowest = min(map(_lowest_minor, csvs(reading)), default=0)
    for use in _uses(reading):
        message = f"Kubernetes 1.{use.minor} removed what the bundle uses: {use.what}"
        severity = Severity.ERROR if lowest >= use.minor else None
        yield Problem(message=message, place=use.place, severity=severity)


def _uses(reading: Reading) -> Iterator[_Use]:
    for document in first_documents(reading):
        api_version, kind = text(document.manifest, "apiVersion"), text(document.manifest, "kind")
        if minor := _REMOVED.get((api_version, kind)):
            what = f"{kind} {name_of(document)} of {api_version}"
            yield _Use(minor=minor, what=what, place=document.place("apiVersion"))
    for csv in csvs(reading):
        for field in ("permissions", "clusterPermissions"):
            yield from _uses_in_permissions(csv, field)


def _uses_in_permissions(csv: Document, field: str) -> Iterator[_Use]:
    for path, permission in entries(csv.manifest, "spec", "install", "spec", field):
        for below, rule in entries(permission, "rules"):
            for (group, resource), minor in _REMOVED_RESOURCES.items():
                if group in texts(rule, "apiGroups") and resource in texts(rule, "resources"):
                    yield _Use(minor=minor, what=f"a permission for {resource}", place=csv.place(*path, *below))


def _lowest_minor(csv: Document) -> int:
    """The minor version of Kubernetes 1 that the CSV needs at least; 0 when it does not say."""
    try:
        lowest = versions.tolerant(text(csv.manifest, "spec", "minKubeVersion"))
    except ValueError:
        return 0
    return lowest.minor if lowest.major == 1 else 0
