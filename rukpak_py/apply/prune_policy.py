"""The fate of an object that left the content: it is pruned, kept, or released.

* What cannot be had again is kept until a user allows its deletion: a Namespace, a PersistentVolumeClaim, a
    PersistentVolume, and a CRD whose deletion would delete instances that stay. Where instances could not be listed,
  there may be some.
* A kept object keeps our labels and its owner: with its BundleDeployment it goes.
* A released object loses both, and stays for good: it said `prune: "false"`, or was never ours to delete.
* `prune` of an override wins over the annotation of the live object. Neither gets an object deleted that the
  deployment does not control.
* A CRD that was kept for its instances stays kept when they are gone, and says that they are: it must not vanish weeks
  after the upgrade.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.api.bundle_deployment import KeptReason
from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.install_options import NO_OVERRIDE
from rukpak_py.api.names import PRUNE_ANNOTATION
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.core.text import with_finalizers

_KEPT_KINDS: Mapping[GroupKind, KeptReason] = {
    GroupKind("", "Namespace"): KeptReason.HOLDS_OBJECTS,
    GroupKind("", "PersistentVolume"): KeptReason.HOLDS_DATA,
    GroupKind("", "PersistentVolumeClaim"): KeptReason.HOLDS_DATA,
}
_DETAILS: Mapping[KeptReason, str] = {
    KeptReason.HOLDS_OBJECTS: "deleting it would delete everything in it",
    KeptReason.HOLDS_DATA: "deleting it would lose its data",
    KeptReason.HAD_INSTANCES: "its instances have been deleted since",
    KeptReason.HAS_INSTANCES: "it had instances that would have been deleted with it",
}


class PruneFate(Enum):
    PRUNE = auto()
    KEEP = auto()
    RELEASE = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Instances:
    """Objects of one kind. `first` are some of them; `count` is a lower bound unless `is_exact`.

    `held_by`: of those that are being deleted, in the order of `first`, the finalizers that they wait for.
    """

    kind: str
    first: tuple[ObjectKey, ...] = ()
    held_by: tuple[tuple[str, ...], ...] = ()
    count: int = 0
    is_exact: bool = True

    def __str__(self) -> str:
        """`2 Widget objects (default/a, default/b)`, `at least 5 Widget objects (default/a, …)`."""
        number = (
            f"{'' if self.is_exact else 'at least '}{self.count} {self.kind} object{'s' if self.count != 1 else ''}"
        )
        held = dict(zip(self.first, self.held_by, strict=False))
        names = [
            (f"{key.namespace}/{key.name}" if key.namespace else key.name) + with_finalizers(held.get(key, ()))
            for key in self.first
        ]
        if self.count > len(names) or not self.is_exact:
            names.append("…")
        return f"{number} ({', '.join(names)})"


@dataclass(frozen=True, kw_only=True, slots=True)
class UnlistedInstances:
    """Instances that could not be listed."""

    why: str


ForeignInstances = Instances | UnlistedInstances  # those that are not pruned together with their CRD
NOT_LISTED = UnlistedInstances(why="they have not been listed yet")


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneVerdict:
    """`reason` and `detail` say why an object is kept, `detail` also who wants it released; empty: no user said so."""

    fate: PruneFate
    reason: KeptReason | None = None
    detail: str = ""


_PRUNE = PruneVerdict(fate=PruneFate.PRUNE)


def fate(
    live: ObservedObject,
    *,
    override: Override = NO_OVERRIDE,
    instances: ForeignInstances = NOT_LISTED,
    was_kept: bool = False,
) -> PruneVerdict:
    """`was_kept`: a CRD that was kept for its instances before."""
    allowed = live.prune if override.prune is None else override.prune
    if live.outlives or allowed is False:
        return PruneVerdict(fate=PruneFate.RELEASE, detail=_who_said_no(live, override))
    if live.is_deleted or allowed:
        return _PRUNE
    reason = _KEPT_KINDS.get(live.gvk.group_kind)
    if reason is not None:
        return _keep(reason)
    if live.gvk.group_kind == CRD_KIND:
        return _fate_of_crd(instances, was_kept=was_kept)
    return _PRUNE


def _who_said_no(live: ObservedObject, override: Override) -> str:
    if override.prune is False:
        return "prune: false in spec.overrides"
    return f'{PRUNE_ANNOTATION}: "false"' if live.prune is False else ""


def _fate_of_crd(instances: ForeignInstances, *, was_kept: bool) -> PruneVerdict:
    match instances:
        case Instances(count=count) if count:
            return _keep(KeptReason.HAS_INSTANCES, f"deleting it would delete {instances}")
        case Instances() if was_kept:
            return _keep(KeptReason.HAD_INSTANCES)
        case _ if was_kept:
            return _keep(KeptReason.HAS_INSTANCES)
        case UnlistedInstances(why=why):
            return _keep(KeptReason.INSTANCES_UNKNOWN, f"its instances could not be listed: {why}")
        case _:
            return _PRUNE


def _keep(reason: KeptReason, detail: str = "") -> PruneVerdict:
    return PruneVerdict(fate=PruneFate.KEEP, reason=reason, detail=detail or _DETAILS[reason])
