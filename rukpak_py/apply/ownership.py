"""The owner of an existing object whose name we want, and whether we may take it: a named situation, then one table."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.desired import Desired, digests_by
from rukpak_py.apply.marks import Owner, holds_what_cannot_be_had_again, identity, released_mark
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.core.text import counted, named

NO_OWNER = Owner(name="", uid="")


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedObject:
    """A CRD that two deployments bring and the other one has: it is left alone where it is what we would apply.

    Two releases of one chart have the same `crds/`, which outlive both. The deployment that came first owns them. Its
    annotation `applied` tells what it applied last, so the comparison needs no call: the digest of our manifest with
    the marks of that owner. Where the owner lets go of one, because its chart or `spec.config.crds` has changed, the
    CRD has no owner, and the other installation goes on.

    `digests`: what its owner would have applied, were it what we want. `has_owner`: that deployment exists.
    """

    key: ObjectKey
    owner: Owner
    digests: frozenset[str]
    has_owner: bool = True

    @property
    def is_let_go(self) -> bool:
        return self.owner == NO_OWNER

    def is_owned(self, live: ObservedObject | None) -> bool:
        """Whether it is there, and its owner is who it was. No watch shows what was let go of."""
        return not self.is_let_go and live is not None and not live.is_deleted and owner_of(live) == self.owner

    def is_same(self, live: ObservedObject) -> bool:
        return live.applied in self.digests


def shared(desired: Desired, live: ObservedObject, us: Owner, *, has_owner: bool) -> SharedObject | None:
    """The object as a shared one. None: it is of a kind that is never shared, or being deleted."""
    owner = owner_of(live)
    if not desired.may_be_shared or live.is_deleted or not owner.uid:
        return None
    return SharedObject(key=live.key, owner=owner, digests=digests_by(desired, us, owner), has_owner=has_owner)


def let_go(key: ObjectKey) -> SharedObject:
    return SharedObject(key=key, owner=NO_OWNER, digests=frozenset(), has_owner=False)


def owner_of(live: ObservedObject) -> Owner:
    """The deployment that it says it is of."""
    name = live.controller.name if live.controller is not None else live.labelled_for
    return Owner(name=name, uid=live.owner_uid)


_SPARE = "leave it as it is with spec.config.crds: Create, where it is in crds/ of the chart"
_TAKE_IT = f"set spec.adopt to {Adopt.IF_UNOWNED} to take it over"


class OwnershipSituation(Enum):
    """The first that fits counts."""

    ABSENT = auto()  # the name is free
    OURS = auto()  # our uid
    OTHER_DEPLOYMENT = auto()  # another BundleDeployment controls it, or our labels name one that exists
    OTHER_CONTROLLER = auto()
    OURS_BY_LABEL = auto()  # our labels or identity, and no controller: bootstrapped, orphaned, restored or stripped
    MISSING_DEPLOYMENT = auto()  # labels of a BundleDeployment that does not exist: renamed, or orphaned
    RELEASED = auto()  # we left it in the cluster when it left the content
    OTHER_TOOL = auto()  # no controller, but marks of Helm, Flux, Argo CD or another tool
    UNOWNED = auto()


SHARING = frozenset({OwnershipSituation.OTHER_DEPLOYMENT, OwnershipSituation.MISSING_DEPLOYMENT})
LET_GO = frozenset({OwnershipSituation.UNOWNED, OwnershipSituation.OTHER_TOOL})  # what another deployment has released


def situation(
    live: ObservedObject | None, owner: Owner, missing_deployments: Collection[str] = ()
) -> OwnershipSituation:
    """`missing_deployments`: names that a live GET showed not to exist."""
    if live is None:
        return OwnershipSituation.ABSENT
    if live.owner_uid == owner.uid:
        return OwnershipSituation.OURS
    if live.controller is not None:
        return (
            OwnershipSituation.OTHER_DEPLOYMENT
            if live.is_controlled_by_deployment
            else OwnershipSituation.OTHER_CONTROLLER
        )
    if live.labelled_for == owner.name or live.identity == identity(owner.uid, live.key):
        return OwnershipSituation.OURS_BY_LABEL
    if live.labelled_for:
        is_missing = live.labelled_for in missing_deployments
        return OwnershipSituation.MISSING_DEPLOYMENT if is_missing else OwnershipSituation.OTHER_DEPLOYMENT
    if live.released == released_mark(owner.uid, live.key, live.uid, live.other_tool):
        return OwnershipSituation.RELEASED
    return OwnershipSituation.OTHER_TOOL if live.other_tool else OwnershipSituation.UNOWNED


def may_take(found: OwnershipSituation, adopt: Adopt) -> bool:
    """Whether an object that exists and is not ours by uid may become ours."""
    match found:
        case OwnershipSituation.OURS_BY_LABEL | OwnershipSituation.RELEASED:
            return True
        case OwnershipSituation.MISSING_DEPLOYMENT | OwnershipSituation.UNOWNED:
            return adopt in {Adopt.IF_UNOWNED, Adopt.FORCE}
        case OwnershipSituation.OTHER_TOOL:
            return adopt is Adopt.FORCE
        case _:
            return False


def adopted(taken: Collection[ObjectKey]) -> str:
    """The text of the Event `Adopted`."""
    return f"adopted {counted(len(taken))}: {named(sorted(taken))}"


def belongs_to_deployment(key: ObjectKey, name: str) -> str:
    return f"{_belongs_to(key, name)}; {_hand_over(key)}"


def refusal(live: ObservedObject, found: OwnershipSituation, owner: Owner, *, is_of_crds: bool = False) -> str:
    """The reason to leave the object alone, and what to do: never what deletes contents, data or instances of others.

    `is_of_crds`: a chart has it in crds/, or keeps it.
    """
    advice = _advice(live, found, owner)
    ways_out = [*([_SPARE] if is_of_crds else ()), *([advice] if advice else ())]
    return "; ".join([_why(live, found, owner), *([", or ".join(ways_out)] if ways_out else ())])


def _why(live: ObservedObject, found: OwnershipSituation, owner: Owner) -> str:
    key = live.key
    match found:
        case OwnershipSituation.OTHER_DEPLOYMENT if _other_deployment(live) == owner.name:
            return f"{key} belongs to a former BundleDeployment {owner.name}, and is still being removed"
        case OwnershipSituation.OTHER_DEPLOYMENT:
            return _belongs_to(key, _other_deployment(live))
        case OwnershipSituation.OTHER_CONTROLLER if live.controller is not None:
            group = GroupVersionKind.parse(live.controller.api_version, live.controller.kind).group
            return f"{key} is controlled by {ObjectKey(group, live.controller.kind, '', live.controller.name)}"
        case OwnershipSituation.MISSING_DEPLOYMENT:
            return f"{key} was installed by BundleDeployment {live.labelled_for}, which does not exist"
        case OwnershipSituation.OTHER_TOOL:
            return f"{key} is managed by {live.other_tool}"
        case _:
            return f"{key} exists and is not managed by anyone"


def _advice(live: ObservedObject, found: OwnershipSituation, owner: Owner) -> str:
    """Empty: it takes time, and nothing else."""
    holds = _holds(live.key)
    match found:
        case OwnershipSituation.OTHER_DEPLOYMENT:
            return _hand_over(live.key) if _other_deployment(live) != owner.name else ""
        case OwnershipSituation.OTHER_CONTROLLER:
            return f"remove it from the bundle{'' if holds else ', or delete its controller'}"
        case OwnershipSituation.MISSING_DEPLOYMENT:
            return _TAKE_IT if holds else f"delete the object, or {_TAKE_IT}"
        case OwnershipSituation.OTHER_TOOL:
            where = "the bundle" if holds else "the bundle or from there"
            return f"remove it from {where}, or set spec.adopt to {Adopt.FORCE} to take it over"
        case _:
            return _TAKE_IT if holds else f"delete it, or {_TAKE_IT}"


def _belongs_to(key: ObjectKey, name: str) -> str:
    return f"{key} belongs to BundleDeployment {name}"


def _other_deployment(live: ObservedObject) -> str:
    return live.controller.name if live.controller is not None else live.labelled_for


def _hand_over(key: ObjectKey) -> str:
    where = "this bundle" if _holds(key) else "one of the two bundles"
    return (
        f"remove it from {where}, or, to hand its objects over, delete that BundleDeployment "
        f"with --cascade=orphan and set spec.adopt: {Adopt.IF_UNOWNED} here"
    )


def _holds(key: ObjectKey) -> bool:
    return holds_what_cannot_be_had_again(GroupKind(key.group, key.kind))
