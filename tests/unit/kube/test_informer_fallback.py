"""An informer on servers that answer as old, busy or odd ones do."""

import asyncio

import orjson
from aiohttp import web

from rukpak_py.core.metrics import WATCH_ENDS
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer, InformerSettings
from rukpak_py.kube.resources import Resource
from tests.unit.kube.fake_api import Handler, serving
from tests.waiting import until

QUICK = InformerSettings(first_wait=0.01, longest_wait=0.05, spread_seconds=0.01, initial_seconds=0.2, idle_seconds=5)
OBJECT = {"metadata": {"name": "a", "namespace": "n", "resourceVersion": "5"}}
END = {"metadata": {"resourceVersion": "6", "annotations": {"k8s.io/initial-events-end": "true"}}}
LIST = web.json_response({"metadata": {"resourceVersion": "9"}, "items": [OBJECT]})


def kind(name: str) -> Resource:
    return Resource(gvk=GroupVersionKind("t.rukpak.test", "v1", "Thing"), plural=name, namespaced=True)


def events(*pairs: tuple[str, object], stays_open: bool = True) -> Handler:
    async def stream(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for event, subject in pairs:
            await response.write(orjson.dumps({"type": event, "object": subject}) + b"\n")
        if stays_open:
            await asyncio.sleep(30)
        return response

    return stream


def refusal(code: int, message: str, **details: object) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message, "details": details}, status=code)


async def synced(client: Client, resource: Resource) -> Informer:
    informer = Informer(client, resource, settings=QUICK)
    informer.start()
    await informer.wait_synced(20)
    return informer


async def test_a_server_that_forbids_initial_events_is_listed() -> None:
    forbidden = refusal(422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
    async with serving(forbidden, LIST, events()) as (client, api):
        informer = await synced(client, kind("forbidden"))
        await until(lambda: len(api.seen) >= 3)
        await informer.stop()

    assert len(informer) == 1
    assert api.seen[1].query["resourceVersion"] == "0"
    assert (api.seen[2].query["watch"], api.seen[2].query["resourceVersion"]) == ("true", "9")
    assert "sendInitialEvents" not in api.seen[2].query


async def test_a_server_that_never_ends_the_initial_events_is_listed() -> None:
    """Older servers ignore the parameter: they send objects and no mark."""
    async with serving(events(("ADDED", OBJECT)), LIST, events()) as (client, api):
        informer = await synced(client, kind("unmarked"))
        await informer.stop()

    assert len(informer) == 1
    assert "watch" not in api.seen[1].query


async def test_a_busy_server_is_waited_for_and_nothing_is_forgotten() -> None:
    busy = refusal(429, "storage is (re)initializing", retryAfterSeconds=0)
    once = events(("ADDED", OBJECT), ("BOOKMARK", END), stays_open=False)
    async with serving(once, busy, events()) as (client, api):
        informer = await synced(client, kind("busy"))
        await until(lambda: len(api.seen) >= 3)
        await informer.stop()

    assert len(informer) == 1
    assert [request.query.get("resourceVersion") for request in api.seen] == [None, "6", "6"]
    assert WATCH_ENDS.labels("t.rukpak.test", "busy", "busy")._value.get() == 1


async def test_one_missing_page_is_no_proof_that_the_kind_is_gone() -> None:
    once = events(("ADDED", OBJECT), ("BOOKMARK", END), stays_open=False)
    async with serving(once, web.Response(status=404, text="404 page not found"), events()) as (client, api):
        informer = await synced(client, kind("flicker"))
        await until(lambda: len(api.seen) >= 3)
        await informer.stop()

    assert len(informer) == 1
    assert informer.served


async def test_an_object_that_cannot_be_read_is_left_out_and_the_rest_goes_on() -> None:
    broken = {"metadata": {"name": 7}}
    async with serving(events(("ADDED", broken), ("ADDED", OBJECT), ("BOOKMARK", END))) as (client, _):
        informer = await synced(client, kind("broken"))
        await informer.stop()

    assert [live.key.name for live in informer] == ["a"]


async def test_an_error_inside_a_watch_starts_it_afresh() -> None:
    expired = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (2)"}
    first = events(("ADDED", OBJECT), ("BOOKMARK", END), ("ERROR", expired))
    newest = web.json_response({"metadata": {"resourceVersion": "9"}, "items": []})
    async with serving(first, newest, events(("BOOKMARK", END))) as (client, api):
        informer = await synced(client, kind("expired"))
        await until(lambda: not len(informer))  # the fresh start sends nothing, so the object is gone
        await informer.stop()

    assert all("resourceVersion" not in request.query for request in api.seen[1:])


async def test_a_line_that_is_no_event_ends_the_watch_and_not_the_informer() -> None:
    async def garbage(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"this is no JSON\n")

    async with serving(garbage, events(("ADDED", OBJECT), ("BOOKMARK", END))) as (client, _):
        informer = await synced(client, kind("garbage"))
        await informer.stop()

    assert len(informer) == 1


async def test_large_objects_are_listed_page_by_page() -> None:
    """All ConfigMaps of a namespace at once may be more than our memory."""
    forbidden = refusal(422, "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch")
    other = {"metadata": {"name": "b", "namespace": "n", "resourceVersion": "4"}}
    first = web.json_response({"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [OBJECT]})
    second = web.json_response({"metadata": {"resourceVersion": "9"}, "items": [other]})
    async with serving(forbidden, first, second, events()) as (client, api):
        informer = Informer(client, kind("large"), full=True, keep=False, page=1, settings=QUICK)
        informer.start()
        await informer.wait_synced(20)
        await informer.stop()

    assert {live.key.name for live in informer} == {"a", "b"}
    assert [one.json for one in informer] == [None, None]
    assert [(one.query["limit"], one.query.get("continue")) for one in api.seen[1:3]] == [("1", None), ("1", "more")]
    assert all("resourceVersion" not in one.query for one in api.seen[1:3])
