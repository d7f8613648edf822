"""Memory of this process about a deployment between two reconciles. Losing it costs calls, never correctness.

Its small parts are in `memory`. `DeploymentStates` is their one owner: `end` drops all that is remembered of a
deployment that is gone, and tells the listeners, which are indexes over many deployments and jobs that run for them.
It refuses a uid that is gone: a reconcile that is under way when its deployment goes cannot bring its state back, and
writes to a state that is not reachable any more.
"""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic

from rukpak_py.api.bundle_deployment import BundleDeployment, CompletedObject
from rukpak_py.api.template_hash import template_hash_of
from rukpak_py.api.upgrades import RolledBack
from rukpak_py.apply.deletions import Deletion
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.ownership import SharedObject
from rukpak_py.apply.target import LastApplied
from rukpak_py.certificates.deployments import CertificateMemory
from rukpak_py.controllers.deployment.hooks.facts import HookState
from rukpak_py.controllers.deployment.pod_causes import PodCauses
from rukpak_py.controllers.deployment.secret_mask import SecretMask
from rukpak_py.controllers.deployment.state_parts import (
    ContentFacts,
    ContentKey,
    CreatedByThisInstall,
    FailedAttempt,
    FormerObjects,
    Passed,
    PendingWaits,
    QuietFacts,
    RenderingFailures,
    TriedOut,
    UnmadeBundle,
    UsedValues,
)
from rukpak_py.controllers.judging import NO_VERDICT, Verdict
from rukpak_py.controllers.writes import StatusWrites
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.repair_backoff import RepairBackoff
from rukpak_py.formats.helm.cluster_view import Lookup
from rukpak_py.kube.pace import Pace

REMEMBERED_UIDS = 4096
REMEMBERED_CONTENTS = 4  # of one deployment: what is wanted, what is installed, and edits in between


