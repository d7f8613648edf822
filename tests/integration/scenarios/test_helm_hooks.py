"""Hooks of charts: when they run, what waits for them, what becomes of them, and of a chart whose hook fails."""

import json
from typing import Any

import pytest

from rukpak_py.api.names import HOOK_LABEL, RECONCILE_AT_ANNOTATION, SKIP_HOOKS_ANNOTATION
from rukpak_py.core.objects import canonical_json
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, CRDS, PODS
from tests.integration.operator.test_killed_hooks import JOBS
from tests.integration.scenarios.events import events_of, until_told
from tests.integration.scenarios.helm_charts import chart_source, deploy, has_data, installed, settings
from tests.integration.scenarios.stage import Check, Document, Stage, definition, is_observed, says, widget
from tests.unit.charts import config_map, hook, job_hook
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("helm")


async def change(stage: Stage, name: str, files: dict[str, str], version: str) -> None:
    await stage.edit_template(name, await chart_source(stage, files, name=version))


async def annotate(stage: Stage, name: str, key: str, value: str) -> None:
    body = json.dumps({"metadata": {"annotations": {key: value}}}).encode()
    await stage.client.patch(BUNDLE_DEPLOYMENTS, "", name, body)


async def end_pod(stage: Stage, job: str, phase: str) -> None:
    """End the pod of the Job that is there now, as a node would say."""
    uid = (await stage.until(JOBS, stage.namespace, job))["metadata"]["uid"]

    async def waiting() -> list[str]:
        selector = f"batch.kubernetes.io/controller-uid={uid}"
        listed = await stage.client.list_metadata(PODS, stage.namespace, label_selector=selector)
        return [pod.key.name for pod in listed.items]

    await eventually(waiting, what=f"the Job {job} has a pod")
    (pod,) = await waiting()
    body = json.dumps({"status": {"phase": phase}}).encode()
    await stage.client.patch_status(PODS, stage.namespace, pod, body)


def ran(document: Document) -> list[tuple[str, str, str]]:
    records = (document.get("status") or {}).get("hooks") or []
    return [(one["event"], one["name"], one["result"]) for one in records]


def has_run(*names: str) -> Check:
    return lambda document: [name for _, name, _ in ran(document)] == list(names)


async def until_running(stage: Stage, name: str, event: str, job: str) -> None:
    text = f"Waiting: the {event} hook Job.batch/{stage.namespace}/{job} is running"
    await stage.until_deployment(name, says("Ready", "Unknown", "Progressing", text))


async def job_uid(stage: Stage, name: str) -> Any:
    return (await stage.get(JOBS, stage.namespace, name))["metadata"]["uid"]


