"""Watches of Kopf, as its HTTP session reports them to us and to Kopf."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp
import orjson
import pytest
from aiohttp import web

from rukpak_py.kube.resources import BUNDLES
from rukpak_py.kube.seen_versions import SeenVersions
from rukpak_py.kube.watching import WatchStatus
from rukpak_py.operator.kopf_watches import KopfWatches
from tests.unit.kube.fake_api import Handler, hang_up, serving

LIST = web.json_response({"metadata": {"resourceVersion": "9"}, "items": []})
WATCH = {"watch": "true", "resourceVersion": "9"}


def refusal(code: int) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": "no"}, status=code)


async def silence(request: web.BaseRequest) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(orjson.dumps({"type": "BOOKMARK", "object": {}}) + b"\n")
    await asyncio.sleep(30)
    return response


class Side:
    """Kopf's side: its session, and what it hears."""

    def __init__(self, session: aiohttp.ClientSession, url: str, watches: KopfWatches) -> None:
        self._session = session
        self._url = url + BUNDLES.path()
        self._watches = watches
        self._responses: list[aiohttp.ClientResponse] = []

    @property
    def status(self) -> WatchStatus:
        return self._watches.statuses()[0]

    def event(self, name: str) -> None:
        """Kopf's handler is called with an object of this name."""
        self._watches.handed_over(BUNDLES.plural, name)

    async def list(self, **query: str) -> None:
        """List as Kopf does: it reads the whole page."""
        await (await self.get(**query)).read()

    async def get(self, name: str = "", **query: str) -> aiohttp.ClientResponse:
        response = await self._session.get(self._url + name, params=query)
        self._responses.append(response)
        return response

    def close(self) -> None:
        for response in self._responses:
            response.close()


class Noted:
    def __init__(self) -> None:
        self.gaps = 0
        self.handed_over: list[str] = []
        self.versions = SeenVersions(on_restore=lambda *_: None)

    def gap(self) -> None:
        self.gaps += 1


@asynccontextmanager
async def kopf_on(
    *answers: web.Response | Handler, noted: Noted | None = None, idle: float = 5.0, path: str = ""
) -> AsyncIterator[Side]:
    noted = noted or Noted()
    watches = KopfWatches(
        [BUNDLES],
        versions=noted.versions,
        on_gap=noted.gap,
        on_handed_over=noted.handed_over.append,
        idle_seconds=idle,
    )
    async with (
        serving(*answers) as (_, api),
        aiohttp.ClientSession(middlewares=(watches.middleware,)) as session,
    ):
        side = Side(session, api.url + path, watches)
        yield side
        side.close()


@pytest.mark.parametrize(
    ("code", "is_absent"),
    [(403, False), (404, True), (410, False), (500, False), (503, False)],
)
async def test_a_refusal_reaches_kopf_as_a_lost_connection_and_is_remembered(code: int, *, is_absent: bool) -> None:
    """Kopf would end otherwise, and its own shutdown may hang."""
    before = time.monotonic()
    async with kopf_on(refusal(code)) as kopf:
        for query in ({}, WATCH):
            with pytest.raises(aiohttp.ClientConnectionError):
                await kopf.get(**query)
        assert kopf.status.refused_since is not None
        assert kopf.status.refused_since >= before
        assert (kopf.status.absent_since is not None) == is_absent


async def test_kopf_waits_for_as_long_as_a_busy_server_says() -> None:
    async with kopf_on(refusal(429)) as kopf:
        response = await kopf.get(**WATCH)
        assert (response.status, (await response.json())["message"]) == (429, "no")


async def test_a_granted_request_ends_a_refusal_and_so_does_a_server_that_is_away() -> None:
    async with kopf_on(refusal(403), LIST, refusal(403), hang_up) as kopf:
        for _ in range(2):
            with pytest.raises(aiohttp.ClientConnectionError):
                await kopf.get()
            assert kopf.status.problem is not None
            with suppress(aiohttp.ClientError):
                await kopf.get()
            assert kopf.status.problem is None


async def test_a_silent_watch_is_ended_by_us() -> None:
    async with kopf_on(silence, idle=0.05) as kopf:
        response = await kopf.get(**WATCH)
        chunks = response.content.iter_chunked(1024)
        assert b"BOOKMARK" in await anext(chunks)
        with pytest.raises(TimeoutError):
            await anext(chunks)


