"""The status of a BundleDeployment: from the first second, through its transitions, and in its Events."""

import json
from contextlib import aclosing
from typing import Any

from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CONFIG_MAPS, Resource
from tests.integration.scenarios.events import events_of, until_told
from tests.integration.scenarios.stage import Check, Document, Stage, condition, is_observed, says, settings
from tests.manifests import deployment, source

RECONCILE_AT = "core.rukpak.io/reconcile-at"


def pods(namespace: str, **spec: Any) -> Document:
    """A Deployment that never becomes available: no scheduler and no kubelet writes the status of its pods."""
    container = {"name": "c", "image": "registry.invalid/nothing:v1"}
    labels = {"app": "sleeper"}
    template = {"metadata": {"labels": labels}, "spec": {"schedulerName": "none", "containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "sleeper", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template} | spec,
    }


def echoes(value: str) -> Check:
    return lambda found: found["status"].get("lastHandledReconcileAt") == value


async def statuses(stage: Stage, resource: Resource, name: str, version: str) -> list[Document]:
    """Every status that the object had after this version, until it was Ready."""
    seen = []
    params = {"resourceVersion": version, "fieldSelector": f"metadata.name={name}"}
    async with aclosing(stage.client.watch(resource, params=params, idle=20, full=True)) as batches:
        async for batch in batches:
            for event in batch:
                seen.append(json.loads(bytes(event.object)))
                if says("Ready", "True")(seen[-1]):
                    return seen
    return seen


async def test_waiting_for_ready_works_from_the_first_second(stage: Stage) -> None:
    """Applied and waited for in one breath, as scripts do."""
    content = await stage.content(settings(stage.namespace))
    manifest = deployment(stage.name, content)
    stage.made.append((BUNDLE_DEPLOYMENTS, "", stage.name))
    await stage.run_kubectl("apply", "--filename=-", stdin=json.dumps(manifest))
    printed = await stage.run_kubectl(
        "wait", "--for=condition=Ready", f"bundledeployment/{stage.name}", "--timeout=30s"
    )
    assert printed == f"bundledeployment.core.rukpak.io/{stage.name} condition met"
    await stage.run_kubectl(
        "wait", "--for=condition=Ready", "bundle", f"--selector=core.rukpak.io/owner-name={stage.name}"
    )


async def test_every_condition_is_there_from_the_first_write_on(stage: Stage) -> None:
    """Ready is Unknown until it is known: a new object never looks as if all were well."""
    version = (await stage.client.list_metadata(BUNDLE_DEPLOYMENTS)).resource_version
    name = await stage.deploy(await stage.content(settings(stage.namespace)))
    first, *later = await statuses(stage, BUNDLE_DEPLOYMENTS, name, version)
    assert first["status"] == {"observedGeneration": -1}
    assert len(later) == 2  # on the way, and done
    for document in later:
        assert is_observed(document)
        kinds = {one["type"] for one in document["status"]["conditions"]}
        assert {"HasValidBundle", "Installed", "Healthy", "Ready"} <= kinds
        assert {one["observedGeneration"] for one in document["status"]["conditions"]} == {1}
    assert says("Ready", "Unknown")(later[0])
    assert says("Reconciling", "True")(later[0])
    assert not condition(later[-1], "Reconciling")


async def test_transitions_are_told_as_events(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace), settings(stage.namespace, "leaves")))
    active = (await stage.deployment())["status"]["activeBundle"]
    await until_told(stage, active, "Unpacked", "Normal: Successfully unpacked the configMaps Bundle, sha256:")
    await until_told(stage, name, "Installed", f"Normal: Instantiated bundle {active} successfully, sha256:")

    await stage.client.delete(CONFIG_MAPS, stage.namespace, "leaves")
    await until_told(
        stage, name, "DriftCorrected", f"Normal: reverted drift on 1 object: ConfigMap {stage.namespace}/leaves"
    )

    await stage.edit_template(name, source("non-existent"))
    await until_told(stage, name, "UnpackFailed", "Warning: Failed to unpack its Bundle: ", "non-existent")
    failing = await stage.wanted_bundle(name)
    await until_told(stage, failing, "UnpackFailed", "Warning: source bundle content: get configmap")

    await stage.edit_template(name, await stage.content(settings(stage.namespace), name="v2"))
    await until_told(stage, name, "Upgraded", "Normal: Instantiated bundle")
    await until_told(
        stage, name, "Pruned", f"Normal: deleted ConfigMap {stage.namespace}/leaves, no longer in the bundle"
    )


