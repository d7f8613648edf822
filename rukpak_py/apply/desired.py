"""Desired objects of a deployment: the bytes that are sent, and the digest that stands in the cluster.

The digest covers the manifest, our labels, and whether the object goes with its deployment or outlives it. Same
content, same owner, same digest: comparing it with the annotation of the live object says whether the object must be
applied again. In which form the ownership is written does not count: what changed its form stays current.

The form is a controller owner reference, or, where the object outlives the deployment or holds what others may have put
into it, annotations: the garbage collector knows no policy, and takes whatever has the reference.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.install_options import flag, override_of
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    FORCE_ANNOTATION,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
)
from rukpak_py.apply.ignored import IgnoredField, leave_out
from rukpak_py.apply.marks import DELETE, Owner, applied_value, holds_what_cannot_be_had_again, identity
from rukpak_py.apply.normalise import normalise
from rukpak_py.apply.normalise.notes import Notes
from rukpak_py.apply.order import CRD_KIND, ApplyPhase, phase_of
from rukpak_py.core.crds import crd_facts
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Head, Object, ObjectKey, canonical_json

REPLICAS = "/spec/replicas"
# What a reference means that names no API version and no kind; None: it has to name them.
_SCALERS: Mapping[GroupKind, tuple[str, str] | None] = {
    GroupKind("autoscaling", "HorizontalPodAutoscaler"): None,
    GroupKind("keda.sh", "ScaledObject"): ("apps/v1", "Deployment"),
}


def scaled(objects: Iterable[Object], *, default_namespace: str) -> Mapping[ObjectKey, ObjectKey]:
    """The autoscaler of each workload of the content: it sets their `replicas`."""
    found: dict[ObjectKey, ObjectKey] = {}
    for one in objects:
        if one.head.gvk.group_kind not in _SCALERS:
            continue
        scaler = one.head.key._replace(namespace=one.head.namespace or default_namespace)
        target = _target(one.manifest(), _SCALERS[one.head.gvk.group_kind])
        if target is not None:
            group, kind, name = target
            found.setdefault(ObjectKey(group, kind, scaler.namespace, name), scaler)
    return found


def _target(manifest: dict[str, Any], default: tuple[str, str] | None) -> tuple[str, str, str] | None:
    spec = manifest.get("spec")
    reference = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
    if not isinstance(reference, dict):
        return None
    api_version, kind = default or ("", "")
    named = (reference.get("apiVersion") or api_version, reference.get("kind") or kind, reference.get("name"))
    version, kind, name = (one if isinstance(one, str) else "" for one in named)
    return (GroupVersionKind.parse(version, kind).group, kind, name) if version and kind and name else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Payload:
    """One way to send an object: owned (it goes with its deployment) or outliving it.

    `trial`: what is sent to try it out, with the fields that are ignored: they are still ours then, and without them
    the server would refuse what lacks one that it needs. None: the same.
    """

    body: bytes
    digest: str
    trial: bytes | None = None


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
    create_only: bool = False  # without our marks, so it has no owner
    may_be_shared: bool = False  # another deployment's counts where it is the same
    ignored: tuple[IgnoredField, ...] = ()  # fields of the content that are not sent

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
    create_only: bool = False,
    overrides: Sequence[Override] = (),
    scaler: ObjectKey | None = None,
) -> Desired:
    """`custom`: the kind is served by a CRD. `outlives`: the object stays when its deployment goes. `scaler`: what sets
    its replicas.

    What an override says of the object wins over the object's own annotations, and these over what the format says:
    `lasting` is as if the annotation said that it is never pruned. `create_only`: it gets no marks of ours.
    """
    normal = normalise(obj.manifest(), namespaced=namespaced, default_namespace=default_namespace)
    whole = normal.manifest
    annotations: dict[str, str] = whole["metadata"].get("annotations") or {}
    head = Head(gvk=obj.head.gvk, namespace=whole["metadata"].get("namespace", ""), name=whole["metadata"]["name"])
    override = override_of(overrides, head.key, install_namespace=default_namespace)
    notes = Notes(subject=str(head.key), warnings=list(normal.warnings))
    manifest, ignored = leave_out(whole, _pointers(whole, override, scaler, notes), notes)
    may_prune = flag(annotations, PRUNE_ANNOTATION, override=override.prune)
    outlives = outlives or may_prune is False or (may_prune is None and lasting)
    identified = identity(owner.uid, head.key)
    holds = holds_what_cannot_be_had_again(head.gvk.group_kind)
    crd = crd_facts(manifest) if head.gvk.group_kind == CRD_KIND else None
    for name in (PRUNE_ANNOTATION, FORCE_ANNOTATION):
        if holds and annotations.get(name) == "true":
            field = name.rpartition("/")[2]
            notes.warn(f'{name}: "true" in a bundle is ignored for this kind; use {field} in spec.overrides')

    def made(*, outlives: bool, by_annotation: bool = False) -> Payload:
        if create_only:
            body = canonical_json(manifest)
            return Payload(body=body, digest=f"sha256:{hashlib.sha256(body).hexdigest()}")
        one = _payload(manifest, owner, identified, outlives=outlives, by_annotation=by_annotation)
        if manifest is whole:
            return one
        trial = _payload(whole, owner, identified, outlives=outlives, by_annotation=by_annotation)
        return replace(one, trial=trial.body)

    payload = made(outlives=outlives, by_annotation=holds)
    return Desired(
        head=head,
        phase=phase_of(obj.head.gvk, custom=custom),
        payload=payload,
        force=flag({} if holds else annotations, FORCE_ANNOTATION, override=override.force) is True,
        payload_when_taken=made(outlives=True) if holds and not outlives else payload,
        defines=frozenset({crd.kind} if crd is not None else ()),
        warnings=tuple(notes.warnings),
        create_only=create_only,
        may_be_shared=lasting and not create_only and head.gvk.group_kind == CRD_KIND,
        ignored=ignored,
    )


def _pointers(manifest: dict[str, Any], override: Override, scaler: ObjectKey | None, notes: Notes) -> tuple[str, ...]:
    """The pointers that are left out of the content. Replicas that an autoscaler sets are among them in any case."""
    spec = manifest.get("spec")
    if scaler is None or not isinstance(spec, dict) or "replicas" not in spec or REPLICAS in override.ignore:
        return override.ignore
    notes.warn(f"spec.replicas is left out: {scaler} sets it")
    return (*override.ignore, REPLICAS)


def digests_by(desired: Desired, owner: Owner, other: Owner) -> frozenset[str]:
    """The digests of the object, had another deployment applied the same manifest: whether it goes with that
    deployment is decided there.
    """
    manifest = orjson.loads(desired.payload.body)
    metadata = manifest["metadata"]
    for name in owner.labels:
        metadata["labels"].pop(name, None)
    for name in (APPLIED_ANNOTATION, OWNER_UID_ANNOTATION, DELETION_POLICY_ANNOTATION):
        metadata["annotations"].pop(name, None)
    forms = (_payload(manifest, other, "", outlives=outlives) for outlives in (True, False))
    return frozenset(form.digest for form in forms)


def _payload(
    manifest: dict[str, Any], owner: Owner, identified: str, *, outlives: bool, by_annotation: bool = False
) -> Payload:
    metadata: dict[str, Any] = dict(manifest["metadata"])
    metadata["labels"] = {**(metadata.get("labels") or {}), **owner.labels}
    annotations = dict(metadata.get("annotations") or {})
    by_uid = {**annotations, OWNER_UID_ANNOTATION: owner.uid}
    referring = {**metadata, "annotations": annotations, "ownerReferences": [owner.reference]}
    # Of what goes with its deployment always the form with the reference, which earlier releases sent.
    digested = {**metadata, "annotations": by_uid} if outlives else referring
    digest = f"sha256:{hashlib.sha256(canonical_json({**manifest, 'metadata': digested})).hexdigest()}"
    sent = digested
    if by_annotation and not outlives:
        sent = {**metadata, "annotations": {**by_uid, DELETION_POLICY_ANNOTATION: DELETE}}
    applied = {APPLIED_ANNOTATION: applied_value(identified, digest)}
    sent = {**sent, "annotations": {**sent["annotations"], **applied}}
    return Payload(body=canonical_json({**manifest, "metadata": sent}), digest=digest)
