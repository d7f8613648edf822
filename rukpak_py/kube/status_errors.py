"""From an answer of the API server to the error it means, and to a short message.

An answer may be a `Status`, plain text, or anything that a proxy in between wrote. What it says about a Secret is
never passed on as it is: server messages quote the values they complain about.

They quote them at any length, so every text is cut here, with both ends kept, before a pattern or a message gets it.

Of a body that the server refuses, field and cause are what helps, without the values that it quotes:
`Job.batch "migrate" is invalid: spec.template: Invalid value: {…2 kB…}: field is immutable` becomes
`spec.template: field is immutable`. The parts come from the causes of the Status, never from the long text.
"""

import re

import msgspec

from rukpak_py.core.text import excerpt
from rukpak_py.kube.errors import (
    UNDECLARED,
    AlreadyExistsError,
    ApiError,
    Cause,
    ErrorAnswer,
    FieldConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    KindNotServedError,
    NotFoundError,
    SchemaError,
    ServerUnavailableError,
    StaleError,
    TerminatingError,
    TooLargeError,
    UnauthorizedError,
)

SHOWN_CAUSES = 5
CAUSE_CHARACTERS = 500
NO_FIELD = "<nil>"
VALUE_CHARACTERS = 64  # a short scalar helps to find the mistake; a dump of a structure hides the cause

_INVALID = "Invalid value: "
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')
# A string without an end takes the rest: a search that failed there would begin again at each of its quotes.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)
_WORD = re.compile(r"(?:\[\d*\]|map\[[^\]]*\]|[-+&*\w./])*")  # a number, a name, or the type before a Go literal
_IMMUTABLE = re.compile(r"immutable|(?:may not|cannot|can not|must not) (?:be )?chang")
_UPDATE = re.compile(r"updates? (?:to|may) ")  # of fields other than those is forbidden


def concise_message(error: ApiError) -> str:
    """One line. An answer without causes stays as it is, save for its line breaks."""
    causes = [cause for cause in error.causes if cause.message] if error.reason == "Invalid" else []
    if not causes:
        return _one_line(error.message)
    texts = list(dict.fromkeys(map(_concise, causes)))
    rest = len(texts) - SHOWN_CAUSES
    return "; ".join(texts[:SHOWN_CAUSES]) + (f"; and {rest} more" if rest > 0 else "")


def is_immutable_change(error: ApiError) -> bool:
    """Whether only an object made anew could be as the body says."""
    return error.reason == "Invalid" and any(_says_immutable(cause.message) for cause in error.causes)


def immutable_fields(error: ApiError) -> list[str]:
    """The fields that the server does not let change."""
    named = (cause.field for cause in error.causes if cause.field and _says_immutable(cause.message))
    return list(dict.fromkeys(field for field in named if field != NO_FIELD))


def _says_immutable(text: str) -> bool:
    if _IMMUTABLE.search(text):
        return True
    for line in text.split("\n"):
        update = _UPDATE.search(line)
        if update is not None and line.find("forbidden", update.end()) >= 0:
            return True
    return False


def _concise(cause: Cause) -> str:
    text, *diff = cause.message.splitlines() or [""]
    if text.startswith(_INVALID):
        text = _without_value(text if not diff else _one_line(cause.message))
    named = _one_line(f"{cause.field}: {text}" if cause.field and cause.field != NO_FIELD else text)
    return named if len(named) <= CAUSE_CHARACTERS else f"{named[: CAUSE_CHARACTERS - 1]}…"


def _without_value(text: str) -> str:
    value = _value(text[len(_INVALID) :])
    detail = text[len(_INVALID) + len(value) :].removeprefix(": ")
    is_scalar = value.startswith('"') or not set(value) & {"{", "["}
    is_short = is_scalar and len(value) <= VALUE_CHARACTERS
    if not detail:
        return text
    return text if is_short and not _says_immutable(detail) else detail


def _value(text: str) -> str:
    """The value at the start: a quoted string, a word, or a structure up to the bracket that ends it."""
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return quoted[0]
    start = match.end() if (match := _WORD.match(text)) is not None else 0
    if not text[start:].startswith(("{", "[")):
        return text[:start] if text[start:].startswith(": ") else text.rpartition(": ")[0]
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth == 0:
            return text[: token.end()]
    return text.rpartition(": ")[0]


def _one_line(text: str) -> str:
    return " ".join(text.split())


MESSAGE_CHARACTERS = 8_000  # of a plain-text body, and of each text of a Status
FIELDS_CHARACTERS = 200_000  # of a message that names fields one by one, as it is read for their paths
MOST_CAUSES = 1_000
_UNTYPED = ("failed to create typed patch object", "failed to convert new object", "failed to create manager for")
_TOO_LARGE = ("etcdserver: request is too large", "larger than max")
_TERMINATING = "while custom resource definition is terminating"
_SCHEMA_LINE = re.compile(r"(?:^|: |\s)(?P<field>\.[^\s:]+): (?P<text>[^\n]*)")
_RIGHT = re.compile(r'secrets( "[^"]*")? is forbidden: User "[^"]*" cannot \w+ resource "secrets" in API group ""[^:]*')
_NAMED = re.compile(r'(secrets|namespaces) "[^"]*" (not found|already exists)')
_WEBHOOK = re.compile(r'admission webhook "[^"]*" denied the request')


class _SentCause(msgspec.Struct, gc=False, kw_only=True):
    reason: str | None = None
    field: str | None = None
    message: str | None = None


