"""Rights that the operator needs to watch what deployments own, in words that an administrator can apply."""

from rukpak_py.api.names import WATCH_ROLE_LABEL
from rukpak_py.kube.resources import Resource


def how_to_grant(resource: Resource, namespace: str) -> str:
    """`namespace`: in which the kind is watched; empty: in all."""
    rule = (
        f'the rule {{apiGroups: ["{resource.gvk.group}"], resources: [{resource.plural}], verbs: [get, list, watch]}}'
    )
    if namespace:
        return f"bind a Role of the namespace {namespace} with {rule} to the operator's service account"
    return f'create a ClusterRole with the label {WATCH_ROLE_LABEL}: "true" and {rule}'
