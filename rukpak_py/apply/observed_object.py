"""The observed state of an object in the cluster: just what decisions look at, never its body.

`owner_uid` is the ground on which a desired object is changed: the uid of the BundleDeployment that controls it, or,
where it has no owner reference, the uid in our annotation while it has no controller. Labels alone never make an object
ours. All these travel with copies, so what is not desired is deleted only when it `is_proven_of` its deployment.
"""

from dataclasses import dataclass

from rukpak_py.api.install_options import flag
from rukpak_py.api.metadata import OwnerReference, is_deployment
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    BUNDLE_DEPLOYMENT_KIND,
    DELETION_POLICY_ANNOTATION,
    HELM_RELEASE_ANNOTATION,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
    RELEASED_ANNOTATION,
    ca_field_manager,
    field_manager,
)
from rukpak_py.apply.health import Health
from rukpak_py.apply.marks import DELETE, holds_what_cannot_be_had_again, identity, other_tool, read_applied
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.core.text import with_finalizers
from rukpak_py.kube.metadata import Metadata, field_hash, fields_in, is_ours

CALLER_GROUPS = frozenset({"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"})
COLLECTOR = frozenset({"orphan", "foregroundDeletion"})  # the finalizers of the garbage collector


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedObject:
    key: ObjectKey
    gvk: GroupVersionKind
    uid: str
    version: int  # the resourceVersion; comparable among objects of one kind
    owner_uid: str  # empty: no deployment of ours
    labelled_for: str  # the deployment that our labels name; empty: none
    controller: OwnerReference | None
    applied: str  # digest of what was sent last
    identity: str  # what our annotation says for which object it was written; empty: it is of a former release
    fields: str  # hash of the fields that the deployment named by the labels owns
    is_deleted: bool
    outlives: bool  # it stays when its deployment goes
    is_annotated: bool = False  # ours by annotations, without an owner reference: the garbage collector leaves it
    is_half_converted: bool = False  # these annotations are not in our entry of `managedFields` yet
    ca_fields: str = ""  # hash of the `caBundle` fields that the signer owns for that deployment; empty: none
    prune: bool | None = None  # what an annotation that counts says of deleting it; None: nothing
    other_tool: str = ""  # who else manages it, when no controller and no label of ours says whose it is
    released: str = ""  # our mark on what left the content and stayed; see `released`
    is_from_upstream: bool = False  # the original operator installed it, for the deployment that our labels name
    is_left_to_collector: bool = False  # other owners, or a finalizer of the garbage collector: it alone deletes this
    held_by: tuple[str, ...] = ()  # the finalizers of what is being deleted: it waits for them
    health: Health | None = None  # None: a kind without health, or not seen in full yet

    @property
    def is_controlled_by_deployment(self) -> bool:
        return self.controller is not None and is_deployment(self.controller)

    @property
    def going(self) -> str:
        """The words for an object that is being deleted."""
        return f"{self.key} is being deleted{with_finalizers(self.held_by)}"

    def is_proven_of(self, uid: str) -> bool:
        """Whether this very object, and not one that it was copied from, was applied for the deployment of this uid."""
        return bool(self.applied and self.fields) and self.identity in {"", identity(uid, self.key)}


def observed_object(
    key: ObjectKey, gvk: GroupVersionKind, metadata: Metadata, health: Health | None = None
) -> ObservedObject:
    labels, annotations, controller = metadata.labels, metadata.annotations, metadata.controller
    ours = labels.get(OWNER_KIND_LABEL) == BUNDLE_DEPLOYMENT_KIND
    labelled_for = labels.get(OWNER_NAME_LABEL, "") if ours else ""
    if controller is not None:
        owner_uid = controller.uid if is_deployment(controller) else ""
    else:
        owner_uid = annotations.get(OWNER_UID_ANNOTATION, "") if labelled_for else ""
    is_annotated = controller is None and bool(owner_uid)
    lasts = holds_what_cannot_be_had_again(gvk.group_kind)
    may_prune = flag(annotations, PRUNE_ANNOTATION)
    identified, applied = read_applied(annotations.get(APPLIED_ANNOTATION, ""))
    name = controller.name if controller is not None and is_deployment(controller) else labelled_for
    return ObservedObject(
        key=key,
        gvk=gvk,
        uid=metadata.uid,
        version=metadata.version,
        owner_uid=owner_uid,
        labelled_for=labelled_for,
        controller=controller,
        applied=applied,
        identity=identified,
        fields=(field_hash(metadata, field_manager(name)) or "") if name else "",
        ca_fields=(field_hash(metadata, ca_field_manager(name)) or "") if name and key.group in CALLER_GROUPS else "",
        is_deleted=metadata.is_deleted,
        outlives=is_annotated and annotations.get(DELETION_POLICY_ANNOTATION) != DELETE,
        is_annotated=is_annotated,
        is_half_converted=lasts and is_annotated and not _has_annotation(metadata, name, OWNER_UID_ANNOTATION),
        prune=None if may_prune and lasts and _has_annotation(metadata, name, PRUNE_ANNOTATION) else may_prune,
        other_tool=other_tool(labels, annotations) if controller is None and not labelled_for else "",
        released=annotations.get(RELEASED_ANNOTATION, ""),
        is_from_upstream=bool(labelled_for)
        and not applied
        and annotations.get(HELM_RELEASE_ANNOTATION, "") == labelled_for,
        is_left_to_collector=len(metadata.owner_references) > 1 or not COLLECTOR.isdisjoint(metadata.finalizers),
        held_by=tuple(metadata.finalizers) if metadata.is_deleted else (),
        health=health,
    )


def _has_annotation(metadata: Metadata, deployment: str, annotation: str) -> bool:
    """Whether our entry of `managedFields` has it: it is as it was applied."""
    entries = (one for one in metadata.managed_fields if is_ours(one, field_manager(deployment)))
    paths = (fields_in(one).get("f:metadata", {}).get("f:annotations", {}) for one in entries)
    return any(f"f:{annotation}" in annotations for annotations in paths)
