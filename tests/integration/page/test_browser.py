"""The page in a real browser, over 300 deployments: what it loads, who can use it, and what a refresh leaves alone."""

import json
from collections.abc import Callable
from importlib import resources
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from e2e.browser import Browser, Tab
from e2e.cluster.control_plane import ControlPlane
from rukpak_py.cli.cluster.page_server import LoopbackPage
from tests.integration.page.conftest import Population
from tests.waiting import eventually

TRANSFERRED = 200 * 1024
AUDIT = resources.files("tests.integration.page").joinpath("audit.js").read_text()


def pages_of(loopback: LoopbackPage, population: Population) -> list[str]:
    return [loopback.url, f"{loopback.url}deployments/{population.failing.name}", f"{loopback.url}?search=nothing"]


@pytest.fixture(autouse=True)
def _with_plane(plane: ControlPlane, population: Population) -> None:
    """All tests of the module use both."""


async def test_page_loads_little_and_only_from_its_own_origin(
    tab: Tab, loopback: LoopbackPage, population: Population, record_property: Callable[[str, object], None]
) -> None:
    await tab.open(loopback.url)
    record_property("bytes of the list", tab.received)
    assert tab.received <= TRANSFERRED
    for url in pages_of(loopback, population):
        await tab.open(url)
        await tab.evaluate("refresh(content)")
    assert {urlsplit(url).netloc for url in tab.requests} == {urlsplit(loopback.url).netloc}
    assert tab.console == []


async def test_policy_of_the_page_holds(tab: Tab, loopback: LoopbackPage) -> None:
    """The check above can fail: what the policy forbids is refused, and told on the console."""
    await tab.open(loopback.url)
    await tab.evaluate("document.body.appendChild(document.createElement('script')).textContent = 'window.ran = 1'")
    await tab.evaluate("fetch('http://127.0.0.1:9/').catch(() => 0)")
    assert await tab.evaluate("typeof window.ran") == "undefined"

    async def are_told() -> bool:
        return len(tab.console) >= 2

    await eventually(are_told, what="both refusals are told")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_everyone_can_use_the_page(
    tab: Tab, loopback: LoopbackPage, population: Population, scheme: str, width: int
) -> None:
    """Labels, names of links and buttons, landmarks, headings, headers of tables, contrast, nothing wider than the
    screen.
    """
    await tab.prefer(scheme)
    await tab.resize(width, 800)
    for url in pages_of(loopback, population):
        await tab.open(url)
        await tab.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        found = json.loads(await tab.evaluate(AUDIT))
        assert found["problems"] == []
        assert found["texts"] > 20, "it has looked at the texts"


async def test_audit_finds_what_is_wrong(tab: Tab, loopback: LoopbackPage) -> None:
    await tab.open(loopback.url)
    await tab.evaluate(
        """(() => {
          document.querySelector('label').remove();
          document.querySelector('#summary').style.color = getComputedStyle(document.body).backgroundColor;
          document.querySelector('#summary').after(document.createElement('h4'));
          document.querySelector('th').removeAttribute('scope');
          document.body.style.width = '3000px';
        })()"""
    )
    problems = "\n".join(json.loads(await tab.evaluate(AUDIT))["problems"])
    for word in ("no label", "contrast", "heading", "scope", "wider"):
        assert word in problems


async def test_keyboard_reaches_everything(tab: Tab, loopback: LoopbackPage) -> None:
    await tab.open(loopback.url)
    reached = []
    for _ in range(20):
        await tab.press("Tab")
        reached.append(await tab.evaluate("document.activeElement.id || document.activeElement.className"))
        assert await tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    ids = ["skip", "brand", "search", "namespace", "class"]
    assert reached[:5] == ids
    rows = [one for one in reached if one.startswith("row-")]
    assert next(one for one in reached if one.startswith("state-")) == "state-all"
    assert rows
    await tab.evaluate(f"document.getElementById({json.dumps(rows[0])}).focus()")
    async with tab.loading():
        await tab.press("Enter")
    assert await tab.evaluate("document.querySelector('h1').textContent") == rows[0].removeprefix("row-")


async def test_slash_goes_to_the_search_and_enter_searches(
    tab: Tab, loopback: LoopbackPage, population: Population
) -> None:
    await tab.open(loopback.url)
    await tab.press("/", text="/")
    assert await tab.evaluate("document.activeElement.id") == "search"
    await tab.write(population.failing.name)
    async with tab.loading():
        await tab.press("Enter")
    rows = "[...document.querySelectorAll('tbody th a')].map((one) => one.textContent)"
    found = await tab.evaluate(rows)
    assert found[0] == population.failing.name
    assert all(name.startswith(population.failing.name) for name in found)


