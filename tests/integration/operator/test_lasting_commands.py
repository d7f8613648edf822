"""Commands that run until Ctrl-C, as processes: `ui`, and `--watch` of what shows deployments."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import orjson
import pytest

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.ports import free_ports
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.operator.upgrading import MANUAL, begun, pending, waits
from tests.integration.proxy import Fail, Proxy
from tests.manifests import config_map

SECONDS = 30
INTERRUPTED = 130
PROGRAM = Path(sys.executable).parent / "rukpakctl"


@asynccontextmanager
async def running(kubeconfig: Path, *arguments: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM),
        *arguments,
        stdout=PIPE,
        stderr=PIPE,
        env=os.environ | {"KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1", "COLUMNS": "1000"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(SECONDS):
        return (await process.stdout.readline()).decode()


async def line_with(process: Process, *words: str) -> str:
    """The next line with all these words."""
    while line := await line_of(process):
        if all(word in line for word in words):
            return line
    raise AssertionError(f"the command ended without a line with {words}")


async def ended(process: Process, number: signal.Signals) -> tuple[int | None, str]:
    """Its exit code after the signal, and what it said to stderr."""
    process.send_signal(number)
    async with asyncio.timeout(SECONDS):
        _, err = await process.communicate()
    return process.returncode, err.decode()


async def asked(url: str, **headers: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_page_is_served_until_it_is_asked_to_end(
    tenant: Tenant, operator: Operator, plane: ControlPlane, number: signal.Signals
) -> None:
    await tenant.publish("one", [config_map("a", tenant.namespace)])
    await tenant.deploy("one")
    await tenant.ready()
    async with running(plane.kubeconfig, "ui") as process:
        url = (await line_of(process)).strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/[\w-]{43}/", url)
        assert tenant.name in (await asked(url))[1]
        status, text = await asked(f"{url}deployments/{tenant.name}")
        assert (status, "ConfigMap" in text) == (200, True)
        assert (await asked(url, Host="evil.example.com"))[0] == 403
        assert (await asked(url.rstrip("/")[:-1] + "x/"))[0] == 403
        assert await ended(process, number) == (0, "")
        with pytest.raises(aiohttp.ClientConnectionError):
            await asked(url)


async def test_port_in_use_is_one_line(plane: ControlPlane) -> None:
    port = str(free_ports(["page"], "127.0.0.1")["page"])
    async with running(plane.kubeconfig, "ui", "--port", port) as first:
        await line_of(first)
        async with running(plane.kubeconfig, "ui", "--port", port) as second:
            async with asyncio.timeout(SECONDS):
                out, err = await second.communicate()
    assert (second.returncode, out) == (3, b"")
    assert len(err.splitlines()) == 1
    assert port.encode() in err


async def test_login_that_has_expired_is_named_on_the_page(proxy: Proxy) -> None:
    async with running(proxy.kubeconfig, "ui") as process:
        url = (await line_of(process)).strip()
        proxy.rules.append(Fail(match=lambda _: True, status=401))
        status, text = await asked(url)
        assert (status, "Log in again" in text) == (401, True)


async def test_server_that_does_not_answer_is_named_on_the_page(proxy: Proxy) -> None:
    async with running(proxy.kubeconfig, "ui") as process:
        url = (await line_of(process)).strip()
        proxy.rules.append(Fail(match=lambda _: True, status=0))
        status, text = await asked(url)
        assert status >= 500
        assert "127.0.0.1" in text
        assert "Traceback" not in text
        code, err = await ended(process, signal.SIGINT)
        assert (code, "Traceback" in err) == (0, False)


async def test_upgrade_that_waits_is_on_the_page_and_its_plan_where_the_content_server_is(
    tenant: Tenant, operator: Operator, plane: ControlPlane
) -> None:
    """No Service leads to this operator, and the page says so."""
    await begun(tenant, MANUAL)
    digest = pending(await waits(tenant))["digest"]
    content = ("--namespace", tenant.system)
    async with running(plane.kubeconfig, "ui", *content) as process:
        url = (await line_of(process)).strip()
        status, text = await asked(f"{url}deployments/{tenant.name}")
        assert (status, digest in text) == (200, True)
        status, text = await asked(f"{url}deployments/{tenant.name}/plan")
        assert (status, "is the operator installed in this namespace?" in text) == (404, True)


async def test_watched_list_shows_each_change_also_after_a_lost_connection(
    tenant: Tenant, operator: Operator, proxy: Proxy
) -> None:
    await tenant.publish("one", [config_map("a", tenant.namespace)])
    async with running(proxy.kubeconfig, "get", "--watch", "-o", "json") as process:
        await tenant.deploy("one")
        shown = orjson.loads(await line_with(process, tenant.name, '"ready"'))
        assert shown["name"] == tenant.name
        proxy.cut("bundledeployments")
        await tenant.deploy("one", suspend=True)
        await line_with(process, tenant.name, "uspend")
        code, err = await ended(process, signal.SIGINT)
    assert (code, err) == (INTERRUPTED, "")


async def test_watched_list_of_a_server_that_does_not_answer_is_an_error(proxy: Proxy) -> None:
    proxy.rules.append(Fail(match=lambda _: True, status=0))
    async with running(proxy.kubeconfig, "get", "--watch") as process:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate()
    assert (process.returncode, out) == (3, b"")
    assert b"the API server cannot be reached" in err


@pytest.mark.parametrize("command", ["tree", "why", "events"])
async def test_watched_deployment_is_shown_again_when_it_changes(
    tenant: Tenant, operator: Operator, plane: ControlPlane, command: str
) -> None:
    await tenant.publish("one", [config_map("a", tenant.namespace)])
    await tenant.deploy("one")
    await tenant.ready()
    async with running(plane.kubeconfig, command, tenant.name, "--watch") as process:
        await line_of(process)
        await tenant.deploy("one", suspend=True)
        await line_with(process, "uspend")
        code, err = await ended(process, signal.SIGINT)
    assert (code, err) == (INTERRUPTED, "")