async def test_each_hook_runs_once_at_its_event_by_weight_and_by_name(stage: Stage) -> None:
    """Tests never do, those of rollbacks only on the way back, and a change that renders nothing else runs none."""
    events = ("pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "test")
    files = {f"templates/{event}.yaml": hook(event, event) for event in events}
    files["templates/order.yaml"] = "---\n".join(
        [
            hook("late", "pre-install", weight="5"),
            hook("b", "pre-install, post-upgrade", weight="-5"),
            hook("a", "pre-install", weight="-5"),
        ]
    )
    name = await installed(stage, files | {"templates/settings.yaml": settings(a="1")})
    found = await stage.deployment(name)
    before = [("pre-install", one, "Succeeded") for one in ("a", "b", "pre-install", "late")]
    assert ran(found) == [*before, ("post-install", "post-install", "Succeeded")]
    assert not [event for event in events[2:] if await stage.has_settings(event)]

    await stage.edit(name, prune={"enabled": False})
    await stage.barrier()
    assert ran(await stage.deployment(name)) == ran(found)

    await stage.edit(name, config={"values": {"any": "thing"}})
    await stage.until_deployment(name, has_run("pre-upgrade", "b", "post-upgrade"), says("Ready", "True"))
    assert not [event for event in events[4:] if await stage.has_settings(event)]
    owned = (await stage.settings("a"))["metadata"]
    assert [(one["kind"], one["controller"]) for one in owned["ownerReferences"]] == [("BundleDeployment", False)]
    assert owned["labels"] == {HOOK_LABEL: owned["ownerReferences"][0]["uid"]}

    await stage.edit(name, config=None)
    await stage.until_deployment(name, has_run("pre-rollback", "post-rollback"), says("Ready", "True"))
    assert not await stage.has_settings("test")


async def test_nothing_but_definitions_is_applied_before_the_first_hooks_have_ended(stage: Stage) -> None:
    crd = definition(stage.group)
    files = {
        "crds/widgets.yaml": json.dumps(crd),
        "templates/before.yaml": job_hook("before", "pre-install"),
        "templates/after.yaml": job_hook("after", "post-install"),
        "templates/settings.yaml": settings(a="1"),
    }
    name = await deploy(stage, await chart_source(stage, files))
    text = f"Waiting: the pre-install hook Job.batch/{stage.namespace}/before is running"
    await stage.until_deployment(name, says("Ready", "Unknown", "Progressing", text))
    assert await stage.exists(CRDS, "", crd["metadata"]["name"])
    assert not await stage.has_settings()
    assert not await stage.exists(JOBS, stage.namespace, "after")

    await end_pod(stage, "before", "Succeeded")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="1"))
    await stage.until_deployment(name, says("Ready", "Unknown", "Progressing", "the post-install hook Job"))
    assert not (await stage.deployment(name))["status"].get("activeBundle")

    await end_pod(stage, "after", "Succeeded")
    await stage.until_ready(name)
    assert ran(await stage.deployment(name)) == [
        ("pre-install", "before", "Succeeded"),
        ("post-install", "after", "Succeeded"),
    ]
    await stage.client.delete(CRDS, "", crd["metadata"]["name"])


async def test_failed_hook_leaves_the_old_version_running_until_a_request(stage: Stage) -> None:
    name = await installed(stage, {"templates/settings.yaml": settings(a="1")})
    files = {"templates/job.yaml": job_hook("migrate", "pre-upgrade"), "templates/settings.yaml": settings(a="2")}
    await change(stage, name, files, "next")
    await until_running(stage, name, "pre-upgrade", "migrate")
    hanging = await job_uid(stage, "migrate")
    await annotate(stage, name, RECONCILE_AT_ANNOTATION, "while it runs")
    await end_pod(stage, "migrate", "Failed")
    await stage.until(JOBS, stage.namespace, "migrate", lambda found: found["metadata"]["uid"] != hanging)
    await stage.until_deployment(name, lambda found: found["status"].get("lastHandledReconcileAt") == "while it runs")
    await end_pod(stage, "migrate", "Failed")
    text = f"the pre-upgrade hook Job.batch/{stage.namespace}/migrate failed: BackoffLimitExceeded: "
    advice = "set the annotation core.rukpak.io/reconcile-at to a new value, or change spec.template or spec.config"
    await stage.until_deployment(
        name, says("Installed", "False", "UpgradeFailed", text, advice), says("Stalled", "True"), has_run("migrate")
    )
    first = await job_uid(stage, "migrate")
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "settings")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="1"))
    assert await job_uid(stage, "migrate") == first
    await until_told(stage, name, "UpgradeFailed", "Warning: ", text)
    assert not {"HookFailed", "InstallFailed"} & (await events_of(stage, name)).keys()

    await annotate(stage, name, RECONCILE_AT_ANNOTATION, "now")
    await stage.until(JOBS, stage.namespace, "migrate", lambda found: found["metadata"]["uid"] != first)
    await end_pod(stage, "migrate", "Succeeded")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="2"))
    await stage.until_ready(name)
    assert ran(await stage.deployment(name)) == [("pre-upgrade", "migrate", "Succeeded")]


