"""Which failed requests are sent again, and which never."""

import asyncio

import orjson
import pytest
from aiohttp import web

from rukpak_py.core.metrics import request_counts
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import Connection
from rukpak_py.kube.errors import ApiError, ServerUnavailableError, UnauthorizedError
from rukpak_py.kube.resources import CONFIG_MAPS
from rukpak_py.kube.transport import Transport
from tests.unit.kube.fake_api import Handler, hang_up, serving

OBJECT = web.json_response({"metadata": {"name": "a", "resourceVersion": "1"}})
BUSY = web.Response(status=429, text="Too many requests, please try again later.", headers={"Retry-After": "1"})
DOWN = web.Response(status=503, text="apiserver is shutting down")


def status(code: int, reason: str, message: str, **details: object) -> web.Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message, "details": details}
    return web.json_response(body, status=code)


async def test_a_busy_server_is_asked_again_after_the_time_it_names() -> None:
    waits: list[float] = []
    async with serving(BUSY, BUSY, OBJECT, waited=waits) as (client, api):
        await client.create(CONFIG_MAPS, "n", b"{}")

    assert len(api.seen) == 3
    assert all(1.0 < wait < 2.0 for wait in waits)


async def test_patience_is_bounded() -> None:
    async with serving(BUSY) as (client, api):
        with pytest.raises(ServerUnavailableError, match="Too many requests") as caught:
            await client.get(CONFIG_MAPS, "n", "a")

    assert len(api.seen) == 4
    assert caught.value.retry_after == 1.0


async def test_a_long_wait_is_the_callers() -> None:
    later = web.Response(status=429, text="later", headers={"Retry-After": "120"})
    async with serving(later) as (client, api):
        with pytest.raises(ServerUnavailableError) as caught:
            await client.get(CONFIG_MAPS, "n", "a")

    assert len(api.seen) == 1
    assert caught.value.retry_after == 120.0


async def test_an_apply_whose_answer_is_lost_is_sent_again_and_says_so() -> None:
    async with serving(hang_up, OBJECT) as (client, api):
        applied = await client.apply(CONFIG_MAPS, "n", "a", b"{}", field_manager="us", force=False)

    assert len(api.seen) == 2
    assert applied.resent


async def test_an_apply_that_was_only_put_off_is_not_resent() -> None:
    async with serving(BUSY, OBJECT) as (client, _):
        applied = await client.apply(CONFIG_MAPS, "n", "a", b"{}", field_manager="us", force=False)

    assert not applied.resent


@pytest.mark.parametrize("lost", [hang_up, DOWN, status(504, "Timeout", "too slow")], ids=["no answer", "503", "504"])
async def test_a_create_or_patch_that_may_have_been_done_is_not_sent_again(lost: web.Response | Handler) -> None:
    async with serving(lost) as (client, api):
        with pytest.raises(ServerUnavailableError):
            await client.create(CONFIG_MAPS, "n", b"{}")
        with pytest.raises(ServerUnavailableError):
            await client.patch(CONFIG_MAPS, "n", "a", b"{}")
        with pytest.raises(ServerUnavailableError):
            await client.replace(CONFIG_MAPS, "n", "a", b"{}")
        with pytest.raises(ServerUnavailableError):
            await client.delete(CONFIG_MAPS, "n", "a")

    assert len(api.seen) == 4


async def test_a_delete_that_names_the_object_is_sent_again() -> None:
    async with serving(DOWN, status(200, "", "")) as (client, api):
        assert await client.delete(CONFIG_MAPS, "n", "a", uid="u") is None

    assert len(api.seen) == 2


