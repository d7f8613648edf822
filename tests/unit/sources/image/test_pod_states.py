"""The status of a pod and its meaning for the Bundle: the situation, and the words of the kubelet and the scheduler."""

import json
from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.core.errors import UnavailableError
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.pod import resolved_source
from rukpak_py.sources.image.pod_manifest import PodSettings, WantedPod
from rukpak_py.sources.image.pod_state import (
    PodFailures,
    PodSituation,
    failure_message,
    is_pulling,
    read_pod,
    situation,
    waiting_brief,
    waiting_message,
)

SETTINGS = PodSettings(tool_image="example.com/tool:1", platform=Platform(os="linux", architecture="amd64"))
DIGEST = f"sha256:{'a' * 64}"
WANTED = WantedPod(bundle="b", uid="u", ref="example.com/a:1", pull_secret="p")
BACK_OFF = 'Back-off pulling image "example.com/a:1": ErrImagePull: not found'


def pod(status: dict[str, Any] | None = None, *, of: WantedPod = WANTED, **metadata: Any) -> Any:
    body = json.loads(of.manifest(SETTINGS))
    body["metadata"] |= {"uid": "pod-uid", **metadata}
    body["status"] = status or {"phase": "Pending"}
    return read_pod(json.dumps(body).encode())


def container(state: dict[str, Any], name: str = "bundle") -> dict[str, Any]:
    return {"name": name, "state": state}


def waiting(reason: str, message: str = "", name: str = "bundle") -> dict[str, Any]:
    return container({"waiting": {"reason": reason, "message": message}}, name)


RUNNING = {"phase": "Running", "containerStatuses": [container({"running": {"startedAt": "x"}})]}
OTHER_OWNER = {"kind": "Job", "name": "b", "uid": "other", "controller": True}
FORMER = {"kind": "Bundle", "name": "b", "uid": "former", "controller": True}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, PodSituation.ABSENT),
        (pod(ownerReferences=[]), PodSituation.FOREIGN),
        (pod(ownerReferences=[OTHER_OWNER]), PodSituation.FOREIGN),
        (pod(ownerReferences=[FORMER]), PodSituation.OUTDATED),
        (pod(of=WantedPod(bundle="b", uid="u", ref="example.com/a@sha256:1")), PodSituation.OUTDATED),
        (pod(annotations={}), PodSituation.OUTDATED),
        (pod(deletionTimestamp="2026-01-01T00:00:00Z"), PodSituation.LEAVING),
        (pod(ownerReferences=[OTHER_OWNER], deletionTimestamp="2026-01-01T00:00:00Z"), PodSituation.LEAVING),
        (pod(), PodSituation.PENDING),
        (pod({}), PodSituation.PENDING),
        (pod({"phase": "Unknown"}), PodSituation.PENDING),
        (pod({"phase": "Running"}), PodSituation.PENDING),
        (pod({"phase": "Running", "containerStatuses": [waiting("ContainerCreating")]}), PodSituation.PENDING),
        (pod(RUNNING), PodSituation.RUNNING),
        (pod({"phase": "Succeeded"}), PodSituation.SUCCEEDED),
        (pod({"phase": "Failed"}), PodSituation.FAILED),
    ],
)
def test_situation_follows_from_the_pod(found: Any, expected: PodSituation) -> None:
    assert situation(found, "u", WANTED.digests(SETTINGS)) is expected


