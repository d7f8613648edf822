"""The object of a hook as it is created, and whose an object of its name is.

It carries the mark of its run and, unless it is to stay, a reference to its deployment that makes nobody its
controller. It has no owner labels: the inventory does not see it, so it is neither corrected nor pruned. A Job that
would delete itself soon after its end is kept for a while, because its end has to be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.api.hook_status import RunningHook
from rukpak_py.api.metadata import is_deployment
from rukpak_py.api.names import (
    HELM_HOOK_ANNOTATION,
    HOOK_RUN_ANNOTATION,
    OWNER_UID_ANNOTATION,
    RECONCILE_AT_ANNOTATION,
)
from rukpak_py.apply import ownership
from rukpak_py.apply.marks import Owner, holds_what_cannot_be_had_again
from rukpak_py.apply.normalise import normalise
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.controllers.deployment.hooks.verdict import JOB, time_limit
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.formats.hook import DeletePolicy, Hook
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import CRDS, Resource

READABLE_SECONDS = 300  # of a Job after its end, at least


@dataclass(frozen=True, kw_only=True, slots=True)
class HookObject:
    """`failed_uid`: of the object that failed, when the hook is run again. `takes_left`: a hook that nobody owns, as
    helm leaves them, may be replaced. `seconds`: it must end within. `asked`: the request to reconcile that it answers.
    `begun`: what the status says was created for this run already.
    """

    key: ObjectKey
    resource: Resource
    body: bytes
    owner: Owner
    mark: str
    replaces: bool
    seconds: float
    asked: str = ""
    failed_uid: str = ""
    takes_left: bool = False
    begun: RunningHook | None = None


class HookObjectSituation(Enum):
    """Of an object that has the name of a hook. The first that fits counts."""

    THERE = auto()  # a CRD, which is never replaced
    OF_THIS_RUN = auto()
    HAS_FAILED = auto()  # of this run, which is run again
    OURS = auto()  # of another run
    LEFT_BY_HELM = auto()
    FOREIGN = auto()


def hook_object(
    hook: Hook,
    resource: Resource,
    *,
    owner: Owner,
    namespace: str,
    mark: str,
    seconds: float,
    collected: bool = True,
    asked: str = "",
    failed_uid: str = "",
    takes_left: bool = False,
    begun: RunningHook | None = None,
) -> HookObject:
    """`seconds`: of hooks that do not ask for more. `collected`: it goes with its deployment.

    ContentError: no server would take it.
    """
    normal = normalise(hook.object.manifest(), namespaced=resource.namespaced, default_namespace=namespace)
    metadata: dict[str, Any] = dict(normal.manifest["metadata"])
    marks = {HOOK_RUN_ANNOTATION: mark, OWNER_UID_ANNOTATION: owner.uid, RECONCILE_AT_ANNOTATION: asked}
    annotations = {**(metadata.get("annotations") or {}), **marks}
    metadata["annotations"] = {name: text for name, text in annotations.items() if text or name not in marks}
    is_crd = resource.group_kind == CRDS.group_kind
    if collected and not hook.outlives and not is_crd:
        metadata["ownerReferences"] = [{**owner.reference, "controller": False, "blockOwnerDeletion": False}]
    manifest = {**normal.manifest, "metadata": metadata}
    if resource.group_kind == JOB:
        manifest = _readable(manifest)
    return HookObject(
        key=ObjectKey(resource.gvk.group, resource.gvk.kind, metadata.get("namespace", ""), metadata["name"]),
        resource=resource,
        body=canonical_json(manifest),
        owner=owner,
        mark=mark,
        replaces=DeletePolicy.BEFORE_HOOK_CREATION in hook.delete_policies,
        seconds=time_limit(resource.group_kind, manifest, seconds),
        asked=asked,
        failed_uid=failed_uid,
        takes_left=takes_left,
        begun=begun,
    )


def situation(live: Metadata, wanted: HookObject) -> HookObjectSituation:
    if wanted.resource.group_kind == CRDS.group_kind:
        return HookObjectSituation.THERE
    if _is_ours(live, wanted.owner):
        if live.annotations.get(HOOK_RUN_ANNOTATION) != wanted.mark:
            return HookObjectSituation.OURS
        return HookObjectSituation.HAS_FAILED if live.uid == wanted.failed_uid else HookObjectSituation.OF_THIS_RUN
    return HookObjectSituation.LEFT_BY_HELM if wanted.takes_left and _is_left(live) else HookObjectSituation.FOREIGN


def refusal(live: Metadata, wanted: HookObject) -> str:
    """Why a foreign object is left alone, and what to do about it."""
    key, owner = wanted.key, wanted.owner
    other = next((one.name for one in live.owner_references if is_deployment(one) and not one.controller), "")
    if other:
        return ownership.belongs_to_deployment(key, other)
    holds = holds_what_cannot_be_had_again(wanted.resource.group_kind)
    if _is_left(live) and not holds:
        return (
            f"{key} was left by a hook that is not of this BundleDeployment; "
            f"delete it, or set spec.adopt to {Adopt.IF_UNOWNED} to replace it"
        )
    observed = observed_object(key, wanted.resource.gvk, live)
    found = ownership.situation(observed, owner)
    if found is ownership.OwnershipSituation.OURS:
        return f"{key} is installed by the chart, too; give the hook another name"
    if found in {ownership.OwnershipSituation.OTHER_DEPLOYMENT, ownership.OwnershipSituation.OTHER_CONTROLLER}:
        return ownership.refusal(observed, found, owner)
    if holds:
        return f"{key} exists, and is not of a hook of this BundleDeployment; give the hook another name"
    by = observed.other_tool or "nobody"
    return f"{key} exists, is not a hook, and is managed by {by}; delete it, or give the hook another name"


def _is_left(live: Metadata) -> bool:
    """A hook, and nobody says that it is his."""
    has_owner = live.controller is not None or any(map(is_deployment, live.owner_references))
    return not has_owner and HELM_HOOK_ANNOTATION in live.annotations


def _is_ours(live: Metadata, owner: Owner) -> bool:
    """Created as a hook of this deployment; what it controls is installed, and no hook."""
    if HOOK_RUN_ANNOTATION not in live.annotations or live.controller is not None:
        return False
    is_referred_to = any(one.uid == owner.uid for one in live.owner_references)
    return is_referred_to or live.annotations.get(OWNER_UID_ANNOTATION) == owner.uid


def _readable(job: Mapping[str, Any]) -> dict[str, Any]:
    spec = job.get("spec")
    seconds = spec.get("ttlSecondsAfterFinished") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(seconds, int) or seconds >= READABLE_SECONDS:
        return dict(job)
    return {**job, "spec": {**spec, "ttlSecondsAfterFinished": READABLE_SECONDS}}
