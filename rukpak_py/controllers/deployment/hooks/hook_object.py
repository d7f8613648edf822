"""The object of a hook: as it is created, and which situation the recorded and the live one are. Pure.

It carries the mark of its run, a label by which it is watched and, unless it is to stay, a reference to its deployment
that does not make that its controller. It has no owner labels: the inventory does not see it, so it is neither
corrected nor pruned. A Job that would delete itself soon after its end is kept for a while, to have its end read.

What has the mark of its run is waited for, whatever process created it; once its uid is recorded it is not created once
more, and has failed when it is gone before its end was seen. What another run left is deleted and created again where
the hook says so, once it has ended: no two of them work at once. A foreign object is left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.hook_status import HookInStatus, RunningHook
from rukpak_py.api.metadata import is_deployment
from rukpak_py.api.names import (
    HELM_HOOK_ANNOTATION,
    HOOK_LABEL,
    HOOK_RUN_ANNOTATION,
    OWNER_UID_ANNOTATION,
    RECONCILE_AT_ANNOTATION,
)
from rukpak_py.apply import ownership
from rukpak_py.apply.marks import Owner, holds_what_cannot_be_had_again
from rukpak_py.apply.normalise import normalise
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.controllers.deployment.hooks.hook_end import (
    JOB,
    HookVerdict,
    has_verdict,
)
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.formats.hook import DeletePolicy, Hook
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import CRDS, Resource

READABLE_SECONDS = 300  # of a Job after its end, at least


@dataclass(frozen=True, kw_only=True, slots=True)
class HookObject:
    """`failed_uid`: of the object that failed, when the hook is run again. `takes_left`: hooks without an owner, as
    helm leaves them, may be replaced. `asked`: the request to reconcile that it answers.
    """

    key: ObjectKey
    resource: Resource
    body: bytes
    owner: Owner
    mark: str
    replaces: bool
    asked: str = ""
    failed_uid: str = ""
    takes_left: bool = False


def hook_object(
    hook: Hook,
    resource: Resource,
    *,
    owner: Owner,
    namespace: str,
    mark: str,
    collected: bool = True,
    asked: str = "",
    failed_uid: str = "",
    takes_left: bool = False,
) -> HookObject:
    """`collected`: it goes with its deployment. ContentError: no server would take it."""
    normal = normalise(hook.object.manifest(), namespaced=resource.namespaced, default_namespace=namespace)
    metadata: dict[str, Any] = dict(normal.manifest["metadata"])
    marks = {HOOK_RUN_ANNOTATION: mark, OWNER_UID_ANNOTATION: owner.uid, RECONCILE_AT_ANNOTATION: asked}
    annotations = {**(metadata.get("annotations") or {}), **marks}
    metadata["annotations"] = {name: value for name, value in annotations.items() if value or name not in marks}
    metadata["labels"] = {**(metadata.get("labels") or {}), HOOK_LABEL: owner.uid}
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
        asked=asked,
        failed_uid=failed_uid,
        takes_left=takes_left,
    )


def _readable(job: Mapping[str, Any]) -> dict[str, Any]:
    spec = job.get("spec")
    seconds = spec.get("ttlSecondsAfterFinished") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(seconds, int) or seconds >= READABLE_SECONDS:
        return dict(job)
    return {**job, "spec": {**spec, "ttlSecondsAfterFinished": READABLE_SECONDS}}


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveHook:
    """The object that has the name of a hook. `age`: seconds since its creation. `limit`: it must end within."""

    metadata: Metadata
    verdict: HookVerdict | None
    age: float
    limit: float

    @property
    def end(self) -> HookVerdict | None:
        """None: it may be at work."""
        if self.verdict is None and self.age >= self.limit:
            return HookVerdict(succeeded=False, why=f"it did not end within {self.limit:g} s")
        return self.verdict


class HookSituation(Enum):
    SUPERSEDED_RUNNING = auto()  # begun by an installation that another one superseded
    SUPERSEDED_ENDED = auto()  # ... and its end is not recorded
    SUPERSEDED_RECORDED = auto()  # ... and what its run has left goes by its policy
    UNANNOUNCED = auto()  # the name is free, and the status does not say that the hook is about to be created
    ABSENT = auto()  # the name is free
    LOST = auto()  # created for this run, and gone before its end was seen
    UNRECORDED = auto()  # of this run, and the status does not have its uid
    RUNNING = auto()
    ENDED = auto()  # also of the failed one that is to run again, and has succeeded since
    FORMER_RUNNING = auto()  # of another run
    FORMER = auto()  # ... or the failed one of this run, and it may be replaced
    NOT_REPLACEABLE = auto()
    LEAVING = auto()  # it is being deleted, and must be gone first
    FOREIGN = auto()


def situation(recorded: RunningHook | None, live: LiveHook | None, due: HookObject | None) -> HookSituation:
    """`due` None: the recorded hook is of a superseded installation."""
    if due is None:
        return _of_superseded(recorded, live)
    begun = recorded if recorded is not None and _is_begun(recorded, due) else None
    if live is None:
        if begun is not None and begun.uid:
            return HookSituation.LOST
        is_announced = begun is not None and begun.reconcile_at == due.asked
        is_due_in_status = has_verdict(due.resource.group_kind) and not is_announced
        return HookSituation.UNANNOUNCED if is_due_in_status else HookSituation.ABSENT
    is_crd, is_ours = due.resource.group_kind == CRDS.group_kind, _is_ours(live.metadata, due.owner)
    if is_crd or (is_ours and live.metadata.annotations.get(HOOK_RUN_ANNOTATION) == due.mark):
        return _of_this_run(begun.uid if begun is not None else "", live, due)
    if not is_ours and not (due.takes_left and _is_left(live.metadata)):
        return HookSituation.FOREIGN
    if live.metadata.is_deleted:
        return HookSituation.LEAVING
    if not due.replaces:
        return HookSituation.NOT_REPLACEABLE
    return HookSituation.FORMER_RUNNING if live.end is None else HookSituation.FORMER


def _of_this_run(recorded_uid: str, live: LiveHook, due: HookObject) -> HookSituation:
    uid = live.metadata.uid
    has_failed = uid == due.failed_uid and (live.verdict is None or not live.verdict.succeeded)
    if live.metadata.is_deleted and uid != recorded_uid and (has_failed or uid != due.failed_uid):
        return HookSituation.LEAVING
    if has_failed:
        return HookSituation.FORMER
    if live.end is not None:
        return HookSituation.ENDED
    return HookSituation.RUNNING if uid == recorded_uid else HookSituation.UNRECORDED


def _of_superseded(recorded: RunningHook | None, live: LiveHook | None) -> HookSituation:
    if recorded is None or recorded.result:
        return HookSituation.SUPERSEDED_RECORDED
    if live is None or live.end is not None:
        return HookSituation.SUPERSEDED_ENDED
    return HookSituation.SUPERSEDED_RUNNING


def is_object_of(hook: HookInStatus, live: Metadata) -> bool:
    """Whether the record is of this object: by the mark of its run while its uid is not recorded."""
    return live.uid == hook.uid if hook.uid else live.annotations.get(HOOK_RUN_ANNOTATION) == hook.run


def _is_begun(recorded: RunningHook, due: HookObject) -> bool:
    """Created for this run, or about to be, without a recorded end."""
    is_of_run = (recorded.run, recorded.key) == (due.mark, due.key)
    return is_of_run and not recorded.result and (not recorded.uid or recorded.uid != due.failed_uid)


def _is_ours(live: Metadata, owner: Owner) -> bool:
    """Created as a hook of this deployment; what it controls is installed, and no hook."""
    if HOOK_RUN_ANNOTATION not in live.annotations or live.controller is not None:
        return False
    is_referred_to = any(one.uid == owner.uid for one in live.owner_references)
    return is_referred_to or live.annotations.get(OWNER_UID_ANNOTATION) == owner.uid


def _is_left(live: Metadata) -> bool:
    """A hook without an owner."""
    has_owner = live.controller is not None or any(map(is_deployment, live.owner_references))
    return not has_owner and HELM_HOOK_ANNOTATION in live.annotations


def refusal(live: Metadata, wanted: HookObject) -> str:
    """Reason why a foreign object is left alone, and what to do about it."""
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


def not_replaceable(_live: Metadata, wanted: HookObject) -> str:
    holds = holds_what_cannot_be_had_again(wanted.resource.group_kind)
    way_out = "give the hook another name" if holds else "delete it, or add before-hook-creation to the policy"
    return (
        f"{wanted.key} was left by a former hook, and its helm.sh/hook-delete-policy does not allow to replace it; "
        f"{way_out}"
    )