async def test_an_install_that_goes_well_is_two_events_and_an_upgrade_two_more(stage: Stage) -> None:
    """A roll-out on the way to it made seven Warnings: none of them was a failure."""
    name = await stage.deploy(await stage.content(pods(stage.namespace)))
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy"))
    where = ["--namespace", stage.namespace, "deployment/sleeper"]
    await stage.run_kubectl("scale", *where, "--replicas=0")
    first = (await stage.until_ready(name))["status"]["activeBundle"]
    await stage.edit_template(name, await stage.content(pods(stage.namespace, revisionHistoryLimit=2), name="v2"))
    second = (await stage.until_deployment(name, is_observed, says("Ready", "True")))["status"]["activeBundle"]
    await until_told(stage, second, "Unpacked", "Normal: ")
    await until_told(stage, name, "Upgraded", "Normal: ")
    assert (await events_of(stage, name)).keys() == {"Installed", "Upgraded"}
    assert (await events_of(stage, first)).keys() == {"Unpacked"}
    assert (await events_of(stage, second)).keys() == {"Unpacked"}


async def test_failed_workload_is_told_at_once_and_its_recovery_too(stage: Stage) -> None:
    name = await stage.deploy(await stage.content(pods(stage.namespace, progressDeadlineSeconds=1)))
    sleeper = f"Deployment.apps/{stage.namespace}/sleeper: "
    await until_told(stage, name, "Unhealthy", f"Warning: {sleeper}")
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", f"{sleeper}object Failed: "))
    await stage.run_kubectl("scale", "--namespace", stage.namespace, "deployment/sleeper", "--replicas=0")
    await until_told(stage, name, "Healthy", "Normal: BundleDeployment is healthy")


async def test_a_refusal_is_told_as_an_event(stage: Stage) -> None:
    await stage.create(CONFIG_MAPS, stage.namespace, settings(stage.namespace))
    name = await stage.deploy(await stage.content(settings(stage.namespace)))
    await until_told(stage, name, "InstallFailed", "Warning: ", "exists and is not managed by anyone")


async def test_a_deployment_without_pods_is_not_healthy(stage: Stage) -> None:
    """Installed all the same; it is waited for, and that never stalls."""
    name = await stage.deploy(await stage.content(pods(stage.namespace)))
    sleeper = f"Deployment.apps/{stage.namespace}/sleeper: "
    symptom = f"{sleeper}object InProgress: Available: 0/1"
    found = await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", symptom))
    assert says("Installed", "True", "InstallationSucceeded")(found)
    assert says("Ready", "Unknown", "Unhealthy", sleeper)(found)
    assert says("Reconciling", "True")(found)
    assert not condition(found, "Stalled")

    where = ["--namespace", stage.namespace, "deployment/sleeper"]
    await stage.run_kubectl("scale", *where, "--replicas=0")
    found = await stage.until_deployment(name, says("Healthy", "True", "Healthy"), says("Ready", "True"))
    await stage.run_kubectl("scale", *where, "--replicas=1")
    await stage.until_deployment(name, says("Healthy", "False", "Unhealthy"), says("Ready", "Unknown"))


async def test_a_deployment_that_gave_up_never_stalls(stage: Stage) -> None:
    name = await stage.deploy(await stage.content(pods(stage.namespace, progressDeadlineSeconds=1)))
    found = await stage.until_deployment(name, says("Healthy", "False", "Unhealthy", "Progress deadline exceeded"))
    assert says("Ready", "False", "Unhealthy")(found)
    assert says("Reconciling", "True")(found)
    assert not condition(found, "Stalled")


async def test_an_unhealthy_upgrade_keeps_what_left_the_content(stage: Stage) -> None:
    """They stay until it is healthy, or the deployment says that applied is enough."""
    name = await stage.installed(await stage.content(settings(stage.namespace, "leaves")))
    former = (await stage.deployment())["status"]["activeBundle"]
    await stage.edit_template(name, await stage.content(pods(stage.namespace), name="v2"))
    found = await stage.until_deployment(name, is_observed, says("Healthy", "False", "Unhealthy"))
    assert found["status"]["activeBundle"] != former
    await stage.barrier()
    assert await stage.has_settings("leaves")
    assert await stage.exists(BUNDLES, "", former)

    await stage.edit(name, prune={"when": "AfterApply"})
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "leaves")


async def test_the_last_five_installations_are_remembered(stage: Stage) -> None:
    content = [await stage.content(settings(stage.namespace, key=str(n)), name=f"v{n}") for n in range(6)]
    name = await stage.installed(content[0], template={"labels": {"a": "b"}})
    for one in content[1:]:
        await stage.edit_template(name, one)
        await stage.until_ready(name)
    status = (await stage.deployment())["status"]
    history = status["history"]
    assert len(history) == 5
    assert [one["template"]["spec"]["source"] for one in history] == list(reversed(content[1:]))
    assert (history[0]["bundle"], history[0]["digest"]) == (status["activeBundle"], status["digest"])
    assert history[0]["template"]["metadata"]["labels"] == {"a": "b"}
    assert [one["time"] for one in history] == sorted((one["time"] for one in history), reverse=True)


