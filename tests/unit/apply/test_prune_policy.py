"""Irreplaceable objects are deleted only when a user says so. Each fate, and the plans that follow from them."""

from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import KeptObject, KeptReason
from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.api.names import OWNER_UID_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Plan, make_plan
from rukpak_py.apply.prune_policy import (
    NOT_LISTED,
    ForeignInstances,
    Instances,
    PruneFate,
    UnlistedInstances,
    fate,
)
from rukpak_py.apply.removed_objects import (
    DEFAULT_PRUNE_POLICY,
    PrunePolicy,
    kept_for_instances,
    still_kept,
    without_kept,
)
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from tests.unit.apply.lives import CONFIG_MAP, OUR_LABELS, OWNER, live, owned

NAMESPACE = GroupVersionKind("", "v1", "Namespace")
CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")
VOLUME = GroupVersionKind("", "v1", "PersistentVolume")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
OTHERS_NAMESPACE = GroupVersionKind("shop.example.com", "v1", "Namespace")

TRUE: dict[str, Any]
FALSE: dict[str, Any]
ODD: dict[str, Any]
TRUE, FALSE, ODD = ({"annotations": {PRUNE_ANNOTATION: value}} for value in ("true", "false", "yes"))
GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
ADOPTED = {"ownerReferences": [], "labels": OUR_LABELS, "annotations": {OWNER_UID_ANNOTATION: OWNER.uid}}
ADOPTED_TRUE = {**ADOPTED, "annotations": {OWNER_UID_ANNOTATION: OWNER.uid, PRUNE_ANNOTATION: "true"}}

NONE = Instances(kind="Widget")
TWO = Instances(kind="Widget", count=2)
DOWN = UnlistedInstances(why="the webhook is down")


def override(*, prune: bool | None) -> Override:
    return Override(kind="X", name="a", prune=prune)


FATES: list[tuple[str, GroupVersionKind, dict[str, Any], bool | None, ForeignInstances, PruneFate | KeptReason]] = [
    ("ordinary", CONFIG_MAP, {}, None, NOT_LISTED, PruneFate.PRUNE),
    ("ordinary, never", CONFIG_MAP, FALSE, None, NOT_LISTED, PruneFate.RELEASE),
    ("ordinary, override never", CONFIG_MAP, {}, False, NOT_LISTED, PruneFate.RELEASE),
    ("ordinary, override against the annotation", CONFIG_MAP, FALSE, True, NOT_LISTED, PruneFate.PRUNE),
    ("ordinary, annotation against the override", CONFIG_MAP, TRUE, False, NOT_LISTED, PruneFate.RELEASE),
    ("ordinary, adopted form", CONFIG_MAP, ADOPTED, None, NOT_LISTED, PruneFate.RELEASE),
    ("namespace", NAMESPACE, {}, None, NOT_LISTED, KeptReason.HOLDS_OBJECTS),
    ("namespace, allowed", NAMESPACE, TRUE, None, NOT_LISTED, PruneFate.PRUNE),
    ("namespace, allowed by override", NAMESPACE, {}, True, NOT_LISTED, PruneFate.PRUNE),
    ("namespace, odd annotation", NAMESPACE, ODD, None, NOT_LISTED, KeptReason.HOLDS_OBJECTS),
    ("namespace, never", NAMESPACE, FALSE, None, NOT_LISTED, PruneFate.RELEASE),
    ("namespace, going already", NAMESPACE, GOING, None, NOT_LISTED, PruneFate.PRUNE),
    ("namespace, adopted", NAMESPACE, ADOPTED, None, NOT_LISTED, PruneFate.RELEASE),
    (
        "namespace, adopted, and nothing makes it ours to delete",
        NAMESPACE,
        ADOPTED_TRUE,
        True,
        NOT_LISTED,
        PruneFate.RELEASE,
    ),
    ("a namespace of somebody's API", OTHERS_NAMESPACE, {}, None, NOT_LISTED, PruneFate.PRUNE),
    ("claim", CLAIM, {}, None, NOT_LISTED, KeptReason.HOLDS_DATA),
    ("claim, allowed", CLAIM, TRUE, None, NOT_LISTED, PruneFate.PRUNE),
    ("claim, never", CLAIM, {}, False, NOT_LISTED, PruneFate.RELEASE),
    ("volume", VOLUME, {}, None, NOT_LISTED, KeptReason.HOLDS_DATA),
    ("volume, allowed", VOLUME, {}, True, NOT_LISTED, PruneFate.PRUNE),
    ("crd without foreign instances", CRD, {}, None, NONE, PruneFate.PRUNE),
    ("crd with foreign instances", CRD, {}, None, TWO, KeptReason.HAS_INSTANCES),
    ("crd with foreign instances, allowed", CRD, TRUE, None, TWO, PruneFate.PRUNE),
    ("crd with foreign instances, allowed by override", CRD, {}, True, TWO, PruneFate.PRUNE),
    ("crd whose instances cannot be listed", CRD, {}, None, DOWN, KeptReason.INSTANCES_UNKNOWN),
    ("crd whose instances nobody listed", CRD, {}, None, NOT_LISTED, KeptReason.INSTANCES_UNKNOWN),
    ("crd whose instances cannot be listed, allowed", CRD, TRUE, None, DOWN, PruneFate.PRUNE),
    ("crd, never", CRD, FALSE, None, NONE, PruneFate.RELEASE),
    ("crd, going already", CRD, GOING, None, TWO, PruneFate.PRUNE),
    ("crd, adopted", CRD, ADOPTED, None, NONE, PruneFate.RELEASE),
]