def test_a_pod_that_has_to_be_root_fits_too() -> None:
    assert len(WANTED.digests(SETTINGS)) == 2
    body = json.loads(WANTED.manifest(SETTINGS, as_root=True))
    assert read_pod(json.dumps(body).encode()).is_root
    assert situation(read_pod(json.dumps(body).encode()), "u", WANTED.digests(SETTINGS)) is PodSituation.PENDING


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, ""),
        ({"containerStatuses": [waiting("PodInitializing")]}, ""),
        ({"containerStatuses": [waiting("ContainerCreating", "x")]}, ""),
        ({"containerStatuses": [waiting("ImagePullBackOff", BACK_OFF)]}, BACK_OFF),
        ({"containerStatuses": [waiting("ErrImagePull", "not found")]}, "not found"),
        ({"containerStatuses": [waiting("ErrImagePull")]}, "ErrImagePull"),
        (
            {
                "initContainerStatuses": [waiting("ErrImagePull", "no tool", "install-unpacker")],
                "containerStatuses": [waiting("PodInitializing")],
            },
            "no tool",
        ),
        (
            {
                "initContainerStatuses": [waiting("ErrImagePull", "no tool", "install-unpacker")],
                "containerStatuses": [waiting("ErrImagePull", "no image")],
            },
            "no tool; no image",
        ),
        (
            {"containerStatuses": [waiting("CreateContainerError", "failed to mkdir")]},
            "CreateContainerError: failed to mkdir",
        ),
        (
            {"containerStatuses": [waiting("InvalidImageName", "couldn't parse image")]},
            "InvalidImageName: couldn't parse image",
        ),
        (
            {
                "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
                ]
            },
            "the unpack pod is not scheduled: 0/3 nodes",
        ),
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, ""),
    ],
)
def test_cause_that_holds_a_pod_up_is_told(status: dict[str, Any], message: str) -> None:
    assert waiting_message(pod({"phase": "Pending", **status})) == message


def test_one_line_has_the_cause_and_not_the_reference() -> None:
    def brief(*containers: Any, **status: Any) -> str:
        return waiting_brief(pod({"phase": "Pending", "containerStatuses": list(containers), **status}))

    assert brief(waiting("ImagePullBackOff", BACK_OFF)) == "the node cannot pull the image: not found"
    assert brief(waiting("CreateContainerError", "failed to mkdir")) == "CreateContainerError: failed to mkdir"
    assert brief() == brief(waiting("ContainerCreating")) == ""
    tool = waiting("ImagePullBackOff", BACK_OFF, "install-unpacker")
    assert brief(initContainerStatuses=[tool]) == BACK_OFF, "the image of the tool is another one"


def test_pulling_is_told_from_the_rest() -> None:
    assert is_pulling(pod({"containerStatuses": [waiting("ImagePullBackOff")]}))
    assert not is_pulling(pod({"containerStatuses": [waiting("CreateContainerError")]}))
    assert not is_pulling(pod({"initContainerStatuses": [waiting("ImagePullBackOff")]})), "the image of the tool"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({}, "unpack failed: the kubelet does not say why"),
        ({"reason": "Evicted", "message": "low on memory"}, "unpack failed: Evicted: low on memory"),
        ({"reason": "NodeLost"}, "unpack failed: NodeLost"),
        ({"reason": "DeadlineExceeded", "message": "too long"}, "unpack failed: DeadlineExceeded: too long"),
        (
            {"initContainerStatuses": [container({"terminated": {"exitCode": 127, "reason": "Error"}}, "i")]},
            "unpack failed: container i ended with exit code 127: Error",
        ),
        (
            {"containerStatuses": [container({"terminated": {"exitCode": 128, "reason": "R", "message": "a\n b"}})]},
            "unpack failed: container bundle ended with exit code 128: R: a b",
        ),
    ],
)
def test_cause_of_a_failed_pod_is_told(status: dict[str, Any], message: str) -> None:
    assert failure_message(pod({"phase": "Failed", **status})) == message


def test_answer_that_is_no_pod_is_told() -> None:
    with pytest.raises(UnavailableError, match="cannot be read"):
        read_pod(b"[]")


