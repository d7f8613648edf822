"""Objects that left the content are deleted, unless an annotation keeps them."""

import json

from rukpak_py.api.names import RELEASED_ANNOTATION
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.integration.scenarios.events import until_told
from tests.integration.scenarios.stage import (
    Document,
    Stage,
    definition,
    is_observed,
    says,
    settings,
    widget,
    widgets,
)

NOW = "2026-01-01T00:00:00Z"
KEEP = {"core.rukpak.io/prune": "false"}


async def two_versions(stage: Stage, *leaving: Document, **spec: object) -> tuple[str, Document]:
    """Installed: `settings` and what is going to leave. The answer: the deployment, and the content without it."""
    name = await stage.installed(await stage.content(settings(stage.namespace), *leaving), **spec)
    return name, await stage.content(settings(stage.namespace, key="v2"), name="v2")


async def upgraded(stage: Stage, name: str, content: Document) -> None:
    await stage.edit_template(name, content)
    await stage.until_ready(name)
    assert (await stage.settings())["data"] == {"key": "v2"}


async def test_object_that_left_the_content_is_deleted(stage: Stage) -> None:
    name, v2 = await two_versions(stage, settings(stage.namespace, "leaves"))
    await upgraded(stage, name, v2)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")
    status = (await stage.deployment())["status"]
    assert status["kinds"] == [{"version": "v1", "kind": "ConfigMap"}]


async def test_with_pruning_switched_off_it_stays_until_it_is_switched_on(stage: Stage) -> None:
    name, v2 = await two_versions(stage, settings(stage.namespace, "leaves"), prune={"enabled": False})
    await upgraded(stage, name, v2)
    await stage.barrier()
    assert await stage.has_settings("leaves")

    await stage.edit(name, prune={"enabled": True})
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")
    await stage.until_ready(name)


async def test_more_than_the_budget_waits_until_it_is_raised(stage: Stage) -> None:
    leaving = [settings(stage.namespace, f"leaves-{number}") for number in range(3)]
    name, v2 = await two_versions(stage, *leaving, prune={"maxObjects": 2})
    await stage.edit_template(name, v2)
    text = (
        "3 objects are no longer in the bundle, and spec.prune.maxObjects is 2: nothing was pruned; raise it to delete"
    )
    found = await stage.until_deployment(name, says("Ready", "False", "PruneBudgetExceeded", text))
    every = [f"ConfigMap {stage.namespace}/leaves-{number}" for number in range(3)]
    assert says("Installed", "True", "InstallationSucceeded", text, *every)(found)
    await until_told(stage, name, "PruneBudgetExceeded", f"Warning: {text}", *every)
    assert says("Stalled", "True", "PruneBudgetExceeded")(found), "nothing but another spec ends it"
    await stage.barrier()
    assert [await stage.has_settings(f"leaves-{number}") for number in range(3)] == [True] * 3

    await stage.edit(name, prune={"maxObjects": 3})
    for number in range(3):
        await stage.until_gone(CONFIG_MAPS, stage.namespace, f"leaves-{number}")
    await stage.until_ready(name)


async def test_health_is_told_while_the_budget_holds_pruning_back(stage: Stage) -> None:
    shipped = definition(stage.group), widget(stage.group)
    v1 = await stage.content(*shipped, settings(stage.namespace, "leaves"))
    name = await stage.installed(v1, prune={"maxObjects": 0})
    await set_ready(stage, "False")
    await stage.edit_template(name, await stage.content(*shipped, name="v2"))
    await stage.until_deployment(name, is_observed, says("Installed", "True"), says("Healthy", "False"))

    await set_ready(stage, "True")
    await stage.until_deployment(name, says("Ready", "False", "PruneBudgetExceeded"), says("Healthy", "True"))
    assert await stage.has_settings("leaves")

    await set_ready(stage, "False")
    await stage.until_deployment(name, says("Healthy", "False"))


async def set_ready(stage: Stage, status: str) -> None:
    ready = {"type": "Ready", "status": status, "reason": "Tested", "message": "", "lastTransitionTime": NOW}
    body = json.dumps({"status": {"conditions": [ready]}}).encode()
    await stage.client.patch(widgets(stage.group), "", "one", body)


async def test_an_object_that_says_so_survives_a_pivot(stage: Stage) -> None:
    """From then on it has no owner; the one mark that is left says that its deployment may take it again."""
    name, v2 = await two_versions(stage, settings(stage.namespace, "stays", annotations=KEEP))
    assert "ownerReferences" not in (await stage.settings("stays"))["metadata"]
    await upgraded(stage, name, v2)
    metadata = (
        await stage.until(CONFIG_MAPS, stage.namespace, "stays", lambda found: "labels" not in found["metadata"])
    )["metadata"]
    assert metadata["annotations"].keys() == {*KEEP, RELEASED_ANNOTATION}
    assert "ownerReferences" not in metadata
    text = f'left ConfigMap {stage.namespace}/stays in the cluster, no longer managed (core.rukpak.io/prune: "false")'
    await until_told(stage, name, "Released", f"Normal: {text}")


async def test_an_object_that_was_told_to_stay_by_hand_survives_a_pivot(stage: Stage) -> None:
    name, v2 = await two_versions(stage, settings(stage.namespace, "stays"))
    await stage.run_kubectl(
        "annotate", f"--namespace={stage.namespace}", "configmap/stays", "core.rukpak.io/prune=false"
    )
    await upgraded(stage, name, v2)
    found = await stage.until(
        CONFIG_MAPS, stage.namespace, "stays", lambda found: "ownerReferences" not in found["metadata"]
    )
    assert "deletionTimestamp" not in found["metadata"]


async def test_an_object_whose_label_was_stripped_is_pruned_all_the_same(stage: Stage) -> None:
    name, v2 = await two_versions(stage, settings(stage.namespace, "leaves"))
    await stage.edit(name, suspend=True)  # else the label comes back at once
    await stage.until_deployment(name, says("Ready", "True", "Suspended"))
    labels = ["core.rukpak.io/owner-kind-", "core.rukpak.io/owner-name-"]
    await stage.run_kubectl("label", f"--namespace={stage.namespace}", "configmap/leaves", *labels)
    await stage.edit_template(name, v2)
    await stage.edit(name, suspend=False)
    await stage.until_ready(name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")


async def test_labels_alone_get_nothing_pruned(stage: Stage) -> None:
    """A foreign object with our labels is not ours."""
    name, v2 = await two_versions(stage, settings(stage.namespace, "leaves"))
    foreign = settings(stage.namespace, "foreign")
    foreign["metadata"]["labels"] = {
        "core.rukpak.io/owner-kind": "BundleDeployment",
        "core.rukpak.io/owner-name": name,
    }
    await stage.create(CONFIG_MAPS, stage.namespace, foreign)
    await upgraded(stage, name, v2)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")
    assert await stage.has_settings("foreign")
