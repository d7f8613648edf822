"""Causes of errors, and of failed writes of objects. A class of errors means the same everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass

from rukpak_py.apply.results import FailureKind
from rukpak_py.controllers.result.cause_table import TABLE
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.core.errors import (
    AccessError,
    ConflictError,
    ContentError,
    ContestedError,
    RukPakError,
    UnavailableError,
)
from rukpak_py.kube.errors import ForbiddenError, InvalidError

FAILURE_CAUSES: Mapping[FailureKind, Cause] = {
    FailureKind.CONTENT: Cause.NOT_APPLICABLE,
    FailureKind.REFUSED: Cause.REFUSED,
    FailureKind.ACCESS: Cause.ACCESS,
    FailureKind.PERMISSIONS: Cause.PERMISSIONS_MISSING,
    FailureKind.CONFLICT: Cause.CONFLICT,
    FailureKind.MISSING: Cause.RESOURCE_MISSING,
    FailureKind.LAGGING: Cause.SCHEMA_LAGS,
    FailureKind.STALE: Cause.OBJECT_CHANGED,
    FailureKind.UNAVAILABLE: Cause.UNAVAILABLE,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StageErrors:
    """The causes of one stage. `refused`: the API server says no to a body; None: the stage writes none.

    A 403 with causes is admission that says what is wrong with the body; for a missing permission there are none.
    """

    content: Cause
    denied: Cause
    conflict: Cause
    unavailable: Cause
    failed: Cause
    refused: Cause | None = None
    contested: Cause | None = None  # None: as any other conflict

    @property
    def causes(self) -> frozenset[Cause]:
        found = (self.content, self.denied, self.conflict, self.unavailable, self.failed, self.refused, self.contested)
        return frozenset(cause for cause in found if cause is not None)

    def cause_of(self, error: RukPakError) -> Cause:
        match error:
            case InvalidError() | ForbiddenError(causes=(_, *_)) if self.refused is not None:
                return self.refused
            case ContentError():
                return self.content
            case AccessError():
                return self.denied
            case ContestedError() if self.contested is not None:
                return self.contested
            case ConflictError():
                return self.conflict
            case UnavailableError():
                return self.unavailable
            case _:
                return self.failed


BUNDLE_ERRORS = StageErrors(
    content=Cause.BUNDLE_CONTENT,
    denied=Cause.BUNDLE_DENIED,
    conflict=Cause.BUNDLE_CONFLICT,
    unavailable=Cause.BUNDLE_UNAVAILABLE,
    failed=Cause.BUNDLE_FAILED,
    refused=Cause.BUNDLE_REFUSED,
)
VALUES_ERRORS = StageErrors(
    content=Cause.VALUES_CONTENT,
    denied=Cause.VALUES_DENIED,
    conflict=Cause.VALUES_CONFLICT,
    unavailable=Cause.VALUES_UNAVAILABLE,
    failed=Cause.VALUES_FAILED,
)
RENDERING_ERRORS = StageErrors(
    content=Cause.RENDERING_CONTENT,
    denied=Cause.RENDERING_DENIED,
    conflict=Cause.RENDERING_CONFLICT,
    unavailable=Cause.RENDERING_UNAVAILABLE,
    failed=Cause.RENDERING_FAILED,
)
MIRROR_ERRORS = StageErrors(
    content=Cause.MIRROR_CONTENT,
    denied=Cause.MIRROR_DENIED,
    conflict=Cause.MIRROR_CONFLICT,
    unavailable=Cause.MIRROR_UNAVAILABLE,
    failed=Cause.MIRROR_FAILED,
    contested=Cause.MIRROR_CONTESTED,
)
API_ERRORS = StageErrors(
    content=Cause.API_FAILED,
    denied=Cause.API_DENIED,
    conflict=Cause.API_CONFLICT,
    unavailable=Cause.API_UNAVAILABLE,
    failed=Cause.API_FAILED,
)


def reason_of_request(error: RukPakError) -> str:
    """Reason of Ready for a request that fails, at whatever stage."""
    return str(TABLE[API_ERRORS.cause_of(error)].ready or "")


FETCH_ERRORS = StageErrors(
    content=Cause.FETCH_CONTENT,
    denied=Cause.FETCH_DENIED,
    conflict=Cause.FETCH_CONFLICT,
    unavailable=Cause.FETCH_UNAVAILABLE,
    failed=Cause.FETCH_FAILED,
)
