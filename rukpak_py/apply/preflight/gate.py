"""A gate as a value, what it is asked about, and what it answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

from rukpak_py.api.deployment_spec import CrdSafety
from rukpak_py.apply.crd_review import CrdReview
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.plan import Change, Plan
from rukpak_py.apply.results import NO_WAKES, DryRun, Failure, FailureKind, Wakes
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.formats.format import OlmIdentity, Requirement

if TYPE_CHECKING:
    from rukpak_py.apply.preflight.permissions import MissingPermissions

StillExists: TypeAlias = Callable[[bool], Awaitable[bool]]  # the argument: there is reason to doubt it
AskServer: TypeAlias = Callable[[Plan, Callable[[Change], bool]], Awaitable[DryRun]]  # the function: what to skip
AskPermissions: TypeAlias = Callable[[], Awaitable["MissingPermissions | None"]]
NO_PLAN = Plan(changes=(), prune=())


ReviewCrd: TypeAlias = Callable[[Change], Awaitable[CrdReview]]


async def _not_asked() -> None:
    """No account: the operator's own rights are not asked for."""


async def _not_reviewed(change: Change) -> CrdReview:
    return CrdReview(name=change.key.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """A refusal of the content as a whole. `brief`: one line for where there is room for one only; empty: the first
    line of the message. `objects`: those that it is about, the first one at fault.
    """

    kind: FailureKind
    message: str
    brief: str = ""
    objects: tuple[ObjectKey, ...] = ()
    wakes: Wakes = NO_WAKES


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedObjects:
    """Refusals of single objects, each with its own statement."""

    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class OwnerIsGone:
    """The deployment itself is gone: nothing is written, and there is nothing to be said."""


@dataclass(frozen=True, slots=True)
class Untried:
    """Objects that are not refused so far: the server answers slowly, and has yet to judge them."""

    keys: tuple[ObjectKey, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PassedWithWarnings:
    """No refusal: the content passes, and there is something to be said about some objects."""

    warnings: Mapping[ObjectKey, str]


AnyRefusal = Refusal | RefusedObjects | OwnerIsGone | Untried


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """The last five questions cost calls."""

    desired: tuple[Desired, ...]
    resolution: Resolution
    requirements: Sequence[Requirement] = ()
    olm: OlmIdentity | None = None  # of a bundle of OLM
    install_namespace: str = ""  # where objects go that name none
    watch_namespaces: Sequence[str] = ()  # as the spec names them
    may_bring_namespaces: bool = True  # whether content of this class can hold a Namespace
    makes_namespace: str = ""  # it is made, when it is missing, before anything else
    wrong_certificates: Sequence[Failure] = ()  # of what the content asks of the signer
    is_installed: bool = False  # with these options
    is_upgrade: bool = False  # of something else that is installed
    crd_safety: CrdSafety = CrdSafety.ENFORCE
    has_account: bool = False  # whose rights it has; else the operator's own

    plan: Plan = NO_PLAN  # once looked at
    returning: Mapping[ObjectKey, str] = field(
        default_factory=dict
    )  # free names, and the deployments that fill them again

    has_namespace: Callable[[str], bool]
    broken_service: Callable[[str], str] = lambda _: ""  # of a group: which API service is not available, and why
    itself: frozenset[ObjectKey] = frozenset()  # the deployment, and the Bundles that are its own
    is_served: Callable[[GroupVersionKind], bool]
    had: Callable[[ObjectKey], bool]  # whether the deployment had it, or may have had
    still_exists: StillExists
    managed_by_olm: Callable[[OlmIdentity], Awaitable[list[ObjectKey]]]  # objects of OLM that are about this package
    dry_run: AskServer
    missing_permissions: AskPermissions = _not_asked
    review_crd: ReviewCrd = _not_reviewed


Answer: TypeAlias = AnyRefusal | PassedWithWarnings | None
Ask: TypeAlias = Callable[[Candidate], Awaitable[Answer]]


class GatePhase(Enum):
    CONTENT = auto()  # before looking
    PLAN = auto()  # after looking
    DRY_RUN = auto()  # after fields that the content drops are released


@dataclass(frozen=True, kw_only=True, slots=True)
class Gate:
    name: str
    phase: GatePhase
    ask: Ask
    costs_calls: bool = True
    holds: bool = False  # content that has passed it is not asked again


def without_calls(name: str, phase: GatePhase, decide: Callable[[Candidate], AnyRefusal | None]) -> Gate:
    """A gate that is decided by what is known already."""

    async def ask(candidate: Candidate) -> AnyRefusal | None:
        return decide(candidate)

    return Gate(name=name, phase=phase, ask=ask, costs_calls=False)
