"""The TLS context of the content server: made anew when something changed, and only then."""

import asyncio
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from rukpak_py.core import x509
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.x509 import KeyPair
from rukpak_py.server import server_tls
from rukpak_py.server.server_tls import AUTHORITY_SECONDS, ServerTls

NOW = datetime.now(UTC)
SIGNER = x509.issue_ca(NOW)
PAIR = x509.issue_serving(SIGNER, ["localhost"], NOW)


@dataclass
class Bench:
    pair: KeyPair | None = PAIR
    authority: bytes = SIGNER.certificate
    error: Exception | None = None
    looks: int = 0
    now: float = 0.0
    tls: ServerTls = field(init=False)

    def __post_init__(self) -> None:
        self.tls = ServerTls(lambda: self.pair, self.read, clock=lambda: self.now)

    async def read(self) -> bytes:
        self.looks += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return self.authority

    async def context(self) -> ssl.SSLContext:
        context = await self.tls.context()
        assert context is not None
        return context


async def test_nothing_is_served_without_a_certificate() -> None:
    assert await Bench(pair=None).tls.context() is None


async def test_connections_share_a_context_and_the_first_ones_wait_for_the_authority() -> None:
    bench = Bench()
    contexts = await asyncio.gather(*(bench.context() for _ in range(5)))
    assert all(context is contexts[0] for context in contexts)
    assert contexts[0].verify_mode is ssl.CERT_OPTIONAL
    assert bench.looks == 1


async def test_a_new_pair_or_authority_makes_a_new_context() -> None:
    bench = Bench()
    first = await bench.context()
    bench.pair = x509.issue_serving(SIGNER, ["localhost"], NOW)
    second = await bench.context()
    assert second is not first
    bench.authority = x509.issue_ca(NOW).certificate
    assert await bench.context() is second
    bench.now += AUTHORITY_SECONDS
    third = await bench.context()
    assert third is not second
    assert len(third.get_ca_certs()) == 1, "the former authority is not trusted any more"


async def test_an_authority_that_cannot_be_read_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_tls, "LOOK_SECONDS", 0.01)
    bench = Bench(error=UnavailableError("down"))
    assert (await bench.context()).verify_mode is ssl.CERT_NONE, "tokens work all the same"
    bench.error, bench.now = None, bench.now + AUTHORITY_SECONDS
    known = await bench.context()
    assert known.verify_mode is ssl.CERT_OPTIONAL
    bench.error, bench.now = UnavailableError("down"), bench.now + AUTHORITY_SECONDS
    assert await bench.context() is known
