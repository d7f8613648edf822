"""Values of charts that change faster than helm renders, and deletions whatever became of the values.

A rendering that never ends stands for a slow one: what supersedes it must end it.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import orjson

from rukpak_py.api.names import ORDERED_DELETION_FINALIZER
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, SECRETS
from tests.integration.listing import listed
from tests.integration.operator.charts import deploy, publish
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.counting import calls, settled
from tests.integration.operator.tenant import Tenant, condition
from tests.integration.proxy import Exchange, Fail, Proxy
from tests.unit.charts import config_map as template
from tests.waiting import eventually

LOGIN = "login"
CONFIG = {"valuesFrom": [{"kind": "Secret", "name": LOGIN}]}
ENDLESS = "{{ if .Values.endless }}{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}{{ end }}\n"
CHANGES = 30
INTERVAL = 0.02
LAST_WORDS = template("farewell", **{"helm.sh/hook": "pre-delete", "helm.sh/resource-policy": "keep"})


async def put(tenant: Tenant, order: str, *, endless: bool = False) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": LOGIN},
        "stringData": {"values.yaml": f'order: "{order}"\nendless: {str(endless).lower()}\n'},
    }
    await tenant.admin.apply(SECRETS, tenant.system, LOGIN, orjson.dumps(body), field_manager="user", force=True)


async def install(tenant: Tenant, text: str) -> None:
    await deploy(tenant, await publish(tenant, text), config=CONFIG)


async def orders(tenant: Tenant) -> list[str]:
    found = await listed(tenant.admin, CONFIG_MAPS, namespace=tenant.namespace)
    return [one["data"]["value"] for one in found if one["metadata"]["name"] == "settings"]


class Renderings:
    """The processes of helm that render for a tenant: their release is named after its deployment."""

    def __init__(self, tenant: Tenant) -> None:
        self._release = tenant.name.encode()
        self.most = 0

    def __len__(self) -> int:
        found = 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                arguments = path.read_bytes().split(b"\0")
                found += arguments[1:2] == [b"template"] and self._release in arguments
        return found

    async def run(self) -> None:
        async def look() -> bool:
            return len(self) == 1

        await eventually(look, what="helm runs")

    async def have_ended(self) -> None:
        async def look() -> bool:
            return len(self) == 0

        await eventually(look, what="helm has ended", seconds=10)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        async def watch() -> None:
            while True:
                self.most = max(self.most, len(self))
                await asyncio.sleep(INTERVAL)

        watching = asyncio.create_task(watch())
        try:
            yield
        finally:
            watching.cancel()


async def test_of_values_that_change_quickly_the_latest_are_rendered_and_installed(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram
) -> None:
    operator, renderings = operators(arguments=[f"--helm={helm.path}"]), Renderings(tenant)
    await operator.start()
    await put(tenant, "0", endless=True)
    await install(tenant, ENDLESS + template("settings", ".Values.order"))
    await renderings.run()
    before = await settled(operator)  # it has read its certificates, and its watch shows the Secret
    async with renderings.watched():
        for number in range(1, CHANGES):
            await put(tenant, str(number), endless=True)
        await put(tenant, "last")
        history = (await tenant.ready())["status"]["history"]
    assert renderings.most == 1
    assert (await orders(tenant), len(history)) == (["last"], 1)
    assert len(list((operator.store / "renderings").iterdir())) == 1, "of what was superseded nothing is kept"
    read = (await calls(operator) - before)["get", "secrets", "200"]
    assert 1 <= read <= CHANGES

    await put(tenant, "never", endless=True)
    await renderings.run()
    await put(tenant, "last")
    await renderings.have_ended()
    await put(tenant, "never", endless=True)
    await renderings.run()
    await tenant.admin.delete(SECRETS, tenant.system, LOGIN)
    await renderings.have_ended()
    assert (await tenant.deployment())["status"]["history"] == history

    await put(tenant, "never", endless=True)
    await renderings.run()
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
    await renderings.have_ended()
    await tenant.left_nothing(CONFIG_MAPS)


async def test_a_deletion_ends_whatever_became_of_the_values(
    tenant: Tenant, operators: StartOperator, helm: HelmProgram, proxy: Proxy
) -> None:
    """Its hook runs from the rendering that was kept; where that is lost, once the values are back."""
    operator = operators(arguments=[f"--helm={helm.path}"], kubeconfig=proxy.kubeconfig)
    await operator.start()
    items = await publish(tenant, f"{template('settings', '.Values.order')}---\n{LAST_WORDS}")

    def is_read(exchange: Exchange) -> bool:
        return exchange.method == "GET" and (exchange.resource, exchange.name) == ("secrets", LOGIN)

    async def begin() -> None:
        await put(tenant, "1")
        await deploy(tenant, items, config=CONFIG)
        found = await tenant.ready()
        assert found["metadata"]["finalizers"] == [ORDERED_DELETION_FINALIZER]

    async def ended() -> None:
        await tenant.gone(BUNDLE_DEPLOYMENTS, tenant.name)
        await tenant.gone(CONFIG_MAPS, "settings", tenant.namespace)
        await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, "farewell")  # so the hook has run

    await begin()
    await tenant.admin.delete(SECRETS, tenant.system, LOGIN)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await ended()

    await begin()
    unreadable = Fail(match=is_read, status=403)
    proxy.rules.append(unreadable)
    await put(tenant, "2")
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await ended()
    proxy.rules.remove(unreadable)

    await begin()
    await operator.stop()
    shutil.rmtree(operator.store)
    await tenant.admin.delete(SECRETS, tenant.system, LOGIN)
    await tenant.admin.delete(BUNDLE_DEPLOYMENTS, "", tenant.name)
    await operator.start()
    text = f"Secret {tenant.system}/{LOGIN} does not exist"
    await tenant.until(lambda seen: text in condition(seen, "Ready").get("message", ""), what="it is told")
    await put(tenant, "1")
    await ended()