@pytest.mark.parametrize(
    "terminal",
    [
        status(500, "", "failed to create typed patch object (n/a; /v1, Kind=ConfigMap): .x: field not declared"),
        status(500, "", "etcdserver: request is too large"),
        status(500, "InternalError", "Internal error occurred: failed calling webhook: context deadline exceeded"),
        status(409, "Conflict", "the object has been modified"),
        status(422, "Invalid", "spec.x: Required value"),
        status(403, "Forbidden", "no"),
        web.Response(status=404, text="404 page not found"),
        web.Response(status=301, headers={"Location": "/elsewhere"}),
    ],
    ids=["schema", "too large", "webhook", "stale", "invalid", "forbidden", "not served", "redirect"],
)
async def test_request_that_would_fail_again_is_sent_once(terminal: web.Response) -> None:
    async with serving(terminal) as (client, api):
        with pytest.raises(ApiError):
            await client.apply(CONFIG_MAPS, "n", "a", b"{}", field_manager="us", force=False)

    assert len(api.seen) == 1


async def test_no_server_is_tried_four_times_and_every_try_is_counted() -> None:
    async with serving(OBJECT) as (_, api):
        url = api.url
    before = request_counts()
    connection = Connection(server=url)
    async with Client(connection, transport=Transport(connection, sleep=_at_once)) as client:
        with pytest.raises(ServerUnavailableError, match="cannot be reached"):
            await client.create(CONFIG_MAPS, "n", b"{}")

    assert request_counts() - before == {("create", "", "configmaps", "", "<error>"): 4}


async def _at_once(seconds: float) -> None:
    assert seconds > 0


async def test_a_refused_token_is_asked_for_again_once() -> None:
    class Rotated:
        def __init__(self) -> None:
            self.tokens = ["old", "new"]
            self.forgotten = 0

        async def token(self) -> str:
            return self.tokens[min(self.forgotten, 1)]

        def forget(self) -> None:
            self.forgotten += 1

    token = Rotated()
    async with serving(status(401, "Unauthorized", "Unauthorized"), OBJECT, token=token) as (client, api):
        await client.create(CONFIG_MAPS, "n", b"{}")
    assert [request.headers["Authorization"] for request in api.seen] == ["Bearer old", "Bearer new"]

    async with serving(status(401, "Unauthorized", "Unauthorized"), token=token) as (client, api):
        with pytest.raises(UnauthorizedError):
            await client.get(CONFIG_MAPS, "n", "a")
    assert len(api.seen) == 2


async def test_a_proxy_page_in_place_of_an_answer_is_no_object() -> None:
    async with serving(web.Response(text="<html>please log in</html>")) as (client, _):
        with pytest.raises(ServerUnavailableError, match="is not the API server's"):
            await client.get_metadata(CONFIG_MAPS, "n", "a")
        with pytest.raises(ServerUnavailableError):
            await client.list_metadata(CONFIG_MAPS, "n")


async def test_a_list_whose_pages_expire_begins_again_once() -> None:
    first = web.json_response({"metadata": {"resourceVersion": "5", "continue": "t"}, "items": [_item("old")]})
    second = web.json_response({"metadata": {"resourceVersion": "9"}, "items": [_item("new")]})
    async with serving(first, status(410, "Expired", "too old"), second) as (client, api):
        listing = await client.list_metadata(CONFIG_MAPS, "n")

    assert [live.key.name for live in listing.items] == ["new"]
    assert listing.resource_version == "9"
    assert "continue" not in api.seen[2].query


def _item(name: str) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "n", "resourceVersion": "1"}}


async def test_at_most_so_many_requests_are_in_flight() -> None:
    going, most = 0, 0
    all_here = asyncio.Event()

    async def slow(_: web.BaseRequest) -> web.StreamResponse:
        nonlocal going, most
        going += 1
        most = max(most, going)
        if going == 32:
            all_here.set()
        await all_here.wait()
        going -= 1
        return web.Response(body=orjson.dumps({"metadata": {"name": "a"}}))

    async with serving(slow) as (client, _):
        await asyncio.gather(*[client.get_metadata(CONFIG_MAPS, "n", f"a{n}") for n in range(100)])

    assert most == 32