async def test_hook_of_a_superseded_upgrade_is_named_and_waited_for(stage: Stage) -> None:
    """It may be half a migration; the next one begins after it."""
    before = await chart_source(stage, {"templates/settings.yaml": settings(a="1")}, name="before")
    name = await deploy(stage, before)
    await stage.until_ready(name)
    policy = {"delete_policy": "before-hook-creation,hook-succeeded"}
    files = {"templates/job.yaml": job_hook("migrate", "pre-upgrade", **policy), "templates/a.yaml": settings(a="2")}
    await change(stage, name, files, "next")
    await until_running(stage, name, "pre-upgrade", "migrate")

    await stage.edit_template(name, before)
    migrate = f"Job.batch/{stage.namespace}/migrate"
    text = f"the pre-upgrade hook {migrate} of an installation that was given up is still running"
    await stage.until_deployment(name, says("Ready", "Unknown", "Progressing", text), says("Installed", "True"))
    await until_told(stage, name, "HookGivenUp", "Warning: ", text)
    another = {"templates/b.yaml": hook("another", "pre-upgrade"), "templates/a.yaml": settings(a="3")}
    await change(stage, name, another, "another")
    await stage.until_deployment(name, is_observed, says("Ready", "Unknown", "Progressing", text))
    assert not await stage.has_settings("another")

    await end_pod(stage, "migrate", "Succeeded")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="3"))
    await stage.until_ready(name)
    await stage.until_gone(JOBS, stage.namespace, "migrate")
    await until_told(stage, name, "HookEnded", "Normal: ", "of an installation that was given up has succeeded")


async def test_hooks_are_skipped_on_request(stage: Stage) -> None:
    files = {"templates/job.yaml": job_hook("migrate", "pre-install,pre-delete"), "templates/a.yaml": settings(a="1")}
    name = await deploy(stage, await chart_source(stage, files))
    await end_pod(stage, "migrate", "Failed")
    await stage.until_deployment(name, says("Installed", "False", "InstallFailed"), says("Stalled", "True"))
    await annotate(stage, name, SKIP_HOOKS_ANNOTATION, "true")
    await stage.until_ready(name)
    await until_told(stage, name, "HooksSkipped", "hooks of the chart are not run")
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)


async def test_hook_of_a_former_run_is_replaced_where_its_policy_says_so(stage: Stage) -> None:
    """Content that comes back runs its hooks of a rollback."""
    events = "pre-install,pre-upgrade,pre-rollback"
    files = {"templates/job.yaml": job_hook("migrate", events), "templates/a.yaml": settings(a="1")}
    source = await chart_source(stage, files)
    name = await deploy(stage, source)
    await end_pod(stage, "migrate", "Succeeded")
    await stage.until_ready(name)
    first = await job_uid(stage, "migrate")
    await change(stage, name, {"templates/a.yaml": settings(a="2")}, "without")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="2"))
    await stage.until_deployment(name, says("Ready", "True"), has_run())
    await stage.edit_template(name, source)
    await stage.until(JOBS, stage.namespace, "migrate", lambda found: found["metadata"]["uid"] != first)
    await end_pod(stage, "migrate", "Succeeded")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="1"))

    await stage.until_ready(name)
    lasting = {"templates/job.yaml": job_hook("migrate", "pre-upgrade", delete_policy="hook-failed")}
    await change(stage, name, lasting, "lasting")
    text = f"Job.batch/{stage.namespace}/migrate was left by a former hook"
    await stage.until_deployment(name, says("Ready", "False", "Conflict", text))
    second = await job_uid(stage, "migrate")
    await stage.client.delete(JOBS, stage.namespace, "migrate", propagation="Background")
    await stage.until(JOBS, stage.namespace, "migrate", lambda found: found["metadata"]["uid"] != second, seconds=90)
    await end_pod(stage, "migrate", "Succeeded")
    await stage.until_deployment(name, has_run("migrate"), says("Ready", "True"), seconds=90)


