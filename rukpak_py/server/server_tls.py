"""TLS of the ports for content and for the webhooks: our serving pair, and client certificates of an authority.

A context is made anew when either of them changes, so both can be rotated, and what is no longer trusted is no longer
accepted; connections that exist go on. A client need not show a certificate in the handshake: what it may do without
one is decided for each request. While no authority is known, none is asked for.
"""

import asyncio
import logging
import ssl
import tempfile
import time
from collections.abc import Awaitable, Callable

import orjson

from rukpak_py.core.errors import RukPakError
from rukpak_py.core.x509 import KeyPair
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS

AUTHENTICATION = ("kube-system", "extension-apiserver-authentication")  # what the API server tells those beside it
CLIENT_CA_KEY = "client-ca-file"
_LOG = logging.getLogger(__name__)
AUTHORITY_SECONDS = 60.0  # between two looks at the authority, and only while clients connect
LOOK_SECONDS = 3.0  # for which a connection waits for the look that is due


async def client_authority(client: Client) -> bytes:
    """The authority that signs the certificates of the API server's clients."""
    manifest = orjson.loads(await client.get(CONFIG_MAPS, *AUTHENTICATION))
    return str((manifest.get("data") or {}).get(CLIENT_CA_KEY, "")).encode()


class ServerTls:
    def __init__(
        self,
        pair: Callable[[], KeyPair | None],
        client_authority: Callable[[], Awaitable[bytes]],
        *,
        authority: bytes = b"",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`authority`: of client certificates, as it is known before the first look."""
        self._pair = pair
        self._client_authority = client_authority
        self._clock = clock
        self._authority = authority
        self._looked: float | None = None
        self._turn = asyncio.Lock()  # the first connections wait for the first look
        self._made: tuple[KeyPair, bytes, ssl.SSLContext] | None = None

    async def context(self) -> ssl.SSLContext | None:
        """Context for a new connection; None while there is no certificate to serve."""
        async with self._turn:
            await self._look()
        pair = self._pair()
        if pair is None:
            return None
        if self._made is None or self._made[:2] != (pair, self._authority):
            self._made = (pair, self._authority, _context(pair, self._authority))
        return self._made[2]

    async def _look(self) -> None:
        if self._looked is not None and self._clock() - self._looked < AUTHORITY_SECONDS:
            return
        self._looked = self._clock()
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                self._authority = await self._client_authority()
        except (RukPakError, TimeoutError) as error:
            _LOG.warning("the authority of client certificates cannot be read: %s", str(error) or "no answer in time")


def _context(pair: KeyPair, authority: bytes) -> ssl.SSLContext:
    context = server_context()
    load_pair(context, pair)
    if authority:
        try:
            context.load_verify_locations(cadata=authority.decode())
            context.verify_mode = ssl.CERT_OPTIONAL
        except (ssl.SSLError, ValueError) as error:
            _LOG.warning("the authority of client certificates is not valid, so none are accepted: %s", error)
    return context


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Serve this pair in new connections; the ssl module reads keys from files only."""
    with tempfile.NamedTemporaryFile(prefix="rukpak-serving-") as file:  # mode 0600
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