@pytest.mark.parametrize(
    ("gvk", "fields", "prune", "instances", "expected"), [pytest.param(*rest, id=name) for name, *rest in FATES]
)
def test_fate_follows_from_object_override_and_instances(
    gvk: GroupVersionKind,
    fields: dict[str, Any],
    *,
    prune: bool | None,
    instances: ForeignInstances,
    expected: PruneFate | KeptReason,
) -> None:
    verdict = fate(one(gvk, **fields), override=override(prune=prune), instances=instances)
    if isinstance(expected, KeptReason):
        assert (verdict.fate, verdict.reason) == (PruneFate.KEEP, expected)
        assert verdict.detail
    else:
        assert (verdict.fate, verdict.reason) == (expected, None)
        assert not verdict.detail or expected is PruneFate.RELEASE


@pytest.mark.parametrize(
    ("fields", "prune", "expected"),
    [
        (FALSE, None, 'core.rukpak.io/prune: "false"'),
        ({}, False, "prune: false in spec.overrides"),
        (FALSE, False, "prune: false in spec.overrides"),
        (ADOPTED, None, ""),
    ],
)
def test_released_object_says_who_wants_that(fields: dict[str, Any], *, prune: bool | None, expected: str) -> None:
    verdict = fate(one(CLAIM, **fields), override=override(prune=prune))
    assert (verdict.fate, verdict.detail) == (PruneFate.RELEASE, expected)


@pytest.mark.parametrize(
    ("instances", "reason"),
    [
        (NONE, KeptReason.HAD_INSTANCES),
        (TWO, KeptReason.HAS_INSTANCES),
        (DOWN, KeptReason.HAS_INSTANCES),
        (NOT_LISTED, KeptReason.HAS_INSTANCES),
    ],
)
def test_a_crd_that_was_kept_for_its_instances_stays_kept(instances: ForeignInstances, reason: KeptReason) -> None:
    """The CRD must not vanish weeks after the upgrade, when its last instance is deleted or the operator restarts."""
    assert fate(one(CRD), instances=instances, was_kept=True).reason is reason
    assert fate(one(CRD, **TRUE), instances=instances, was_kept=True).fate is PruneFate.PRUNE


def one(gvk: GroupVersionKind, name: str = "a", **fields: Any) -> ObservedObject:
    namespace = "ns" if gvk in {CONFIG_MAP, CLAIM} else ""
    return live(**{**owned(name, **fields), "gvk": gvk, "namespace": namespace})


