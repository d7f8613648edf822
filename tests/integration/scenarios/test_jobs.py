"""A Job is healthy when it is complete: until then the former content stays, and the deployment is not ready."""

import json
from typing import Any

from rukpak_py.kube.resources import CONFIG_MAPS, PODS
from tests.integration.scenarios.stage import Document, Stage, says, settings
from tests.waiting import eventually


def job(namespace: str, name: str = "migrate", **more: Any) -> Document:
    """Its pods fit no node, so a test decides how they end."""
    container = {"name": "main", "image": "registry.example.com/none"}
    pod = {"restartPolicy": "Never", "nodeSelector": {"example.com/never": "true"}, "containers": [container]}
    spec = {"backoffLimit": 0, "template": {"spec": pod}, **more}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


async def upgraded(stage: Stage, **more: Any) -> str:
    """From content with the ConfigMap `leaves` to content with a Job, which has started."""
    first = await stage.content(settings(stage.namespace), settings(stage.namespace, "leaves"))
    name = await stage.installed(first)
    await stage.edit_template(
        name, await stage.content(settings(stage.namespace), job(stage.namespace, **more), name="v2")
    )
    return name


async def end_pod(stage: Stage, phase: str) -> None:
    async def pods() -> list[str]:
        listed = await stage.client.list_metadata(PODS, stage.namespace, label_selector="job-name=migrate")
        return [pod.key.name for pod in listed.items]

    await eventually(pods, what="the Job has a pod")
    (pod,) = await pods()
    body = json.dumps({"status": {"phase": phase}}).encode()
    await stage.client.patch_status(PODS, stage.namespace, pod, body)


async def test_a_job_that_runs_holds_pruning_back_until_it_is_complete(stage: Stage) -> None:
    name = await upgraded(stage)
    running = says("Healthy", "False", "Unhealthy", "object InProgress: Job in progress. succeeded: 0/1")
    await stage.until_deployment(name, running, says("Installed", "True"))
    await stage.barrier()
    assert await stage.has_settings("leaves")

    await end_pod(stage, "Succeeded")
    await stage.until_ready(name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")


async def test_a_job_that_fails_leaves_the_former_content_in_place(stage: Stage) -> None:
    name = await upgraded(stage)
    await end_pod(stage, "Failed")
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", "object Failed: Job Failed. failed: 1/1"))
    await stage.barrier()
    assert await stage.has_settings("leaves")


async def test_a_suspended_job_is_in_progress_until_somebody_resumes_it(stage: Stage) -> None:
    name = await upgraded(stage, suspend=True)
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", "object InProgress: Job is suspended"))
    await stage.barrier()
    assert await stage.has_settings("leaves")


async def test_a_cron_job_is_healthy_by_itself(stage: Stage) -> None:
    manifest = job(stage.namespace)
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": manifest["spec"]}}
    content = await stage.content(manifest | {"kind": "CronJob", "spec": spec})
    await stage.installed(content)
