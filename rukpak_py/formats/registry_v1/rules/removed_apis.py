"""APIs that Kubernetes has removed, where a bundle uses them: in its objects, and in what its CSV permits."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from rukpak_py.formats.crds.written import DEFINITION
from rukpak_py.formats.json_fields import text, texts
from rukpak_py.formats.registry_v1.kinds import OLD_DEFINITIONS
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules.first_documents import (
    RULES,
    csvs,
    each,
    first_documents,
    name_of,
)
from rukpak_py.formats.rules import Place

_RBAC: Final = "rbac.authorization.k8s.io/v1beta1"
# (apiVersion, kind) -> the minor version of Kubernetes 1 that removed it
_REMOVED: Final = {
    (OLD_DEFINITIONS, DEFINITION): 22,
    (_RBAC, "ClusterRole"): 22,
    (_RBAC, "ClusterRoleBinding"): 22,
    (_RBAC, "Role"): 22,
    (_RBAC, "RoleBinding"): 22,
    ("scheduling.k8s.io/v1beta1", "PriorityClass"): 22,
    ("policy/v1beta1", "PodDisruptionBudget"): 25,
}
# (group, resource) of which no version is left
_REMOVED_RESOURCES: Final = {("policy", "podsecuritypolicies"): 25}


class RemovedApi(NamedTuple):
    minor: int  # of the Kubernetes 1 that removed it
    kind: str  # empty: a permission
    text: str
    place: Place


def removed_apis(reading: Reading) -> Iterator[RemovedApi]:
    for document in first_documents(reading):
        api_version, kind = text(document.manifest, "apiVersion"), text(document.manifest, "kind")
        if minor := _REMOVED.get((api_version, kind)):
            used = f"{kind} {name_of(document)} of {api_version}"
            yield RemovedApi(minor, kind, used, document.place("apiVersion"))
    for csv in csvs(reading):
        for path, rule in (found for where in RULES for found in each(csv, where)):
            for (group, resource), minor in _REMOVED_RESOURCES.items():
                if group in texts(rule, "apiGroups") and resource in texts(rule, "resources"):
                    yield RemovedApi(minor, "", f"a permission for {resource}", csv.place(*path))
