"""uvloop, with what it does wrong at the moment a connection breaks put right.

A socket that is handed to uvloop's `create_connection` belongs to the new transport, and its number is closed with it.
When the peer resets it while the TLS handshake starts, the transport is closed before it knows the Python socket, so
nobody tells that socket; when it is collected it closes its number a second time, which by then may be a watch.

What arrives for a TLS connection that we are closing is still read, and that uvloop cannot answer it is reported as a
fatal error with a traceback, though nothing of the connection is wanted any more.
"""

from collections.abc import Callable
from socket import socket
from typing import Any

import uvloop


class Loop(uvloop.Loop):
    async def create_connection(
        self, protocol_factory: Callable[[], Any], *arguments: Any, sock: socket | None = None, **options: Any
    ) -> tuple[Any, Any]:
        try:
            return await super().create_connection(protocol_factory, *arguments, sock=sock, **options)
        except BaseException as error:
            # Arguments are refused by TypeError and ValueError, and then the socket is still the caller's; a
            # certificate that is not trusted is a ValueError too, but it is an OSError first.
            refused = isinstance(error, TypeError | ValueError) and not isinstance(error, OSError)
            if sock is not None and not refused:
                sock.detach()
            raise

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not _is_of_a_closed_connection(context):
            super().call_exception_handler(context)


def _is_of_a_closed_connection(context: dict[str, Any]) -> bool:
    error = context.get("exception")
    is_of_tls = context.get("message") == "Fatal error on SSL protocol"
    return is_of_tls and isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")