class _SentDetails(msgspec.Struct, gc=False, kw_only=True, rename="camel"):
    name: str | None = None
    causes: list[_SentCause] | None = None
    retry_after_seconds: float | None = None


class SentStatus(msgspec.Struct, gc=False, kw_only=True):
    kind: str | None = None
    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _SentDetails | None = None


_STATUS = msgspec.json.Decoder(SentStatus)


def decode_status(body: bytes) -> SentStatus | None:
    """The `Status` in an answer's body, or None when the body is something else."""
    try:
        status = _STATUS.decode(body)
    except msgspec.MsgspecError:
        return None
    return status if status.kind == "Status" else None


def error_of(
    subject: str, code: int, body: bytes, *, retry_after: float | None = None, sensitive: bool = False
) -> ApiError:
    """The error for an answer. `sensitive`: it is about a Secret, so the server's text is replaced."""
    status = decode_status(body)
    if status is None:
        text = _cut(body.decode(errors="replace").strip()) or f"HTTP status {code} without a body"
        refusal = ErrorAnswer(subject=subject, status=code, message=text, retry_after=retry_after)
    else:
        refusal = _refusal(subject, code, status, retry_after)
    named = status is not None and status.details is not None and bool(status.details.name)
    error_class = _class_of(refusal, named=named)
    return error_class(_without_values(refusal, error_class) if sensitive else refusal)


def _refusal(subject: str, code: int, status: SentStatus, retry_after: float | None) -> ErrorAnswer:
    details = status.details or _SentDetails()
    message = status.message or status.reason or f"HTTP status {code}"
    causes = [
        Cause(reason=_cut(cause.reason), field=_cut(cause.field), message=_cut(cause.message))
        for cause in (details.causes or [])[:MOST_CAUSES]
    ]
    if not causes and message.startswith(_UNTYPED):
        causes = _schema_causes(excerpt(message, FIELDS_CHARACTERS))
    wait = details.retry_after_seconds if retry_after is None else retry_after
    return ErrorAnswer(
        subject=subject,
        status=code,
        reason=_cut(status.reason),
        message=_cut(message),
        causes=causes,
        retry_after=wait or None,
    )


def _cut(text: str | None) -> str:
    return excerpt(text or "", MESSAGE_CHARACTERS)


def _schema_causes(message: str) -> list[Cause]:
    """The paths in `failed to create typed patch object (…): .spec.x: field not declared in schema`."""
    _, _, found = message.partition("): ")
    return [
        Cause(
            field=match["field"],
            message=_cut(match["text"]),
            reason=UNDECLARED if match["text"].startswith("field not declared in schema") else "FieldValueInvalid",
        )
        for match in _SCHEMA_LINE.finditer(found)
    ]


def _class_of(refusal: ErrorAnswer, *, named: bool) -> type[ApiError]:  # noqa: C901, PLR0911, PLR0912 - one table
    message, reasons = refusal.message, {cause.reason for cause in refusal.causes}
    if refusal.status == 422 and any(cause.field == "metadata.uid" for cause in refusal.causes):
        return StaleError  # the patch names the object that was there before
    if "NamespaceTerminating" in reasons or _TERMINATING in message:
        return TerminatingError
    match refusal.status:
        case 401:
            return UnauthorizedError
        case 403:
            return ForbiddenError
        case 404 if not named:  # plain text, or a Status about no object
            return KindNotServedError
        case 404:
            return NotFoundError
        case 409 if refusal.reason == "AlreadyExists":
            return AlreadyExistsError
        case 409 if "FieldManagerConflict" in reasons:
            return FieldConflictError
        case 409:
            return StaleError
        case 410:
            return GoneError
        case 413:
            return TooLargeError
        case 429:
            return ServerUnavailableError
        case code if code >= 500 and any(text in message for text in _TOO_LARGE):
            return TooLargeError
        case 500 if message.startswith(_UNTYPED):
            return SchemaError
        case code if 400 <= code < 500:
            return InvalidError
        case _:
            return ServerUnavailableError


def _without_values(refusal: ErrorAnswer, error_class: type[ApiError]) -> ErrorAnswer:
    """The same refusal in our words: what kind of refusal it was and which fields it names."""
    causes = [
        Cause(
            reason=cause.reason,
            field=cause.field,
            message=cause.message if cause.reason == "FieldManagerConflict" else "",
        )
        for cause in refusal.causes
    ]
    text = _harmless(refusal.message)
    if error_class is FieldConflictError:
        text = "; ".join(f"{cause.message}: {cause.field}" for cause in causes)
    elif not text:
        kind = refusal.reason or ("SchemaMismatch" if error_class is SchemaError else f"HTTP status {refusal.status}")
        fields = ", ".join(dict.fromkeys(cause.field for cause in causes if cause.field))
        text = f"{kind}{f' in {fields}' if fields else ''} (the server's text is withheld: it may quote values)"
    return ErrorAnswer(
        subject=refusal.subject,
        status=refusal.status,
        reason=refusal.reason,
        message=text,
        causes=causes,
        retry_after=refusal.retry_after,
    )


def _harmless(message: str) -> str:
    """The part of a message that the server composes from names alone: a missing right, the webhook that refused."""
    if _RIGHT.fullmatch(message) or _NAMED.fullmatch(message):
        return message
    webhook = _WEBHOOK.match(message)
    return webhook[0] if webhook else ""
