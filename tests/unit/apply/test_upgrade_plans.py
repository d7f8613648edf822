"""Plans of upgrades: what they name, what changes their digest, and what makes them unsafe."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.names import APPLIED_ANNOTATION, SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.api.upgrades import Verdict
from rukpak_py.apply.plan import Plan, make_plan
from rukpak_py.apply.upgrade_plan import PlannedContent, UpgradeIdentity, UpgradePlan, upgrade_plan
from rukpak_py.apply.upgrade_rights import rights_change
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.hook import Hook, HookEvent
from rukpak_py.kube.resources import CRDS
from tests.manifests import config_map, crd, manifest, workload
from tests.unit.apply.lives import OWNER, desired, live, owned

RBAC = "rbac.authorization.k8s.io/v1"
IDENTITY = UpgradeIdentity(deployment="uid", from_revision=3, wanted_since=7, content="sha256:c", bundle="b2")
JOB = manifest("batch/v1", "Job", "migrate", "ns", spec={})


def content(*manifests: dict[str, Any], hooks: tuple[Hook, ...] = ()) -> PlannedContent:
    return PlannedContent(desired=[desired(one) for one in manifests], hooks=hooks)


def hook(document: dict[str, Any]) -> Hook:
    return Hook(object=Object.from_manifest(document), events=frozenset({HookEvent.PRE_UPGRADE}))


def planned(new: PlannedContent, *lives: Any) -> Plan:
    seen = {one.key: one for one in lives}
    return make_plan(list(new.desired), live=seen, owned=seen, fields={}, owner=OWNER, adopt=Adopt.NEVER)


def plan_of(old: PlannedContent | None, new: PlannedContent, *lives: Any, **more: Any) -> UpgradePlan:
    return upgrade_plan(IDENTITY, planned(new, *lives), new=new, old=old, **more)


A1, A2, B, C = config_map("a", "ns", v="1"), config_map("a", "ns", v="2"), config_map("b", "ns"), config_map("c", "ns")


def names(keys: tuple[ObjectKey, ...]) -> list[str]:
    return [key.name for key in keys]


def test_plan_names_what_is_created_changed_and_deleted() -> None:
    old, new = content(A1, B), content(A2, C)
    plan = plan_of(old, new, live(**owned("a")), live(**owned("b")))
    assert names(plan.objects.changed) == ["a"]
    assert names(plan.objects.created) == ["c"]
    assert names(plan.objects.pruned) == ["b"]
    assert plan.verdict is Verdict.SAFE  # ConfigMaps may be deleted


@pytest.mark.parametrize("missing", ["a", "b"])
def test_object_that_is_missing_at_the_moment_changes_nothing_of_the_plan(missing: str) -> None:
    """It is drift, which is corrected whatever becomes of the upgrade."""
    old, new = content(A1, B), content(A2, B, C)
    now = {one.key.name: one.payload.digest for one in new.desired}
    digests = {"a": "sha256:former", "b": now["b"]}
    lives = {name: live(**owned(name, annotations={APPLIED_ANNOTATION: digest})) for name, digest in digests.items()}
    whole = plan_of(old, new, *lives.values())
    drifted = plan_of(old, new, *(one for name, one in lives.items() if name != missing))
    assert (names(whole.objects.changed), names(whole.objects.created)) == (["a"], ["c"])
    assert drifted.digest == whole.digest


def test_without_pruning_what_left_the_content_is_kept() -> None:
    plan = plan_of(content(B), content(A1), live(**owned("b")), prunes=False)
    assert (names(plan.objects.pruned), names(plan.objects.kept)) == ([], ["b"])


@pytest.mark.parametrize(
    "other",
    [
        {"from_revision": 4},
        {"wanted_since": 8},
        {"content": "sha256:d"},
        {"options": "sha256:o"},
        {"rendering": "sha256:r"},
        {"deployment": "another"},
    ],
    ids=str,
)
def test_digest_is_of_one_upgrade(other: dict[str, Any]) -> None:
    plan = plan_of(content(A1), content(A2), live(**owned("a")))
    assert replace(plan, identity=replace(IDENTITY, **other)).digest != plan.digest


def test_digest_stands_still_while_live_fields_change() -> None:
    one = plan_of(content(A1), content(A2), live(**owned("a")))
    two = plan_of(content(A1), content(A2), live(**{**owned("a"), "resourceVersion": "99", "uid": "other"}))
    assert one.digest == two.digest


def test_hooks_that_run_are_named_and_new_ones_need_a_review() -> None:
    first, second = hook(JOB), hook({**JOB, "spec": {"parallelism": 2}})
    same = plan_of(content(A1, hooks=(first,)), content(A2, hooks=(first,)), live(**owned("a")))
    other = plan_of(content(A1, hooks=(first,)), content(A2, hooks=(second,)), live(**owned("a")))
    skipped = plan_of(content(A1), content(A2, hooks=(second,)), live(**owned("a")), skips_hooks=True)
    assert (same.verdict, same.hooks) == (Verdict.SAFE, ("Job.batch/ns/migrate",))
    assert other.verdict is Verdict.NEEDS_REVIEW
    assert (skipped.hooks, skipped.verdict) == ((), Verdict.SAFE)
    assert len({same.digest, other.digest, skipped.digest}) == 3


def test_unknown_former_content_needs_a_review() -> None:
    plan = plan_of(None, content(A2), live(**owned("a")))
    assert plan.verdict is Verdict.NEEDS_REVIEW
    assert "cannot be rendered" in plan.reviews[0]


def test_replaced_objects_need_a_review() -> None:
    plan = plan_of(content(A1), content(A2), live(**owned("a")), replaced=[ObjectKey("", "ConfigMap", "ns", "a")])
    assert (names(plan.objects.replaced), names(plan.objects.changed)) == (["a"], [])
    assert plan.verdict is Verdict.NEEDS_REVIEW


CRD = crd("a.test")
KEY = Object.from_manifest(CRD).head.key


def test_statements_about_crds_need_a_review_and_their_objects_change_no_digest() -> None:
    one = plan_of(content(A1), content(A2), live(**owned("a")), crds={KEY: "things.a.test: 1 object: x"})
    two = plan_of(content(A1), content(A2), live(**owned("a")), crds={KEY: "things.a.test: 2 objects: x, y"})
    none = plan_of(content(A1), content(A2), live(**owned("a")))
    assert (one.verdict, one.reviews) == (Verdict.NEEDS_REVIEW, ("things.a.test: 1 object: x",))
    assert one.digest == two.digest != none.digest


def test_content_that_switches_the_check_of_a_crd_off_needs_a_review() -> None:
    off = {**CRD, "metadata": {**CRD["metadata"], "annotations": {SAFE_CRD_UPGRADE_ANNOTATION: "false"}}}
    seen = live(**owned(KEY.name), gvk=CRDS.gvk, namespace="")
    plan = plan_of(content(CRD), content(off), seen)
    assert names(plan.objects.changed) == [KEY.name]
    assert "switches the check of its upgrade off" in plan.reviews[0]


# --- rights


def by_key(*manifests: dict[str, Any]) -> dict[ObjectKey, dict[str, Any]]:
    return {Object.from_manifest(one).head.key: one for one in manifests}


def pod(name: str = "w", **spec: Any) -> dict[str, Any]:
    document = workload(name, "ns")
    document["spec"]["template"]["spec"] |= spec
    return document


WEBHOOKS = manifest("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "w", webhooks=[{"name": "a"}])
ROLE = manifest(RBAC, "ClusterRole", "r", rules=[{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}])
ADMIN = manifest(
    RBAC,
    "ClusterRoleBinding",
    "b",
    roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    subjects=[{"kind": "ServiceAccount", "namespace": "ns", "name": "x"}],
)
PRIVILEGED: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "securityContext": {"privileged": True}}]}


@pytest.mark.parametrize(
    ("old", "new", "gained"),
    [
        ([], [ROLE], "whoever is bound to ClusterRole r: get: secrets, in the whole cluster"),
        ([], [ADMIN], "ServiceAccount ns/x: every verb: every resource, in the whole cluster"),
        ([], [WEBHOOKS], "MutatingWebhookConfiguration.admissionregistration.k8s.io/w"),
        ([WEBHOOKS], [{**WEBHOOKS, "webhooks": [{"name": "b"}]}], "w, which changes"),
        ([pod()], [pod(hostNetwork=True)], "the pods of Deployment.apps/ns/w: hostNetwork"),
        ([pod()], [pod(volumes=[{"name": "v", "hostPath": {"path": "/etc"}}])], "hostPath /etc"),
        ([pod()], [pod(**PRIVILEGED)], "container c is privileged"),
        (
            [pod()],
            [pod(containers=[{"name": "c", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}])],
            "container c has capability SYS_ADMIN",
        ),
        ([pod()], [pod(serviceAccountName="strong")], "whatever ServiceAccount strong allows"),
    ],
)
def test_rights_that_an_upgrade_gains(old: list[Any], new: list[Any], gained: str) -> None:
    found = rights_change(by_key(*old), by_key(*new))
    assert any(gained in line for line in found.gained), found.gained
    assert not rights_change(by_key(*new), by_key(*new)).gained
    lost = rights_change(by_key(*new), by_key(*old)).lost
    assert any(gained.removesuffix(", which changes") in line for line in lost) or "changes" in gained


def test_rights_that_are_too_many_to_look_into_are_gained() -> None:
    """Content decides how many there are: it must neither pass for safe nor stop the reconcile."""
    names = [str(number) for number in range(600)]
    rules = [{"apiGroups": ["x"], "resources": names, "verbs": names}]
    found = rights_change({}, by_key({**ROLE, "rules": rules}))
    assert found.gained[0].startswith("not known: the roles allow more than 200000 single things")


@pytest.mark.parametrize("odd", [{"spec": 3}, {"spec": {"template": {"spec": {"containers": [None, {"name": 1}]}}}}])
def test_odd_workloads_gain_nothing_and_raise_nothing(odd: dict[str, Any]) -> None:
    assert not rights_change({}, by_key({**workload("w", "ns"), **odd})).gained
