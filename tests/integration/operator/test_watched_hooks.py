"""The end of a hook comes by the watch of hook objects: no look now and then is needed, and none finds it earlier."""

from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import PODS
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.test_killed_hooks import JOBS
from tests.integration.proxy import Proxy
from tests.manifests import Document
from tests.unit.charts import job_hook
from tests.waiting import eventually, quiet

UNWATCHED = 7.0  # seconds: longer than between two looks at an object that no watch shows


def is_recorded(found: Document) -> bool:
    return bool(found["status"].get("runningHook", {}).get("uid"))


async def test_end_of_a_hook_is_seen_by_its_watch_alone(
    tenant: Tenant, operators: StartOperator, proxy: Proxy, helm: HelmProgram
) -> None:
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[f"--helm={helm.path}"])
    await operator.start()
    await deploy(tenant, await publish(tenant, job_hook("watched", "pre-install")))
    await tenant.until(is_recorded, what="the hook runs")

    async def reads() -> int:
        return len([one for one in proxy.seen if one.resource == "jobs" and one.method == "GET" and not one.is_watch])

    async def pods() -> list[str]:
        return [pod.key.name for pod in (await tenant.admin.list_metadata(PODS, tenant.namespace)).items]

    async def has_ended() -> bool:
        job = await tenant.read(JOBS, tenant.namespace, "watched")
        return any(one["type"] == "Complete" for one in job["status"].get("conditions", ()))

    before = await quiet(reads, seconds=UNWATCHED)
    proxy.stall("jobs")
    (pod,) = await eventually(pods, what="the Job has a Pod")
    await tenant.admin.patch_status(PODS, tenant.namespace, pod, b'{"status":{"phase":"Succeeded"}}')
    await eventually(has_ended, what="the Job has ended")
    assert await quiet(reads, seconds=UNWATCHED) == before, "no look comes before the watch tells"
    assert is_recorded(await tenant.deployment())

    proxy.flow("jobs")
    (record,) = (await tenant.ready())["status"]["hooks"]
    assert (record["name"], record["result"]) == ("watched", "Succeeded")
