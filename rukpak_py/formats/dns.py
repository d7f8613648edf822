"""Kubernetes' checks of names: each returns its reasons, in Go's words and order; none means valid.

Lengths are of the UTF-8 bytes, as Go counts them, whatever the message calls them.
"""

import re
from typing import Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_DNS_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = rf"({_NAME})?"

_SUBDOMAIN_BYTES: Final = 253
_LABEL_BYTES: Final = 63


def _explained(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


_NO_SUBDOMAIN = _explained(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_NO_LABEL = _explained(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_NO_DNS_1035 = _explained(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    _DNS_1035,
    "my-name",
    "abc-123",
)
_NO_VALUE = _explained(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_OF_NAMES = _explained(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _NAME,
    "MyName",
    "my.name",
    "123-abc",
)


def subdomain(value: str) -> list[str]:
    """DNS-1123: names of most objects."""
    return [*_too_long(value, _SUBDOMAIN_BYTES, "characters"), *_unless(_SUBDOMAIN, value, _NO_SUBDOMAIN)]


def label(value: str) -> list[str]:
    """DNS-1123: names of namespaces, volumes, containers."""
    reason = "must not contain dots" if re.fullmatch(_SUBDOMAIN, value) else _NO_LABEL
    return [*_too_long(value, _LABEL_BYTES, "characters"), *_unless(_LABEL, value, reason)]


def dns_1035_label(value: str) -> list[str]:
    """Names of services, and of what a definition declares."""
    return [*_too_long(value, _LABEL_BYTES, "characters"), *_unless(_DNS_1035, value, _NO_DNS_1035)]


def label_value(value: str) -> list[str]:
    return [*_too_long(value, _LABEL_BYTES, "bytes"), *_unless(_VALUE, value, _NO_VALUE)]


def qualified_name(value: str) -> list[str]:
    """Keys of labels and annotations: a name, or a subdomain, a slash and a name."""
    *prefixes, name = value.split("/")
    if len(prefixes) > 1:
        return [
            f"a valid label key {_OF_NAMES} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    reasons = [f"prefix part {reason}" for prefix in prefixes for reason in _of_prefix(prefix)]
    if not name:
        reasons.append("name part must be non-empty")
    reasons += [f"name part {reason}" for reason in _too_long(name, _LABEL_BYTES, "bytes")]
    return reasons + _unless(_NAME, name, f"name part {_OF_NAMES}")


def _of_prefix(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    return [*_too_long(prefix, _SUBDOMAIN_BYTES, "bytes"), *_unless(_SUBDOMAIN, prefix, _NO_SUBDOMAIN)]


def _too_long(value: str, most: int, unit: str) -> list[str]:
    return [f"must be no more than {most} {unit}"] if len(value.encode(errors="surrogatepass")) > most else []


def _unless(pattern: str, value: str, reason: str) -> list[str]:
    return [] if re.fullmatch(pattern, value) else [reason]
