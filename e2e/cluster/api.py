"""Questions to an API server with a client certificate, to know when it is ready."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 5.0


class Api:
    def __init__(self, *, address: str, port: int, pki: Path) -> None:
        self._address = address
        self._port = port
        self._context = ssl.create_default_context(cafile=pki / "ca.crt")
        self._context.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def ask(self, path: str, *, method: str = "GET", body: object = None) -> tuple[int, bytes]:
        """Return status and body; status 0 without an answer."""
        connection = http.client.HTTPSConnection(
            self._address, self._port, timeout=TIMEOUT_SECONDS, context=self._context
        )
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error).encode()
        finally:
            connection.close()

    def found(self, path: str) -> bool:
        return self.ask(path)[0] == 200

    def read(self, path: str) -> Any:
        """Give the parsed object, None unless the answer is 200."""
        status, body = self.ask(path)
        return json.loads(body) if status == 200 else None
