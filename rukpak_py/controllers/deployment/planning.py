"""Plans from wanted and existing objects. Objects of kinds that cannot be used yet are set apart.

`held`: of kinds that exist and cannot be seen at the moment. `later`: of kinds that this content brings; they are
looked for once the kind is served, and created only after that. `done`: what has ended and was deleted without us, as
Jobs with a time to live and Pods are. Objects that ended are recorded while they are there; once they are gone they
count as done, as long as the content asks for exactly what was applied: what was created again would run again, for
ever.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rukpak_py.api.bundle_deployment import COMPLETED, CompletedObject
from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.instances import with_foreign_instances
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Plan, left_content, make_plan
from rukpak_py.apply.read_live import missing_deployments, read_live
from rukpak_py.apply.removed_objects import PrunePolicy, kept_for_instances
from rukpak_py.apply.results import kind_wakes
from rukpak_py.apply.target import Target
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds, names_of
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import KindsToCome
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.client import Client

_OF_SHARED = frozenset({Cause.SHARED, Cause.SHARED_DIFFERS, Cause.SHARED_UNOWNED})


@dataclass(frozen=True, kw_only=True)
class Planned:
    target: Target
    plan: Plan
    hidden: HiddenKinds
    held: tuple[ObjectKey, ...] = ()
    done: frozenset[ObjectKey] = frozenset()
    later: tuple[Desired, ...] = ()

    @property
    def is_whole(self) -> bool:
        return not self.held and not self.later and not self.hidden

    def coming(self) -> Fact | None:
        """The wait for kinds that the content brings."""
        kinds = frozenset(one.head.gvk.group_kind for one in self.later)
        return kinds_coming(kinds) if kinds else None


def kinds_coming(kinds: frozenset[GroupKind]) -> Fact:
    return Fact(cause=Cause.KINDS_COMING, detail=KindsToCome(kinds=names_of(kinds)), wakes=kind_wakes(kinds))


class Planner:
    def __init__(self, client: Client, inventory: Inventory, kinds: Kinds) -> None:
        self._client = client
        self._inventory = inventory
        self._kinds = kinds

    def owned(self, attempt: Attempt) -> dict[ObjectKey, ObservedObject]:
        """Objects of the deployment that the watches show, without copies that clients made."""
        return self._inventory.ours(attempt.deployment.metadata.uid, attempt.state.applied.fields)

    def shows_shared(self, attempt: Attempt) -> bool:
        """Whether what other deployments have for this one is there, and theirs; after a restart it is looked for.

        What they have let go of is looked for each time.
        """
        known = attempt.state.shared
        if known is None:
            return not any(note.reason in _OF_SHARED for note in attempt.deployment.status.notes)
        return all(one.is_owned(self._inventory.get(one.key)) for one in known)

    def target_of(self, attempt: Attempt, resolution: Resolution | None = None) -> Target:
        pace = attempt.state.pace
        target = self._kinds.target_of(attempt.deployment, attempt.state.applied, resolution)
        return replace(
            target,
            adopts=attempt.deployment.spec.adopt is not Adopt.NEVER,
            client=target.client.timed(pace.answered),
            pace=pace,
        )

    async def plan(
        self, attempt: Attempt, rendered: Rendered, hidden: HiddenKinds, *, is_installed: bool = False
    ) -> Planned:
        states = rendered.resolution.states
        later = tuple(one for one in rendered.desired if states[one.head.gvk] is KindState.NEW)
        gone = done(attempt.completed, rendered.desired, self.owned(attempt))
        apart = {one.key for one in later} | gone
        usable = [
            one
            for one in rendered.desired
            if states[one.head.gvk] is KindState.SERVED and one.key not in hidden and one.key not in apart
        ]
        looked_at = {one.key for one in usable}
        held = tuple(one.key for one in rendered.desired if one.key not in apart and one.key not in looked_at)
        target = self.target_of(attempt, rendered.resolution)
        live = await read_live(target, self._inventory, looked_at)
        unseen = rendered.keys - looked_at  # set apart: still wanted, or of kinds that cannot be seen
        owned = {key: live for key, live in self.owned(attempt).items() if key not in hidden and key not in unseen}
        plan = make_plan(
            usable,
            live=live,
            owned=owned,
            fields=attempt.state.applied.fields,
            again=attempt.state.applied.again if attempt.is_settled else (),
            owner=target.owner,
            adopt=attempt.deployment.spec.adopt,
            is_installed=is_installed,
            missing_deployments=await missing_deployments(self._client, live.values(), target.owner),
            prune_policy=await self._prune_policy(attempt, owned, rendered),
        )
        return Planned(target=target, plan=plan, hidden=hidden, held=held, done=frozenset(gone), later=later)

    async def plan_of(self, attempt: Attempt, target: Target, desired: Sequence[Desired]) -> Planned:
        """Plan for these objects and no others."""
        plan = make_plan(
            desired,
            live=await read_live(target, self._inventory, [one.key for one in desired]),
            owned={},
            fields=attempt.state.applied.fields,
            owner=target.owner,
            adopt=attempt.deployment.spec.adopt,
        )
        return Planned(target=target, plan=plan, hidden=HiddenKinds())

    def leaving(self, attempt: Attempt, rendered: Rendered) -> tuple[list[ObservedObject], PrunePolicy]:
        """Objects that the content drops, as far as the watches show them, and what decides about each of them.

        Instances of CRDs are not counted for it.
        """
        if not attempt.deployment.spec.prune.enabled:
            return [], PrunePolicy()
        return left_content(self.owned(attempt), rendered.owned_keys, attempt.owner), _policy(attempt, rendered)

    async def _prune_policy(
        self, attempt: Attempt, owned: Mapping[ObjectKey, ObservedObject], rendered: Rendered
    ) -> PrunePolicy:
        wanted = rendered.keys
        return await with_foreign_instances(
            self._kinds.client_of(attempt.deployment),
            _policy(attempt, rendered),
            left_content(owned, wanted, attempt.owner),
            versions_of=self._kinds.versions_of,
            owner_uid=attempt.owner.uid,
            wanted=wanted,
        )


def _policy(attempt: Attempt, rendered: Rendered) -> PrunePolicy:
    return PrunePolicy(
        overrides=attempt.options.overrides,
        install_namespace=attempt.namespace,
        kept=kept_for_instances(attempt.deployment.status.kept),
        create_only=rendered.keys - rendered.owned_keys,
    )


Completed = tuple[CompletedObject, ...]


def key_of(entry: CompletedObject) -> ObjectKey:
    return ObjectKey(entry.group, entry.kind, entry.namespace, entry.name)


def done_and_gone(completed: Completed, owned: Collection[ObjectKey]) -> set[ObjectKey]:
    return {key for key in map(key_of, completed) if key not in owned}


def done(completed: Completed, desired: Iterable[Desired], owned: Collection[ObjectKey]) -> set[ObjectKey]:
    """Objects of this content that have run and are gone."""
    gone = {key_of(entry): entry.applied for entry in completed if key_of(entry) not in owned}
    return {one.key for one in desired if gone.get(one.key) in {one.payload.digest, one.payload_when_taken.digest}}


def completed_now(
    former: Completed, owned: Mapping[ObjectKey, ObservedObject], still_done: Collection[ObjectKey] | None
) -> Completed:
    """`still_done`: what of the content is gone and counts as done; None: the content is the same as before."""
    stays = [
        entry for entry in former if key_of(entry) not in owned and (still_done is None or key_of(entry) in still_done)
    ]
    ended = [_entry(live) for live in owned.values() if live.health is not None and live.health.may_go and live.applied]
    recorded = [*stays, *sorted(ended, key=key_of)][:COMPLETED]  # without its entry, what is gone would run again
    return tuple(sorted(recorded, key=key_of))


def _entry(live: ObservedObject) -> CompletedObject:
    key = live.key
    return CompletedObject(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name, applied=live.applied)
