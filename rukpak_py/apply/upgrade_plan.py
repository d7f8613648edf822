"""The plan of an upgrade as people decide about it: a value with a digest, which an approval names.

The digest covers what the upgrade is (content, options, rendering, from which revision, since which generation) and
what it does (which objects, hooks, rights and CRDs). Nothing of it is a time or a field of a live object, so it stands
still while the upgrade waits; each revision counts up, so no approval is used twice.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import orjson

from rukpak_py.api.names import SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.api.upgrades import Verdict
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.plan import TAKES, Action, Plan
from rukpak_py.apply.upgrade_rights import rights_change
from rukpak_py.core.objects import GroupKind, ObjectKey, canonical_json
from rukpak_py.formats.hook import Hook

_VERSION = "v1"  # of the form of the digest
_CONFIG_MAP = GroupKind("", "ConfigMap")

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class UpgradeIdentity:
    """Identity of an upgrade. `wanted_since`: generation in which content or options last changed."""

    deployment: str  # its uid
    from_revision: int
    wanted_since: int
    content: str
    options: str = ""
    rendering: str = ""
    bundle: str = ""
    version: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectChanges:
    """Names of the objects that change, by what becomes of them."""

    created: tuple[ObjectKey, ...] = ()
    changed: tuple[ObjectKey, ...] = ()
    taken: tuple[ObjectKey, ...] = ()
    pruned: tuple[ObjectKey, ...] = ()
    kept: tuple[ObjectKey, ...] = ()
    replaced: tuple[ObjectKey, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UpgradePlan:
    """`hooks`: those that will run. `changed_hooks`: those that the former content did not have so.

    `crds`: statements about changed CRDs. They name stored objects, which come and go: only CRDs are in the digest.
    `is_compared` False: the former content cannot be rendered, so nothing says what is new about this one.
    """

    identity: UpgradeIdentity
    objects: ObjectChanges
    hooks: tuple[str, ...] = ()
    changed_hooks: tuple[str, ...] = ()
    skips_hooks: bool = False
    rights_gained: tuple[str, ...] = ()
    rights_lost: tuple[str, ...] = ()
    crds: Mapping[ObjectKey, str] = field(default_factory=dict)
    is_compared: bool = True

    @cached_property
    def digest(self) -> str:
        told = {
            "version": _VERSION,
            "identity": asdict(self.identity),
            "objects": {name: sorted(map(str, keys)) for name, keys in asdict(self.objects).items()},
            "hooks": sorted(self.hooks),
            "changedHooks": sorted(self.changed_hooks),
            "skipsHooks": self.skips_hooks,
            "rightsGained": sorted(self.rights_gained),
            "crds": sorted(map(str, self.crds)),
            "isCompared": self.is_compared,
        }
        return f"sha256:{hashlib.sha256(canonical_json(told)).hexdigest()}"

    @cached_property
    def reviews(self) -> tuple[str, ...]:
        """Reasons to look at it before it is approved; none: it is safe."""
        found = [] if self.is_compared else ["what is installed cannot be rendered, so nothing tells what is new"]
        pruned = [key for key in self.objects.pruned if key.group_kind != _CONFIG_MAP]
        for keys, how in (
            (self.objects.replaced, "deleted and created again"),
            (self.objects.taken, "taken over"),
            (pruned, "deleted"),
            (self.objects.kept, "dropped and kept"),
        ):
            found += [f"{key} is {how}" for key in keys]
        found += [f"hook {name} is new or changed" for name in self.changed_hooks]
        found += [f"a right is gained: {line}" for line in self.rights_gained]
        return (*found, *self.crds.values())

    @property
    def verdict(self) -> Verdict:
        return Verdict.NEEDS_REVIEW if self.reviews else Verdict.SAFE


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedContent:
    """Content of one side of an upgrade."""

    desired: Collection[Desired]
    hooks: Collection[Hook] = ()


def upgrade_plan(
    identity: UpgradeIdentity,
    plan: Plan,
    *,
    new: PlannedContent,
    old: PlannedContent | None,
    later: Collection[ObjectKey] = (),
    replaced: Collection[ObjectKey] = (),
    prunes: bool = True,
    skips_hooks: bool = False,
    crds: Mapping[ObjectKey, str] | None = None,
) -> UpgradePlan:
    """`old`: the installed content; None: it is not known. `later`: objects of kinds that this content brings.

    `crds`: what the gate says of CRDs that it lets pass. One whose check is switched off has its statement here.
    An object that the installed content has, too, and that is missing at the moment, is drift and no change.
    """
    had = {one.key: one for one in old.desired} if old is not None else {}
    free = {one.key for one in plan.changes if one.action in {Action.CREATE, Action.CREATE_ONCE, Action.WAIT}}
    replaced = frozenset(replaced)
    changed = {one.key for one in plan.changes if one.action is Action.UPDATE} - replaced
    changed |= {key for key in free & had.keys() if _differs(had[key], plan, key)}
    left = [one.key for one in plan.prune]
    kept = [*(one.key for one in plan.keep), *(one.key for one in plan.release)]
    objects = ObjectChanges(
        created=tuple(sorted((free | set(later)) - had.keys())),
        changed=tuple(sorted(changed)),
        taken=tuple(sorted(one.key for one in plan.changes if one.action in TAKES)),
        pruned=tuple(sorted(left)) if prunes else (),
        kept=tuple(sorted(kept if prunes else [*left, *kept])),
        replaced=tuple(sorted(replaced)),
    )
    bodies = _manifests(new.desired)
    rights = rights_change(_manifests(old.desired) if old is not None else {}, bodies)
    hooks = () if skips_hooks else tuple(new.hooks)
    known = {_hook(one): one.object.json for one in old.hooks} if old is not None else {}
    return UpgradePlan(
        identity=identity,
        objects=objects,
        hooks=tuple(sorted(map(_hook, hooks))),
        changed_hooks=tuple(sorted(_hook(one) for one in hooks if known.get(_hook(one)) != one.object.json)),
        skips_hooks=skips_hooks,
        rights_gained=rights.gained,
        rights_lost=rights.lost,
        crds={**_switched_off(bodies, changed), **(crds or {})},
        is_compared=old is not None,
    )


def _differs(former: Desired, plan: Plan, key: ObjectKey) -> bool:
    now = next(one.desired for one in plan.changes if one.key == key)
    return now.payload.digest != former.payload.digest


def _switched_off(bodies: Mapping[ObjectKey, Json], changed: Collection[ObjectKey]) -> dict[ObjectKey, str]:
    off = (key for key in sorted(changed) if key.group_kind == CRD_KIND and _is_switched_off(bodies[key]))
    return {key: f"{key}: the content switches the check of its upgrade off" for key in off}


def _is_switched_off(manifest: Json) -> bool:
    annotations = manifest["metadata"].get("annotations") or {}
    return bool(annotations.get(SAFE_CRD_UPGRADE_ANNOTATION) == "false")


def _manifests(desired: Collection[Desired]) -> Mapping[ObjectKey, Json]:
    return {one.key: orjson.loads(one.payload.body) for one in desired}


def _hook(hook: Hook) -> str:
    return str(hook.object.head.key)
