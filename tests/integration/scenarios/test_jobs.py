"""A Job is healthy when it is complete: until then the former content stays, and the deployment is not ready."""

import json
from typing import Any

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import CONFIG_MAPS, PODS, Resource
from tests.integration.scenarios.stage import Document, Stage, is_observed, says, settings
from tests.waiting import eventually

JOBS = Resource(gvk=GroupVersionKind("batch", "v1", "Job"), plural="jobs", namespaced=True)


def job(namespace: str, name: str = "migrate", **more: Any) -> Document:
    """A Job whose pods fit no node, so a test decides how they end."""
    container = {"name": "main", "image": "registry.example.com/none"}
    pod = {"restartPolicy": "Never", "nodeSelector": {"example.com/never": "true"}, "containers": [container]}
    spec = {"backoffLimit": 0, "template": {"spec": pod}, **more}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


async def upgraded(stage: Stage, **more: Any) -> str:
    """Upgrade from content with the ConfigMap `leaves` to content with a Job, which has started."""
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


async def test_a_job_that_has_ended_and_is_gone_runs_again_only_where_it_changes(stage: Stage) -> None:
    """It ran for ever: the API server deletes it some time after its end, and what is missing is created."""
    same = job(stage.namespace, ttlSecondsAfterFinished=1)
    name = await stage.deploy(await stage.content(settings(stage.namespace), same))
    await end_pod(stage, "Succeeded")
    await stage.until_gone(JOBS, stage.namespace, "migrate")
    entry = {"group": "batch", "kind": "Job", "namespace": stage.namespace, "name": "migrate"}
    found = await stage.until_deployment(name, says("Ready", "True"), lambda one: "completed" in one["status"])
    assert [{**one, "applied": ""} for one in found["status"]["completed"]] == [{**entry, "applied": ""}]

    await stage.client.patch(CONFIG_MAPS, stage.namespace, "settings", b'{"data":{"a":"drift"}}', field_manager="x")
    await stage.edit_template(name, await stage.content(settings(stage.namespace, "more"), same, name="v2"))
    await stage.until_deployment(name, is_observed, says("Ready", "True"))
    await stage.barrier()
    assert await jobs(stage) == []

    other = job(stage.namespace, ttlSecondsAfterFinished=1, completions=1)
    await stage.edit_template(name, await stage.content(settings(stage.namespace), other, name="v3"))
    await eventually(lambda: jobs(stage), what="it runs again")


async def jobs(stage: Stage) -> list[str]:
    return [one.key.name for one in (await stage.client.list_metadata(JOBS, stage.namespace)).items]


async def test_a_job_that_fails_leaves_the_former_content_in_place(stage: Stage) -> None:
    name = await upgraded(stage)
    await end_pod(stage, "Failed")
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", "object Failed: Job Failed. failed: 1/1"))
    await stage.barrier()
    assert await stage.has_settings("leaves")


async def test_suspended_job_is_in_progress_until_it_is_resumed(stage: Stage) -> None:
    name = await upgraded(stage, suspend=True)
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", "object InProgress: Job is suspended"))
    await stage.barrier()
    assert await stage.has_settings("leaves")


async def test_a_cron_job_is_healthy_by_itself(stage: Stage) -> None:
    manifest = job(stage.namespace)
    spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": manifest["spec"]}}
    content = await stage.content(manifest | {"kind": "CronJob", "spec": spec})
    await stage.installed(content)
