"""Types for the API server's refusals.

RukPakError
 └── ApiError                     status, reason, message, causes
      ├── NotFoundError           the object (or the namespace it was to go to) does not exist
      ├── KindNotServedError      no such kind here, or not yet                          + UnavailableError
      ├── AlreadyExistsError
      ├── FieldConflictError      apply without force: others manage these fields        + ConflictError
      ├── StaleError              resourceVersion or uid precondition: read again
      ├── InvalidError            this body is refused and will be refused again
      │    ├── SchemaError        a field that the schema does not know, or of another type
      │    └── TooLargeError
      ├── ForbiddenError          a right is missing, or admission said no               + AccessError
      ├── UnauthorizedError       the credential itself is refused                       + AccessError
      ├── TerminatingError        the namespace or definition around it is going away    + UnavailableError
      ├── AnswerTooLargeError     more bytes than the caller wants to have in memory
      ├── GoneError               this resourceVersion is history: list again            + UnavailableError
      └── ServerUnavailableError  overload, failure, time-out, no connection             + UnavailableError
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rukpak_py.core.errors import AccessError, ConflictError, RukPakError, UnavailableError

MOST_RETRY_SECONDS = 600.0  # whatever a server or a webhook asks for


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    reason: str = ""
    field: str = ""
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorAnswer:
    """One answer that is not a success. `subject` says what was asked of what: `apply ConfigMap shop/settings`."""

    subject: str
    status: int = 0  # 0: there was no answer
    reason: str = ""
    message: str = ""
    causes: Sequence[Cause] = ()
    retry_after: float | None = None


class ApiError(RukPakError):
    """The API server refused, or could not be asked. `message` is the server's text, without values of Secrets."""

    def __init__(self, refusal: ErrorAnswer) -> None:
        Exception.__init__(self, f"{refusal.subject}: {refusal.message}")
        self.status = refusal.status
        self.reason = refusal.reason
        self.message = refusal.message
        self.causes = tuple(refusal.causes)
        self.retry_after = min(refusal.retry_after or 0.0, MOST_RETRY_SECONDS)


class NotFoundError(ApiError):
    """404 about an object."""


class KindNotServedError(ApiError, UnavailableError):
    """404 about a kind. Right after a definition is Established it may last a few seconds."""


class AlreadyExistsError(ApiError):
    """The name is taken, possibly by an object that is being deleted."""


class FieldConflictError(ApiError, ConflictError):
    """An apply without force met other field managers; the message names them and their fields."""


class StaleError(ApiError):
    """Another client wrote or re-created the object since it was read."""


class InvalidError(ApiError):
    """The body (or the request) is wrong; repeating it cannot help."""


class SchemaError(InvalidError):
    """Server-side apply could not type the body: HTTP 500 without a reason, terminal all the same."""

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """The paths that the schema does not declare, as the server spells them: `.spec.nonsense`."""
        return tuple(cause.field for cause in self.causes if cause.reason == UNDECLARED)


class TooLargeError(InvalidError):
    """The object is larger than the API server or its store take."""


class ForbiddenError(ApiError, AccessError):
    """A right is missing, a quota is used up, or an admission plugin or webhook said no: the message says which."""


class UnauthorizedError(ApiError, AccessError):
    """The API server does not accept the credential."""


class TerminatingError(ApiError, UnavailableError):
    """The namespace or definition of the object is being deleted."""


class GoneError(ApiError, UnavailableError):
    """The asked resourceVersion or continue token is too old."""


class AnswerTooLargeError(ApiError):
    """The answer has more bytes than its caller reads; a smaller page may fit."""


class UnprovenIdentityError(ApiError, UnavailableError):
    """Not sent: it is not known at the moment whether the identity of the request may be used. No right is missing."""


class ServerUnavailableError(ApiError, UnavailableError):
    """The API server is overloaded, failing, slow or not reachable."""


UNDECLARED = "FieldNotDeclared"  # our name for the cause; the server sends a sentence
