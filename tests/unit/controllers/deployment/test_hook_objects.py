"""The object of a hook as it is created, how it ends, and the situation of what is recorded and what is live."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.hook_status import RunningHook
from rukpak_py.api.names import (
    HELM_HOOK_ANNOTATION,
    HOOK_LABEL,
    HOOK_RUN_ANNOTATION,
    OWNER_UID_ANNOTATION,
    RECONCILE_AT_ANNOTATION,
)
from rukpak_py.controllers.deployment.hooks.hook_end import SUCCEEDED, HookVerdict, seconds_since, time_limit, verdict
from rukpak_py.controllers.deployment.hooks.hook_object import (
    HookObject,
    HookSituation,
    LiveHook,
    hook_object,
    refusal,
    situation,
)
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
    given = {"owner": OWNER, "namespace": "ns", "mark": "m", **more}
    return hook_object(hook, resource, **given)


def sent(one: HookObject) -> Any:
    return orjson.loads(one.body)


def reference(owner: Any = OWNER) -> dict[str, Any]:
    return {**owner.reference, "controller": False, "blockOwnerDeletion": False}


# What is sent


def test_hook_object_has_the_mark_of_its_run_and_a_reference_to_its_deployment() -> None:
    one = made({**config_map(annotations=FORGED), "status": {}})
    assert (one.key, one.replaces) == (("", "ConfigMap", "ns", "a"), True)
    assert sent(one)["metadata"] == {
        "name": "a",
        "namespace": "ns",
        "annotations": {"a": "b", HOOK_RUN_ANNOTATION: "m", OWNER_UID_ANNOTATION: OWNER.uid},
        "labels": {HOOK_LABEL: OWNER.uid},
        "ownerReferences": [reference()],
    }
    assert "status" not in sent(one)


@pytest.mark.parametrize("asked", ["", "now"])
def test_hook_object_names_the_request_that_it_answers(asked: str) -> None:
    forged = config_map(annotations={RECONCILE_AT_ANNOTATION: "forged"})
    assert sent(made(forged, asked=asked))["metadata"]["annotations"].get(RECONCILE_AT_ANNOTATION, "") == asked


@pytest.mark.parametrize(
    ("resource", "more"), [(CONFIG_MAPS, {"outlives": True}), (CONFIG_MAPS, {"collected": False}), (CRDS, {})]
)
def test_hook_object_that_stays_has_no_owner(resource: Resource, more: dict[str, Any]) -> None:
    manifest = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "metadata": {"name": "a"}}
    assert "ownerReferences" not in sent(made(manifest, resource, **more))["metadata"]


@pytest.mark.parametrize(("ttl", "expected"), [(0, 300), (299, 300), (301, 301), (None, None)])
def test_a_job_stays_until_its_end_can_be_read(ttl: int | None, expected: int | None) -> None:
    spec = {} if ttl is None else {"ttlSecondsAfterFinished": ttl}
    found = sent(made({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec}, JOBS))
    assert found["spec"].get("ttlSecondsAfterFinished") == expected


# The situation

MARKED = {HOOK_RUN_ANNOTATION: "m"}
HELM = {HELM_HOOK_ANNOTATION: "pre-install"}
OURS: dict[str, Any] = {"annotations": MARKED, "ownerReferences": [reference()]}
OLDER: dict[str, Any] = {"annotations": {HOOK_RUN_ANNOTATION: "older"}, "ownerReferences": [reference()]}
GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
WANTED = made(config_map(), failed_uid="failed")
JOB_MANIFEST = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {}}
DUE = made(JOB_MANIFEST, JOBS, failed_uid="failed", asked="now")
FAILED = HookVerdict(succeeded=False, why="so")


def there(end: HookVerdict | None = None, age: float = 0.0, **of: Any) -> LiveHook:
    return LiveHook(metadata=metadata(**of), verdict=end, age=age, limit=300.0)


def recorded(**fields: Any) -> RunningHook:
    given = {"revision": "r", "run": "m", "event": "pre-install", "group": "batch", "version": "v1", "kind": "Job"}
    return RunningHook(**{**given, "namespace": "ns", "name": "a", "reconcile_at": "now", **fields})


S = HookSituation


@pytest.mark.parametrize(
    ("record", "live", "due", "expected"),
    [
        (None, None, DUE, S.UNANNOUNCED),
        (recorded(run="older"), None, DUE, S.UNANNOUNCED),
        (recorded(reconcile_at="earlier"), None, DUE, S.UNANNOUNCED),
        (recorded(uid="u", result="Failed"), None, DUE, S.UNANNOUNCED),  # begun once more before it was cleared
        (recorded(uid="failed"), None, DUE, S.UNANNOUNCED),
        (recorded(), None, DUE, S.ABSENT),
        (recorded(uid="u"), None, DUE, S.LOST),
        (None, None, WANTED, S.ABSENT),
        (None, there(**OURS), DUE, S.UNRECORDED),
        (recorded(), there(**OURS), DUE, S.UNRECORDED),
        (recorded(uid="u"), there(uid="u", **OURS), DUE, S.RUNNING),
        (recorded(uid="u"), there(uid="u", **OURS, **GOING), DUE, S.RUNNING),
        (recorded(uid="u"), there(uid="u", age=300.0, **OURS), DUE, S.ENDED),
        (recorded(uid="u"), there(FAILED, uid="u", **OURS), DUE, S.ENDED),
        (None, there(SUCCEEDED, **OURS), WANTED, S.ENDED),
        (None, there(SUCCEEDED, annotations={**MARKED, OWNER_UID_ANNOTATION: OWNER.uid}), WANTED, S.ENDED),
        (None, there(**OURS, **GOING), DUE, S.LEAVING),
        (None, there(FAILED, uid="failed", **OURS), DUE, S.FORMER),
        (None, there(uid="failed", age=300.0, **OURS), DUE, S.FORMER),
        (None, there(FAILED, uid="failed", **OURS, **GOING), DUE, S.LEAVING),
        (None, there(SUCCEEDED, uid="failed", **OURS), DUE, S.ENDED),
        (None, there(**OLDER), DUE, S.FORMER_RUNNING),
        (None, there(age=300.0, **OLDER), DUE, S.FORMER),
        (None, there(SUCCEEDED, **OLDER), DUE, S.FORMER),
        (None, there(**OLDER, **GOING), DUE, S.LEAVING),
        (None, there(SUCCEEDED, **OLDER), made(config_map(), policies=[]), S.NOT_REPLACEABLE),
        (None, there(SUCCEEDED, **OLDER, **GOING), made(config_map(), policies=[]), S.LEAVING),
        (None, there(annotations=MARKED), DUE, S.FOREIGN),
        (None, there(annotations=MARKED, ownerReferences=[reference(OTHER)]), DUE, S.FOREIGN),
        (None, there(annotations={**HELM, **MARKED}, ownerReferences=[OWNER.reference]), DUE, S.FOREIGN),
        (None, there(annotations=HELM), DUE, S.FOREIGN),
        (None, there(**GOING), DUE, S.FOREIGN),
    ],
)
def test_situation_of_a_hook_that_is_due(
    record: RunningHook | None, live: LiveHook | None, due: HookObject, expected: HookSituation
) -> None:
    assert situation(record, live, due) is expected


@pytest.mark.parametrize(
    ("record", "live", "expected"),
    [
        (recorded(), there(), S.SUPERSEDED_RUNNING),
        (recorded(), there(age=300.0), S.SUPERSEDED_ENDED),
        (recorded(), there(FAILED), S.SUPERSEDED_ENDED),
        (recorded(), None, S.SUPERSEDED_ENDED),
        (recorded(result="Succeeded"), None, S.SUPERSEDED_RECORDED),
    ],
)
def test_situation_of_a_hook_that_was_superseded(
    record: RunningHook, live: LiveHook | None, expected: HookSituation
) -> None:
    assert situation(record, live, None) is expected


def test_hooks_that_helm_left_are_former_and_definitions_have_their_situation() -> None:
    takes = made(config_map(), takes_left=True)
    assert situation(None, there(SUCCEEDED, annotations=HELM), takes) is S.FORMER
    assert situation(None, there(), takes) is S.FOREIGN
    for owner in (REPLICA_SET, reference(OTHER)):
        assert situation(None, there(annotations=HELM, ownerReferences=[owner]), takes) is S.FOREIGN
    crd = made(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}}, CRDS
    )
    assert situation(None, there(SUCCEEDED), crd) is S.ENDED, "it is never replaced"


@pytest.mark.parametrize(
    ("live", "text"),
    [
        ({}, "exists, is not a hook, and is managed by nobody; delete it, or give the hook another name"),
        ({"labels": {"app.kubernetes.io/managed-by": "x"}}, 'is managed by "x" (label app.kubernetes.io/managed-by);'),
        (
            {"annotations": HELM},
            "was left by a hook that is not of this BundleDeployment; delete it, or set spec.adopt",
        ),
        ({"ownerReferences": [reference(OTHER)]}, "belongs to BundleDeployment other"),
        ({"ownerReferences": [OTHER.reference]}, "belongs to BundleDeployment other"),
        ({"ownerReferences": [REPLICA_SET]}, "is controlled by ReplicaSet.apps/rs"),
        ({"ownerReferences": [OWNER.reference], "labels": OUR_LABELS}, "is installed by the chart, too"),
    ],
)
def test_foreign_object_is_named_with_its_owner(live: dict[str, Any], text: str) -> None:
    said = refusal(metadata(**live), WANTED)
    assert said.startswith("ConfigMap ns/a ")
    assert text in said


@pytest.mark.parametrize("live", [{}, {"annotations": HELM}])
def test_claim_in_the_place_of_a_hook_is_never_advised_to_be_deleted(live: dict[str, Any]) -> None:
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
def test_verdict_of_a_hook_follows_from_its_status(
    kind: GroupKind, manifest: dict[str, Any], expected: HookVerdict | None
) -> None:
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


def test_age_of_an_object_whose_times_cannot_be_compared_is_none() -> None:
    assert seconds_since("2026-01-01T00:00:00Z", "2026-01-01T00:02:00Z") == 120
    assert seconds_since("2026-01-01T00:02:00Z", "2026-01-01T00:00:00Z") == 0
    assert seconds_since(None, "2026-01-01T00:00:00Z") == 0
    assert seconds_since("yesterday", "2026-01-01T00:00:00Z") == 0
