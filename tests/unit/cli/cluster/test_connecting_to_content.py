"""Talking to the operator's content server: whom it trusts, what it sends to whom, and what each answer means."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from aiohttp import web

from rukpak_py.cli.cluster import content_server as module
from rukpak_py.cli.cluster.content_server import ContentServer, DownloadedArchive, ServerRefusedError, content_server
from rukpak_py.core import x509
from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.kube.config import Connection, FixedToken
from tests.unit.cli.content_servers import Direct, pem, serving

ARCHIVE = DownloadedArchive(pieces=(b"a" * 100_000, b"b" * 10))
ALICE = Connection(server="https://api", token=FixedToken("canary"))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)


@asynccontextmanager
async def asking(way: Direct, *, trusted: bytes = b"") -> AsyncIterator[ContentServer]:
    async with content_server(way, ALICE, trusted or pem()) as server:
        yield server


async def downloaded(server: ContentServer) -> bytes:
    async with server.archive_of("b") as chunks:
        return b"".join([chunk async for chunk in chunks])


@pytest.mark.parametrize(("status", "is_new"), [(201, True), (204, False)])
async def test_an_upload_is_sent_whole_with_the_users_token(status: int, *, is_new: bool) -> None:
    sent: list[int] = []
    async with serving(web.Response(status=status)) as way, asking(way) as server:
        assert await server.upload("b", ARCHIVE, sent.append) is is_new
    [seen] = way.seen
    assert (seen.method, seen.path, seen.authorization) == ("PUT", "/uploads/b.tgz", "Bearer canary")
    assert seen.body == b"".join(ARCHIVE.pieces)
    assert sent == sorted(sent)
    assert sent[-1] == ARCHIVE.size


async def test_content_is_read_from_its_path() -> None:
    async with serving(web.Response(body=b"archive")) as way, asking(way) as server:
        assert await downloaded(server) == b"archive"
    assert [(one.method, one.path) for one in way.seen] == [("GET", "/bundles/b.tgz")]


async def test_permissions_are_read_from_their_path_with_the_users_token() -> None:
    async with (
        serving(web.Response(status=503, text="not yet"), web.Response(body=b"{}")) as way,
        asking(way) as server,
    ):
        assert await server.permissions_of("shop") == b"{}"
    assert [(one.path, one.authorization) for one in way.seen] == [("/permissions/shop", "Bearer canary")] * 2


async def test_plan_is_read_from_its_path() -> None:
    async with serving(web.Response(body=b"{}")) as way, asking(way) as server:
        assert await server.plan_of("shop") == b"{}"
    assert [(one.method, one.path) for one in way.seen] == [("GET", "/plans/shop")]


async def test_permissions_of_no_deployment_are_refused_in_the_words_of_the_server() -> None:
    async with serving(web.Response(status=404, text='"shop" not found')) as way, asking(way) as server:
        with pytest.raises(ServerRefusedError, match='"shop" not found'):
            await server.permissions_of("shop")


async def test_a_server_that_the_authority_did_not_sign_gets_nothing() -> None:
    other = x509.issue_ca(datetime.now(UTC)).certificate
    async with serving(web.Response()) as way, asking(way, trusted=other) as server:
        with pytest.raises(AccessError, match="the content server cannot be trusted: "):
            await server.upload("b", ARCHIVE, lambda _: None)
    assert way.seen == []


async def test_a_server_with_another_name_gets_nothing() -> None:
    async with serving(web.Response(), hosts=("elsewhere", "127.0.0.1")) as way, asking(way) as server:
        with pytest.raises(AccessError, match="cannot be trusted"):
            await downloaded(server)
    assert way.seen == []


@pytest.mark.parametrize("text", [b"", b"nonsense", b"\xff"])
async def test_an_authority_that_is_none_is_told(text: bytes) -> None:
    with pytest.raises(AccessError, match="failed to load certificate authority into cert pool: malformed PEM"):
        async with content_server(Direct(), ALICE, text):
            pass


REFUSALS = {
    401: (AccessError, r"does not accept the credentials of the kubeconfig: because$"),
    403: (AccessError, r"^because\. Who reads needs the ClusterRole bundle-reader"),
    404: (ServerRefusedError, "^because$"),
    409: (ServerRefusedError, "^because$"),
    413: (ServerRefusedError, "^because$"),
    500: (ServerRefusedError, "^because$"),
}


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_refusal_is_told_in_the_servers_words(status: int) -> None:
    kind, text = REFUSALS[status]
    async with serving(web.Response(status=status, text="because\n")) as way, asking(way) as server:
        with pytest.raises(kind, match=text) as upload:
            await server.upload("b", ARCHIVE, lambda _: None)
        with pytest.raises(kind, match=text):
            await downloaded(server)
    assert len(way.seen) == 2
    assert "canary" not in str(upload.value)


async def test_a_refusal_in_the_middle_of_a_large_upload_is_heard() -> None:
    async def refuse(_request: web.BaseRequest) -> web.StreamResponse:
        response = web.Response(status=409, text="because")
        response.force_close()
        return response

    large = DownloadedArchive(pieces=(bytes(40_000_000),))
    async with serving(refuse) as way, asking(way) as server:
        with pytest.raises(ServerRefusedError, match="because"):
            await server.upload("b", large, lambda _: None)


async def test_a_refusal_without_words_has_its_status() -> None:
    async with serving(web.Response(status=418)) as way, asking(way) as server:
        with pytest.raises(ServerRefusedError, match='unexpected response "418 I\'m a Teapot"'):
            await downloaded(server)


async def test_a_redirect_is_not_followed() -> None:
    elsewhere = web.Response(status=307, headers={"Location": "https://elsewhere.example/"})
    async with serving(elsewhere) as way, asking(way) as server:
        with pytest.raises(ServerRefusedError, match="unexpected response"):
            await server.upload("b", ARCHIVE, lambda _: None)
    assert len(way.seen) == 1


async def test_upload_to_an_unavailable_server_is_repeated_whole() -> None:
    later = web.Response(status=503, text="not the leader")
    async with serving(later, later, web.Response(status=201)) as way, asking(way) as server:
        assert await server.upload("b", ARCHIVE, lambda _: None)
    assert [len(one.body) for one in way.seen] == [ARCHIVE.size] * 3


async def test_patience_ends() -> None:
    async with serving(web.Response(status=503, text="not the leader")) as way, asking(way) as server:
        with pytest.raises(UnavailableError, match="not the leader"):
            await downloaded(server)
    assert len(way.seen) > 1


async def test_the_way_says_why_it_failed() -> None:
    async with content_server(Direct(port=1, failure=AccessError("no right")), ALICE, pem()) as server:
        with pytest.raises(AccessError, match=r"^no right$"):
            await downloaded(server)


async def test_a_download_that_breaks_off_is_no_shorter_archive() -> None:
    async def half(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"x" * 500)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(half) as way, asking(way) as server:
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await downloaded(server)
