"""Kinds whose deletion destroys what others have put into them: contents, data, instances.

Their objects have owner annotations instead of an owner reference, so that no way of deleting a deployment goes past
the policy; and what a bundle says of their deletion does not count, only what the owner of the deployment says.
"""

from rukpak_py.core.objects import GroupKind

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
    return kind in _KINDS
