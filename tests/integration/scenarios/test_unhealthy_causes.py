"""A workload that does not run is told with its cause: what refused its pods, or what its pods wait for."""

import json
from typing import Any

from rukpak_py.kube.resources import NAMESPACES, PODS
from tests.integration.scenarios.stage import Document, Stage, says
from tests.integration.scenarios.test_status import pods
from tests.manifests import manifest
from tests.waiting import eventually

IMAGE = "registry.invalid/nothing:v1"


async def set_status_of_pod(stage: Stage, **status: Any) -> str:
    """Write the status of the one pod there is, as a kubelet or a scheduler would."""
    names: list[str] = []

    async def is_there() -> bool:
        page = await stage.client.list_page(PODS, stage.namespace, limit=10, label_selector="app=sleeper")
        names[:] = [one.key.name for one in page.items]
        return bool(names)

    await eventually(is_there, what="there is a pod")
    await stage.client.patch_status(PODS, stage.namespace, names[0], json.dumps({"status": status}).encode())
    return names[0]


def waiting(reason: str, message: str) -> Document:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"name": "c", "image": IMAGE, "imageID": "", "ready": False, "restartCount": 0, "state": state}


async def test_missing_image_is_named_once_the_roll_out_has_failed(stage: Stage) -> None:
    name = await stage.deploy(await stage.content(pods(stage.namespace, progressDeadlineSeconds=20)))
    said = f'Back-off pulling image "{IMAGE}": ErrImagePull: failed to resolve reference "{IMAGE}": not found'
    pod = await set_status_of_pod(stage, containerStatuses=[waiting("ImagePullBackOff", said)])
    symptom = f"Deployment.apps/{stage.namespace}/sleeper: object Failed: Progress deadline exceeded"
    cause = f"container c: ImagePullBackOff: not found (Pod {stage.namespace}/{pod}, image {IMAGE})"
    found = await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", symptom))
    assert says("Healthy", "False", "Unhealthy", f"{symptom}; {cause}")(found), found["status"]
    line = f"Deployment.apps/{stage.namespace}/sleeper: container c: ImagePullBackOff: not found"
    assert says("Ready", "False", "Unhealthy", line)(found)


async def test_pod_that_pod_security_refuses_is_told_at_once(stage: Stage) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await stage.client.patch(NAMESPACES, "", stage.namespace, json.dumps(label).encode())
    name = await stage.deploy(await stage.content(pods(stage.namespace)))
    symptom = f"Deployment.apps/{stage.namespace}/sleeper: object InProgress: Replicas: 0/1; FailedCreate: pods "
    await stage.until_deployment(
        name, says("Healthy", "False", "Unhealthy", symptom, 'violates PodSecurity "restricted:latest"')
    )


async def test_a_claim_without_a_storage_class_says_so(stage: Stage) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = manifest("v1", "PersistentVolumeClaim", "data", stage.namespace, spec=spec)
    name = await stage.deploy(await stage.content(claim))
    text = f"PersistentVolumeClaim {stage.namespace}/data: object InProgress: PVC is not Bound. phase: Pending; "
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", f"{text}it names no StorageClass"))


async def test_a_pod_that_no_node_can_take_says_why(stage: Stage) -> None:
    content = await stage.content(
        manifest(
            "v1",
            "Pod",
            "sleeper",
            stage.namespace,
            labels={"app": "sleeper"},
            spec={"schedulerName": "none", "containers": [{"name": "c", "image": IMAGE}]},
        )
    )
    name = await stage.deploy(content)
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no nodes available"}
    await set_status_of_pod(stage, conditions=[said])
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", "; Unschedulable: no nodes available"))
