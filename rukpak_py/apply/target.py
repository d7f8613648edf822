"""The deployment for which objects are applied: its identity, its client, and what is remembered of it."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.prune_policy import NOT_LISTED, ForeignInstances
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.pace import Pace
from rukpak_py.kube.resources import Resource


@dataclass(slots=True)
class LastApplied:
    """The memory of this process of a deployment between two reconciles. Losing it costs calls, never correctness.

    `fields`: for each object, the hash of the fields that we owned right after our last apply; a live object with
    another hash was changed by another client. It is empty for an object that this process has not seen yet.
    `uids`: the object that we applied, so that one whose label was stripped is told from another client's object in its
    place. `absent`: names that a GET of the current attempt found free, so that an attempt that has to wait between two
    phases does not ask again. `again`: objects that are to be applied once more, whatever they look like.
    `deleted_to_replace`: objects that are created again as soon as they are gone, and why. `only_replaced`: digests of
    objects that a dry-run has shown can only be deleted and created again.
    """

    fields: dict[ObjectKey, str] = field(default_factory=dict)
    uids: dict[ObjectKey, str] = field(default_factory=dict)
    absent: set[ObjectKey] = field(default_factory=set)
    again: set[ObjectKey] = field(default_factory=set)
    deleted_to_replace: dict[ObjectKey, str] = field(default_factory=dict)
    only_replaced: dict[ObjectKey, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether this process has applied nothing of the deployment yet, and cannot tell what is drift."""
        return not self.fields

    def applied(self, live: ObservedObject) -> None:
        self.fields[live.key] = live.fields
        self.uids[live.key] = live.uid
        self.absent.discard(live.key)
        self.again.discard(live.key)

    def copied(self) -> "LastApplied":
        return LastApplied(
            fields=dict(self.fields),
            uids=dict(self.uids),
            absent=set(self.absent),
            again=set(self.again),
            deleted_to_replace=dict(self.deleted_to_replace),
            only_replaced=dict(self.only_replaced),
        )

    def apply_again(self) -> None:
        self.again = set(self.fields)

    def trust(self, lives: Iterable[ObservedObject]) -> None:
        """Take the live objects for what was applied: the digest in the status proves it."""
        for live in lives:
            self.applied(live)

    def expect(self, keys: Iterable[ObjectKey]) -> None:
        """Expect applied objects that cannot be seen: when they can, they are looked at, there or not."""
        for key in keys:
            self.fields.setdefault(key, "")

    def look_again(self, key: ObjectKey) -> None:
        """Ask the server at the next look: what was assumed of the name turned out wrong."""
        self.absent.discard(key)
        self.uids.pop(key, None)

    def forget(self, key: ObjectKey) -> None:
        self.fields.pop(key, None)
        self.uids.pop(key, None)
        self.again.discard(key)


async def _not_listed(_: ObservedObject, /) -> ForeignInstances:
    return NOT_LISTED


@dataclass(frozen=True, kw_only=True)
class Target:
    owner: Owner
    last_applied: LastApplied
    resource_of: Callable[[ObjectKey], Resource]
    adopts: bool = False  # also what was left by a deployment of another name
    foreign_instances: Callable[[ObservedObject], Awaitable[ForeignInstances]] = _not_listed  # of a CRD
    client: Client  # with the identity of the target: all that reads, applies, prunes or releases uses it
    pace: Pace = field(default_factory=Pace)

    async def last_managers(self, key: ObjectKey) -> tuple[str, ...]:
        """The managers that wrote to the object last, beside us. Empty where what they did leaves no entry."""
        try:
            metadata = await self.client.get_metadata(self.resource_of(key), key.namespace, key.name)
        except ApiError:
            return ()
        ours = {self.owner.manager, self.owner.ca_manager}
        others = [entry for entry in metadata.managed_fields if not entry.subresource and entry.manager not in ours]
        last = max((entry.time or "" for entry in others), default="")
        return tuple(sorted({f'"{entry.manager}"' for entry in others if (entry.time or "") == last}))
