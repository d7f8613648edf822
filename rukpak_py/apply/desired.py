"""What a deployment wants an object to be: the bytes that are sent, and the digest that stands in the cluster.

The digest covers everything that is sent except the annotation that carries it. Same content, same owner, same
digest: comparing it with the annotation of the live object says whether the object must be applied again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rukpak_py.api.bundle_deployment import Override
from rukpak_py.api.install_options import flag, override_of
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    FORCE_ANNOTATION,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
)
from rukpak_py.apply.identity import applied_value, identity
from rukpak_py.apply.normalise import normalise
from rukpak_py.apply.order import ApplyPhase, custom_kinds_of, phase_of
from rukpak_py.apply.owner import Owner
from rukpak_py.core.objects import GroupKind, Head, Object, ObjectKey, canonical_json

# What cannot be had again: when it was there before us, the collector must never take it with our deployment.
OUTLIVES_WHEN_TAKEN = frozenset(
    {
        GroupKind("", "Namespace"),
        GroupKind("", "PersistentVolume"),
        GroupKind("", "PersistentVolumeClaim"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """One way to send an object: owned (it goes with its deployment) or outliving it."""

    body: bytes
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Desired:
    head: Head
    phase: ApplyPhase
    payload: Payload
    payload_when_taken: (
        Payload  # what cannot be had again and was there before us outlives us; else the same as `payload`
    )
    force: bool  # delete and re-create when an immutable field changed
    defines: frozenset[GroupKind]  # the kinds that a CRD brings
    warnings: tuple[str, ...]

    @property
    def key(self) -> ObjectKey:
        return self.head.key


def desire(
    obj: Object,
    *,
    owner: Owner,
    namespaced: bool,
    default_namespace: str,
    custom: bool,
    outlives: bool = False,
    lasting: bool = False,
    overrides: Sequence[Override] = (),
) -> Desired:
    """`custom`: the kind is served by a CRD. `outlives`: the object stays when its deployment goes.

    What an override says of the object wins over the object's own annotations, and these over what the format says:
    `lasting` is as if the annotation said that it is never pruned.
    """
    normal = normalise(obj.manifest(), namespaced=namespaced, default_namespace=default_namespace)
    manifest = normal.manifest
    annotations: dict[str, str] = manifest["metadata"].get("annotations") or {}
    head = Head(
        gvk=obj.head.gvk, namespace=manifest["metadata"].get("namespace", ""), name=manifest["metadata"]["name"]
    )
    override = override_of(overrides, head.key, install_namespace=default_namespace)
    may_prune = flag(annotations, PRUNE_ANNOTATION, override=override.prune)
    outlives = outlives or may_prune is False or (may_prune is None and lasting)
    identified = identity(owner.uid, head.key)
    payload = _payload(manifest, owner, identified, outlives=outlives)
    spares = obj.head.gvk.group_kind in OUTLIVES_WHEN_TAKEN and not outlives
    return Desired(
        head=head,
        phase=phase_of(obj.head.gvk, custom=custom),
        payload=payload,
        force=flag(annotations, FORCE_ANNOTATION, override=override.force) is True,
        payload_when_taken=_payload(manifest, owner, identified, outlives=True) if spares else payload,
        defines=frozenset(custom_kinds_of([manifest])),
        warnings=normal.warnings,
    )


def _payload(manifest: dict[str, Any], owner: Owner, identified: str, *, outlives: bool) -> Payload:
    metadata: dict[str, Any] = dict(manifest["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), **owner.labels}
    annotations = dict(metadata.get("annotations") or {})
    if outlives:
        annotations[OWNER_UID_ANNOTATION] = owner.uid
    else:
        metadata["ownerReferences"] = [owner.reference]
    digest = (
        "sha256:"
        + hashlib.sha256(canonical_json({**manifest, "metadata": {**metadata, "annotations": annotations}})).hexdigest()
    )
    metadata["annotations"] = {**annotations, APPLIED_ANNOTATION: applied_value(identified, digest)}
    return Payload(body=canonical_json({**manifest, "metadata": metadata}), digest=digest)
