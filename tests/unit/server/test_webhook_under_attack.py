"""A client that attacks the webhook port loses its connection, and other clients get their answers."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import aiohttp
import pytest
from cryptography import x509 as certificates
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rukpak_py.api.names import BUNDLE_WEBHOOK_PATH
from rukpak_py.api.source_types import CONFIG_MAPS_AT_MOST
from rukpak_py.core import x509
from rukpak_py.core.limits import KIB, MIB, Limits
from rukpak_py.core.x509 import KeyPair
from rukpak_py.server import admission
from rukpak_py.server.admission import LOOK_UPS, Admission, ReviewClients, webhook_app, webhook_port
from rukpak_py.server.listener import Address, Listener, PortSettings
from rukpak_py.server.review import Reception, ReviewsInFlight, read_object, read_review
from rukpak_py.server.server_tls import ServerTls, load_pair
from tests.hostile.client import Attack, attacking, review_of
from tests.waiting import until

NOW = datetime.now(UTC)
SIGNER = x509.issue_ca(NOW)
PAIR = x509.issue_serving(SIGNER, ["localhost", "127.0.0.1"], NOW)
CLIENT_AUTHORITY = x509.issue_ca(NOW)
DENIED = [{"configMap": {"name": "mutable"}}]


@dataclass
class Known:
    """Both ports of `Admission`, and the names that were looked up."""

    looked_up: list[str] = field(default_factory=list)
    running: asyncio.Event = field(default_factory=asyncio.Event)
    others: asyncio.Event = field(default_factory=asyncio.Event)  # than the ConfigMap `mutable`
    waiting: int = 0

    def __post_init__(self) -> None:
        self.running.set()
        self.others.set()

    async def immutable(self, name: str) -> bool | None:
        self.looked_up.append(name)
        self.waiting += 1
        try:
            await self.running.wait()
            if name != "mutable":
                await self.others.wait()
        finally:
            self.waiting -= 1
        return False if name == "mutable" else None

    async def using(self, _config_map: str) -> Sequence[str]:
        return []


class Counted(ReviewsInFlight):
    """Remembers the most bytes that were held at a time."""

    most = 0

    def add(self, reception: Reception, size: int) -> None:
        super().add(reception, size)
        self.most = max(self.most, self.held)


@dataclass
class Bench:
    known: Known
    reviews: Counted
    listener: Listener

    async def review(self, config_maps: list[dict[str, Any]] = DENIED, *, by: KeyPair | None = None) -> tuple[int, str]:
        """The status and the text of the answer to a client that means well."""
        trust = ssl.create_default_context(cadata=SIGNER.certificate.decode())
        if by is not None:
            load_pair(trust, by)
        url = f"https://127.0.0.1:{self.listener.port}{BUNDLE_WEBHOOK_PATH}"
        timeout = aiohttp.ClientTimeout(total=20)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, json=review_of(config_maps), ssl=trust) as response,
        ):
            text = await response.text()
        return response.status, json.loads(text)["response"]["status"]["message"] if response.status == 200 else text


@asynccontextmanager
async def serving(
    limits: Limits | None = None, clients: ReviewClients | None = None, settings: PortSettings | None = None
) -> AsyncIterator[Bench]:
    limits = limits or Limits()
    known, reviews = Known(), Counted(limits)
    app = webhook_app(
        Admission(system_namespace="system", config_maps=known, bundles=known), limits, clients, reviews=reviews
    )
    tls = ServerTls(lambda: PAIR, client_authority if clients is not None else no_authority)
    settings = settings or webhook_port(limits, clients)
    listener = Listener(
        app,
        Address(host="127.0.0.1", port=0),
        settings,
        tls=tls.context,
        ends_with_client=True,
        auto_decompress=False,
    )
    await listener.start()
    try:
        yield Bench(known, reviews, listener)
    finally:
        await listener.stop()


async def client_authority() -> bytes:
    return CLIENT_AUTHORITY.certificate


async def no_authority() -> bytes:
    return b""


def client_of(authority: KeyPair, name: str) -> KeyPair:
    """A client's certificate, as an API server has one."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = serialization.load_pem_private_key(authority.key, password=None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    issuer = certificates.load_pem_x509_certificate(authority.certificate)
    certificate = (
        certificates.CertificateBuilder()
        .subject_name(certificates.Name([certificates.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(certificates.random_serial_number())
        .not_valid_before(issuer.not_valid_before_utc)
        .not_valid_after(issuer.not_valid_after_utc)
        .add_extension(certificates.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(certificate=certificate.public_bytes(serialization.Encoding.PEM), key=private)


async def test_sixty_thousand_names_cost_no_look_up_and_no_tasks() -> None:
    tasks = 0

    def counted(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
        nonlocal tasks
        tasks += 1
        return asyncio.Task(coro, loop=loop, **options)

    async with serving() as bench:
        asyncio.get_running_loop().set_task_factory(cast("Any", counted))
        async with attacking(Attack.MANY_NAMES, bench.listener.port, count=1) as client:
            await until(lambda: client.answers)
        assert (client.answers, bench.known.looked_up) == ([200], [])
        assert tasks < 20  # of the client, the connection and the request; there was one for each name
        status, text = await bench.review([{"configMap": {"name": f"n-{i}"}} for i in range(CONFIG_MAPS_AT_MOST + 1)])
        assert (status, text) == (200, "bundle.spec.source.configmaps has 257 items; at most 256 are allowed")


async def test_half_reviews_hold_a_bounded_number_of_bytes_and_a_review_is_answered_meanwhile() -> None:
    limits = Limits(review_bytes=MIB, reviews_bytes=4 * MIB)
    async with (
        serving(limits) as bench,
        attacking(Attack.HALF_REVIEWS, bench.listener.port, count=150, size=MIB) as client,
    ):
        assert (await bench.review())[1].endswith('configmap "mutable" is not immutable; set immutable: true on it')
        assert 2 * MIB < bench.reviews.most <= limits.reviews_bytes
        assert bench.listener.connections <= limits.webhook_connections
        await until(lambda: client.held <= limits.reviews_bytes // (MIB // 2))


async def test_connections_beyond_the_limit_make_the_oldest_unfinished_ones_give_way() -> None:
    limits = Limits(webhook_connections=10, request_seconds=600)
    async with serving(limits) as bench, attacking(Attack.SILENT_TLS, bench.listener.port, count=40) as client:
        assert (await bench.review())[0] == 200
        assert bench.listener.connections <= limits.webhook_connections
        await until(lambda: client.held < limits.webhook_connections)


async def test_a_review_that_is_judged_keeps_its_place() -> None:
    limits = Limits(webhook_connections=4, request_seconds=600)
    async with serving(limits) as bench:
        bench.known.running.clear()
        judged = asyncio.create_task(bench.review())
        await until(lambda: bench.known.looked_up)
        async with attacking(Attack.SILENT, bench.listener.port, count=40):
            bench.known.running.set()
            assert (await judged)[0] == 200


async def test_reviews_that_are_judged_for_long_give_way_with_their_look_ups() -> None:
    limits = Limits(webhook_connections=4, request_seconds=600)
    async with serving(limits) as bench:
        bench.known.others.clear()
        async with attacking(Attack.FULL_REVIEWS, bench.listener.port, count=20):
            await until(lambda: bench.known.waiting >= LOOK_UPS)
            assert (await bench.review())[0] == 200
            await until(lambda: bench.known.waiting <= LOOK_UPS * limits.webhook_connections)
            assert bench.listener.connections <= limits.webhook_connections


@pytest.mark.parametrize(
    ("attack", "answers"),
    [(Attack.SILENT, []), (Attack.SILENT_TLS, []), (Attack.HALF_REVIEWS, [408] * 3), (Attack.SLOW_REVIEWS, [408] * 3)],
)
async def test_requests_that_do_not_arrive_in_time_end(attack: Attack, answers: list[int]) -> None:
    async with (
        serving(Limits(request_seconds=3)) as bench,
        attacking(attack, bench.listener.port, count=3, size=KIB) as client,
    ):
        await client.ended()
        await until(lambda: not bench.listener.connections)
        assert (client.answers, bench.reviews.held) == (answers, 0)


async def test_an_idle_connection_is_kept_for_a_while_and_ends() -> None:
    settings = PortSettings(name="webhooks", connections=9, request_seconds=60, idle_seconds=2)
    async with serving(settings=settings) as bench:
        trust = ssl.create_default_context(cadata=SIGNER.certificate.decode())
        body = json.dumps(review_of(DENIED)).encode()
        request = (
            f"POST {BUNDLE_WEBHOOK_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.listener.port, ssl=trust)
        writer.write(request + request)
        answers = await reader.read()  # until the server ends it
        writer.close()
        assert answers.count(b"HTTP/1.1 200 OK") == 2


async def test_only_a_client_whose_review_was_judged_keeps_its_connection() -> None:
    async with serving() as bench:
        trust = ssl.create_default_context(cadata=SIGNER.certificate.decode())
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.listener.port, ssl=trust)
        writer.write(f"POST {BUNDLE_WEBHOOK_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n[]".encode())
        assert b"Connection: close" in await reader.read()
        writer.close()


async def test_a_compressed_review_is_not_unpacked() -> None:
    async with serving() as bench:
        trust = ssl.create_default_context(cadata=SIGNER.certificate.decode())
        url = f"https://127.0.0.1:{bench.listener.port}{BUNDLE_WEBHOOK_PATH}"
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=json.dumps(review_of(DENIED)), compress="gzip", ssl=trust) as response,
        ):
            assert response.status == 400


async def test_a_client_with_the_certificate_gets_an_answer() -> None:
    async with serving(clients=ReviewClients()) as bench:
        assert (await bench.review(by=client_of(CLIENT_AUTHORITY, "kube-apiserver")))[0] == 200
        assert bench.known.looked_up == ["mutable"]


async def test_a_client_without_a_certificate_is_refused_before_its_body_is_read() -> None:
    async with serving(clients=ReviewClients()) as bench:
        async with attacking(Attack.HALF_REVIEWS, bench.listener.port, count=1, size=MIB) as client:
            await until(lambda: client.answers)
        assert client.answers == [401]
        status, text = await bench.review()
        assert (status, bench.known.looked_up, bench.reviews.most) == (401, [], 0)
        assert text.startswith("reviews need a client certificate of the API server (--webhook-client-ca)")


async def test_a_certificate_of_another_authority_makes_no_connection() -> None:
    async with serving(clients=ReviewClients()) as bench:
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await bench.review(by=client_of(x509.issue_ca(NOW), "kube-apiserver"))
        assert bench.known.looked_up == []


async def test_a_serving_certificate_of_the_authority_is_none_of_a_client() -> None:
    async with serving(clients=ReviewClients()) as bench:
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await bench.review(by=x509.issue_serving(CLIENT_AUTHORITY, ["localhost"], NOW))


async def test_only_clients_of_a_given_name_get_an_answer() -> None:
    async with serving(clients=ReviewClients(names=frozenset({"kube-apiserver"}))) as bench:
        assert (await bench.review(by=client_of(CLIENT_AUTHORITY, "kube-apiserver")))[0] == 200
        bench.known.looked_up.clear()
        status, text = await bench.review(by=client_of(CLIENT_AUTHORITY, "system:node:a"))
        assert (status, bench.known.looked_up) == (403, [])
        assert text.startswith("the client certificate of 'system:node:a' may not ask for reviews")


async def test_strangers_leave_places_to_clients_with_a_certificate() -> None:
    limits = Limits(webhook_connections=8, request_seconds=600)
    async with (
        serving(limits, ReviewClients()) as bench,
        attacking(Attack.SILENT_TLS, bench.listener.port, count=40),
    ):
        assert bench.listener.connections <= limits.webhook_connections // 2
        assert (await bench.review(by=client_of(CLIENT_AUTHORITY, "kube-apiserver")))[0] == 200


async def test_large_reviews_are_read_one_in_each_turn_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timers, the lease among them, come in between."""
    turn = 0
    read_in: list[int] = []

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    def noted(*given: Any) -> Any:
        read_in.append(turn)
        return read_object(*given)

    monkeypatch.setattr(admission, "read_object", noted)
    known = Known()
    judge = Admission(system_namespace="system", config_maps=known, bundles=known)
    review = read_review(json.dumps(review_of([{"configMap": {"name": "n" * 50}}] * 2000)).encode())
    turns = asyncio.create_task(count_turns())
    await asyncio.gather(*(judge.bundle(review) for _ in range(20)))
    turns.cancel()
    assert len(set(read_in)) == 20
