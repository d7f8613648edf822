"""URLs as users write them and as messages show them: never with credentials."""

import re

DEFAULT_PORTS = {"http": 80, "https": 443, "ssh": 22}

_MASK = "xxxxx"  # as Go writes it
_USER_INFO = re.compile(r"^((?:[a-z][a-z0-9+.-]*:)?//)?[^/?#]*@", re.IGNORECASE)
_WHATEVER_MAY_BE = re.compile(r"^((?:[a-z][a-z0-9+.-]*:)?//)?.*@", re.IGNORECASE | re.DOTALL)


def masked(url: str) -> str:
    """Without the name and the password that stand before the host."""
    return _USER_INFO.sub(rf"\1{_MASK}@", url, count=1)


def masked_entirely(url: str) -> str:
    """The same for what could not be read: its credentials may reach to the last `@`."""
    return _WHATEVER_MAY_BE.sub(rf"\1{_MASK}@", url, count=1)
