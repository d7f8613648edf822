"""Errors for the user from what git says on stderr: what failed, and what to do.

The texts are git's, curl's, ssh's and those of well-known servers, in English (LC_ALL=C). A server decides what most of
them are, so a sign is a few words that are looked for one after the other on a line: no pattern goes back. What a
server says is shown with control characters, progress and secrets removed, and cut.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.text import excerpt
from rukpak_py.sources.git.command import GitError
from rukpak_py.sources.git.remote import Remote, Revision

_SHOWN_CHARACTERS = 800
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PROGRESS = re.compile(r"^(remote: )?(Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking|Total) ")
_EMPTY_PHRASES = re.compile(
    r"^(Could not read from remote repository|Please make sure you have|and the repository exists)"
)
_PREFIX = re.compile(r"^(fatal|error|warning|ssh): ")
_OTHER_FORMAT = re.compile(r"mismatched algorithms: client \w{1,20}; server (sha1|sha256)\b")

Sign = tuple[str, ...]  # parts of one line, in this order


@dataclass(frozen=True, kw_only=True)
class _Failure:
    signs: tuple[Sign, ...]  # any of them
    error: type[RukPakError]
    text: str


def _failure(*signs: str | Sign, error: type[RukPakError], text: str) -> _Failure:
    every = tuple((sign,) if isinstance(sign, str) else sign for sign in signs)
    return _Failure(signs=tuple(tuple(map(str.lower, sign)) for sign in every), error=error, text=text)


_HTTP_STATUS = "returned error: "
# The first that is found.
_FAILURES = (
    _failure(
        *("fsck error", "hasDot", "has bad object", "object corrupt", "inflate returned"),
        error=ContentError,
        text="invalid repository",
    ),
    _failure(
        *("attempting to allocate", "out of memory"),
        error=ContentError,
        text="the repository has objects that need too much memory",
    ),
    _failure(*("No space left on device", "Disk quota"), error=UnavailableError, text="the operator's disk is full"),
    _failure(
        "dumb http",
        error=ContentError,
        text="the server is a plain web server, but git's smart protocol is needed: set repository to a git server",
    ),
    _failure(
        "Host key verification failed",
        error=AccessError,
        text="host key verification failed: ssh-knownhosts has no such key for this host",
    ),
    _failure(
        *("Permission denied (", "Too many authentication failures"),
        error=AccessError,
        text="the server refuses the ssh key",
    ),
    _failure(
        *("Authentication failed", "could not read Username", "could not read Password"),
        *(f"{_HTTP_STATUS}401", "terminal prompts disabled"),
        error=AccessError,
        text="authentication required or refused; auth.secret must name a Secret with the right login",
    ),
    _failure(f"{_HTTP_STATUS}403", error=AccessError, text="the credentials have no access"),
    _failure(
        *(("repository ", "not found"), f"{_HTTP_STATUS}404", f"{_HTTP_STATUS}410"),
        "does not appear to be a git repository",
        error=AccessError,
        text="repository not found, or not visible with these credentials",
    ),
    _failure(
        *("error setting certificate", "error reading ca cert", "Problem with the SSL CA cert"),
        error=ContentError,
        text="caBundle cannot be read",
    ),
    _failure(
        *("certificate", "SSL", "TLS", "handshake"),
        error=UnavailableError,
        text="TLS failed; for a private authority give its certificate in caBundle",
    ),
    _failure(
        *("is this a git repository", "bad line length", "unable to parse", "protocol error"),
        "mismatched algorithms",
        error=ContentError,
        text="the URL is not that of a git repository",
    ),
    _failure(f"{_HTTP_STATUS}429", f"{_HTTP_STATUS}5", error=UnavailableError, text="the server is not available"),
    _failure(("transport '", "' not allowed"), error=ContentError, text="the protocol is not allowed"),
)
_OTHER = _failure(error=UnavailableError, text="the fetch failed")
# In the place of an answer, the server names another URL.
_REDIRECTED = tuple((f"the requested url {_HTTP_STATUS}{status}",) for status in (301, 302, 303, 307, 308))
_MISSING_REF = (("couldn't find remote ref",), ("no such remote ref",))
_NOT_SENT_BY_HASH = (("not our ref",), ("unadvertised object",), ("want ", " not valid"))
_NO_CONNECTION = (("connect to host ", " port "), ("connect to address ", " port "))


def is_redirected(error: GitError) -> bool:
    return _is_said(error.said, _REDIRECTED)


def is_not_sent_by_hash(error: GitError) -> bool:
    """The commit is unknown, or the server sends what has a name only."""
    return _is_said(error.said, _NOT_SENT_BY_HASH)


def object_format_of(error: GitError) -> str:
    """The object format of the server, when it is not the one that was assumed; else empty."""
    found = _OTHER_FORMAT.search(error.said)
    return found[1] if found else ""


def is_no_connection(error: GitError) -> bool:
    """Another address of the host may answer."""
    return _is_said(error.said, _NO_CONNECTION)


def explain(error: GitError, remote: Remote, revision: Revision, redacted: Callable[[str], str]) -> RukPakError:
    if _is_said(error.said, _MISSING_REF):
        return revision.missing(remote.shown)
    words = error.said.replace(remote.url, "").replace(remote.shown, "")  # of git and the server, and not of the name
    lines = words.lower().splitlines()
    found = next((one for one in _FAILURES if any(_is_on(line, one.signs) for line in lines)), _OTHER)
    text = f"bundle unpack git clone error: {remote.shown}: {found.text}"
    detail = excerpt(redacted(cleaned(str(error))), _SHOWN_CHARACTERS)  # a secret may have had such characters in it
    return found.error(f"{text} - {detail}" if detail else text)


def needs_too_much_memory(error: GitError) -> bool:
    """Git ran out of what it may take, or refused to take it."""
    return _is_said(error.said, (("attempting to allocate",), ("out of memory",)))


def cleaned(said: str) -> str:
    """The text on one line."""
    lines = (_CONTROL.sub("", line).strip() for line in re.split(r"[\r\n]+", said))
    texts = (_PREFIX.sub("", line) for line in lines if line and not _PROGRESS.match(line))
    return "; ".join(dict.fromkeys(text for text in texts if not _EMPTY_PHRASES.match(text)))


def _is_said(words: str, signs: tuple[Sign, ...]) -> bool:
    return any(_is_on(line, signs) for line in words.lower().splitlines())


def _is_on(line: str, signs: tuple[Sign, ...]) -> bool:
    return any(_has(line, sign) for sign in signs)


def _has(line: str, parts: Sign) -> bool:
    at = 0
    for part in parts:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
