"""The operator's program on loopback, with a certificate directory that is changed as the kubelet changes it."""

import http.client
import json
import os
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.cluster import binaries
from e2e.cluster.pki import Authority, KeyPair, Subject
from e2e.cluster.ports import free_ports
from e2e.servers.tied import tied_to_caller
from e2e.waiting import eventually
from e2e.webhook_operator import image

Json = dict[str, Any]
HOST = "127.0.0.1"
GROUP = "gadgets.example.com"
SECONDS = 30.0


class CertificateDirectory:
    """A Secret's volume: files are links into `..data`, which is a link to one generation of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self._generation = 0

    def publish(self, certificate: bytes, key: bytes) -> None:
        former = self.path / f"..{self._generation}"
        self._generation += 1
        generation = self.path / f"..{self._generation}"
        generation.mkdir()
        for name, content in (("tls.crt", certificate), ("tls.key", key)):
            (generation / name).write_bytes(content)
        (self.path / "..data_tmp").symlink_to(generation.name)
        (self.path / "..data_tmp").rename(self.path / "..data")
        for name in ("tls.crt", "tls.key"):
            if not (self.path / name).is_symlink():
                (self.path / name).symlink_to(f"..data/{name}")
        shutil.rmtree(former, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    body: bytes
    closes: bool
    certificate: bytes  # DER


@dataclass(frozen=True, kw_only=True)
class Program:
    process: subprocess.Popen[bytes]
    port: int
    health_port: int
    context: ssl.SSLContext

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(HOST, self.port, timeout=SECONDS, context=self.context)

    def post(self, path: str, body: bytes) -> Answer:
        with closing(self.connection()) as connection:
            return send(connection, path, body)

    def admit(self, path: str, new: Json | None) -> Json:
        request = {"uid": "u-1", "operation": "CREATE", "object": new}
        return self._review(path, {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})

    def convert(self, desired: str, *objects: Json) -> Json:
        request = {"uid": "u-1", "desiredAPIVersion": f"{GROUP}/{desired}", "objects": objects}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        return self._review("/convert", review)

    def health(self, path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self.health_port}{path}", timeout=SECONDS) as answer:
                status: int = answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except OSError:
            return 0
        return status

    def until_ready(self) -> None:
        eventually(lambda: self.health("/readyz") == 200, what="the program is ready", seconds=SECONDS)

    def _review(self, path: str, review: Json) -> Json:
        answer = self.post(path, json.dumps(review).encode())
        assert answer.status == 200, answer.body
        answered = json.loads(answer.body)
        assert {key: answered[key] for key in ("apiVersion", "kind")} == {
            key: review[key] for key in ("apiVersion", "kind")
        }
        response: Json = answered["response"]
        assert response["uid"] == "u-1"
        return response


def send(connection: http.client.HTTPSConnection, path: str, body: bytes) -> Answer:
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    certificate: bytes = connection.sock.getpeercert(binary_form=True) or b""
    response = connection.getresponse()
    return Answer(
        status=response.status,
        body=response.read(),
        closes=response.getheader("Connection") == "close",
        certificate=certificate,
    )


def serving_pair(authority: Authority) -> KeyPair:
    return authority.issue(Subject(name="gadgets", addresses=(HOST,)))


def der(pair: KeyPair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.certificate.decode())


@contextmanager
def running(certificates: Path, *trusted: Authority, drain: str = "0s") -> Iterator[Program]:
    """Run the program, which is not ready before there is a certificate."""
    ports = free_ports(["webhooks", "probes"], HOST)
    program = binaries.path(image.PROGRAM)
    command = [
        *(str(program), f"--address={HOST}:{ports['webhooks']}", f"--health-address={HOST}:{ports['probes']}"),
        *(f"--certificates={certificates}", f"--drain={drain}"),
    ]
    context = ssl.create_default_context(cadata="".join(one.pair.certificate.decode() for one in trusted))
    environment = {"PATH": os.environ["PATH"]}
    with subprocess.Popen(tied_to_caller(command), env=environment, start_new_session=True) as process:
        try:
            started = Program(process=process, port=ports["webhooks"], health_port=ports["probes"], context=context)
            eventually(lambda: started.health("/healthz") == 200, what="the program runs", seconds=SECONDS)
            yield started
        finally:
            process.kill()
