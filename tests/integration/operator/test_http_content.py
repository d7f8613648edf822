"""Content of web servers outlives what happens to the operator: it is fetched again, and is the same or is refused."""

import asyncio
import gzip
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.core.limits import MIB
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import config_map
from tests.unit.sources.websites import Site, tgz, website
from tests.waiting import eventually

EDIT = b'{"data":{"v":"edited"}}'


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with website() as site:
        yield site


@pytest.fixture
async def operator(operators: StartOperator) -> Operator:
    operator = operators(arguments=["--allow-source-addresses=127.0.0.0/8"])
    await operator.start()
    return operator


def archive(tenant: Tenant, value: str) -> bytes:
    """Never the same bytes twice: the time is in them. The content decides."""
    return tgz({"manifests/one.yaml": yaml.safe_dump(config_map("one", tenant.namespace, v=value)).encode()})


async def deploy(tenant: Tenant, url: str) -> None:
    source = {"type": "http", "http": {"url": url}}
    await tenant.deploy(template={"spec": {"provisionerClassName": PLAIN_CLASS, "source": source}})


async def lose_the_store(tenant: Tenant, operator: Operator) -> None:
    """Delete the store; an installed object drifts meanwhile, so that the content is needed."""
    await operator.stop()
    await asyncio.to_thread(shutil.rmtree, operator.store)
    await tenant.admin.patch(CONFIG_MAPS, tenant.namespace, "one", EDIT, field_manager="somebody")
    await operator.start()


async def until_as_shipped(tenant: Tenant) -> None:
    async def look() -> bool:
        (found,) = (await tenant.owned(CONFIG_MAPS)).values()
        return bool(found["data"]["v"] == "1")

    await eventually(look, what="the drift is corrected")


async def test_a_lost_archive_comes_back(tenant: Tenant, operator: Operator, site: Site) -> None:
    site.gives("/bundle.tgz", archive(tenant, "1"))
    await deploy(tenant, site.url("/bundle.tgz"))
    await tenant.ready()
    (before,) = (await tenant.owned(BUNDLES)).values()

    site.gives("/bundle.tgz", gzip.compress(gzip.decompress(archive(tenant, "1")), 1))
    await lose_the_store(tenant, operator)
    await until_as_shipped(tenant)
    (after,) = (await tenant.owned(BUNDLES)).values()
    assert after["status"] == before["status"]


async def test_another_archive_under_the_same_url_is_not_accepted(
    tenant: Tenant, operator: Operator, site: Site
) -> None:
    site.gives("/bundle.tgz", archive(tenant, "1"))
    await deploy(tenant, site.url("/bundle.tgz"))
    await tenant.ready()
    (before,) = (await tenant.owned(BUNDLES)).values()

    site.gives("/bundle.tgz", archive(tenant, "2"))
    await lose_the_store(tenant, operator)
    await tenant.until(
        lambda one: condition(one, "HasValidBundle").get("status") == "False", what="the deployment says so"
    )
    (after,) = (await tenant.owned(BUNDLES)).values()
    assert condition(after, "Unpacked")["reason"] == "ContentChanged"
    assert after["status"]["digest"] == before["status"]["digest"]

    site.gives("/bundle.tgz", archive(tenant, "1"))
    await until_as_shipped(tenant)


async def test_killed_in_the_middle_of_a_download(
    tenant: Tenant, operators: StartOperator, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process begins anew, and nothing is left of the first download."""
    (spool := tmp_path / "spool").mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    operator = operators(arguments=["--allow-source-addresses=127.0.0.0/8"])
    await operator.start()
    half = asyncio.Event()

    async def stall(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"\x1f\x8b\x08" + bytes(MIB))
        half.set()
        await asyncio.sleep(60)
        return response

    site.answers["/bundle.tgz"] = stall
    await deploy(tenant, site.url("/bundle.tgz"))
    await half.wait()
    operator.kill()
    assert await asyncio.to_thread(lambda: [path for path in spool.iterdir() if path.is_file()]) == []
    assert await asyncio.to_thread(lambda: list(operator.store.rglob("*.tgz"))) == []

    site.gives("/bundle.tgz", archive(tenant, "1"))
    await operator.start()
    await tenant.ready()
