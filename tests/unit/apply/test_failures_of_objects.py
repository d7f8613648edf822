"""Errors become failures that name their object, and say what kind of failure they are."""

import pytest

from rukpak_py.apply.results import ChangeSet, FailureKind, failure_of
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube import errors
from rukpak_py.kube.errors import ApiError, Cause, ErrorAnswer
from tests.unit.apply.lives import key

CUSTOM = GroupVersionKind("shop.example.org", "v1", "Basket")


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (errors.NotFoundError, FailureKind.MISSING),
        (errors.KindNotServedError, FailureKind.MISSING),
        (errors.AlreadyExistsError, FailureKind.UNAVAILABLE),
        (errors.FieldConflictError, FailureKind.CONFLICT),
        (errors.StaleError, FailureKind.STALE),
        (errors.InvalidError, FailureKind.REFUSED),
        (errors.SchemaError, FailureKind.CONTENT),
        (errors.TooLargeError, FailureKind.CONTENT),
        (errors.ForbiddenError, FailureKind.ACCESS),
        (errors.UnauthorizedError, FailureKind.ACCESS),
        (errors.TerminatingError, FailureKind.UNAVAILABLE),
        (errors.GoneError, FailureKind.UNAVAILABLE),
        (errors.ServerUnavailableError, FailureKind.UNAVAILABLE),
    ],
)
def test_every_refusal_of_the_server_is_one_kind_of_failure(kind: type[ApiError], expected: FailureKind) -> None:
    failure = failure_of(
        key(), kind(ErrorAnswer(subject="apply ConfigMap ns/a", status=400, message="why", retry_after=7))
    )
    assert (failure.kind, failure.message, failure.retry_after) == (expected, "ConfigMap ns/a: why", 7)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ContentError("m"), FailureKind.CONTENT),
        (AccessError("m"), FailureKind.ACCESS),
        (ConflictError("m"), FailureKind.CONFLICT),
        (UnavailableError("m"), FailureKind.UNAVAILABLE),
        (RukPakError("m"), FailureKind.UNAVAILABLE),
    ],
)
def test_so_is_every_failure_of_ours(error: RukPakError, expected: FailureKind) -> None:
    failure = failure_of(key(), error)
    assert (failure.kind, failure.message, failure.retry_after) == (expected, "ConfigMap ns/a: m", 0.0)


@pytest.mark.parametrize("kind", [errors.SchemaError, errors.KindNotServedError])
def test_the_server_may_not_know_a_custom_kind_or_its_schema_yet(kind: type[ApiError]) -> None:
    error = kind(ErrorAnswer(subject="s", status=500, message="m"))
    assert failure_of(key(gvk=CUSTOM), error).kind is FailureKind.LAGGING


def test_an_immutable_field_is_told_with_what_helps() -> None:
    cause = Cause(
        reason="FieldValueInvalid", field="spec.selector", message='Invalid value: {"a":null}: field is immutable'
    )
    message = 'Deployment.apps "web" is invalid: spec.selector: Invalid value: {"a":null}: field is immutable'
    error = errors.InvalidError(ErrorAnswer(subject="s", status=422, reason="Invalid", message=message, causes=[cause]))
    web = key("web", gvk=GroupVersionKind("apps", "v1", "Deployment"), namespace="shop")
    text = "Deployment.apps/shop/web: spec.selector: field is immutable"
    assert failure_of(web, error, when_immutable="put it back").message == f"{text}; put it back"
    assert failure_of(web, error).message == text


def test_other_invalid_value_is_told_without_that_advice() -> None:
    cause = Cause(reason="FieldValueInvalid", field="spec.replicas", message="Invalid value: -1: must not be negative")
    error = errors.InvalidError(ErrorAnswer(subject="s", status=422, reason="Invalid", message="m", causes=[cause]))
    text = "ConfigMap ns/a: spec.replicas: Invalid value: -1: must not be negative"
    assert failure_of(key(), error, when_immutable="put it back").message == text


def test_a_failure_is_one_line() -> None:
    error = errors.FieldConflictError(
        ErrorAnswer(subject="s", status=409, message='conflicts with "a":\n- .spec.x\n- .spec.y')
    )
    assert failure_of(key(), error).message == 'ConfigMap ns/a: conflicts with "a": - .spec.x - .spec.y'


def test_an_object_is_named_once() -> None:
    assert failure_of(key(), ConflictError("ConfigMap ns/a is taken")).message == "ConfigMap ns/a is taken"


def test_a_pause_that_the_server_asks_for_is_passed_on() -> None:
    assert failure_of(key(), UnavailableError("m", retry_after=3.0)).retry_after == 3.0


def test_change_set_with_failures_or_waits_is_not_complete() -> None:
    assert ChangeSet().is_complete
    assert not ChangeSet(waiting=["x"]).is_complete
    assert not ChangeSet(failures=[failure_of(key(), ContentError("m"))]).is_complete