async def test_template_of_the_history_can_be_installed_again(stage: Stage) -> None:
    """The history holds the whole source."""
    first = await stage.content(settings(stage.namespace, key="one"), name="v1")
    name = await stage.installed(first)
    await stage.edit_template(name, await stage.content(settings(stage.namespace, key="two"), name="v2"))
    await stage.until_ready(name)
    past = (await stage.deployment())["status"]["history"][1]
    await stage.edit_template(name, past["template"]["spec"]["source"])
    await stage.until_ready(name)
    assert (await stage.settings())["data"] == {"key": "one"}
    assert (await stage.deployment())["status"]["digest"] == past["digest"]


async def test_a_forced_reconcile_is_echoed(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace)))
    assert "lastHandledReconcileAt" not in (await stage.deployment())["status"]
    for value in ("2026-11-21T15:00:00Z", "again"):
        await stage.run_kubectl("annotate", "bundledeployment", name, f"{RECONCILE_AT}={value}", "--overwrite")
        found = await stage.until_deployment(name, echoes(value))
        assert says("Ready", "True")(found)


async def test_while_suspended_nothing_is_applied_corrected_or_pruned(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace), settings(stage.namespace, "leaves")))
    await stage.edit(name, suspend=True)
    text = "spec.suspend is true: nothing is applied, corrected or pruned"
    found = await stage.until_deployment(name, says("Ready", "True", "Suspended", text))
    assert says("Installed", "True")(found)
    await until_told(stage, name, "Suspended", f"Normal: {text}")
    assert not condition(found, "Reconciling")

    await stage.client.patch(CONFIG_MAPS, stage.namespace, "settings", b'{"data":{"key":"mine"}}')
    await stage.edit_template(name, await stage.content(settings(stage.namespace, key="v2"), name="v2"))
    await stage.until_deployment(name, is_observed)
    await stage.barrier()
    assert (await stage.settings())["data"] == {"key": "mine"}
    assert await stage.has_settings("leaves")
    assert len(await stage.bundles_of(name)) == 1

    await stage.edit(name, suspend=False)
    await stage.until_deployment(name, is_observed, says("Ready", "True", "Succeeded"))
    await until_told(stage, name, "Resumed", "Normal: reconciling again")
    assert (await stage.settings())["data"] == {"key": "v2"}
    assert not await stage.has_settings("leaves")


async def test_a_suspended_deployment_can_be_deleted(stage: Stage) -> None:
    name = await stage.installed(await stage.content(settings(stage.namespace)), suspend=False)
    await stage.edit(name, suspend=True)
    await stage.until_deployment(name, says("Ready", "True", "Suspended"))
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)


async def test_deployment_of_an_unserved_class_gets_no_status(stage: Stage) -> None:
    """The status stays as the API server filled it in."""
    content = await stage.content(settings(stage.namespace))
    name = await stage.deploy(content, provisionerClassName="non-existent-class-name")
    await stage.barrier()
    assert (await stage.deployment())["status"] == {"observedGeneration": -1}
    assert not await stage.bundles_of(name)


async def test_a_class_that_becomes_known_is_noticed_and_one_that_becomes_unknown_too(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace))
    name = await stage.deploy(content, provisionerClassName="non-existent-class-name")
    await stage.edit(name, provisionerClassName="core-rukpak-io-plain")
    await stage.until_ready(name)

    await stage.edit(name, provisionerClassName="non-existent-class-name")
    text = 'this operator does not serve the class "non-existent-class-name"; nothing is applied, corrected or pruned'
    await stage.until_deployment(name, is_observed, says("Ready", "Unknown", "ClassNotServed", text))
    await until_told(stage, name, "ClassNotServed", f"Warning: {text}")
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await stage.barrier()
    assert not await stage.has_settings()

    await stage.edit(name, provisionerClassName="core-rukpak-io-plain")
    await stage.until_ready(name)
    await until_told(stage, name, "Resumed", "Normal: reconciling again")
    assert await stage.has_settings()


async def test_legacy_spelling_of_the_class_is_served(stage: Stage) -> None:
    content = await stage.content(settings(stage.namespace))
    manifest = deployment(stage.name, content, provisionerClassName="core.rukpak.io/plain")
    manifest["spec"]["template"]["spec"]["provisionerClassName"] = "core.rukpak.io/plain"
    await stage.create(BUNDLE_DEPLOYMENTS, "", manifest)
    await stage.until_ready(stage.name)
