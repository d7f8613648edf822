"""The meaning of answers that are not successes, with a Status or without."""

import orjson
import pytest

from rukpak_py.core.errors import AccessError, ConflictError, UnavailableError
from rukpak_py.kube import errors
from rukpak_py.kube.status_errors import error_of


def status(code: int, reason: str = "", message: str = "", **details: object) -> bytes:
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return orjson.dumps({**body, "details": details} if details else body)


TABLE = [
    (401, status(401, "Unauthorized", "Unauthorized"), errors.UnauthorizedError),
    (403, status(403, "Forbidden", "no", name="a"), errors.ForbiddenError),
    (403, status(403, "Forbidden", "x", causes=[{"reason": "NamespaceTerminating"}]), errors.TerminatingError),
    (
        403,
        status(403, "", "create not allowed while custom resource definition is terminating"),
        errors.TerminatingError,
    ),
    (404, b"404 page not found\n", errors.KindNotServedError),
    (404, status(404, "NotFound", "the server could not find the requested resource"), errors.KindNotServedError),
    (404, status(404, "NotFound", 'things "a" not found', name="a"), errors.NotFoundError),
    (405, status(405, "MethodNotAllowed", "no"), errors.InvalidError),
    (406, b"only JSON", errors.InvalidError),
    (409, status(409, "AlreadyExists", "taken", name="a"), errors.AlreadyExistsError),
    (409, status(409, "Conflict", "modified", name="a"), errors.StaleError),
    (410, status(410, "Expired", "too old"), errors.GoneError),
    (413, b"Request entity too large: limit is 3145728", errors.TooLargeError),
    (422, status(422, "Invalid", "no", name="a"), errors.InvalidError),
    (429, b"Too many requests, please try again later.", errors.ServerUnavailableError),
    (500, status(500, "", "failed to create typed patch object (/a; /v1, Kind=A): .x: no"), errors.SchemaError),
    (500, status(500, "", "failed to convert new object (/a; /v1, Kind=A) to proper version: no"), errors.SchemaError),
    (500, status(500, "", "etcdserver: request is too large"), errors.TooLargeError),
    (500, status(500, "", "trying to send message larger than max (1 vs. 0)"), errors.TooLargeError),
    (500, status(500, "InternalError", "etcdserver: leader changed"), errors.ServerUnavailableError),
    (502, b"<html>bad gateway</html>", errors.ServerUnavailableError),
    (503, b"", errors.ServerUnavailableError),
    (504, status(504, "Timeout", "Too large resource version"), errors.ServerUnavailableError),
    (301, b"moved", errors.ServerUnavailableError),
]


@pytest.mark.parametrize(("code", "body", "expected"), TABLE, ids=[f"{row[0]} {row[2].__name__}" for row in TABLE])
def test_each_answer_has_one_meaning(code: int, body: bytes, expected: type[errors.ApiError]) -> None:
    error = error_of("apply Thing a", code, body)

    assert type(error) is expected
    assert error.status == code
    assert str(error).startswith("apply Thing a: ")
    assert error.message


def test_meanings_carry_what_to_do() -> None:
    assert issubclass(errors.ForbiddenError, AccessError)
    assert issubclass(errors.UnauthorizedError, AccessError)
    assert issubclass(errors.FieldConflictError, ConflictError)
    for waiting in (
        errors.KindNotServedError,
        errors.TerminatingError,
        errors.GoneError,
        errors.ServerUnavailableError,
    ):
        assert issubclass(waiting, UnavailableError)


def test_the_wait_comes_from_the_header_or_the_details() -> None:
    body = status(429, "TooManyRequests", "storage is (re)initializing", retryAfterSeconds=1)

    assert error_of("watch Thing", 429, body).retry_after == 1.0
    assert error_of("watch Thing", 429, body, retry_after=7.0).retry_after == 7.0
    assert error_of("watch Thing", 503, b"").retry_after == 0.0


@pytest.mark.parametrize("asked", [601, 2**31 - 1, 2**62])
def test_no_webhook_holds_a_key_for_longer_than_ten_minutes(asked: int) -> None:
    body = status(429, "TooManyRequests", "busy", retryAfterSeconds=asked)
    assert error_of("patch Thing", 429, body).retry_after == 600.0
    assert error_of("patch Thing", 429, b"", retry_after=float("inf")).retry_after == 600.0


def test_several_schema_errors_name_all_their_fields() -> None:
    message = (
        "failed to create typed patch object (n/a; apps/v1, Kind=Deployment): errors:\n"
        "  .spec.nonsense: field not declared in schema\n"
        '  .spec.template.spec.containers[name="c"].envv: field not declared in schema\n'
        "  .spec.replicas: expected numeric (int or float), got string"
    )
    error = error_of("apply Deployment.apps/n/a", 500, status(500, "", message))

    assert isinstance(error, errors.SchemaError)
    assert error.unknown_fields == (".spec.nonsense", '.spec.template.spec.containers[name="c"].envv')
    assert [cause.field for cause in error.causes][-1] == ".spec.replicas"


@pytest.mark.parametrize(
    "message",
    [
        'failed to create typed patch object (n/s; /v1, Kind=Secret): .data.a: expected string, got "hunter2"',
        'failed to convert new object (n/s; /v1, Kind=Secret) to proper version: illegal base64 data: "hunter2"',
        'admission webhook "w" denied the request: the password hunter2 is too short',
        'Secret "s" is invalid: data[a]: Invalid value: "hunter2": no',
        'secrets "s" is forbidden: User "u" cannot patch resource "secrets" in API group "": hunter2',
        'secrets "hunter2 not found" hunter2',
        "hunter2",
    ],
)
@pytest.mark.parametrize("code", [400, 403, 422, 500])
def test_no_server_text_about_a_secret_is_passed_on(message: str, code: int) -> None:
    causes = [{"reason": "FieldValueInvalid", "field": "data[a]", "message": 'Invalid value: "hunter2"'}]
    error = error_of("apply Secret n/s", code, status(code, "Invalid", message, causes=causes), sensitive=True)

    assert "hunter2" not in f"{error} {error!r} {error.message} {error.causes}"
    assert "Secret n/s" in str(error)


def test_the_webhook_that_refused_a_secret_is_named() -> None:
    body = status(403, "Forbidden", 'admission webhook "policy.example.com" denied the request: hunter2')

    error = error_of("apply Secret n/s", 403, body, sensitive=True)

    assert error.message == 'admission webhook "policy.example.com" denied the request'


def test_plain_text_is_bounded() -> None:
    message = error_of("get Thing a", 502, b"x" * 100_000 + b": cause").message

    assert 7_900 < len(message) <= 8_000
    assert message.endswith("x: cause")
