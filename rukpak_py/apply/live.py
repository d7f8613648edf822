"""What is known of an object in the cluster: just what decisions look at, never its body.

`owner_uid` is the ground on which anything is changed or pruned: the uid of the BundleDeployment that controls the
object, or, for objects that outlive their deployment, the uid in our annotation while nobody controls the object.
Labels alone never make an object ours.
"""

from dataclasses import dataclass

from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    BUNDLE_DEPLOYMENT_KIND,
    GROUP,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
    field_manager,
)
from rukpak_py.apply.health import Health
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.metadata import Metadata, OwnerReference, field_hash


@dataclass(frozen=True, kw_only=True, slots=True)
class Live:
    key: ObjectKey
    gvk: GroupVersionKind
    uid: str
    version: int  # the resourceVersion; comparable among objects of one kind
    owner_uid: str  # empty: nobody of ours
    labelled_for: str  # the deployment that our labels name; empty: none
    controller: OwnerReference | None
    applied: str  # digest of what was sent last
    fields: str  # hash of the fields that the deployment named by the labels owns
    is_deleted: bool
    outlives: bool  # no owner reference: it stays when its deployment goes
    never_prune: bool
    health: Health | None = None  # None: a kind without health, or not seen in full yet

    @property
    def is_controlled_by_deployment(self) -> bool:
        return self.controller is not None and is_deployment(self.controller)


def is_deployment(owner: OwnerReference) -> bool:
    return owner.kind == BUNDLE_DEPLOYMENT_KIND and owner.api_version.split("/", 1)[0] == GROUP


def live_of(key: ObjectKey, gvk: GroupVersionKind, metadata: Metadata, health: Health | None = None) -> Live:
    labels, annotations, controller = metadata.labels, metadata.annotations, metadata.controller
    ours = labels.get(OWNER_KIND_LABEL) == BUNDLE_DEPLOYMENT_KIND
    labelled_for = labels.get(OWNER_NAME_LABEL, "") if ours else ""
    if controller is not None:
        owner_uid = controller.uid if is_deployment(controller) else ""
    else:
        owner_uid = annotations.get(OWNER_UID_ANNOTATION, "") if labelled_for else ""
    name = controller.name if controller is not None and is_deployment(controller) else labelled_for
    return Live(
        key=key,
        gvk=gvk,
        uid=metadata.uid,
        version=metadata.version,
        owner_uid=owner_uid,
        labelled_for=labelled_for,
        controller=controller,
        applied=annotations.get(APPLIED_ANNOTATION, ""),
        fields=(field_hash(metadata, field_manager(name)) or "") if name else "",
        is_deleted=metadata.is_deleted,
        outlives=controller is None and bool(owner_uid),
        never_prune=annotations.get(PRUNE_ANNOTATION) == "false",
        health=health,
    )
