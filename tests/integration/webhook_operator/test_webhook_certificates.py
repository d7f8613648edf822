"""A new certificate is served without a refused request, and a stop refuses no request either."""

import json
import signal
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from e2e.cluster.pki import Authority, KeyPair
from e2e.waiting import eventually
from tests.integration.webhook_operator.program import (
    HOST,
    CertificateDirectory,
    Program,
    der,
    running,
    send,
    serving_pair,
)

REVIEW = json.dumps({"kind": "AdmissionReview", "request": {"uid": "u", "object": {"spec": {}}}}).encode()
CALLERS = 4


def served(program: Program) -> bytes:
    return program.post("/validate", REVIEW).certificate


def publish(directory: CertificateDirectory, pair: KeyPair) -> None:
    directory.publish(pair.certificate, pair.key)


def test_program_is_ready_once_there_is_a_certificate(directory: CertificateDirectory, authority: Authority) -> None:
    with running(directory.path, authority) as program:
        assert program.health("/readyz") == 503
        publish(directory, serving_pair(authority))
        program.until_ready()
        assert program.post("/validate", REVIEW).status == 200


def test_a_rotation_fails_no_request(directory: CertificateDirectory, authority: Authority) -> None:
    """The new certificate may be of another authority. Each call is a handshake; an open connection goes on."""
    other = Authority.create("another authority")
    pairs = [serving_pair(authority), serving_pair(authority), serving_pair(other)]
    statuses: Counter[int] = Counter()
    enough = threading.Event()

    def call(program: Program) -> None:
        while not enough.is_set():
            statuses[program.post("/validate", REVIEW).status] += 1

    publish(directory, pairs[0])
    with running(directory.path, authority, other) as program, ThreadPoolExecutor(CALLERS) as pool:
        program.until_ready()
        with closing(program.connection()) as kept:
            assert send(kept, "/validate", REVIEW).certificate == der(pairs[0])
            calls = [pool.submit(call, program) for _ in range(CALLERS)]
            try:
                for pair in pairs[1:]:
                    publish(directory, pair)
                    assert served(program) == der(pair)
                    until_more(statuses, statuses.total() + 20)
                assert send(kept, "/validate", REVIEW).certificate == der(pairs[0])
            finally:
                enough.set()
        for done in calls:
            done.result()
    assert set(statuses) == {200}


def until_more(statuses: Counter[int], than: int) -> None:
    eventually(lambda: statuses.total() > than, what="calls after a rotation")


def test_files_that_do_not_fit_change_nothing(directory: CertificateDirectory, authority: Authority) -> None:
    first, second = serving_pair(authority), serving_pair(authority)
    publish(directory, first)
    with running(directory.path, authority) as program:
        program.until_ready()
        for certificate, key in ((second.certificate, first.key), (b"", b"")):
            directory.publish(certificate, key)
            assert served(program) == der(first)
            assert program.health("/readyz") == 200
        publish(directory, second)
        assert served(program) == der(second)


def test_stopping_program_serves_on_while_clients_learn_of_it(
    directory: CertificateDirectory, authority: Authority
) -> None:
    publish(directory, serving_pair(authority))
    with running(directory.path, authority, drain="1h") as program:
        program.until_ready()
        with closing(program.connection()) as kept:
            assert not send(kept, "/validate", REVIEW).closes
            program.process.send_signal(signal.SIGTERM)
            eventually(lambda: program.health("/readyz") == 503, what="the program not ready")
            last = send(kept, "/validate", REVIEW)
            assert (last.status, last.closes) == (200, True)
        assert program.post("/validate", REVIEW).status == 200
        assert program.health("/healthz") == 200


def test_a_request_in_flight_is_answered_before_the_end(directory: CertificateDirectory, authority: Authority) -> None:
    publish(directory, serving_pair(authority))
    with running(directory.path, authority) as program:
        program.until_ready()
        with closing(program.connection()) as connection:
            connection.putrequest("POST", "/validate")
            connection.putheader("Content-Length", str(len(REVIEW)))
            connection.endheaders(REVIEW[:10])
            eventually(lambda: send_probe(program), what="the server has taken the connection")
            program.process.send_signal(signal.SIGTERM)
            eventually(lambda: not is_listening(program), what="the program listens no more")
            assert program.process.poll() is None
            connection.send(REVIEW[10:])
            assert connection.getresponse().read().endswith(b"}\n")
        assert program.process.wait(30) == 0


def send_probe(program: Program) -> bool:
    """An answer to a later request: the earlier ones have been accepted."""
    return program.post("/validate", REVIEW).status == 200


def is_listening(program: Program) -> bool:
    try:
        socket.create_connection((HOST, program.port), timeout=5).close()
    except OSError:
        return False
    return True
