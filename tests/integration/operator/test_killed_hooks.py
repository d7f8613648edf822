"""Hooks of charts whatever happens to the operator: each is run once, and what is on its way is waited for."""

import asyncio
import shutil
from collections import Counter
from contextlib import suppress

import orjson
import pytest

from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, PODS, Resource
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.striking import Point, Strike, When
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.operator.test_helm_renderings import RANDOM
from tests.integration.operator.test_replicas import leads
from tests.integration.proxy import Exchange, Proxy
from tests.manifests import Document
from tests.unit.charts import config_map, hook, job_hook
from tests.waiting import eventually, until_gone

JOBS = Resource(gvk=GroupVersionKind("batch", "v1", "Job"), plural="jobs", namespaced=True)
PATIENCE = 60.0
CHART = "---\n".join(
    [
        hook("first", "pre-install", weight="-1"),
        job_hook("second", "pre-install"),
        config_map("settings"),
        hook("third", "post-install"),
        job_hook("last", "pre-delete"),
    ]
)


JOB_HOOK = job_hook("second", "pre-install")
PASSWORD = (
    "{{ $password := randAlphaNum 20 }}"
    + "---\n".join([hook("first", "pre-install", weight="-1"), JOB_HOOK, config_map("settings")])
).replace('print ""', "print $password")


def is_hook(exchange: Exchange) -> bool:
    made = exchange.method == "POST" and exchange.what in {"configmaps", "jobs"}
    return made and exchange.namespace.startswith("app-")


def is_record(exchange: Exchange) -> bool:
    """Whether the write records how one more hook ended."""
    status = exchange.document.get("status") or {}
    return exchange.what == "bundledeployments/status" and bool(status.get("hooks"))


def is_apply(exchange: Exchange) -> bool:
    return exchange.is_apply and exchange.namespace.startswith("app-")


# In the order in which they come; a test that waits for one of them has seen those before it.
STEPS = (
    ("the first hook is created", is_hook),
    ("its record", is_record),
    ("the second hook is created", is_hook),
    ("its record", is_record),
    ("the rest is applied", is_apply),
    ("the third hook is created", is_hook),
    ("its record", is_record),
    ("the hook of the deletion is created", is_hook),
    ("its record", is_record),
)


async def end_pods(tenant: Tenant) -> None:
    """End all pods that come, as a node would, until it is cancelled."""
    while True:
        with suppress(ApiError):
            for pod in (await tenant.admin.list_metadata(PODS, tenant.namespace)).items:
                body = b'{"status":{"phase":"Succeeded"}}'
                await tenant.admin.patch_status(PODS, tenant.namespace, pod.key.name, body)
        await asyncio.sleep(0.2)


async def story(tenant: Tenant) -> None:
    await deploy(tenant, await publish(tenant, CHART))
    found = await tenant.ready(seconds=2 * PATIENCE)
    records = [(one["event"], one["name"], one["result"]) for one in found["status"]["hooks"]]
    assert records == [
        ("pre-install", "first", "Succeeded"),
        ("pre-install", "second", "Succeeded"),
        ("post-install", "third", "Succeeded"),
    ]
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)


@pytest.mark.parametrize("when", When, ids=lambda when: when.value)
async def test_killed_at_every_step(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, helm: HelmProgram, when: When
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}"])
    node, running = asyncio.create_task(end_pods(tenant)), asyncio.create_task(story(tenant))
    try:
        for name, match in STEPS:
            kill = Strike(Point(name=name, when=when, match=match), operator.kill)
            proxy.rules = [kill]
            operator.launch()
            async with asyncio.timeout(PATIENCE):
                await kill.fired.wait()
        proxy.rules = []
        operator.launch()
        await running
    finally:
        for task in (node, running):
            task.cancel()
        await asyncio.gather(node, running, return_exceptions=True)
    created = Counter(one.document["metadata"]["name"] for one in proxy.writes if is_hook(one) and one.status == 201)
    assert created == {"first": 1, "second": 1, "third": 1, "last": 1}
    assert not [one for one in proxy.writes if one.method == "DELETE" and one.what in {"configmaps", "jobs"}]


def is_deletion_of_a_hook(exchange: Exchange) -> bool:
    return exchange.method == "DELETE" and exchange.resource == "jobs"


