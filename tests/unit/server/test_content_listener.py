"""The listener of the content server: certificates change, clients hold connections, replicas pass them on."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import UploadSource
from rukpak_py.controllers.jobs import ContentBudget, KeyedLock
from rukpak_py.core import x509
from rukpak_py.core.limits import Limits
from rukpak_py.core.x509 import KeyPair
from rukpak_py.server.access import AccessControl, ApiReviews, Identity
from rukpak_py.server.archives import Archive
from rukpak_py.server.content import ContentApp
from rukpak_py.server.forwarding import FORWARDED, ContentListener
from rukpak_py.server.listener import Address
from rukpak_py.server.server_tls import ServerTls, load_pair
from rukpak_py.server.uploads import LiveBundles, Unpacking, Uploads
from rukpak_py.sources.upload import UploadDirectory
from tests.hostile.client import Attack, attacking
from tests.unit.controllers.values import bundle, unpacked
from tests.waiting import until
from tests.workers import WORKERS

NOW = datetime.now(UTC)
HOSTS = ["localhost", "127.0.0.1"]
MIB = 1024 * 1024
HEAD = b"HEAD /bundles/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
DIGEST = f"sha256:{'a' * 64}"


class Everybody(ApiReviews):
    """The API server knows the token `t`, and allows everything."""

    def __init__(self) -> None: ...

    async def authenticate(self, token: str) -> Identity | None:
        return Identity(user="ann") if token == "t" else None

    async def is_allowed(self, _identity: Identity, _verb: str, _path: str) -> bool:
        return True


@dataclass
class Content:
    file: Path
    why: str | None = None

    def unavailable(self) -> str | None:
        return self.why

    async def archive(self, _bundle: Bundle) -> Archive:
        return Archive(file=self.file.open("rb"), tag=DIGEST)

    async def uploaded(self, _bundle: Bundle) -> None:
        return None


@dataclass
class Bundles(LiveBundles):
    uploads: bool = False

    async def read(self, name: str) -> Bundle:
        if not self.uploads:
            return unpacked(name)
        waiting = bundle(name)
        return replace(waiting, spec=replace(waiting.spec, source=Source(type="upload", upload=UploadSource())))


async def nothing(_digest: str) -> bool:
    return False


async def no_report(_name: str, _may: object) -> None:
    return None


async def no_account(_bundle: Bundle) -> None:
    return None


@dataclass
class Bench:
    folder: Path
    authority: KeyPair = field(default_factory=lambda: x509.issue_ca(NOW))
    clients: bytes = b""  # the authority of client certificates
    pair: KeyPair | None = None

    def __post_init__(self) -> None:
        self.rotate()
        (self.folder / "archive").write_bytes(bytes(8 * MIB))

    def rotate(self) -> None:
        self.pair = x509.issue_serving(self.authority, HOSTS, NOW)

    async def client_authority(self) -> bytes:
        return self.clients

    @asynccontextmanager
    async def listening(
        self,
        limits: Limits | None = None,
        *,
        leader: Callable[[], str | None] = lambda: None,
        address: Address | None = None,
        why: str | None = None,
        bundles: Bundles = Bundles(),  # noqa: B008 - a value
    ) -> AsyncIterator[ContentListener]:
        limits = limits or Limits()
        unpacking = Unpacking(
            turns=KeyedLock(),
            budget=ContentBudget(),
            workers=WORKERS,
            has_content=nothing,
            uploaded=lambda _: None,
            pinned_digest=lambda one: one.status.digest,
            account_of=no_account,
        )
        app = ContentApp(
            access=AccessControl(Everybody()),
            bundles=bundles,
            content=Content(self.folder / "archive", why),
            uploads=Uploads(
                UploadDirectory(self.folder / "uploads", limits),
                bundles,
                unpacking,
                may_impersonate=Everybody().may_impersonate,
            ),
            permissions=no_report,
            plans=no_report,
            may_impersonate=Everybody().may_impersonate,
            limits=limits,
        )
        tls = ServerTls(lambda: self.pair, self.client_authority)
        listener = ContentListener(app, address or Address(host="127.0.0.1", port=0), tls, limits, leader=leader)
        await listener.start()
        try:
            yield listener
        finally:
            await listener.stop()

    def uploaded(self) -> list[bytes]:
        """Contents of the files in the upload directory, whatever their names are."""
        folder = self.folder / "uploads"
        return [path.read_bytes() for path in folder.iterdir()] if folder.is_dir() else []

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.authority.certificate.decode())

    async def connected(self, port: int, *, limit: int = 2**16) -> Streams:
        return await asyncio.open_connection(
            "127.0.0.1", port, ssl=self.trust(), server_hostname="localhost", limit=limit
        )

    async def admitted(self, port: int) -> Streams:
        """A connection with one request that was allowed."""
        reader, writer = await self.connected(port)
        writer.write(HEAD)
        assert b" 200 OK" in await reader.readuntil(b"\r\n\r\n")
        return reader, writer

    async def get(self, port: int, *, by: str = "t") -> tuple[int, int]:
        """The status, and how many bytes came."""
        headers = {"Authorization": f"Bearer {by}"}
        url = f"https://127.0.0.1:{port}/bundles/b.tgz"
        async with (
            aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=20)) as session,
            session.get(url, ssl=self.trust(), server_hostname="localhost") as response,
        ):
            return response.status, len(await response.read())


@pytest.fixture
def bench(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Bench]:
    """Whatever clients do is no bug of ours: no traceback is logged."""
    yield Bench(tmp_path)
    assert [record.getMessage() for record in caplog.get_records("call") if record.exc_info] == []


async def test_certificates_are_rotated_and_no_request_is_refused(bench: Bench) -> None:
    async with bench.listening() as listener:
        served: set[bytes] = set()
        stop = asyncio.Event()

        async def client() -> None:
            while not stop.is_set():
                assert await bench.get(listener.port) == (200, 8 * MIB)

        clients = [asyncio.create_task(client()) for _ in range(3)]
        for _ in range(4):
            bench.rotate()
            _, writer = await asyncio.open_connection(
                "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost"
            )
            served.add(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
            writer.close()
        stop.set()
        await asyncio.gather(*clients)
        assert len(served) == 4


async def test_an_unknown_caller_loses_the_connection(bench: Bench) -> None:
    async with bench.listening() as listener:
        assert (await bench.get(listener.port, by="other"))[0] == 401


@pytest.mark.parametrize("sent", [b"", b"\x16", b"\x16\x03\x01", FORWARDED[:5], b"GET / HTTP/1.1\r\n\r\n"])
async def test_clients_that_do_not_speak_tls_are_cut_off(bench: Bench, sent: bytes) -> None:
    async with bench.listening(Limits(request_seconds=3)) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(sent)
        with suppress(ConnectionResetError):
            assert len(await reader.read()) < 100
        writer.close()
        assert (await bench.get(listener.port))[0] == 200


@pytest.mark.parametrize("sent", [b"", b"GET /bundles/b.tgz HTTP/1.1\r\nHost: h\r\nX-Slow: "])
async def test_half_a_request_of_an_unknown_caller_is_cut_off(bench: Bench, sent: bytes) -> None:
    """Slowloris: no header may come for ever."""
    async with bench.listening(Limits(request_seconds=3)) as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost"
        )
        writer.write(sent)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            async with asyncio.timeout(15):  # other bounds, which are no help against many, are twice as long
                assert await reader.readexactly(1)
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \xff\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n",
        b"GET /bundles/../uploads/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n",
        b"PUT /uploads/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nContent-Length: 99999999999\r\n\r\n",
        b"PUT /uploads/b.tgz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
)
async def test_nonsense_is_refused(bench: Bench, sent: bytes) -> None:
    async with bench.listening() as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost"
        )
        writer.write(sent)
        line = await reader.readline()
        assert line.split()[1] in {b"400", b"401", b"404", b"405", b"409", b"413"}
        writer.close()
        assert (await bench.get(listener.port))[0] == 200


@pytest.mark.parametrize(
    ("length", "body", "stored"),
    [
        (b"Content-Length: 5", b"0123456789", {400: [], 201: [b"01234"]}),  # the rest is no request
        (b"Content-Length: 99999999", b"", {413: []}),
        (b"Transfer-Encoding: chunked", b"5\r\n01234\r\n0\r\n\r\n", {201: [b"01234"]}),
        (b"Transfer-Encoding: chunked", b"1000000\r\n" + bytes(2 * MIB), {413: []}),
        (b"Content-Encoding: gzip\r\nContent-Length: 5", b"01234", {201: [b"01234"]}),
    ],
)
async def test_uploads_of_another_length_than_they_say(
    bench: Bench, length: bytes, body: bytes, stored: dict[int, list[bytes]]
) -> None:
    limits = Limits(archive_bytes=MIB)
    async with bench.listening(limits, bundles=Bundles(uploads=True)) as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost"
        )
        head = b"PUT /uploads/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n" + length
        writer.write(head + b"\r\n\r\n" + body)
        status = int((await reader.readline()).split()[1])
        writer.close()
        assert bench.uploaded() == stored[status]


@pytest.mark.parametrize("limit", ["upload_seconds", "server_silence_seconds"])
async def test_an_upload_that_never_ends_is_cut_off(bench: Bench, limit: str) -> None:
    async with bench.listening(Limits(**{limit: 1}), bundles=Bundles(uploads=True)) as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost"
        )
        writer.write(b"PUT /uploads/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nContent-Length: 9\r\n\r\n1")
        assert (await reader.readline()).split()[1] == b"408"
        rest = await reader.read()  # until the server ends the connection, which is of no more use
        assert f"RUKPAK_LIMIT_{limit.upper()}".encode() in rest
        assert b"Connection: close" in rest
        writer.close()
        assert bench.uploaded() == []


async def test_a_client_that_keeps_sending_may_take_longer_than_silence_may(
    bench: Bench,
) -> None:
    async with bench.listening(
        Limits(server_silence_seconds=1, request_seconds=2), bundles=Bundles(uploads=True)
    ) as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost"
        )
        writer.write(b"PUT /uploads/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nContent-Length: 35\r\n\r\n")
        for _ in range(35):  # longer than a client that was not admitted may stay
            await asyncio.sleep(0.1)  # the pace of a slow client
            writer.write(b"1")
        assert (await reader.readline()).split()[1] == b"201"
        writer.close()


async def test_a_client_that_goes_away_in_the_middle(bench: Bench) -> None:
    (bench.folder / "archive").write_bytes(bytes(64 * MIB))
    async with bench.listening() as listener:
        _, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost", limit=1024
        )
        writer.write(b"GET /bundles/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n")
        await until(lambda: listener.connections == 1)
        writer.transport.abort()
        await until(lambda: not listener.connections)


async def test_a_client_that_takes_nothing_is_cut_off_and_it_does_not_look_like_an_end(bench: Bench) -> None:
    (bench.folder / "archive").write_bytes(bytes(64 * MIB))
    async with bench.listening(Limits(server_silence_seconds=1)) as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=bench.trust(), server_hostname="localhost", limit=1024
        )
        writer.write(b"GET /bundles/b.tgz HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"Content-Length: {64 * MIB}".encode() in head
        await until(lambda: not listener.connections)
        received = 0
        with suppress(ConnectionError):
            while piece := await reader.read(MIB):
                received += len(piece)
        assert received < 64 * MIB
        writer.close()


@pytest.mark.parametrize("attack", [Attack.SILENT, Attack.SILENT_TLS, Attack.STRANGERS])
async def test_strangers_take_no_place_of_a_client_that_may_read(bench: Bench, attack: Attack) -> None:
    limits = Limits(server_connections=8, request_seconds=600)
    async with bench.listening(limits) as listener:
        reader, writer = await bench.admitted(listener.port)
        async with attacking(attack, listener.port, count=50):
            assert listener.connections <= limits.server_connections // 2 + 1
            assert (await bench.get(listener.port))[0] == 200
            writer.write(HEAD)
            assert await reader.readuntil(b"\r\n\r\n"), "an admitted connection keeps its place"
        writer.close()


@pytest.mark.parametrize("attack", [Attack.SILENT, Attack.SILENT_TLS])
async def test_strangers_take_no_place_of_a_client_whose_connection_is_passed_on(bench: Bench, attack: Attack) -> None:
    limits = Limits(server_connections=8, request_seconds=600)
    async with bench.listening(limits, leader=lambda: "127.0.0.3", why="does not lead") as follower:
        there = Address(host="127.0.0.3", port=follower.port)
        async with bench.listening(limits, address=there) as leader, attacking(attack, follower.port, count=50):
            for listener in (follower, leader):
                assert listener.connections <= limits.server_connections // 2
            assert await bench.get(follower.port) == (200, 8 * MIB)


async def test_a_connection_that_is_passed_on_keeps_its_place_once_the_leader_must_have_admitted_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rukpak_py.server.forwarding.CONNECT_SECONDS", 0.5)
    limits = Limits(server_connections=8, request_seconds=2, server_silence_seconds=1)
    async with bench.listening(limits, leader=lambda: "127.0.0.3", why="does not lead") as follower:
        there = Address(host="127.0.0.3", port=follower.port)
        async with bench.listening(limits, address=there) as leader:
            reader, writer = await bench.admitted(follower.port)
            assert (follower.admitted, leader.admitted) == (0, 1)
            await until(lambda: follower.admitted)
            async with attacking(Attack.SILENT, follower.port, count=50):
                writer.write(HEAD)
                assert b" 200 OK" in await reader.readuntil(b"\r\n\r\n")
            writer.close()


async def test_admitted_clients_may_have_all_places_and_an_idle_one_gives_way_to_a_new_client(bench: Bench) -> None:
    limits = Limits(server_connections=4, request_seconds=600)
    async with bench.listening(limits) as listener:
        idle = [await bench.admitted(listener.port) for _ in range(4)]
        assert listener.connections == len(idle)
        assert (await bench.get(listener.port))[0] == 200
        assert await idle[0][0].read() == b"", "the one that was idle for longest"
        for _, writer in idle:
            writer.close()


async def test_a_download_is_never_cut_off_for_a_new_client(bench: Bench) -> None:
    (bench.folder / "archive").write_bytes(bytes(64 * MIB))
    limits = Limits(server_connections=2, request_seconds=600)
    async with bench.listening(limits) as listener:
        downloads = []
        for _ in range(limits.server_connections):
            reader, writer = await bench.connected(listener.port, limit=1024)
            writer.write(b"GET" + HEAD.removeprefix(b"HEAD"))
            await reader.readuntil(b"\r\n\r\n")
            downloads.append((reader, writer))
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await bench.get(listener.port)
        for reader, writer in downloads:
            assert len(await reader.readexactly(64 * MIB)) == 64 * MIB
            writer.close()


async def test_a_connection_is_passed_on_once(bench: Bench) -> None:
    """Two replicas that take each other for the leader, and then one of them is."""
    async with bench.listening(leader=lambda: "127.0.0.3", why="does not lead") as first:
        there = Address(host="127.0.0.3", port=first.port)
        async with bench.listening(leader=lambda: "127.0.0.1", address=there, why="does not lead"):
            assert (await bench.get(first.port))[0] == 503
        async with bench.listening(address=there):
            answers = await asyncio.gather(*(bench.get(first.port) for _ in range(4)))
            assert set(answers) == {(200, 8 * MIB)}
        assert (await bench.get(first.port))[0] == 503, "the leader is gone"


@pytest.mark.parametrize("is_valid", [True, False])
async def test_a_client_without_a_certificate_is_served(bench: Bench, is_valid: bool) -> None:  # noqa: FBT001 - a case
    bench.clients = x509.issue_ca(NOW).certificate if is_valid else b"not a certificate"
    async with bench.listening() as listener:
        assert (await bench.get(listener.port))[0] == 200


async def test_a_client_certificate_of_another_authority_is_refused(bench: Bench) -> None:
    bench.clients = x509.issue_ca(NOW).certificate
    stranger = x509.issue_serving(x509.issue_ca(NOW), HOSTS, NOW)
    trust = bench.trust()
    load_pair(trust, stranger)
    async with bench.listening() as listener:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", listener.port, ssl=trust, server_hostname="localhost"
        )
        writer.write(b"GET /bundles/b.tgz HTTP/1.1\r\nHost: h\r\n\r\n")
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()
