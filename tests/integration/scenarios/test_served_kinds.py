"""Objects of a kind that a workload of the same content serves come after that workload is available."""

from typing import Any

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.resources import Resource
from tests.integration.scenarios.stage import Document, Stage, definition, says, widget, widgets

DEPLOYMENTS = Resource(gvk=GroupVersionKind("apps", "v1", "Deployment"), plural="deployments", namespaced=True)


def converting(stage: Stage) -> Document:
    crd = definition(stage.group)
    client = {"service": {"namespace": stage.namespace, "name": "hooks", "path": "/convert"}}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


def hooks(stage: Stage, *, replicas: int) -> list[Document]:
    """A Service, and a workload that is never available without a node unless it has no replicas."""
    labels = {"app": "hooks"}
    place = {"name": "hooks", "namespace": stage.namespace}
    pod: dict[str, Any] = {"containers": [{"name": "hooks", "image": "example.com/hooks:1"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": place,
            "spec": {"selector": labels, "ports": [{"port": 443}]},
        },
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": place, "spec": spec},
    ]


async def test_a_custom_resource_waits_for_the_workload_that_converts_it(stage: Stage) -> None:
    crd, one = converting(stage), widget(stage.group)
    await stage.deploy(await stage.content(crd, *hooks(stage, replicas=1), one))
    workload = f"Deployment.apps/{stage.namespace}/hooks"
    waiting = f"Widget.{stage.group}/one comes after {workload}, which serves its webhook"
    await stage.until_deployment(stage.name, says("Ready", "Unknown", "", waiting))
    assert await stage.exists(DEPLOYMENTS, stage.namespace, "hooks")
    assert not await stage.exists(widgets(stage.group), "", "one")
    await stage.edit_template(stage.name, await stage.content(crd, *hooks(stage, replicas=0), one, name="idle"))
    await stage.until_ready(stage.name)
    assert await stage.exists(widgets(stage.group), "", "one")