async def test_refresh_keeps_focus_and_open_details(tab: Tab, loopback: LoopbackPage, population: Population) -> None:
    await tab.open(f"{loopback.url}deployments/{population.failing.name}")
    await tab.evaluate("window.kept = document.getElementById('kind-Secret')")
    assert await tab.evaluate("kept.open") is False
    assert await tab.evaluate("document.getElementById('kind-Deployment.apps').open") is True
    await tab.evaluate("kept.querySelector('summary').focus()")
    await tab.press("Enter")
    await tab.evaluate("document.querySelector('[id=\"kind-Deployment.apps\"] summary').click()")
    before = len(tab.requests)
    await tab.evaluate("refresh(content)")
    assert len(tab.requests) == before + 1
    assert await tab.evaluate("document.getElementById('kind-Secret') === kept && kept.open")
    assert await tab.evaluate("document.getElementById('kind-Deployment.apps').open") is False
    assert await tab.evaluate("document.activeElement.parentElement === kept")


async def test_refresh_shows_what_has_changed(tab: Tab, loopback: LoopbackPage) -> None:
    await tab.open(f"{loopback.url}?state=stalled")
    await tab.evaluate("document.querySelector('tbody').replaceChildren()")
    await tab.evaluate("document.querySelector('#summary').textContent = 'old'; content.dataset.news = 'old'")
    await tab.evaluate("refresh(content)")
    assert await tab.evaluate("document.querySelectorAll('tbody tr').length") == 1
    assert "stalled" in await tab.evaluate("document.getElementById('news').textContent")


async def test_refresh_happens_by_itself_and_can_be_paused(tab: Tab, loopback: LoopbackPage) -> None:
    await tab.open(loopback.url)
    before = len(tab.requests)

    async def is_fetched() -> bool:
        return len(tab.requests) > before

    await eventually(is_fetched, what="the page is fetched again")
    await tab.evaluate("document.getElementById('pause').click()")
    assert await tab.evaluate("paused") is True
    assert "Resume" in await tab.evaluate("document.getElementById('pause').textContent")


@pytest.mark.parametrize(
    "ended",
    [
        pytest.param((302, {"Location": "http://127.0.0.1:9/login"}), id="redirect to another origin"),
        pytest.param((403, {}), id="login page of the proxy"),
        pytest.param((401, {}), id="token that the API server rejects"),
    ],
)
async def test_refresh_tells_that_a_login_has_ended(
    tab: Tab, loopback: LoopbackPage, ended: tuple[int, dict[str, str]]
) -> None:
    """Behind a proxy. Once the login is renewed, the page goes on."""
    is_logged_in = True

    async def proxy(request: web.Request) -> web.Response:
        if not is_logged_in:
            return web.Response(status=ended[0], headers=ended[1])
        async with session.get(f"{loopback.url}{request.match_info['path']}") as answer:
            headers = {name: answer.headers[name] for name in ("Content-Type", "Content-Security-Policy")}
            return web.Response(status=answer.status, body=await answer.read(), headers=headers)

    async def tells_end() -> bool:
        return "Refused since" in str(await tab.evaluate("document.getElementById('refreshing').textContent"))

    async def is_updated() -> bool:
        return "Updated at" in str(await tab.evaluate("document.getElementById('refreshing').textContent"))

    app = web.Application()
    app.router.add_get("/{path:.*}", proxy)
    async with aiohttp.ClientSession(trust_env=False) as session, TestServer(app) as server:
        await tab.open(str(server.make_url("/")))
        assert await is_updated()
        is_logged_in = False
        await eventually(tells_end, what="the end of the login is told")
        is_logged_in = True
        await eventually(is_updated, what="the page goes on")


async def test_page_works_without_script(chromium: Browser, loopback: LoopbackPage, population: Population) -> None:
    async with chromium.tab() as tab:
        await tab.without_script()
        await tab.open(f"{loopback.url}?search={population.failing.name}")
        document = await tab.send("DOM.getDocument", depth=-1)
        text = json.dumps(document)
        assert population.failing.name in text
        assert "Pause updates" not in text, "what only the script can do is not there"
        assert tab.console == []
