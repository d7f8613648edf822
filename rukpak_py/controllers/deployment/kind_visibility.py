"""Which kinds of a deployment can be seen: served by the API server, watched, and listed once.

Readiness is a question about a kind, never about the deployment: what cannot be listed (its conversion webhook is
down, a right is missing) holds back the objects of that kind, and nothing else. Nothing here waits: the end of a
first list brings the key back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.results import Wakes, kind_wakes
from rukpak_py.controllers.deployment.facts import look_again
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.result import deployment_details as details
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Progress
from rukpak_py.controllers.result.table import WAIT_QUIET_SECONDS
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.resources import Resource


@dataclass(frozen=True, kw_only=True, slots=True)
class HiddenKinds:
    """Kinds whose objects are held back: neither looked at nor created, corrected or pruned."""

    unserved: frozenset[GroupKind] = frozenset()
    unlisted: frozenset[GroupKind] = frozenset()
    denied: Mapping[GroupKind, str] = field(
        default_factory=dict
    )  # of those: who lacks the right, in the server's words
    broken: Mapping[GroupKind, str] = field(default_factory=dict)  # of all: the API service that is not available

    def __bool__(self) -> bool:
        return bool(self.unserved or self.unlisted)

    def __contains__(self, key: object) -> bool:
        kind = key.group_kind if isinstance(key, ObjectKey) else None
        return kind in self.unserved or kind in self.unlisted

    @property
    def wakes(self) -> Wakes:
        return kind_wakes(self.unserved | self.unlisted)

    @property
    def detail(self) -> details.HiddenKinds:
        return details.HiddenKinds(unserved=names_of(self.unserved), unlisted=names_of(self.unlisted))

    def fact(self, cause: Cause) -> Fact:
        explained = self.denied.keys() | self.broken.keys()
        if not explained:
            return Fact(cause=cause, detail=self.detail, wakes=self.wakes)
        rest = HiddenKinds(unserved=self.unserved - explained, unlisted=self.unlisted - explained)
        detail = details.ExplainedKinds(
            denied=tuple(sorted(self.denied.values())),
            broken=tuple(sorted(set(self.broken.values()))),
            kinds=names_of(explained),
            rest=rest.detail if rest else None,
        )
        return Fact(cause=_DENIED[cause] if self.denied else cause, detail=detail, wakes=self.wakes)


class KindVisibility:
    def __init__(self, inventory: Inventory, kinds: Kinds) -> None:
        self._inventory = inventory
        self._kinds = kinds

    async def of_owned(self, deployment: BundleDeployment, state: DeploymentState) -> HiddenKinds | Progress:
        """The kinds that the status records. A Progress: wait for their first list, which usually takes no time."""
        owned = await self._kinds.owned(deployment)
        return self._seen("lists of owned kinds", state, owned.served, owned.unserved)

    def of_content(self, state: DeploymentState, resolution: Resolution, owned: HiddenKinds) -> HiddenKinds | Progress:
        """The kinds of what is wanted, and those that the status records besides."""
        unserved = resolution.of(KindState.UNSERVED, KindState.GONE, KindState.MISSING) | owned.unserved
        rest = [one for one in resolution.served if one.group_kind not in owned.unlisted]  # they were waited for
        seen = self._seen("lists of wanted kinds", state, rest, unserved)
        if isinstance(seen, Progress):
            return seen
        return self._explained(replace(seen, unlisted=seen.unlisted | owned.unlisted))

    def _seen(
        self, what: str, state: DeploymentState, served: Sequence[Resource], unserved: frozenset[GroupKind]
    ) -> HiddenKinds | Progress:
        self._inventory.watch(served)
        unlisted = frozenset(self._inventory.unsynced(resource.group_kind for resource in served))
        if not unlisted:
            state.waits.over(what)
        elif (left := WAIT_QUIET_SECONDS - state.waited(what)) > 0:
            return Progress(facts=(replace(look_again(left), wakes=kind_wakes(unlisted)),))
        return self._explained(HiddenKinds(unserved=unserved, unlisted=unlisted))

    def _explained(self, hidden: HiddenKinds) -> HiddenKinds:
        """With what is known of why they are hidden."""
        broken = {kind: self._kinds.cluster.broken_service(kind.group) for kind in hidden.unserved | hidden.unlisted}
        informers, denied = self._inventory.informers(), dict[GroupKind, str]()
        for kind in hidden.unlisted:
            status = informers[kind].status if kind in informers else None
            if status is not None and status.is_denied:
                denied[kind] = status.refusal
        return replace(hidden, denied=denied, broken={kind: why for kind, why in broken.items() if why})


_DENIED = {Cause.KINDS_HELD_BACK: Cause.KINDS_HELD_BACK_DENIED, Cause.KINDS_HIDDEN: Cause.KINDS_HIDDEN_DENIED}


def names_of(kinds: Iterable[GroupKind]) -> tuple[str, ...]:
    return tuple(sorted(map(str, kinds)))
