"""Redirects, which git itself does not follow: it would take credentials along, to any host and any address.

A server that moved a repository on the same host is followed, from http to https too. The place is read from git's own
trace of the answer.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from rukpak_py.core.errors import AccessError, ContentError
from rukpak_py.sources.git.remote import Remote, parse_remote, shown
from rukpak_py.sources.urls import joined_url

MOST = 5
_ASKED = "/info/refs"
_LOCATION = "recv header: location:"
_LONGEST_LINE = 8192  # of the trace
_TRACE_BYTES = 1 << 20


def tracing(trace: Path) -> dict[str, str]:
    """Variables that make git trace headers only, without the secret ones."""
    return {"GIT_TRACE_CURL": str(trace), "GIT_TRACE_CURL_NO_DATA": "1", "GIT_TRACE_REDACT": "1"}


def redirected(remote: Remote, trace: Path) -> Remote:
    """The repository that the server redirects to; ContentError when that is on another host.

    UnavailableError when it is not a URL at all.
    """
    found = list(_locations(trace))
    if not found:
        raise ContentError(f"bundle unpack git clone error: {remote.shown}: redirected, but not said where")
    what = f"bundle unpack git clone error: {remote.shown}: what the server redirects to"
    url = joined_url(f"{remote.url}{_ASKED}", found[-1], what=what)
    if urlsplit(url).scheme not in {remote.scheme, "https"}:
        raise _refused(remote, url)
    base = url.partition("?")[0]
    if not base.endswith(_ASKED):
        raise AccessError(
            f"bundle unpack git clone error: {remote.shown}: the server redirects to {shown(base)[:200]!r}, "
            "which is not a repository: it may ask for credentials"
        )
    moved = parse_remote(base.removesuffix(_ASKED))
    same_port = moved.port == remote.port or (remote.has_default_port and moved.has_default_port)
    if moved.host != remote.host or not same_port:
        raise _refused(remote, url)
    return replace(moved, shown=remote.shown, user=remote.user, password=remote.password)


def _locations(trace: Path) -> Iterator[str]:
    """The locations in the headers; a line that is too long for any URL of a repository is skipped."""
    with trace.open(errors="replace") as file:
        lines = file.read(_TRACE_BYTES).splitlines()
    for line in lines:
        at = line.lower().find(_LOCATION) if len(line) <= _LONGEST_LINE else -1
        if at >= 0 and (words := line[at + len(_LOCATION) :].split()):
            yield words[0]


def _refused(remote: Remote, url: str) -> ContentError:
    place = urlsplit(url)
    where = f"{place.scheme}://{place.hostname or ''}{place.path.removesuffix(_ASKED)}"[:200]
    return ContentError(
        f"bundle unpack git clone error: {remote.shown}: redirects to another host or protocol are not followed; "
        f"if it is right, set repository to {where!r}"
    )