def plan_of(*lives: ObservedObject, policy: PrunePolicy = DEFAULT_PRUNE_POLICY) -> Plan:
    there = {one.key: one for one in lives}
    return make_plan([], live={}, owned=there, fields={}, owner=OWNER, adopt=Adopt.NEVER, prune_policy=policy)


def test_without_further_knowledge_a_plan_prunes_no_namespace_claim_volume_or_crd() -> None:
    plan = plan_of(*(one(gvk) for gvk in (NAMESPACE, CLAIM, VOLUME, CRD, CONFIG_MAP)))
    assert [live.gvk for live in plan.prune] == [CONFIG_MAP]
    assert [kept.live.gvk for kept in plan.keep] == [VOLUME, CLAIM, CRD, NAMESPACE]


def test_an_override_allows_exactly_one_object() -> None:
    policy = PrunePolicy(
        overrides=(Override(kind="PersistentVolumeClaim", name="a", prune=True),), install_namespace="ns"
    )
    plan = plan_of(one(CLAIM), one(CLAIM, "b"), policy=policy)
    assert [live.key.name for live in plan.prune] == ["a"]
    assert [kept.key.name for kept in plan.keep] == ["b"]


def test_a_kept_object_says_why() -> None:
    key = ObjectKey("shop.example.com", "Widget", "team", "mine")
    policy = PrunePolicy(instances={one(CRD).key: Instances(kind="Widget", first=(key,), count=1)})
    (kept,) = plan_of(one(CRD), policy=policy).keep
    assert kept.detail == "deleting it would delete 1 Widget object (team/mine)"
    assert kept.entry == KeptObject(
        group=CRD.group, version="v1", kind=CRD.kind, name="a", reason=KeptReason.HAS_INSTANCES
    )


@pytest.mark.parametrize(
    ("instances", "text"),
    [
        (Instances(kind="Widget", first=(ObjectKey("", "Widget", "", "a"),), count=1), "1 Widget object (a)"),
        (Instances(kind="Widget", first=(ObjectKey("", "Widget", "ns", "a"),), count=9), "9 Widget objects (ns/a, …)"),
        (
            Instances(kind="Widget", first=(ObjectKey("", "Widget", "", "a"),), count=1, is_exact=False),
            "at least 1 Widget object (a, …)",
        ),
    ],
)
def test_instances_are_counted_and_named(instances: Instances, text: str) -> None:
    assert str(instances) == text


def test_only_crds_whose_instances_decide_are_looked_into() -> None:
    lives = [
        one(CRD, "decides"),
        one(CRD, "was-kept"),
        one(CRD, "allowed", **TRUE),
        one(CRD, "never", **FALSE),
        one(CRD, "going", **GOING),
        one(CRD, "overridden"),
        one(NAMESPACE),
        one(CONFIG_MAP),
    ]
    policy = PrunePolicy(
        overrides=(Override(group=CRD.group, kind=CRD.kind, name="overridden", prune=True),),
        kept={one(CRD, "was-kept").key},
    )
    assert [live.key.name for live in policy.crds_to_list(lives)] == ["decides", "was-kept"]


def test_kept_objects_are_no_drift_until_an_annotation_decides_about_them() -> None:
    lives = {live.key: live for live in (one(CONFIG_MAP), one(NAMESPACE), one(CLAIM, **TRUE))}
    kept = [one.entry for one in plan_of(one(NAMESPACE), one(CLAIM), one(VOLUME)).keep]
    assert [key.kind for key in without_kept(lives, kept)] == ["ConfigMap", "PersistentVolumeClaim"]
    assert [entry.kind for entry in still_kept(kept, lives)] == ["PersistentVolumeClaim", "Namespace"]


def test_of_what_the_status_says_is_kept_only_crds_that_had_instances_stay_so_for_good() -> None:
    kept = [KeptObject(version="v1", kind=reason, name="a", reason=reason) for reason in KeptReason]
    reasons = (KeptReason.HAS_INSTANCES, KeptReason.HAD_INSTANCES)
    assert kept_for_instances(kept) == {ObjectKey("", reason, "", "a") for reason in reasons}
