"""Formats of strings, as API servers check them. A format that is not here is not checked."""

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?+")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME: Final = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d++)?+(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII)
_DURATION: Final = re.compile(r"[+-]?(?:0|(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))++)", re.ASCII)
_WORDY_DURATION: Final = re.compile(
    r"\d++\s*+(?:ns|nanos?|us|µs|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)",
    re.ASCII | re.IGNORECASE,
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-?+[0-9a-f]{4}-?+([0-9a-f])[0-9a-f]{3}-?+([0-9a-f])[0-9a-f]{3}-?+[0-9a-f]{12}")
_MAC: Final = re.compile(
    r"(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}"
    r"|[0-9a-f]{2}(?::[0-9a-f]{2}){7}|[0-9a-f]{2}(?:-[0-9a-f]{2}){7}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){3})"
)
_LABEL: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
_LONGEST_HOST: Final = 255
_EMAIL: Final = re.compile(r"[^\s<>()\[\],;:@\"]++@[^\s<>()\[\],;:@\"]++")
_FIRST_TIME: Final = len("2006-01-02T")


def _is_address(text: str, version: int) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _is_network(text: str) -> bool:
    address, slash, length = text.partition("/")
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return bool(slash) and length.isascii() and length.isdigit() and "%" not in address


def _is_date(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    day, time = text[: _FIRST_TIME - 1], text[_FIRST_TIME:].lower()
    return text[_FIRST_TIME - 1 : _FIRST_TIME] in {"T", "t"} and _is_date(day) and bool(_TIME.fullmatch(time))


def _is_duration(text: str) -> bool:
    return bool(_DURATION.fullmatch(text) or _WORDY_DURATION.fullmatch(text.strip()))


def _is_host(text: str) -> bool:
    labels = text.removesuffix(".").split(".")
    return len(text) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels))


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_uuid(version: str) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        found = _UUID.fullmatch(text.lower())
        has_variant = found is not None and (version not in {"4", "5"} or found[2] in "89ab")
        return found is not None and (not version or found[1] == version) and has_variant

    return check


_OF_STRINGS: Final[Mapping[str, Callable[[str], bool]]] = {
    "ipv4": lambda text: _is_address(text, 4),
    "ipv6": lambda text: _is_address(text, 6),
    "cidr": _is_network,
    "mac": lambda text: bool(_MAC.fullmatch(text.lower())),
    "byte": lambda text: bool(_BASE64.fullmatch(text)),
    "date": _is_date,
    "datetime": _is_time,
    "duration": _is_duration,
    "hostname": _is_host,
    "email": lambda text: bool(_EMAIL.fullmatch(text)),
    "uri": _is_uri,
    "uuid": _is_uuid(""),
    "uuid3": _is_uuid("3"),
    "uuid4": _is_uuid("4"),
    "uuid5": _is_uuid("5"),
    "password": lambda _: True,
}
_OF_NUMBERS: Final = frozenset({"int32", "int64", "float", "double"})  # no API server checks them


def is_known(name: str) -> bool:
    plain = name.replace("-", "")
    return plain in _OF_STRINGS or plain in _OF_NUMBERS


def fits(name: str, text: str) -> bool:
    """Whether the text has the format; every text has one that is not known."""
    check = _OF_STRINGS.get(name.replace("-", ""))
    return check is None or check(text)
