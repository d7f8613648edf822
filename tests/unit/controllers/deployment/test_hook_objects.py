"""The object of a hook as it is created, whose an object of its name is, and whether it has ended."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.names import (
    HELM_HOOK_ANNOTATION,
    HOOK_RUN_ANNOTATION,
    OWNER_UID_ANNOTATION,
    RECONCILE_AT_ANNOTATION,
)
from rukpak_py.controllers.deployment.hooks.hook_object import (
    HookObject,
    HookObjectSituation,
    hook_object,
    refusal,
    situation,
)
from rukpak_py.controllers.deployment.hooks.verdict import SUCCEEDED, HookVerdict, time_limit, verdict
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Object
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, PODS, Resource
from tests.manifests import config_map
from tests.unit.apply.lives import OTHER, OUR_LABELS, OWNER, REPLICA_SET, metadata

JOBS = Resource(gvk=GroupVersionKind("batch", "v1", "Job"), plural="jobs", namespaced=True)
JOB, POD, MAP = JOBS.group_kind, PODS.group_kind, CONFIG_MAPS.group_kind
FORGED = {OWNER_UID_ANNOTATION: "forged", HOOK_RUN_ANNOTATION: "forged", "a": "b"}


def made(
    manifest: dict[str, Any], resource: Resource = CONFIG_MAPS, *, outlives: bool = False, **more: Any
) -> HookObject:
    policies = more.pop("policies", [DeletePolicy.BEFORE_HOOK_CREATION])
    hook = Hook(
        object=Object.from_manifest(manifest),
        events=frozenset({HookEvent.PRE_INSTALL}),
        delete_policies=frozenset(policies),
        outlives=outlives,
    )
    given = {"owner": OWNER, "namespace": "ns", "mark": "m", "seconds": 300.0, **more}
    return hook_object(hook, resource, **given)


def sent(one: HookObject) -> Any:
    return orjson.loads(one.body)


def reference(owner: Any = OWNER) -> dict[str, Any]:
    return {**owner.reference, "controller": False, "blockOwnerDeletion": False}


# What is sent


def test_it_has_the_mark_of_its_run_and_belongs_to_its_deployment_without_being_part_of_it() -> None:
    one = made({**config_map(annotations=FORGED), "status": {}})
    assert (one.key, one.replaces) == (("", "ConfigMap", "ns", "a"), True)
    assert sent(one)["metadata"] == {
        "name": "a",
        "namespace": "ns",
        "annotations": {"a": "b", HOOK_RUN_ANNOTATION: "m", OWNER_UID_ANNOTATION: OWNER.uid},
        "ownerReferences": [reference()],
    }
    assert "status" not in sent(one)


@pytest.mark.parametrize("asked", ["", "now"])
def test_it_says_which_request_it_answers(asked: str) -> None:
    forged = config_map(annotations={RECONCILE_AT_ANNOTATION: "forged"})
    assert sent(made(forged, asked=asked))["metadata"]["annotations"].get(RECONCILE_AT_ANNOTATION, "") == asked


@pytest.mark.parametrize(
    ("resource", "more"), [(CONFIG_MAPS, {"outlives": True}), (CONFIG_MAPS, {"collected": False}), (CRDS, {})]
)
def test_what_stays_has_no_owner(resource: Resource, more: dict[str, Any]) -> None:
    manifest = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "metadata": {"name": "a"}}
    assert "ownerReferences" not in sent(made(manifest, resource, **more))["metadata"]


@pytest.mark.parametrize(("ttl", "expected"), [(0, 300), (299, 300), (301, 301), (None, None)])
def test_a_job_stays_until_its_end_can_be_read(ttl: int | None, expected: int | None) -> None:
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    found = sent(made({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}, JOBS))
    assert found["spec"].get("ttlSecondsAfterFinished") == expected


# Whose it is

MARKED = {HOOK_RUN_ANNOTATION: "m"}
HELM = {HELM_HOOK_ANNOTATION: "pre-install"}
WANTED = made(config_map(), failed_uid="failed")


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        ({"annotations": MARKED, "ownerReferences": [reference()]}, HookObjectSituation.OF_THIS_RUN),
        ({"annotations": {**MARKED, OWNER_UID_ANNOTATION: OWNER.uid}}, HookObjectSituation.OF_THIS_RUN),
        ({"annotations": MARKED, "ownerReferences": [reference()], "uid": "failed"}, HookObjectSituation.HAS_FAILED),
        ({"annotations": {HOOK_RUN_ANNOTATION: "older"}, "ownerReferences": [reference()]}, HookObjectSituation.OURS),
        ({"annotations": MARKED}, HookObjectSituation.FOREIGN),
        ({"annotations": MARKED, "ownerReferences": [reference(OTHER)]}, HookObjectSituation.FOREIGN),
        ({"annotations": {**HELM, **MARKED}, "ownerReferences": [OWNER.reference]}, HookObjectSituation.FOREIGN),
        ({"annotations": HELM}, HookObjectSituation.FOREIGN),
        ({}, HookObjectSituation.FOREIGN),
    ],
)
def test_situations(live: dict[str, Any], expected: HookObjectSituation) -> None:
    assert situation(metadata(**live), WANTED) is expected


def test_other_situations() -> None:
    takes = made(config_map(), takes_left=True)
    assert situation(metadata(annotations=HELM), takes) is HookObjectSituation.LEFT_BY_HELM
    assert situation(metadata(), takes) is HookObjectSituation.FOREIGN
    for owner in (REPLICA_SET, reference(OTHER)):
        assert situation(metadata(annotations=HELM, ownerReferences=[owner]), takes) is HookObjectSituation.FOREIGN
    crd = made(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}}, CRDS
    )
    assert situation(metadata(), crd) is HookObjectSituation.THERE


@pytest.mark.parametrize(
    ("live", "text"),
    [
        ({}, "exists, is not a hook, and is managed by nobody; delete it, or give the hook another name"),
        ({"labels": {"app.kubernetes.io/managed-by": "x"}}, 'is managed by "x" (label app.kubernetes.io/managed-by);'),
        (
            {"annotations": HELM},
            "was left by a hook that is not of this BundleDeployment; delete it, or set spec.adopt",
        ),
        ({"ownerReferences": [reference(OTHER)]}, 'belongs to the BundleDeployment "other"'),
        ({"ownerReferences": [OTHER.reference]}, 'belongs to the BundleDeployment "other"'),
        ({"ownerReferences": [REPLICA_SET]}, 'is controlled by the ReplicaSet "rs"'),
        ({"ownerReferences": [OWNER.reference], "labels": OUR_LABELS}, "is installed by the chart, too"),
    ],
)
def test_what_is_said_of_foreign_objects(live: dict[str, Any], text: str) -> None:
    said = refusal(metadata(**live), WANTED)
    assert said.startswith("ConfigMap ns/a ")
    assert text in said


@pytest.mark.parametrize("live", [{}, {"annotations": HELM}])
def test_a_claim_is_never_to_be_deleted(live: dict[str, Any]) -> None:
    gvk = GroupVersionKind("", "v1", "PersistentVolumeClaim")
    claims = Resource(gvk=gvk, plural="persistentvolumeclaims", namespaced=True)
    claim = made({"apiVersion": "v1", "kind": gvk.kind, "metadata": {"name": "a"}}, claims)
    assert refusal(metadata(**live), claim).endswith("of this BundleDeployment; give the hook another name")


# Whether it has ended


def job(*conditions: tuple[str, str], **spec: Any) -> dict[str, Any]:
    listed = [{"type": kind, "status": status, "reason": "Why", "message": "so"} for kind, status in conditions]
    return {"spec": spec, "status": {"conditions": listed}}


BAD = HookVerdict(succeeded=False, why="Why: so")
EXITED = {"name": "main", "state": {"terminated": {"exitCode": 3}}}


@pytest.mark.parametrize(
    ("kind", "manifest", "expected"),
    [
        (JOB, {}, None),
        (JOB, job(("SuccessCriteriaMet", "True"), ("Complete", "False")), None),
        (JOB, job(("FailureTarget", "True")), None),
        (JOB, job(("Suspended", "True")), None),
        (JOB, job(("Complete", "True")), HookVerdict(succeeded=True, why="Why: so")),
        (JOB, job(("FailureTarget", "True"), ("Failed", "True")), BAD),
        (JOB, {"status": {"conditions": 5}}, None),
        (POD, {}, None),
        (POD, {"status": {"phase": "Running"}}, None),
        (POD, {"status": {"phase": "Succeeded"}}, SUCCEEDED),
        (POD, {"status": {"phase": "Failed", "reason": "Why", "message": "so"}}, BAD),
        (
            *(POD, {"status": {"phase": "Failed", "containerStatuses": [EXITED]}}),
            HookVerdict(succeeded=False, why="container main ended with exit code 3"),
        ),
        (MAP, {}, SUCCEEDED),
    ],
)
def test_verdicts(kind: GroupKind, manifest: dict[str, Any], expected: HookVerdict | None) -> None:
    assert verdict(kind, manifest) == expected


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        (JOB, {}, 300),
        (JOB, {"activeDeadlineSeconds": 10}, 300),
        (JOB, {"activeDeadlineSeconds": 1000}, 1030),
        (JOB, {"activeDeadlineSeconds": "x"}, 300),
        (POD, {"activeDeadlineSeconds": 1000}, 300),
    ],
)
def test_time_limits(kind: GroupKind, spec: dict[str, Any], expected: float) -> None:
    assert time_limit(kind, {"spec": spec}, 300) == expected
