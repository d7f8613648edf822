"""TLS handshakes between a server with a certificate and a client that trusts a bundle, strictly."""

import socket
import ssl
import tempfile
import threading

from rukpak_py.core.x509 import KeyPair


def handshake(serving: KeyPair, trusted: bytes, host: str) -> None:
    """Over a loopback connection; raises what the client says."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(serving.certificate + serving.key)
        file.flush()
        server.load_cert_chain(file.name)
    client = ssl.create_default_context(cadata=trusted.decode())
    client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve_one, args=(listener, server))
        thread.start()
        try:
            with socket.create_connection(listener.getsockname()) as connection:
                client.wrap_socket(connection, server_hostname=host).close()
        finally:
            thread.join()


def _serve_one(listener: socket.socket, server: ssl.SSLContext) -> None:
    connection, _ = listener.accept()
    with connection:
        try:
            server.wrap_socket(connection, server_side=True).close()
        except OSError:
            return  # the client's error says why
