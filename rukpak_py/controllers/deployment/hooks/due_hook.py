"""The hook that is next: its object, and what the status and the conditions say of it. Pure."""

from dataclasses import dataclass

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.hook_status import RunningHook
from rukpak_py.apply.deletions import FOREGROUND
from rukpak_py.apply.results import failure_of
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.hooks.facts import (
    hook_not_run,
)
from rukpak_py.controllers.deployment.hooks.hook_end import has_verdict
from rukpak_py.controllers.deployment.hooks.hook_object import (
    HookObject,
    hook_object,
)
from rukpak_py.controllers.deployment.hooks.runs import (
    ExecuteHook,
    HookExecution,
    asked_of,
    may_replace_left,
)
from rukpak_py.controllers.result import hook_details as details
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.resources import Resource


@dataclass(frozen=True, kw_only=True, slots=True)
class DueHook:
    """The hook that is next, and what the status has of it."""

    attempt: Attempt
    run: HookExecution
    step: ExecuteHook
    recorded: RunningHook | None

    @property
    def deployment(self) -> BundleDeployment:
        return self.attempt.deployment

    @property
    def failed_uid(self) -> str:
        return self.step.failed.uid if self.step.failed is not None else ""

    @property
    def key(self) -> ObjectKey:
        key = self.step.hook.object.head.key
        return key._replace(namespace=key.namespace or self.attempt.namespace)

    @property
    def begins_again(self) -> bool:
        """Hooks of another rendering of this installation have run."""
        return bool(self.run.superseded(self.deployment.status))

    def object(self, resource: Resource) -> HookObject:
        return hook_object(
            self.step.hook,
            resource,
            owner=self.attempt.owner,
            namespace=self.attempt.namespace,
            mark=self.run.mark,
            collected=FOREGROUND not in self.deployment.metadata.finalizers,  # it would go before it ends
            asked=asked_of(self.deployment),
            failed_uid=self.failed_uid,
            takes_left=may_replace_left(self.deployment),
        )

    def running(self, wanted: HookObject, *, uid: str, asked: str) -> RunningHook:
        """The running hook, as the status has it."""
        return RunningHook(
            revision=self.run.revision,
            run=self.run.mark,
            event=self.run.event,
            group=wanted.key.group,
            version=wanted.resource.gvk.version,
            kind=wanted.key.kind,
            namespace=wanted.key.namespace,
            name=wanted.key.name,
            uid=uid,
            delete_policies=tuple(sorted(self.step.hook.delete_policies)),
            reconcile_at=asked,
            rendering_digest=self.run.rendering,
        )

    def runs(self, begun: RunningHook | None = None, *, look: float | None = None) -> Progress:
        """`begun`: its object, once it is there; until then it may be one that is in its place. `look`: seconds.

        A request that came after the hook was begun is still to be acted on.
        """
        asked, detail = asked_of(self.deployment), details.RunningHook
        detail_of_run = detail(event=self.run.event, begins_again=self.begins_again)
        facts = [
            Fact(cause=Cause.HOOK_RUNNING, detail=detail_of_run, objects=(self.key,)),
            Fact(cause=Cause.JOB_RUNNING),
        ]
        if asked and (begun is None or begun.reconcile_at != asked):
            facts.append(Fact(cause=Cause.REQUEST_OPEN))
        if look is not None:
            facts.append(look_again(look))
        return Progress(facts=tuple(facts))

    def not_run(self, error: RukPakError) -> Progress:
        failure = failure_of(self.key, error)
        return Progress(facts=(hook_not_run(self.run.event, failure, begins_again=self.begins_again),))


def running_hook(due: DueHook, wanted: HookObject, uid: str, asked: str) -> RunningHook:
    """The hook as the status has it. A hook that runs answers the request that it was created with; one that needs no
    time answers the latest, else it would be run again for ever. So does one that failed and has succeeded since.
    """
    answers_latest = not has_verdict(wanted.resource.group_kind) or uid == wanted.failed_uid
    return due.running(wanted, uid=uid, asked=wanted.asked if answers_latest else asked)
