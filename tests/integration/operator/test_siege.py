"""Everything that attacks an operator at once: a good deployment is installed, upgraded and corrected meanwhile.

`RUKPAK_SIEGE_SECONDS` says how long the attacks last; by default that is a short while.
"""

import asyncio
import os
import re
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
import yaml

from rukpak_py.api.names import WEBHOOK_CONFIGURATION
from rukpak_py.certificates.own_certificate import WEBHOOK_CONFIGURATIONS
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLES, CONFIG_MAPS
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK
from tests.integration.operator.leases import term
from tests.integration.operator.process import CONTENT, Operator
from tests.integration.operator.tenant import Tenant, condition
from tests.manifests import Document, config_map
from tests.waiting import eventually

SIEGE_SECONDS = float(os.environ.get("RUKPAK_SIEGE_SECONDS", "5"))
CONNECTIONS = 150 if SIEGE_SECONDS >= 60 else 40  # of each attack of clients; tests beside this one want to live, too
GOOD_SECONDS = 60.0  # for one step of the good deployment; without attacks it takes less than two
MOST_GROWTH = 400  # MiB of the operator's own process: the budgets of reviews and of content, and buffers of TLS
FEWEST_BUNDLES = 20
WHAT_REFUSALS_QUOTE = "update to " * 20_000  # in a label, which the API server refuses and quotes


@asynccontextmanager
async def hostile_bundles(tenant: Tenant, manifests: Path) -> AsyncIterator[list[str]]:
    """The names of Bundles with hostile sources, once they are created; they go with the block."""
    async with _hostile("servers", f"--manifests={manifests}", f"--prefix={tenant.name}-"):
        await eventually(partial(_exists, manifests), what="the hostile servers are there")
        documents: list[Document] = list(yaml.safe_load_all(await asyncio.to_thread(manifests.read_text)))
        for document in documents:
            await tenant.admin.create(BUNDLES, "", orjson.dumps(document))
        names = [document["metadata"]["name"] for document in documents]
        try:
            yield names
        finally:
            for name in names:
                with suppress(NotFoundError):
                    await tenant.admin.delete(BUNDLES, "", name)


async def _exists(path: Path) -> bool:
    return await asyncio.to_thread(path.exists)


@asynccontextmanager
async def _hostile(*arguments: str) -> AsyncIterator[Process]:
    """Attack with the processors that are left: API servers of tests beside this one come first."""
    command = ("nice", "-n", "19", sys.executable, "-m", "tests.hostile", *arguments)
    process = await asyncio.create_subprocess_exec(*command)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(30):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


@pytest.fixture
async def called(tenant: Tenant) -> AsyncIterator[None]:
    """The API server calls the webhooks of the operator, and those of no operator after it."""
    yield
    await tenant.admin.delete(WEBHOOK_CONFIGURATIONS, "", WEBHOOK_CONFIGURATION)


@pytest.mark.timeout(SIEGE_SECONDS + 300)
@pytest.mark.usefixtures("called")
async def test_a_good_deployment_lives_while_everything_attacks(
    operators: StartOperator, tenant: Tenant, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = operators(arguments=[LOOPBACK, "--image-unpack=direct", "--leader-elect"], webhook=True)
    await operator.start()
    before, led = peak(operator.pid), await term(tenant)
    ports = {
        name: urlsplit(operator.url(address, "/")).port
        for name, address in (("webhook", "webhook"), ("probes", "health-probe"), ("content", CONTENT))
    }
    async with (
        hostile_bundles(tenant, tmp_path / "bundles.yaml") as names,
        _hostile("clients", f"--count={CONNECTIONS}", *(f"--{name}={port}" for name, port in ports.items())),
    ):
        assert len(names) >= FEWEST_BUNDLES
        await _deploy_what_is_refused(tenant)
        rounds = await _good_rounds(tenant, until=time.monotonic() + SIEGE_SECONDS)
        await _check(operator, tenant, names, led=led, most=before + MOST_GROWTH)
        figures = await _figures(operator, rounds=rounds, bundles=len(names), before=before)
    with capsys.disabled():
        print(figures)  # noqa: T201 - figures


async def _check(operator: Operator, tenant: Tenant, names: list[str], *, led: tuple[str, int], most: int) -> None:
    assert operator.starts == 1
    assert operator.is_running
    assert await term(tenant) == led, "the lease was lost"
    assert await operator.ask("health-probe", "/healthz") == (200, "ok\n")
    assert peak(operator.pid) <= most
    told = [name for name in names if condition(await tenant.read(BUNDLES, "", name), "Unpacked")]
    assert len(told) >= FEWEST_BUNDLES, "the others wait for a server that holds them"


async def _deploy_what_is_refused(tenant: Tenant) -> None:
    """Content that the API server refuses and quotes."""
    quoted = config_map("quoted", tenant.namespace)
    quoted["metadata"]["labels"] = {"note": WHAT_REFUSALS_QUOTE}
    await tenant.publish("quoted", [quoted])
    await tenant.deploy("quoted", name=f"{tenant.name}-quoted")


async def _good_rounds(tenant: Tenant, *, until: float) -> int:
    """Install, then upgrade and correct until the time is over; how often. What leaves is pruned."""
    for number in count(1):
        source = f"good-{number}"
        await tenant.publish(source, [config_map(source, tenant.namespace, v=str(number))])
        await tenant.deploy(source)
        await tenant.ready(seconds=GOOD_SECONDS)
        await tenant.admin.delete(CONFIG_MAPS, tenant.namespace, source)

        async def is_corrected(name: str = source) -> bool:
            with suppress(NotFoundError):
                return bool(await tenant.read(CONFIG_MAPS, tenant.namespace, name))
            return False

        await eventually(is_corrected, what="the deleted object is there again", seconds=GOOD_SECONDS)
        if number > 1 and time.monotonic() >= until:
            return number
    raise AssertionError


async def _figures(operator: Operator, *, rounds: int, bundles: int, before: int) -> str:
    own = peak(operator.pid)
    return (
        f"\nsiege of {SIEGE_SECONDS:g} s: {bundles} hostile Bundles, {rounds} rounds of the good deployment; loop lag "
        f"p99 {await _lag(operator, 0.99)}, p99.9 {await _lag(operator, 0.999)}; memory of the operator {before} MiB "
        f"before, {own} MiB at most"
    )


async def _lag(operator: Operator, share: float) -> str:
    """An upper bound, as the buckets of the histogram have it."""
    text = await operator.metrics()
    found = re.findall(r'^rukpak_event_loop_lag_seconds_bucket{le="(\S+)"} (\S+)$', text, re.MULTILINE)
    total = float(dict(found)["+Inf"])
    return next(f"<= {le} s" for le, reached in found if float(reached) >= share * total)


def peak(pid: int) -> int:
    """MiB of a process, the most that it ever had."""
    found = re.search(r"VmHWM:\s+([0-9]+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) // 1024
