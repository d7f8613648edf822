"""Objects that left the content, divided by their fate, for the plan, the status and the Events of a deployment.

A `PrunePolicy` holds all that a fate depends on beside the live object: the overrides of the deployment, what was found
out about the instances of CRDs, and which CRDs were kept for theirs before.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rukpak_py.api.bundle_deployment import KeptObject, KeptReason
from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.install_options import override_of
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import ApplyPhase, is_builtin, phase_of
from rukpak_py.apply.prune_policy import NOT_LISTED, ForeignInstances, PruneFate, PruneVerdict, fate
from rukpak_py.core.objects import ObjectKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """An object that left the content and is kept: as it is told in an Event, and as it stands in the status."""

    live: ObservedObject
    reason: KeptReason
    detail: str

    @property
    def key(self) -> ObjectKey:
        return self.live.key

    @property
    def entry(self) -> KeptObject:
        key = self.key
        return KeptObject(
            group=key.group,
            version=self.live.gvk.version,
            kind=key.kind,
            namespace=key.namespace,
            name=key.name,
            reason=self.reason,
        )


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """Objects that left the content, by their fate. `prune` is in the order of deletion."""

    prune: tuple[ObservedObject, ...] = ()
    keep: tuple[Kept, ...] = ()
    release: tuple[ObservedObject, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PrunePolicy:
    """The facts that decide the fates of one deployment's objects. `kept`: CRDs kept for their instances before.

    `create_only`: in the content, and not to be ours any more.
    """

    overrides: tuple[Override, ...] = ()
    install_namespace: str = ""
    instances: Mapping[ObjectKey, ForeignInstances] = field(default_factory=dict)
    kept: Collection[ObjectKey] = frozenset()
    create_only: Collection[ObjectKey] = frozenset()

    def fate(self, live: ObservedObject) -> PruneVerdict:
        if live.key in self.create_only:
            return PruneVerdict(fate=PruneFate.RELEASE, detail="it is only created where it is missing")
        return fate(
            live,
            override=self._override(live),
            instances=self.instances.get(live.key, NOT_LISTED),
            was_kept=live.key in self.kept,
        )

    def divide(self, lives: Iterable[ObservedObject]) -> Leaving:
        judged = [(live, self.fate(live)) for live in sorted(lives, key=deletion_order)]
        return Leaving(
            prune=tuple(live for live, verdict in judged if verdict.fate is PruneFate.PRUNE),
            keep=tuple(
                Kept(live=live, reason=verdict.reason, detail=verdict.detail)
                for live, verdict in judged
                if verdict.reason is not None
            ),
            release=tuple(live for live, verdict in judged if verdict.fate is PruneFate.RELEASE),
        )

    def crds_to_list(self, leaving: Iterable[ObservedObject]) -> list[ObservedObject]:
        """The CRDs among them whose instances decide."""
        verdicts = [(live, fate(live, override=self._override(live))) for live in leaving]
        return [live for live, unlisted in verdicts if unlisted.reason is KeptReason.INSTANCES_UNKNOWN]

    def _override(self, live: ObservedObject) -> Override:
        return override_of(self.overrides, live.key, install_namespace=self.install_namespace)


DEFAULT_PRUNE_POLICY = PrunePolicy()  # no overrides; no CRD goes, because its instances were not listed


def kept_for_instances(kept: Iterable[KeptObject]) -> frozenset[ObjectKey]:
    """`PrunePolicy.kept` from the status."""
    reasons = {KeptReason.HAS_INSTANCES, KeptReason.HAD_INSTANCES}
    return frozenset(_key(one) for one in kept if one.reason in reasons)


def still_kept(kept: Iterable[KeptObject], owned: Mapping[ObjectKey, ObservedObject]) -> tuple[KeptObject, ...]:
    """Kept objects without those that a user deleted or took our marks off."""
    return tuple(one for one in kept if _key(one) in owned)


def without_kept(
    owned: Mapping[ObjectKey, ObservedObject], kept: Iterable[KeptObject]
) -> dict[ObjectKey, ObservedObject]:
    """Owned objects that should be as the content has them: kept ones are no drift, until an annotation decides."""
    keys = set(map(_key, kept))
    return {key: live for key, live in owned.items() if key not in keys or live.prune is not None}


def _key(kept: KeptObject) -> ObjectKey:
    return ObjectKey(kept.group, kept.kind, kept.namespace, kept.name)


def deletion_phase(live: ObservedObject) -> ApplyPhase:
    return phase_of(live.gvk, custom=not is_builtin(live.gvk.group))


def deletion_order(live: ObservedObject) -> tuple[int, ObjectKey]:
    """The reverse of the order of applying, for objects that left the content and for a deleted deployment."""
    return -deletion_phase(live), live.key
