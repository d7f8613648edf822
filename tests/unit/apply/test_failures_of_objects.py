"""Errors become failures that name their object, and say what kind of trouble ends how."""

import pytest

from rukpak_py.apply.refusals import failure_of
from rukpak_py.apply.results import Carried, Trouble
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube import errors
from rukpak_py.kube.errors import ApiError, Refusal
from tests.unit.apply.lives import key

CUSTOM = GroupVersionKind("shop.example.org", "v1", "Basket")


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        (errors.NotFoundError, Trouble.MISSING),
        (errors.KindNotServedError, Trouble.MISSING),
        (errors.AlreadyExistsError, Trouble.UNAVAILABLE),
        (errors.FieldConflictError, Trouble.CONFLICT),
        (errors.StaleError, Trouble.CONFLICT),
        (errors.InvalidError, Trouble.REFUSED),
        (errors.SchemaError, Trouble.CONTENT),
        (errors.TooLargeError, Trouble.CONTENT),
        (errors.ForbiddenError, Trouble.ACCESS),
        (errors.UnauthorizedError, Trouble.ACCESS),
        (errors.TerminatingError, Trouble.UNAVAILABLE),
        (errors.GoneError, Trouble.UNAVAILABLE),
        (errors.ServerUnavailableError, Trouble.UNAVAILABLE),
    ],
)
def test_every_refusal_of_the_server_is_one_trouble(kind: type[ApiError], trouble: Trouble) -> None:
    failure = failure_of(key(), kind(Refusal(subject="apply ConfigMap ns/a", status=400, message="why", retry_after=7)))
    assert (failure.trouble, failure.message, failure.retry_after) == (trouble, "ConfigMap ns/a: why", 7)


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (ContentError("m"), Trouble.CONTENT),
        (AccessError("m"), Trouble.ACCESS),
        (ConflictError("m"), Trouble.CONFLICT),
        (UnavailableError("m"), Trouble.UNAVAILABLE),
        (RukPakError("m"), Trouble.UNAVAILABLE),
    ],
)
def test_so_is_every_failure_of_ours(error: RukPakError, trouble: Trouble) -> None:
    failure = failure_of(key(), error)
    assert (failure.trouble, failure.message, failure.retry_after) == (trouble, "ConfigMap ns/a: m", 0.0)


def test_a_schema_of_a_custom_kind_may_lag_behind() -> None:
    error = errors.SchemaError(Refusal(subject="s", status=500, message="m"))
    assert failure_of(key(gvk=CUSTOM), error).trouble is Trouble.UNAVAILABLE


def test_an_object_is_named_once() -> None:
    assert failure_of(key(), ConflictError("ConfigMap ns/a is taken")).message == "ConfigMap ns/a is taken"


def test_a_pause_that_the_server_asks_for_is_passed_on() -> None:
    assert failure_of(key(), UnavailableError("m", retry_after=3.0)).retry_after == 3.0


def test_what_failed_or_waits_is_not_complete() -> None:
    assert Carried().is_complete
    assert not Carried(waiting=["x"]).is_complete
    assert not Carried(failures=[failure_of(key(), ContentError("m"))]).is_complete
