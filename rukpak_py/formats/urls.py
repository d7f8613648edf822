"""URLs, as strictly as Go's net/url takes them."""

import re
from typing import Final, NamedTuple

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPES: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST: Final = re.compile(r"(\[[^\]\s]*\]|[^ \[\]{}|\\^`:/?#%@]*)(:\d*)?")
_USER: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")


class Url(NamedTuple):
    scheme: str
    user: str
    host: str
    path: str
    query: str
    fragment: str


def parts_of(url: str, *, has_fragment: bool = True) -> Url | None:
    """Parse the URL; None when Go would not. In a request nothing is a fragment."""
    if _CONTROL.search(url):
        return None
    before, _, fragment = url.partition("#") if has_fragment else (url, "", "")
    match = _SCHEME.match(before)
    scheme, rest = (match[1].lower(), before[match.end() :]) if match else ("", before)
    rest, _, query = rest.partition("?")
    user = host = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        path = slash + path
    else:
        path = rest
    if not _is_well_formed(scheme, user, host, path, has_authority=rest.startswith("//")) or _ESCAPES.search(fragment):
        return None
    return Url(scheme, user, host, path, query, fragment)


def _is_well_formed(scheme: str, user: str, host: str, path: str, *, has_authority: bool) -> bool:
    if not scheme and not has_authority and ":" in path.partition("/")[0]:
        return False  # a first segment with a colon is no scheme and no path
    if not _USER.fullmatch(user) or not _HOST.fullmatch(host):
        return False
    opaque = bool(scheme) and not has_authority and not path.startswith("/")
    return opaque or not _ESCAPES.search(path)


def is_request_uri(url: str) -> bool:
    """Whether it is absolute, or a path from the root: what a server would accept in a request."""
    parts = parts_of(url, has_fragment=False)
    return parts is not None and (bool(parts.scheme) or url.startswith("/"))


def has_scheme_and_host(url: str) -> bool:
    parts = parts_of(url)
    return parts is not None and bool(parts.scheme) and bool(parts.host)
