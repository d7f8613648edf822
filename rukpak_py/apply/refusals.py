"""From an error to a failure of one object: its kind of trouble, and the text that a user reads."""

from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.results import Failure, Trouble
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import (
    ApiError,
    InvalidError,
    KindNotServedError,
    NotFoundError,
    SchemaError,
    StaleError,
    TooLargeError,
)


def failure_of(key: ObjectKey, error: RukPakError) -> Failure:
    retry_after = getattr(error, "retry_after", None) or 0.0
    return Failure(key=key, trouble=trouble_of(key, error), message=_text(key, error), retry_after=retry_after)


def trouble_of(key: ObjectKey, error: RukPakError) -> Trouble:
    match error:
        case KindNotServedError() | NotFoundError():
            return Trouble.MISSING
        case SchemaError() if not is_builtin(key.group):
            return Trouble.UNAVAILABLE  # the server's schema may lag behind the definition
        case SchemaError() | TooLargeError() | ContentError():
            return Trouble.CONTENT
        case InvalidError():
            return Trouble.REFUSED
        case AccessError():
            return Trouble.ACCESS
        case ConflictError() | StaleError():
            return Trouble.CONFLICT
        case UnavailableError() | ApiError() | _:
            return Trouble.UNAVAILABLE


def _text(key: ObjectKey, error: RukPakError) -> str:
    """The server's own text names the object most of the time, not its kind and namespace."""
    message = error.message if isinstance(error, ApiError) else str(error)
    return message if str(key) in message else f"{key}: {message}"
