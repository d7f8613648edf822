"""From an error to a failure of one object: its kind of trouble, and the text that a user reads."""

from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.results import Failure, FailureKind
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.causes import concise_message, is_immutable_change
from rukpak_py.kube.errors import (
    ApiError,
    InvalidError,
    KindNotServedError,
    NotFoundError,
    SchemaError,
    StaleError,
    TooLargeError,
)


def failure_of(key: ObjectKey, error: RukPakError, *, when_immutable: str = "") -> Failure:
    """`when_immutable`: what helps when the server does not let a field change."""
    text = _text(key, error)
    if when_immutable and isinstance(error, ApiError) and is_immutable_change(error):
        text = f"{text}; {when_immutable}"
    return Failure(key=key, kind=failure_kind(key, error), message=text, retry_after=error.retry_after)


def failure_kind(key: ObjectKey, error: RukPakError) -> FailureKind:
    match error:
        case KindNotServedError() | SchemaError() if not is_builtin(key.group):
            return (
                FailureKind.LAGGING
            )  # right after a change of its CRD a server may not know the kind, or its new schema
        case KindNotServedError() | NotFoundError():
            return FailureKind.MISSING
        case SchemaError() | TooLargeError() | ContentError():
            return FailureKind.CONTENT
        case InvalidError():
            return FailureKind.REFUSED
        case AccessError():
            return FailureKind.ACCESS
        case ConflictError() | StaleError():
            return FailureKind.CONFLICT
        case UnavailableError() | ApiError() | _:
            return FailureKind.UNAVAILABLE


def _text(key: ObjectKey, error: RukPakError) -> str:
    """One line: the object, field and cause. The server's text names no kind and no namespace."""
    message = concise_message(error) if isinstance(error, ApiError) else str(error)
    return message if str(key) in message else f"{key}: {message}"
