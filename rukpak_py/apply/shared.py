"""CRDs that two deployments bring, and one of them has: the other leaves them alone where they are the same.

Two releases of one chart have the same `crds/`, which outlive both. The deployment that came first owns them. Its
annotation `applied` tells what it applied last, so whether that is what we would apply needs no call: the digest of our
manifest with the marks of that owner.

Where the owner lets go of one, because its chart or `spec.config.crds` has changed, it has no owner. What is installed
by the other goes on all the same.
"""

from dataclasses import dataclass

from rukpak_py.apply.desired import Desired, digests_by
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.core.objects import ObjectKey

NO_OWNER = Owner(name="", uid="")


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedObject:
    """`digests`: what its owner would have applied, were it what we want. `has_owner`: that deployment exists.

    Without an owner at all it was let go of.
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
    """None: it is of a kind that is never shared, or going."""
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
