"""An admission webhook of some namespaces answers slowly: only what is installed there takes longer."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest

from e2e.slow_webhook import SlowWebhook, slow_webhook
from rukpak_py.kube.calls import Lane
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES
from rukpak_py.kube.transport import IN_FLIGHT
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition, is_ready
from tests.manifests import config_map
from tests.waiting import eventually, until

EACH = 20  # objects, more than one deployment has in flight
SLOW_ANSWER_SECONDS = 6.0  # longer than a stage begins requests


@asynccontextmanager
async def guarded(tenant: Tenant, folder: Path, *, seconds: float | None = None) -> AsyncIterator[SlowWebhook]:
    """The namespace `<tenant.namespace>-slow`, with a webhook that answers late, once the API server asks it."""
    name = f"{tenant.namespace}-slow"
    async with slow_webhook(tenant.admin, name, folder, seconds=seconds) as webhook:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {name: "true"}}}
        await tenant.admin.create(NAMESPACES, "", orjson.dumps(namespace))
        probe = orjson.dumps(config_map("probe", name))

        async def is_asked() -> bool:
            """Whether the API server asks the webhook; it learns of configuration and label by its own watches."""
            trial = asyncio.create_task(tenant.admin.create(CONFIG_MAPS, name, probe, dry_run=True))
            await until(lambda: trial.done() or webhook.held)
            found = bool(webhook.held)
            trial.cancel()
            await asyncio.gather(trial, return_exceptions=True)
            return found

        await eventually(is_asked, what="the webhook is asked")
        yield webhook


async def deploy_slow(tenant: Tenant, number: int, *, objects: int = EACH) -> str:
    name, place = f"{tenant.name}-slow-{number}", f"{tenant.namespace}-slow"
    await tenant.publish(name, [config_map(f"{name}-{one}", place) for one in range(objects)])
    await tenant.deploy(name, name=name)
    return name


async def deploy_good(tenant: Tenant) -> None:
    await tenant.publish("good", [config_map(f"good-{one}", tenant.namespace) for one in range(3)])
    await tenant.deploy("good")


async def not_ready(tenant: Tenant, names: Sequence[str]) -> list[str]:
    return [name for name in names if not is_ready(await tenant.deployment(name))]


@pytest.mark.parametrize("slow", [8, 20], ids=["eight", "more than twice as many as places"])
async def test_a_good_deployment_is_ready_while_slow_webhooks_hold_others(
    tenant: Tenant, operator: Operator, tmp_path: Path, slow: int
) -> None:
    async with guarded(tenant, tmp_path) as webhook:
        names = [await deploy_slow(tenant, number) for number in range(slow)]

        async def all_places_were_taken() -> bool:
            return len(webhook.held) >= IN_FLIGHT[Lane.WORK]

        await eventually(all_places_were_taken, what="the webhook holds as many requests as the lane has places")
        await deploy_good(tenant)
        await tenant.ready()
        assert await not_ready(tenant, names) == names
        assert len(webhook.held) >= IN_FLIGHT[Lane.WORK], "the webhook has yet to answer"
        webhook.let_go.set()
        for name in names:
            await tenant.ready(name=name)


async def test_a_slow_installation_says_why_and_goes_on(tenant: Tenant, operator: Operator, tmp_path: Path) -> None:
    async with guarded(tenant, tmp_path, seconds=SLOW_ANSWER_SECONDS) as webhook:
        name = await deploy_slow(tenant, 0)
        found = await tenant.until(
            lambda one: "answers slowly" in condition(one, "Ready").get("message", ""), what="told", name=name
        )
        ready = condition(found, "Ready")
        assert (ready["status"], ready["reason"]) == ("Unknown", "Progressing")
        assert f"apply ConfigMap {tenant.namespace}-slow/{name}-" in ready["message"]
        assert 0 < len(await tenant.owned(CONFIG_MAPS, name=name)) < EACH, "what was written stays"
        webhook.let_go.set()
        await tenant.ready(name=name)
        assert len(await tenant.owned(CONFIG_MAPS, name=name)) == EACH


async def test_a_slow_upgrade_is_tried_out_once(tenant: Tenant, operator: Operator, tmp_path: Path) -> None:
    """Each object costs one dry-run and one apply, however many looks that takes."""
    async with guarded(tenant, tmp_path, seconds=SLOW_ANSWER_SECONDS) as webhook:
        webhook.let_go.set()
        name, place = await deploy_slow(tenant, 0), f"{tenant.namespace}-slow"
        await tenant.ready(name=name)
        webhook.let_go.clear()
        before = webhook.answered
        await tenant.publish("v2", [config_map(f"{name}-{one}", place, v="2") for one in range(EACH)])
        await tenant.deploy("v2", name=name)
        await tenant.until(
            lambda one: "answers slowly" in condition(one, "Ready").get("message", ""), what="told", name=name
        )
        untouched = await tenant.owned(CONFIG_MAPS, name=name)
        assert not any(one.get("data") for one in untouched.values()), "nothing is changed before all is tried out"
        webhook.let_go.set()
        await tenant.ready(name=name)
        assert webhook.answered - before == 2 * EACH
