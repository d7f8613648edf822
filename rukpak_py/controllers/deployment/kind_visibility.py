"""Which kinds of a deployment can be seen: served by the API server, watched, and listed once.

Readiness is a question about a kind, never about the deployment: what cannot be listed (its conversion webhook is
down, a right is missing) holds back the objects of that kind, and nothing else. Nothing here waits: the end of a
first list brings the key back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.preflight.refusal import WaitsFor
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.stage import QUIET_SECONDS, StageResult, waiting_to_begin
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.resources import Resource

HIDDEN_QUIET_SECONDS = 10.0  # a server that has just started lists and serves everything by then


@dataclass(frozen=True, kw_only=True, slots=True)
class HiddenKinds:
    """Kinds whose objects are held back: neither looked at nor created, corrected or pruned."""

    unserved: frozenset[GroupKind] = frozenset()
    unlisted: frozenset[GroupKind] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.unserved or self.unlisted)

    def __contains__(self, key: object) -> bool:
        kind = GroupKind(key.group, key.kind) if isinstance(key, ObjectKey) else None
        return kind in self.unserved or kind in self.unlisted

    @property
    def waits_for(self) -> WaitsFor:
        return WaitsFor(kinds=self.unserved | self.unlisted)

    def text(self) -> str:
        parts = [
            f"the API server {problem} {names_of(kinds)} at the moment"
            for problem, kinds in (("does not serve", self.unserved), ("cannot list", self.unlisted))
            if kinds
        ]
        return f"{' and '.join(parts)}: objects of these kinds are left as they are until it does"


class KindVisibility:
    def __init__(self, inventory: Inventory, kinds: Kinds) -> None:
        self._inventory = inventory
        self._kinds = kinds

    async def of_owned(self, deployment: BundleDeployment, state: DeploymentState) -> HiddenKinds | StageResult:
        """The kinds that the status records. A result: wait for their first list, which usually takes no time."""
        owned = await self._kinds.owned(deployment)
        return self._seen("lists of owned kinds", state, owned.served, owned.unserved)

    def of_content(
        self, state: DeploymentState, resolution: Resolution, owned: HiddenKinds
    ) -> HiddenKinds | StageResult:
        """The kinds of what is wanted, and those that the status records besides."""
        unserved = resolution.of(KindState.UNSERVED, KindState.GONE, KindState.MISSING) | owned.unserved
        rest = [one for one in resolution.served if one.group_kind not in owned.unlisted]  # they were waited for
        seen = self._seen("lists of wanted kinds", state, rest, unserved)
        return seen if isinstance(seen, StageResult) else replace(seen, unlisted=seen.unlisted | owned.unlisted)

    def _seen(
        self, what: str, state: DeploymentState, served: Sequence[Resource], unserved: frozenset[GroupKind]
    ) -> HiddenKinds | StageResult:
        self._inventory.watch(served)
        unlisted = frozenset(self._inventory.unsynced(resource.group_kind for resource in served))
        if not unlisted:
            state.waits.over(what)
        elif state.waited(what) < QUIET_SECONDS:
            return waiting_to_begin(state, what, "", WaitsFor(kinds=unlisted))
        return HiddenKinds(unserved=unserved, unlisted=unlisted)


def names_of(kinds: Iterable[GroupKind]) -> str:
    return ", ".join(sorted(f"{kind.kind}.{kind.group}" if kind.group else kind.kind for kind in kinds))