async def test_hook_that_a_later_one_needs_is_deleted_when_all_have_succeeded(stage: Stage) -> None:
    after = {"delete_policy": "before-hook-creation,hook-succeeded"}
    files = {
        "templates/a.yaml": hook("account", "pre-install", weight="-1", **after),
        "templates/b.yaml": job_hook("migrate", "pre-install", **after),
    }
    name = await deploy(stage, await chart_source(stage, files))
    await stage.until(JOBS, stage.namespace, "migrate")
    assert await stage.has_settings("account")
    await end_pod(stage, "migrate", "Failed")
    await stage.until_deployment(name, says("Stalled", "True"))
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "account")
    first = await job_uid(stage, "migrate")
    await annotate(stage, name, RECONCILE_AT_ANNOTATION, "now")
    await stage.until(JOBS, stage.namespace, "migrate", lambda found: found["metadata"]["uid"] != first)
    assert await stage.has_settings("account")
    await end_pod(stage, "migrate", "Succeeded")
    await stage.until_ready(name)
    await stage.until_gone(CONFIG_MAPS, stage.namespace, "account")
    await stage.until_gone(JOBS, stage.namespace, "migrate")


async def test_foreign_object_in_the_place_of_a_hook_is_left_alone(stage: Stage) -> None:
    body: Document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"a": "theirs"}}
    await stage.client.create(CONFIG_MAPS, stage.namespace, canonical_json(body))
    name = await deploy(stage, await chart_source(stage, {"templates/a.yaml": hook("mine", "pre-install")}))
    text = f"ConfigMap {stage.namespace}/mine exists, is not a hook, and is managed by nobody; delete it, or give"
    await stage.until_deployment(
        name, says("Installed", "False", "InstallFailed", text), says("Ready", "False", "Conflict")
    )
    await stage.client.delete(CONFIG_MAPS, stage.namespace, "mine")
    body["metadata"]["annotations"] = {"helm.sh/hook": "pre-install"}
    body["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "Helm"}
    await stage.client.create(CONFIG_MAPS, stage.namespace, canonical_json(body))
    text = "was left by a hook that is not of this BundleDeployment; delete it, or set spec.adopt to IfUnowned"
    await annotate(stage, name, RECONCILE_AT_ANNOTATION, "now")
    await stage.until_deployment(name, says("Installed", "False", "InstallFailed", text), seconds=90)
    await stage.edit(name, adopt="IfUnowned")
    await stage.until(CONFIG_MAPS, stage.namespace, "mine", has_data(value=""))
    await stage.until_ready(name)


async def test_content_that_the_original_installed_has_run_its_hooks(stage: Stage) -> None:
    files = {"templates/job.yaml": job_hook("migrate", "pre-install,pre-upgrade"), "templates/a.yaml": settings(a="1")}
    name = await deploy(stage, await chart_source(stage, files), suspend=True)
    status = {"status": {"activeBundle": await stage.wanted_bundle(name)}}
    await stage.client.patch_status(BUNDLE_DEPLOYMENTS, "", name, json.dumps(status).encode())
    await stage.edit(name, suspend=False)
    await stage.until_ready(name)
    assert not await stage.exists(JOBS, stage.namespace, "migrate")


async def test_hooks_of_the_deletion_come_first_and_last(stage: Stage) -> None:
    files = {
        "templates/a.yaml": job_hook("before", "pre-delete"),
        "templates/settings.yaml": settings(a="1"),
    }
    noted = {"helm.sh/hook": "post-delete", "helm.sh/resource-policy": "keep"}
    files["templates/b.yaml"] = config_map("after", **noted)
    name = await installed(stage, files)
    assert (await stage.deployment(name))["metadata"]["finalizers"] == ["core.rukpak.io/ordered-deletion"]
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name)
    await end_pod(stage, "before", "Failed")
    text = f"Deleting: the pre-delete hook Job.batch/{stage.namespace}/before failed"
    await stage.until_deployment(name, says("Stalled", "True", "Deleting", text, "skip-hooks"))
    assert await stage.has_settings()
    assert not await stage.has_settings("after")
    first = await job_uid(stage, "before")
    await annotate(stage, name, RECONCILE_AT_ANNOTATION, "now")
    await stage.until(JOBS, stage.namespace, "before", lambda found: found["metadata"]["uid"] != first)
    await end_pod(stage, "before", "Succeeded")
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    assert not await stage.has_settings()
    assert await stage.has_settings("after")


