"""One tree of errors. What a class means decides what happens next, everywhere:

RukPakError
 ├── ContentError       the bundle is wrong; only its author can fix it        -> Stalled, no retry
 ├── AccessError        credentials or permissions are missing                 -> back-off, says which right
 ├── UnavailableError   another service is down or not there yet               -> back-off, at least retry_after
 └── ConflictError      the object has another owner                           -> back-off, names the owner
      └── ContestedError    another client changes it as often as it is reverted

The text of an error is what a user reads in a condition, an Event and the log: what happened, to which object,
what to do next. It never holds a secret.
"""


class RukPakError(Exception):
    """A failure whose text is meant for the user. `retry_after`: the seconds that another try has to wait at least.

    `brief`: the cause, for where one line has room; empty: the text itself.
    """

    retry_after: float = 0.0
    brief: str = ""


class ContentError(RukPakError):
    """The content is wrong and will stay wrong until its author changes it."""


class AccessError(RukPakError):
    """A credential or a right is missing."""


class UnavailableError(RukPakError):
    """Something that is needed is not there or does not answer; it may come back."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after or 0.0


class ConflictError(RukPakError):
    """An object that is needed has another owner."""


class ContestedError(ConflictError):
    """Another client changes an object as often as that is reverted; it is left alone for a while."""
