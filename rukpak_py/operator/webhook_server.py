"""The port of the admission webhooks, put together: which certificate it serves, and which clients may ask."""

import asyncio
import ssl
from pathlib import Path

from rukpak_py.certificates.own_watch import OwnCertificates
from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.operator.settings import Settings
from rukpak_py.server.admission import Admission, ReviewClients, webhook_app, webhook_port
from rukpak_py.server.crd_admission import CrdUpdates
from rukpak_py.server.listener import Listener
from rukpak_py.server.server_tls import ServerTls, server_context


def webhook_server(settings: Settings, admission: Admission, client: Client, certificates: OwnCertificates) -> Listener:
    """RukPakError when the authority of the clients cannot be read: no review would ever be answered."""
    file = ClientAuthorityFile(settings.webhook_client_ca)
    clients = None
    if settings.webhook_client_ca is not None:
        clients = ReviewClients(names=settings.webhook_client_names)
    crds = CrdUpdates(client, reads_values=clients is not None, limits=settings.limits)
    tls = ServerTls(certificates.pair, file.read, authority=file.first())
    return Listener(
        webhook_app(admission, settings.limits, clients, crds=crds.judge),
        settings.webhook,
        webhook_port(settings.limits, clients),
        tls=tls.context,
        ends_with_client=True,  # look-ups for a review that has given way serve no client
        auto_decompress=False,  # the API server compresses nothing
    )


class ClientAuthorityFile:
    """The certificates of `--webhook-client-ca`; the file is read again, so they can be rotated."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def first(self) -> bytes:
        """The content, at the start; RukPakError when it is of no use."""
        content = self._read()
        try:
            if self._path is not None:
                server_context().load_verify_locations(cadata=content.decode())
        except (ssl.SSLError, ValueError) as error:
            text = f"--webhook-client-ca: {self._path} has no valid certificate in PEM: {error}"
            raise RukPakError(text) from error
        return content

    async def read(self) -> bytes:
        """Empty without a file."""
        return await asyncio.to_thread(self._read) if self._path is not None else b""

    def _read(self) -> bytes:
        if self._path is None:
            return b""
        try:
            return self._path.read_bytes()
        except OSError as error:
            raise UnavailableError(f"--webhook-client-ca: {self._path}: {error.strerror or error}") from error