async def test_definitions_that_come_before_a_hook_are_not_taken_back_while_it_runs(stage: Stage) -> None:
    crd = definition(stage.group)
    files = {"crds/widgets.yaml": json.dumps(crd), "templates/settings.yaml": settings(a="1")}
    name = await installed(stage, files)
    crd["metadata"]["labels"] = {"example.com/version": "2"}
    files = {"crds/widgets.yaml": json.dumps(crd), "templates/settings.yaml": settings(a="2")}
    await change(stage, name, {**files, "templates/job.yaml": job_hook("migrate", "pre-upgrade")}, "next")
    await stage.until_deployment(name, says("Ready", "Unknown", "Progressing", "the pre-upgrade hook Job"))
    first = await stage.get(CRDS, "", crd["metadata"]["name"])
    assert first["metadata"]["labels"]["example.com/version"] == "2"
    await stage.barrier()
    later = await stage.get(CRDS, "", crd["metadata"]["name"])
    assert later["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert (await stage.settings())["data"] == {"a": "1"}
    await end_pod(stage, "migrate", "Succeeded")
    await stage.until(CONFIG_MAPS, stage.namespace, "settings", has_data(a="2"))
    await stage.until_ready(name)
    await stage.client.delete(CRDS, "", crd["metadata"]["name"])


async def test_a_hook_of_a_kind_that_is_not_there_waits_for_the_kind(stage: Stage) -> None:
    thing = widget(stage.group)
    thing["metadata"]["annotations"] = {"helm.sh/hook": "pre-install"}
    name = await deploy(
        stage, await chart_source(stage, {"templates/a.yaml": json.dumps(thing), "templates/b.yaml": settings(a="1")})
    )
    text = "required resource not found: "
    await stage.until_deployment(name, says("Installed", "False", "InstallFailed", text), says("Reconciling", "True"))
    assert not await stage.has_settings()
    await stage.create(CRDS, "", definition(stage.group))
    await stage.until_deployment(name, has_run("one"), says("Ready", "True"), seconds=90)


async def test_hooks_that_ended_go_when_their_installation_is_superseded_between_two(stage: Stage) -> None:
    """The one that supersedes it is a chart without hooks of its own, or the installed content."""
    thing = widget(stage.group)
    thing["metadata"]["annotations"] = {"helm.sh/hook": "pre-install,pre-upgrade"}
    files = {
        "templates/a.yaml": hook("account", "pre-install,pre-upgrade", weight="-1", delete_policy="hook-succeeded"),
        "templates/b.yaml": json.dumps(thing),
    }
    with_hooks = await chart_source(stage, files)
    without = await chart_source(stage, {"templates/a.yaml": settings(a="1")}, name="without")
    name = await deploy(stage, with_hooks)
    for _ in range(2):
        await stage.until_deployment(name, has_run("account"), says("Ready", "False"), says("Reconciling", "True"))
        assert await stage.has_settings("account")
        await stage.edit_template(name, without)
        await stage.until_gone(CONFIG_MAPS, stage.namespace, "account")
        await stage.until_deployment(name, is_observed, has_run(), says("Ready", "True"))
        await stage.edit_template(name, with_hooks)


@pytest.mark.parametrize("propagation", ["Orphan", "Foreground"])
async def test_hooks_of_a_deletion_that_orphans_or_leaves_the_order_to_the_collector(
    stage: Stage, propagation: str
) -> None:
    files = {"templates/a.yaml": job_hook("before", "pre-delete"), "templates/settings.yaml": settings(a="1")}
    name = await installed(stage, files)
    await stage.client.delete(BUNDLE_DEPLOYMENTS, "", name, propagation=propagation)
    if propagation == "Foreground":
        await end_pod(stage, "before", "Succeeded")
    await stage.until_gone(BUNDLE_DEPLOYMENTS, "", name)
    assert await stage.has_settings() is (propagation == "Orphan")
    if propagation == "Orphan":
        assert not await stage.exists(JOBS, stage.namespace, "before")
    else:
        await stage.until_gone(JOBS, stage.namespace, "before")
