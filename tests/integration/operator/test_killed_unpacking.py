"""SIGKILL while a server is being asked, at each request of an unpacking: a restart unpacks, and nothing is left over.

Each step is the one at which the server holds its answer until the operator is dead.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web

from rukpak_py.kube.resources import BUNDLES
from tests.git_fetching import NAME
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer
from tests.integration.operator.conftest import StartOperator
from tests.integration.operator.fetching import LOOPBACK, Fetching, fetching, names_in, partial_files, processes_of
from tests.integration.operator.process import Operator
from tests.integration.operator.tenant import Tenant
from tests.integration.proxy import Cut, Exchange, Proxy
from tests.unit.web_servers import Answer, Asked
from tests.waiting import eventually

PATIENCE = 30.0


@pytest.fixture
async def fetch(tenant: Tenant) -> AsyncIterator[Fetching]:
    async with fetching(tenant) as one:
        yield one


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where operators have their temporary files."""
    (spool := tmp_path / "spool").mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    return spool


async def until_nothing_is_left(operator: Operator, spool: Path) -> None:
    async def look() -> bool:
        return not processes_of(spool) and not names_in(spool)

    await eventually(look, what="neither processes nor temporary files are left")
    assert partial_files(operator) == []


async def test_killed_while_a_registry_is_asked(operators: StartOperator, fetch: Fetching, spool: Path) -> None:
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    for number in range(3):
        source = fetch.image(f"v{number}")
        step = ["/manifests/", *list(fetch.contents.blobs)[-2:]][number]  # then the configuration, then the layer
        asked, dead = threading.Event(), threading.Event()
        fetch.registry.answer = partial(hold, step, asked, dead)
        name = await fetch.bundle(f"b{number}", source)
        assert await asyncio.to_thread(asked.wait, PATIENCE)
        operator.kill()
        dead.set()
        assert partial_files(operator) == []
        await operator.start()
        await fetch.until_unpacked(name)
    await until_nothing_is_left(operator, spool)


def hold(step: str, asked: threading.Event, dead: threading.Event, request: Asked) -> Answer | None:
    if step in request.path and not dead.is_set():
        asked.set()
        dead.wait(PATIENCE)
    return None


def of_path(path: str, command: bytes = b"") -> Callable[[str, bytes], bool]:
    return lambda asked, body: asked.endswith(path) and command in body


STEPS = {
    "the first request": of_path("/info/refs"),
    "the refs": of_path("/git-upload-pack", b"command=ls-refs"),
    "the pack": of_path("/git-upload-pack", b"command=fetch"),
}


async def test_killed_while_a_git_server_is_asked(
    operators: StartOperator, fetch: Fetching, spool: Path, git_repository: Repository, git_web: GitWebServer
) -> None:
    """Git itself outlives the operator until the server lets it go, or its time is over; its directory goes before."""
    git_repository.commit(fetch.content())
    source = {"repository": git_web.url(NAME), "ref": {"branch": "main"}, "caBundle": git_web.ca_bundle}
    operator = operators(arguments=[LOOPBACK])
    await operator.start()
    for number, is_it in enumerate(STEPS.values()):
        asked, dead = asyncio.Event(), asyncio.Event()

        async def hold_request(
            request: web.Request,
            is_it: Callable[[str, bytes], bool] = is_it,
            asked: asyncio.Event = asked,
            dead: asyncio.Event = dead,
        ) -> None:
            if not dead.is_set() and is_it(request.path, await request.read()):
                asked.set()
                await dead.wait()

        git_web.answer = hold_request
        name = await fetch.bundle(f"b{number}", {"type": "git", "git": source})
        async with asyncio.timeout(PATIENCE):
            await asked.wait()
        assert processes_of(spool)
        operator.kill()
        await operator.start()

        async def is_cleared() -> bool:
            return len(names_in(spool)) <= 1  # that of the new fetch, which the server holds, too

        await eventually(is_cleared, what="what the killed operator left is gone")
        dead.set()
        await fetch.until_unpacked(name)
    await until_nothing_is_left(operator, spool)


@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
async def test_killed_while_the_status_is_written(
    operators: StartOperator, fetch: Fetching, proxy: Proxy, spool: Path, *, is_before: bool
) -> None:
    """The content is stored by then, and nothing refers to it yet, or its Bundle does."""
    operator = operators(kubeconfig=proxy.kubeconfig, arguments=[LOOPBACK])
    await operator.start()
    killed = asyncio.Event()

    class Kill:
        async def before(self, exchange: Exchange) -> web.Response | None:
            self._strike(exchange, now=is_before)
            return None

        async def after(self, exchange: Exchange) -> None:
            self._strike(exchange, now=not is_before)

        def _strike(self, exchange: Exchange, *, now: bool) -> None:
            is_result = exchange.what == f"{BUNDLES.plural}/status" and "digest" in exchange.document.get("status", {})
            if now and is_result and not killed.is_set():
                killed.set()
                operator.kill()
                raise Cut

    proxy.rules = [Kill()]
    name = await fetch.bundle("b", fetch.image("v1"))
    async with asyncio.timeout(PATIENCE):
        await killed.wait()
    assert len([path for path in (operator.store / "content").iterdir() if path.suffix == ".tgz"]) == 1
    await operator.start()
    await fetch.until_unpacked(name)

    async def is_linked() -> bool:
        return await asyncio.to_thread((operator.store / f"{name}.tgz").is_symlink)

    await eventually(is_linked, what="the archive is there under the Bundle's name")
    await until_nothing_is_left(operator, spool)