async def test_a_list_after_the_first_and_a_watch_after_a_lost_connection_may_hide_deletions() -> None:
    noted = Noted()
    async with kopf_on(LIST, LIST, silence, LIST, hang_up, hang_up, silence, noted=noted) as kopf:
        await kopf.get(limit="1")
        await kopf.get(limit="1", **{"continue": "more"})
        await kopf.get(**WATCH)
        assert noted.gaps == 0, "a first list of two pages, and its watch"
        await kopf.get(limit="1")
        assert noted.gaps == 1
        with pytest.raises(aiohttp.ClientError):
            await kopf.get(watch="true", resourceVersion="70")
        await kopf.get(watch="true", resourceVersion="70")
        assert noted.gaps == 2
        assert noted.versions.get(BUNDLES) == 70


def page(*names: str) -> web.Response:
    return web.json_response({"metadata": {}, "items": [{"metadata": {"name": name}, "spec": {}} for name in names]})


async def test_listed_objects_are_handed_over_when_the_watch_is_open_and_each_name_came_as_an_event() -> None:
    noted = Noted()
    async with kopf_on(page("a", "b"), page("c"), silence, silence, noted=noted) as kopf:
        await kopf.list()
        for name in ("a", "b", "other"):
            kopf.event(name)
        await kopf.list(**{"continue": "more"})
        await kopf.get(**WATCH)
        assert noted.handed_over == []
        kopf.event("c")
        assert noted.handed_over == ["bundles"]
        await kopf.get(**WATCH)
        kopf.event("a")
        assert noted.handed_over == ["bundles"], "a watch that is opened again brings nothing that was listed"


async def test_events_that_all_came_before_the_watch_was_opened_count_when_it_is() -> None:
    noted = Noted()
    async with kopf_on(page("a"), silence, noted=noted) as kopf:
        await kopf.list()
        kopf.event("a")
        assert noted.handed_over == []
        await kopf.get(**WATCH)
        assert noted.handed_over == ["bundles"]


@pytest.mark.parametrize("empty", [page(), web.json_response({"metadata": {}, "items": None})], ids=["[]", "null"])
async def test_empty_list_is_handed_over_when_the_watch_is_open(empty: web.Response) -> None:
    noted = Noted()
    async with kopf_on(empty, silence, noted=noted) as kopf:
        await kopf.list()
        assert noted.handed_over == []
        await kopf.get(**WATCH)
        assert noted.handed_over == ["bundles"]


async def test_list_that_begins_again_after_a_page_awaits_only_what_it_lists_itself() -> None:
    """No event comes about an object that was deleted between the two lists."""
    noted = Noted()
    async with kopf_on(page("gone", "a"), hang_up, hang_up, page("a"), silence, noted=noted) as kopf:
        await kopf.list()
        with pytest.raises(aiohttp.ClientError):
            await kopf.list(**{"continue": "more"})
        await kopf.list()
        await kopf.get(**WATCH)
        assert noted.handed_over == []
        kopf.event("a")
        assert noted.handed_over == ["bundles"]


async def test_list_after_an_open_watch_is_handed_over_by_its_own_watch_and_events() -> None:
    """The version that Kopf knew was too old before it had handed over what it listed first."""
    noted = Noted()
    async with kopf_on(page("a", "b"), silence, page("a"), silence, noted=noted) as kopf:
        await kopf.list()
        await kopf.get(**WATCH)
        kopf.event("a")
        await kopf.list()
        kopf.event("b")
        kopf.event("a")
        assert noted.handed_over == []
        await kopf.get(**WATCH)
        assert noted.handed_over == ["bundles"]


async def test_page_that_is_no_list_reaches_kopf_as_it_is() -> None:
    async with kopf_on(web.Response(text="<html>")) as kopf:
        response = await kopf.get()
        assert await response.read() == b"<html>"


async def test_other_requests_are_none_of_ours() -> None:
    async with kopf_on(refusal(403)) as kopf:
        before = kopf.status
        response = await kopf.get("/one")
        assert response.status == 403
        assert kopf.status is before


async def test_an_api_server_whose_url_has_a_path_is_watched_like_any_other() -> None:
    async with kopf_on(refusal(403), path="/k8s/clusters/c-1") as kopf:
        with pytest.raises(aiohttp.ClientConnectionError):
            await kopf.get()
        assert kopf.status.problem is not None


async def test_a_server_that_is_away_has_not_answered() -> None:
    async with kopf_on(LIST, hang_up) as kopf:
        await kopf.get()
        answered = kopf.status.answered_at
        with pytest.raises(aiohttp.ClientError):
            await kopf.get()
        assert kopf.status.answered_at == answered
        assert kopf.status.active_at > answered