async def test_a_hook_that_hangs_fails_and_stays_so_after_a_restart(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, helm: HelmProgram
) -> None:
    """On request it is run again, once, also by another process than the one that deleted what there was."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}", "--hook-timeout=2"])
    await operator.start()
    await deploy(tenant, await publish(tenant, job_hook("hangs", "pre-install")))
    text = f"the pre-install hook Job.batch/{tenant.namespace}/hangs failed: it did not end within 2 s"
    found = await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is told")
    assert condition(found, "Stalled")["reason"] == "InstallFailed"
    uid = (await tenant.admin.get_metadata(JOBS, tenant.namespace, "hangs")).uid
    operator.kill()
    await operator.start()
    assert (await tenant.admin.get_metadata(JOBS, tenant.namespace, "hangs")).uid == uid
    assert (await tenant.deployment())["status"]["hooks"] == found["status"]["hooks"]

    kill = Strike(Point(name="it is deleted", when=When.AFTER, match=is_deletion_of_a_hook), operator.kill)
    proxy.rules = [kill]
    body = orjson.dumps({"metadata": {"annotations": {RECONCILE_AT_ANNOTATION: "now"}}})
    await tenant.admin.patch(BUNDLE_DEPLOYMENTS, "", tenant.name, body)
    async with asyncio.timeout(PATIENCE):
        await kill.fired.wait()
    proxy.rules = []
    await operator.start()

    def is_another(seen: Document) -> bool:
        return bool(seen["status"]["hooks"][0]["uid"] != uid)

    found = await tenant.until(is_another, what="it has run again")
    assert [(one["result"], one["reconcileAt"]) for one in found["status"]["hooks"]] == [("Failed", "now")]
    assert len([one for one in proxy.writes if is_hook(one) and one.status == 201]) == 2


async def test_a_hook_that_goes_while_no_operator_is_there_has_failed(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, helm: HelmProgram
) -> None:
    """Its end cannot be read, like that of a Job whose time to live is over."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}"])
    await operator.start()
    await deploy(tenant, await publish(tenant, job_hook("goes", "pre-install")))
    await tenant.until(lambda seen: seen["status"].get("runningHook", {}).get("uid"), what="the status has its uid")
    operator.kill()
    await tenant.admin.delete(JOBS, tenant.namespace, "goes", propagation="Background")
    await until_gone(tenant.admin, JOBS, tenant.namespace, "goes")
    await operator.start()
    text = f"the pre-install hook Job.batch/{tenant.namespace}/goes failed: it was deleted before it ended"
    await tenant.until(lambda seen: text in condition(seen, "Installed").get("message", ""), what="it is told")
    assert len([one for one in proxy.writes if is_hook(one) and one.status == 201]) == 1


async def test_another_leader_waits_for_the_hook_that_runs(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, helm: HelmProgram
) -> None:
    arguments = [f"--helm={helm.path}", "--leader-elect"]
    first, second = (operators(kubeconfig=proxy.kubeconfig, arguments=arguments) for _ in range(2))
    await first.start()
    await deploy(tenant, await publish(tenant, f"{hook('first', 'pre-install', weight='-1')}---\n{JOB_HOOK}"))
    text = f"the pre-install hook Job.batch/{tenant.namespace}/second is running"
    await tenant.until(lambda seen: text in condition(seen, "Ready").get("message", ""), what="it runs")
    await second.start()
    await first.stop()
    await eventually(lambda: leads(second), what="the second leads")
    node = asyncio.create_task(end_pods(tenant))
    await tenant.ready()
    node.cancel()
    created = Counter(one.document["metadata"]["name"] for one in proxy.writes if is_hook(one) and one.status == 201)
    assert created == {"first": 1, "second": 1}


async def test_hooks_begin_again_when_the_rendering_is_lost_between_two_of_them(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    """They have seen other values than those that would be installed."""
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    await deploy(tenant, await publish(tenant, PASSWORD))
    text = f"the pre-install hook Job.batch/{tenant.namespace}/second is running"
    await tenant.until(lambda seen: text in condition(seen, "Ready").get("message", ""), what="the first one has run")
    before = await tenant.read(CONFIG_MAPS, tenant.namespace, "first")
    await operator.stop()
    shutil.rmtree(operator.store)
    await operator.start()
    node = asyncio.create_task(end_pods(tenant))
    found = await tenant.ready()
    node.cancel()
    seen = [await tenant.read(CONFIG_MAPS, tenant.namespace, name) for name in ("first", "settings")]
    assert seen[0]["data"] == seen[1]["data"] != before["data"]
    digest = found["status"]["history"][0]["renderingDigest"]
    assert [(one["name"], one["renderingDigest"]) for one in found["status"]["hooks"]] == [
        ("first", digest),
        ("second", digest),
    ]


async def test_hooks_of_the_deletion_run_also_when_the_rendering_is_lost(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    operator = operators(arguments=[f"--helm={helm.path}"])
    await operator.start()
    await deploy(tenant, await publish(tenant, f"{RANDOM}---\n{job_hook('last', 'pre-delete')}"))
    await tenant.ready()
    await operator.stop()
    shutil.rmtree(operator.store)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await operator.start()
    text = f"Deleting: the pre-delete hook Job.batch/{tenant.namespace}/last is running"
    await tenant.until(lambda seen: condition(seen, "Ready").get("message", "") == text, what="it waits")
    assert (await tenant.admin.get_metadata(CONFIG_MAPS, tenant.namespace, "settings")).uid
    node = asyncio.create_task(end_pods(tenant))
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    node.cancel()