@dataclass(slots=True)
class DeploymentState:
    applied: LastApplied = field(default_factory=LastApplied)
    content: ContentKey | None = None  # of which everything was applied; None: unknown, or half of it
    untouched: ContentKey | None = None  # after which nothing else was applied; what it has may have drifted
    begun: ContentKey | None = None  # of which something was written, and not all; a former process may have, too
    written: frozenset[ObjectKey] = frozenset()  # of that
    wanted: ContentKey | None = None  # by the spec, at the last look
    undone: RolledBack | None = None  # all of whose former revision this process has applied
    unmade: UnmadeBundle | None = None
    bundle: str = ""  # the Bundle of the template as it was at the last look
    conflicts: frozenset[ObjectKey] = frozenset()  # refused at the last try, because they had another owner
    drift: RepairBackoff = field(default_factory=RepairBackoff)
    pace: Pace = field(default_factory=Pace)
    waits: PendingWaits = field(default_factory=PendingWaits)
    pod_causes: PodCauses = field(default_factory=PodCauses)
    quiet: QuietFacts = field(default_factory=QuietFacts)
    failed: FailedAttempt = field(default_factory=FailedAttempt)
    tried: TriedOut = field(default_factory=TriedOut)
    created: CreatedByThisInstall = field(default_factory=CreatedByThisInstall)
    former: FormerObjects = field(default_factory=FormerObjects)
    completed: tuple[CompletedObject, ...] | None = None  # as the next status will have it; None: as the status has it
    kept_crds_judged_at: float = float("-inf")  # when the instances of CRDs that are kept for theirs were listed last
    schemas_changed_at: float = float("-inf")  # when an upgrade wrote CRDs of which its content has instances
    facts: dict[ContentKey, ContentFacts] = field(default_factory=dict)  # of content that was rendered
    passed_gates: dict[str, Passed] = field(default_factory=dict)  # by name, of those whose answer holds
    values: UsedValues = field(default_factory=UsedValues)
    mask: SecretMask = field(default_factory=SecretMask)
    failures: RenderingFailures = field(default_factory=RenderingFailures)  # of content that was rendered
    lookups: frozenset[Lookup] = frozenset()  # of the last rendering of a chart, which may have ended at one of them
    certificates: CertificateMemory = field(default_factory=CertificateMemory)
    hooks: HookState = field(default_factory=HookState)
    status_writes: StatusWrites = field(default_factory=StatusWrites)
    shared: tuple[SharedObject, ...] | None = None  # what other deployments have for this one; None: not known yet
    deletion: Deletion = field(default_factory=Deletion)
    asked: str = ""  # the latest request to reconcile for which everything was to be applied again
    verdict: Verdict = NO_VERDICT  # of the last look: may its account be used
    is_converted: bool = False  # nothing that must outlive it has an owner reference, as releases before wrote it
    has_ended: bool = False  # the deployment is gone; what still works for it begins nothing
    _template_hash: tuple[tuple[int, str], str] | None = None

    def for_a_report(self) -> "DeploymentState":
        """A state to plan with that leaves this one as it is: what a report finds out is none of a reconcile's."""
        return replace(
            self,
            applied=self.applied.copied(),
            tried=self.tried.copied(),
            pace=Pace(),
            passed_gates=dict(self.passed_gates),
        )

    def wants(self, content: ContentKey) -> None:
        """Answers about content that was wanted before are too old where it is wanted again."""
        if self.wanted is not None and self.wanted != content:
            self.passed_gates.clear()
        self.wanted = content

    def template_hash(self, deployment: BundleDeployment) -> str:
        """Computed once for each generation of the spec, and each refresh."""
        version = deployment.metadata.generation, deployment.status.last_handled_refresh_at
        if self._template_hash is None or self._template_hash[0] != version:
            self._template_hash = version, template_hash_of(deployment)
        return self._template_hash[1]

    def rendered(self, content: ContentKey, facts: ContentFacts) -> None:
        self.facts.pop(content, None)
        self.facts[content] = facts
        while len(self.facts) > REMEMBERED_CONTENTS:
            del self.facts[next(iter(self.facts))]  # what was rendered longest ago

    def waited(self, what: str, content: ContentKey | None = None) -> float:
        return self.waits.waited(what, monotonic(), content)

    def is_applied(self, content: ContentKey) -> bool:
        return self.content == content

    def is_untouched(self, content: ContentKey) -> bool:
        return self.untouched is not None and self.untouched.has_same_objects(content)

    def applying(self, content: ContentKey) -> None:
        """Note that an apply begins: until all is applied, neither the old content nor the new is as applied."""
        self.content = None
        if self.begun != content:
            self.written = frozenset()
        self.begun = content
        if not self.is_untouched(content):
            self.untouched = None

    def asked_for(self, request: str, handled: str) -> None:
        """A request to reconcile, and the latest that the status says was acted on."""
        if request not in {"", handled, self.asked}:
            self.asked = request
            self.applied.apply_again()

    def mark_applied(self, content: ContentKey, keys: set[ObjectKey], hidden: Container[ObjectKey]) -> None:
        """All of this content is applied. What is not part of it any more is looked for before pruning ends."""
        former = {key for key in self.applied.fields.keys() - keys if key not in hidden}
        self.former.add(former)
        self.former.wanted_again(keys)
        for key in former:
            self.applied.forget(key)
        self.applied.expect(key for key in keys if key in hidden)
        self.content = self.untouched = content
        self.begun, self.written = None, frozenset()
        self.applied.again.clear()
        self.conflicts = frozenset()
        self.created.clear()
        self.tried.forget()

    def shares(self, objects: tuple[SharedObject, ...]) -> None:
        """Note shared objects: they are no part of what was applied, also where they could not be seen before."""
        self.shared = objects
        for one in objects:
            self.applied.forget(one.key)

    def trust(self, content: ContentKey, lives: Iterable[ObservedObject]) -> None:
        """Take what the cluster shows for what was applied: the digest in the status proves it."""
        self.applied.trust(lives)
        self.content = self.untouched = content


class DeploymentStates:
    def __init__(self) -> None:
        self._states: dict[str, DeploymentState] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._listeners: tuple[Callable[[str], None], ...] = ()

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[DeploymentState]:
        return iter(self._states.values())

    def attach(self, *listeners: Callable[[str], None]) -> None:
        """Attach the listeners, once: they hear the uid of each deployment that has ended."""
        self._listeners = listeners

    def of(self, uid: str) -> DeploymentState | None:
        """None: this deployment is gone."""
        state = self._states.get(uid)
        if state is None and uid not in self._ended:
            state = self._states[uid] = DeploymentState()
        return state

    def hide(self, uid: str, text: str) -> str:
        """The text without the secret values of the deployment."""
        state = self._states.get(uid)
        return state.mask.hide(text) if state is not None else text

    def end(self, uid: str) -> None:
        """The deployment is gone: nothing of it is remembered, and what runs for it is stopped."""
        if uid in self._states:
            self._states.pop(uid).has_ended = True
        self._ended[uid] = None
        if len(self._ended) > REMEMBERED_UIDS:
            self._ended.popitem(last=False)
        for listener in self._listeners:
            listener(uid)

    def applied_by_others(self, key: ObjectKey, uid: str) -> list[str]:
        """The uids of other deployments that applied this object."""
        return [other for other, state in self._states.items() if other != uid and key in state.applied.uids]


def differences(applied: LastApplied, owned: Mapping[ObjectKey, ObservedObject]) -> set[ObjectKey]:
    """Objects that are missing, that are extra, or in which another client changed a field of ours."""
    fields = applied.fields
    found = {key for key, live in owned.items() if fields.get(key) != live.fields or live.is_deleted}
    return found | (fields.keys() - owned.keys())
