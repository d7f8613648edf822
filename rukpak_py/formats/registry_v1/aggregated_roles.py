"""ClusterRoles for the users of an operator's kinds, aggregated into the cluster's own roles admin, edit and view.

OLM makes such roles for every operator; here they are asked for. One of each per CRD, for all its versions.
"""

from collections.abc import Iterator

from rukpak_py.formats.registry_v1.bundle import Json, RegistryBundle

_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"
_VERBS = {
    "admin": ["*"],
    "edit": ["create", "update", "patch", "delete"],
    "view": ["get", "list", "watch"],
}


def aggregated_roles(bundle: RegistryBundle) -> Iterator[Json]:
    for definition in bundle.definitions:
        plural, _, group = definition.name.partition(".")
        for role, verbs in _VERBS.items():
            yield {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": f"{definition.name}-{role}", "labels": {f"{_AGGREGATE}{role}": "true"}},
                "rules": [{"apiGroups": [group], "resources": [plural], "verbs": verbs}],
            }
