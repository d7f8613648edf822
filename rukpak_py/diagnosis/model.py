"""The values that commands and the page show: rows of deployments, and one deployment with all that belongs to it.

They hold what their reader may read, and no content: of objects without health only metadata is asked for, so the data
of a Secret never gets here. A part that could not be read is an `UnreadPart`, never an empty list.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, GROUP
from rukpak_py.core.objects import ObjectKey
from rukpak_py.diagnosis.states import State

__all__ = [
    "BundleView",
    "DeploymentSummary",
    "DeploymentView",
    "EventView",
    "Explanation",
    "FailedContainer",
    "ObjectView",
    "State",
    "UnreadPart",
    "Verdict",
]

MESSAGE_CHARACTERS = 1_000  # of an object or an Event


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """State by the conditions. `reason`, `message`: of Ready; empty when no operator has looked."""

    state: State
    reason: str = ""
    message: str = ""
    since: str = ""  # the last transition of Ready


@dataclass(frozen=True, kw_only=True, slots=True)
class DeploymentSummary:
    """A row of the list."""

    name: str
    verdict: Verdict
    class_name: str
    source: str  # type of the source
    reference: str  # the source in a line, without credentials
    version: str
    namespace: str  # in which objects without a namespace go; empty: the operator's default
    account: str
    pending: str  # version, or Bundle, of the upgrade that waits; empty: none does
    created: str
    instance: str  # name of the BundleInstance that owns it; empty: none does


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedContainer:
    """A container that keeps its pod from running. `reason`: kubelet's or the scheduler's word."""

    namespace: str
    pod: str
    name: str  # empty: the pod has no place, or no container that failed
    reason: str
    has_ended: bool = False  # the log is that of the run before


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectView:
    """An object of a deployment; `children` are the pods of a workload that is not healthy, `claims` the claims without
    a volume that these pods wait for.

    `reason`: one word of its cause, as the object or its pods give it. Empty: none is known.
    """

    key: ObjectKey
    uid: str
    state: State
    message: str = ""
    reason: str = ""
    created: str = ""
    is_kept: bool = False  # no longer in the content, see `status.kept`
    container: FailedContainer | None = None
    children: tuple["ObjectView", ...] = ()
    claims: tuple["ObjectView", ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleView:
    bundle: Bundle
    verdict: Verdict
    is_active: bool
    is_wanted: bool  # it is the one of the template

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(GROUP, BUNDLE_KIND, "", self.bundle.metadata.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class EventView:
    type: str
    reason: str
    message: str
    count: int
    last: str
    about: ObjectKey


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadPart:
    """A part that the reader may not see, or that the API server did not give. `why`: its answer."""

    part: str  # such as `Secrets in namespace shop`
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DeploymentView:
    deployment: BundleDeployment
    summary: DeploymentSummary
    bundles: tuple[BundleView, ...] = ()
    objects: tuple[ObjectView, ...] = ()
    events: tuple[EventView, ...] = ()  # of the deployment, its Bundles and its unhealthy objects, newest first
    unread: tuple[UnreadPart, ...] = ()

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(GROUP, BUNDLE_DEPLOYMENT_KIND, "", self.deployment.metadata.name)

    @property
    def active(self) -> BundleView | None:
        return next((one for one in self.bundles if one.is_active), None)

    @property
    def wanted(self) -> BundleView | None:
        return next((one for one in self.bundles if one.is_wanted), None)

    def unhealthy(self) -> Iterator[ObjectView]:
        """Objects that are not at rest, the worst first; of those alike, the one whose cause is known best."""
        yield from sorted((one for one in self.objects if not one.state.is_at_rest), key=_badness)


def _badness(one: ObjectView) -> tuple[int, int, ObjectKey]:
    has_failed_container = one.container is not None and bool(one.container.name)
    return one.state.rank, 0 if has_failed_container else 1 if one.reason else 2, one.key


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Answer to the question why a deployment is not ready: the first failing thing, and the way out.

    `cause`: a key of the table of ways out. `about`: the object that fails; the sentence names it where it is another
    one than the deployment. `anchor`: of the troubleshooting page.
    """

    state: State
    sentence: str
    cause: str = ""
    reason: str = ""
    about: ObjectKey
    to_do: str = ""
    anchor: str = ""
    container: FailedContainer | None = None
    events: tuple[EventView, ...] = ()  # about that object, newest first
    others: tuple[str, ...] = ()  # sentences about what else is wrong
