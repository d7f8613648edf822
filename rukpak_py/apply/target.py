"""The deployment for which objects are applied: its identity, its client, and what is remembered of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from rukpak_py.apply.last_applied import LastApplied
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.prune_policy import NOT_LISTED, ForeignInstances
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.pace import Pace
from rukpak_py.kube.resources import Resource


async def _not_listed(_: ObservedObject, /) -> ForeignInstances:
    return NOT_LISTED


@dataclass(frozen=True, kw_only=True)
class Target:
    owner: Owner
    last_applied: LastApplied
    resource_of: Callable[[ObjectKey], Resource]
    adopts: bool = False  # also what was left by a deployment of another name
    foreign_instances: Callable[[ObservedObject], Awaitable[ForeignInstances]] = _not_listed  # of a CRD
    client: Client  # with the identity of the target: whoever looks, applies, prunes or releases uses it
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
