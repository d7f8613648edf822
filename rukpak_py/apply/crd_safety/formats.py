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


def _is_address(value: str, version: int) -> bool:
    try:
        return "%" not in value and ipaddress.ip_address(value).version == version
    except ValueError:
        return False


def _is_network(value: str) -> bool:
    address, slash, length = value.partition("/")
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return bool(slash) and length.isascii() and length.isdigit() and "%" not in address


def _is_date(value: str) -> bool:
    if not _DAY.fullmatch(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_time(value: str) -> bool:
    day, time = value[: _FIRST_TIME - 1], value[_FIRST_TIME:].lower()
    return value[_FIRST_TIME - 1 : _FIRST_TIME] in {"T", "t"} and _is_date(day) and bool(_TIME.fullmatch(time))


def _is_duration(value: str) -> bool:
    return bool(_DURATION.fullmatch(value) or _WORDY_DURATION.fullmatch(value.strip()))


def _is_host(value: str) -> bool:
    labels = value.removesuffix(".").split(".")
    return len(value) <= _LONGEST_HOST and all(map(_LABEL.fullmatch, labels))


def _is_uri(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) or value.startswith("/")


def _is_uuid(version: str) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        found = _UUID.fullmatch(value.lower())
        has_variant = found is not None and (version not in {"4", "5"} or found[2] in "89ab")
        return found is not None and (not version or found[1] == version) and has_variant

    return check


_OF_STRINGS: Final[Mapping[str, Callable[[str], bool]]] = {
    "ipv4": lambda value: _is_address(value, 4),
    "ipv6": lambda value: _is_address(value, 6),
    "cidr": _is_network,
    "mac": lambda value: bool(_MAC.fullmatch(value.lower())),
    "byte": lambda value: bool(_BASE64.fullmatch(value)),
    "date": _is_date,
    "datetime": _is_time,
    "duration": _is_duration,
    "hostname": _is_host,
    "email": lambda value: bool(_EMAIL.fullmatch(value)),
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


def fits(name: str, value: str) -> bool:
    """Whether the text has the format; every text has one that is not known."""
    check = _OF_STRINGS.get(name.replace("-", ""))
    return check is None or check(value)