def test_the_pod_is_what_the_contract_says() -> None:
    body = json.loads(WANTED.manifest(SETTINGS))
    owner = {"apiVersion": "core.rukpak.io/v1alpha1", "kind": "Bundle", "name": "b", "uid": "u"}
    assert body["metadata"]["name"] == "b"
    assert body["metadata"]["labels"] == {"core.rukpak.io/owner-kind": "Bundle", "core.rukpak.io/owner-name": "b"}
    assert body["metadata"]["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
    spec = body["spec"]
    (init,), (main,) = spec["initContainers"], spec["containers"]
    assert (init["name"], init["image"], main["name"], main["image"]) == (
        *("install-unpacker", "example.com/tool:1"),
        *("bundle", "example.com/a:1"),
    )
    assert "imagePullPolicy" not in main
    assert (spec["restartPolicy"], spec["automountServiceAccountToken"]) == ("Never", False)
    assert (spec["imagePullSecrets"], spec["activeDeadlineSeconds"]) == ([{"name": "p"}], 3600)
    assert spec["volumes"] == [{"name": "util", "emptyDir": {}}]
    for one in (init, main):
        assert one["command"][0].endswith("/busybox"), "nothing of the image runs"
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert not one["securityContext"]["allowPrivilegeEscalation"]
    assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, 1001)


@pytest.mark.parametrize(("length", "has_label"), [(63, True), (64, False), (253, False)])
def test_a_name_that_fits_no_label_is_the_pods_all_the_same(length: int, *, has_label: bool) -> None:
    name = "b" * length
    metadata = json.loads(replace(WANTED, bundle=name).manifest(SETTINGS))["metadata"]
    assert metadata["name"] == name
    assert metadata["labels"].get("core.rukpak.io/owner-name") == (name if has_label else None)
    assert metadata["labels"]["core.rukpak.io/owner-kind"] == "Bundle", "by which it is watched"


def test_manifest_of_a_pod_has_the_settings() -> None:
    settings = PodSettings(
        tool_image="t",
        platform=Platform(os="linux", architecture="arm64"),
        pull_secrets=("p", "q"),
        node_selector={"disk": "ssd"},
        tolerations=[{"operator": "Exists"}],
        resources={"limits": {"memory": "1Gi"}},
    )
    spec = json.loads(WANTED.manifest(settings))["spec"]
    assert spec["nodeSelector"] == {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "disk": "ssd"}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["imagePullSecrets"] == [{"name": "p"}, {"name": "q"}]
    assert [one["resources"] for one in (*spec["initContainers"], *spec["containers"])] == [settings.resources] * 2


def test_the_pause_after_a_failure_doubles_and_is_forgotten() -> None:
    now = 1000.0
    failures = PodFailures(lambda: now)
    failures.check("u")
    pauses = [failures.failed("u", "why").retry_after for _ in range(6)]
    assert pauses == [5, 10, 20, 40, 60, 60]
    with pytest.raises(UnavailableError, match="why") as early:
        failures.check("u")
    assert early.value.retry_after == 60
    failures.check("another")
    now += 60
    failures.check("u")
    now += 1900
    failures.failed("another", "x")
    assert failures.failed("u", "why").retry_after == 5, "an old one does not count"
    failures.wants_root("u")
    failures.forget("u")
    failures.check("u")
    assert not failures.needs_root("u")


@pytest.mark.parametrize(
    ("image_id", "resolved"),
    [
        (f"example.com/a@{DIGEST}", f"example.com/a@{DIGEST}"),
        (f"docker-pullable://example.com/a@{DIGEST}", f"example.com/a@{DIGEST}"),
        (f"mirror.example.com/other@{DIGEST}", f"example.com/a@{DIGEST}"),
        (DIGEST, "example.com/a:1"),
        ("", "example.com/a:1"),
        ("example.com/a@sha256:short", "example.com/a:1"),
    ],
)
def test_image_id_of_the_node_becomes_the_resolved_source(image_id: str, resolved: str) -> None:
    assert resolved_source(ImageSpec(ref="example.com/a:1", pull_secret="p"), image_id).image == ImageSpec(ref=resolved)


@pytest.mark.parametrize("policy", ["", "Always", "IfNotPresent"])
def test_pull_policy_is_that_of_the_image_of_the_bundle_and_makes_another_pod(policy: str) -> None:
    settings = replace(SETTINGS, pull_policy=policy)
    spec = json.loads(WANTED.manifest(settings))["spec"]
    assert spec["containers"][0].get("imagePullPolicy", "") == policy
    assert spec["initContainers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert (WANTED.digests(settings) == WANTED.digests(SETTINGS)) is (not policy)
