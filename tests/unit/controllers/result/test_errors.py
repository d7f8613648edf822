"""Causes of errors: a class means the same at every stage."""

from dataclasses import replace

import pytest

from rukpak_py.apply.results import FailureKind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.errors import (
    API_ERRORS,
    BUNDLE_ERRORS,
    FAILURE_CAUSES,
    FETCH_ERRORS,
    MIRROR_ERRORS,
    RENDERING_ERRORS,
    VALUES_ERRORS,
    StageErrors,
)
from rukpak_py.core.errors import (
    AccessError,
    ConflictError,
    ContentError,
    ContestedError,
    RukPakError,
    UnavailableError,
)
from rukpak_py.kube.errors import Cause as AnswerCause
from rukpak_py.kube.errors import (
    ErrorAnswer,
    ForbiddenError,
    InvalidError,
    KindNotServedError,
    ServerUnavailableError,
    StaleError,
)

ANSWER = ErrorAnswer(subject="create Bundle b")
NAMES = {
    "Bundle": BUNDLE_ERRORS,
    "Values": VALUES_ERRORS,
    "Rendering": RENDERING_ERRORS,
    "Fetch": FETCH_ERRORS,
    "Mirror": MIRROR_ERRORS,
}
ERRORS: list[tuple[RukPakError, str]] = [
    (ContentError("x"), "Content"),
    (AccessError("x"), "Denied"),
    (ForbiddenError(ANSWER), "Denied"),
    (ConflictError("x"), "Conflict"),
    (UnavailableError("x"), "Unavailable"),
    (KindNotServedError(ANSWER), "Unavailable"),
    (ServerUnavailableError(ANSWER), "Unavailable"),
    (StaleError(ANSWER), "Failed"),
    (RukPakError("x"), "Failed"),
]


def test_contested_fields_have_a_cause_for_each_kind_that_reports_them() -> None:
    assert MIRROR_ERRORS.cause_of(ContestedError("x")) == "MirrorContested"
    assert BUNDLE_ERRORS.cause_of(ContestedError("x")) == "BundleConflict"


@pytest.mark.parametrize("stage", NAMES)
@pytest.mark.parametrize(("error", "kind"), ERRORS)
def test_the_class_of_an_error_is_its_cause(stage: str, error: RukPakError, kind: str) -> None:
    assert NAMES[stage].cause_of(error) == f"{stage}{kind}"


@pytest.mark.parametrize(("error", "kind"), ERRORS[1:])
def test_a_request_that_fails_at_some_stage(error: RukPakError, kind: str) -> None:
    assert API_ERRORS.cause_of(error) == f"Api{kind}"


def test_content_that_a_request_finds_wrong_may_be_well_at_the_next_try() -> None:
    assert API_ERRORS.cause_of(ContentError("x")) is Cause.API_FAILED


@pytest.mark.parametrize(("stage", "cause"), [(BUNDLE_ERRORS, Cause.BUNDLE_REFUSED), (API_ERRORS, Cause.API_FAILED)])
def test_a_body_that_is_refused(stage: StageErrors, cause: Cause) -> None:
    assert stage.cause_of(InvalidError(ANSWER)) is cause


def test_a_body_that_admission_refuses_is_no_missing_permission() -> None:
    """A mutable ConfigMap, say."""
    denied = ForbiddenError(replace(ANSWER, status=403, causes=[AnswerCause(message="it is not immutable")]))
    assert BUNDLE_ERRORS.cause_of(denied) is Cause.BUNDLE_REFUSED
    assert API_ERRORS.cause_of(denied) is Cause.API_DENIED


def test_every_kind_of_failure_of_an_object_has_a_cause() -> None:
    assert set(FAILURE_CAUSES) == set(FailureKind)
    assert {kind.name: cause.value for kind, cause in FAILURE_CAUSES.items()} == {
        "CONTENT": "NotApplicable",
        "REFUSED": "Refused",
        "ACCESS": "Access",
        "PERMISSIONS": "PermissionsMissing",
        "CONFLICT": "Conflict",
        "MISSING": "ResourceMissing",
        "LAGGING": "SchemaLags",
        "STALE": "ObjectChanged",
        "UNAVAILABLE": "Unavailable",
    }
