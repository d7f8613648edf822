"""Log lines with their context: which kind and object a line is about, as text for people or JSON for machines.

The context travels with the task (`contextvars`), so a line that Kopf, aiohttp or a library writes while we reconcile
an object names that object too. Messages never hold secrets: nothing but error texts of our own tree is logged, and
what is secret to the object (`hide_in_lines`) is taken out of messages and tracebacks. All lines of one reconcile have
its id, those of jobs and threads that it started, too.
"""

import logging
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

import orjson

QUIET = {
    "kopf": logging.WARNING,  # tells about every event at info
    "kopf._core.reactor.running": logging.ERROR,  # warns that signals are not its own, which is what we want
    "asyncio": logging.WARNING,
}

WINDOW_SECONDS = 60.0
WARNINGS_OF_A_WINDOW = 10
REMEMBERED_SUBJECTS = 1024
TEXTS_OF_A_SUBJECT = 16

_ID_BYTES = 4
_REASON = "event_reason"  # of a record
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _CONTROLS} | {ord("\t"): "\t"}
_SUBJECT: ContextVar[tuple[str, str]] = ContextVar("subject", default=("", ""))
_RECONCILE: ContextVar[str] = ContextVar("reconcile", default="")  # empty: the line is about none
_HIDE: ContextVar[Callable[[str], str] | None] = ContextVar("hide", default=None)


@contextmanager
def about(kind: str, name: str) -> Iterator[None]:
    subject, hide = _SUBJECT.set((kind, name)), _HIDE.set(_HIDE.get())
    try:
        yield
    finally:
        _SUBJECT.reset(subject)
        _HIDE.reset(hide)


@contextmanager
def one_reconcile() -> Iterator[None]:
    """Lines until its end, and those of tasks that begin in it, have an id of their own."""
    token = _RECONCILE.set(secrets.token_hex(_ID_BYTES))
    try:
        yield
    finally:
        _RECONCILE.reset(token)


def of_no_reconcile() -> None:
    """For a task that began in a reconcile and serves many, as a watch does: its lines have no id from now on."""
    _RECONCILE.set("")


def hide_in_lines(hide: Callable[[str], str]) -> None:
    """Until the surrounding `about` ends: what is to be done with each text before it is written."""
    _HIDE.set(hide)


def log_event(logger: logging.Logger, level: int, reason: str, message: str) -> None:
    """Log a message with the reason of its Event or condition: in JSON a field, in text before the message."""
    logger.log(level, "%s", message, extra={_REASON: reason})


class LastingLog:
    """Lines about an object that every attempt finds again: one for each text, and one when it is over.

    The object is that of the context (`about`). A line that comes back unchanged is counted and left out.
    """

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str], dict[str, int]] = OrderedDict()

    def tell(self, logger: logging.Logger, level: int, reason: str, text: str) -> None:
        if not any(_SUBJECT.get()):  # no reconcile says that it is over
            log_event(logger, level, reason, text)
            return
        told = self._told.setdefault(_SUBJECT.get(), {})
        self._told.move_to_end(_SUBJECT.get())
        if len(self._told) > REMEMBERED_SUBJECTS:
            self._told.popitem(last=False)
        if text not in told:
            log_event(logger, level, reason, text)
            if len(told) >= TEXTS_OF_A_SUBJECT:
                told.pop(next(iter(told)))
        told[text] = told.get(text, 0) + 1

    def over(self, logger: logging.Logger) -> None:
        """Nothing is wrong with the object now: say so of lines that came back, and what is told next is news."""
        for text, times in self._told.pop(_SUBJECT.get(), {}).items():
            if times > 1:
                logger.info("over, after %d times: %s", times, text)


LASTING = LastingLog()


class BoundedLog:
    """Warnings that clients can cause as often as they like: a few a minute, and how many there were besides."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        self._began = clock()
        self._count = 0

    def warning(self, text: str, *arguments: object) -> None:
        if self._clock() - self._began >= WINDOW_SECONDS:
            if self._count > WARNINGS_OF_A_WINDOW:
                self._logger.warning("%d more such warnings were left out", self._count - WARNINGS_OF_A_WINDOW)
            self._began, self._count = self._clock(), 0
        self._count += 1
        if self._count <= WARNINGS_OF_A_WINDOW:
            self._logger.warning(text, *arguments)


class OnceLog:
    """Lines about a subject that is told the same again and again: one for each text, until it is told otherwise."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._told: OrderedDict[Hashable, str] = OrderedDict()

    def tell(self, subject: Hashable, text: str) -> None:
        is_known = self._told.get(subject) == text
        self._told[subject] = text
        self._told.move_to_end(subject)
        if len(self._told) > REMEMBERED_SUBJECTS:
            self._told.popitem(last=False)
        if not is_known:
            self._logger.info("%s", text)

    def over(self, subject: Hashable) -> None:
        """Nothing is wrong with it now: what is told next is news."""
        self._told.pop(subject, None)


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        kind, name = _SUBJECT.get()
        subject = f"{kind} {name}: " if kind else ""
        if reason := _reason(record):
            subject = f"{subject}{reason}: "
        line = f"{_time(record)} {record.levelname:<7} {record.name}: {subject}{_single(_message(record))}"
        if reconcile := _RECONCILE.get():
            line = f"{line} reconcile={reconcile}"
        failure = _failure(self, record)
        return "\n    ".join([line, *map(_single, failure.splitlines())])


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        kind, name = _SUBJECT.get()
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **({"kind": kind, "name": name} if kind else {}),
            **({"reconcile": reconcile} if (reconcile := _RECONCILE.get()) else {}),
            **({"reason": reason} if (reason := _reason(record)) else {}),
        }
        failure = _failure(self, record)
        if failure:
            line["error"] = failure
        return orjson.dumps({key: _encodable(text) for key, text in line.items()}).decode()


def set_up(level: str, form: str) -> None:
    """Everything goes to standard error, once."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    if level != "debug":
        for name, least in QUIET.items():
            logging.getLogger(name).setLevel(least)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _single(message: str) -> str:
    """One record, one line: content of bundles must not be able to forge lines, or to speak to a terminal."""
    return _encodable(message).translate(_ESCAPES)


def _encodable(text: str) -> str:
    """Escape lone surrogates, which readers of the log cannot decode."""
    return text.encode("utf-8", "backslashreplace").decode()


def _message(record: logging.LogRecord) -> str:
    return _shown(record.getMessage())


def _reason(record: logging.LogRecord) -> str:
    return str(getattr(record, _REASON, ""))


def _failure(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return _shown(formatter.formatException(record.exc_info)) if record.exc_info and record.exc_info[0] else ""


def _shown(text: str) -> str:
    hide = _HIDE.get()
    return text if hide is None else hide(text)
