"""What git says on stderr, to an error for the user: whose problem it is, and what to do.

The texts are git's, curl's, ssh's and those of well-known servers, in English (LC_ALL=C). What a server says is shown
with control characters, progress and secrets removed, and cut.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.git.refs import Revision
from rukpak_py.sources.git.remote import Remote

_SHOWN_CHARACTERS = 800
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PROGRESS = re.compile(r"^(remote: )?(Enumerating|Counting|Compressing|Receiving|Resolving|Unpacking|Total) .*$")
_EMPTY_PHRASES = re.compile(
    r"^(Could not read from remote repository|Please make sure you have|and the repository exists)"
)
_PREFIX = re.compile(r"^(fatal|error|warning|ssh): ")
# In the place of an answer, the server names another URL.
REDIRECTED = re.compile(r"The requested URL returned error: 30[12378]")
_NOT_SENT_BY_HASH = re.compile(r"not our ref|unadvertised object|want [0-9a-f]{40,64} not valid")
_OTHER_FORMAT = re.compile(r"mismatched algorithms: client \w+; server (sha1|sha256)\b")
_NO_CONNECTION = re.compile(r"connect to (host|address) .* port \d+")


@dataclass(frozen=True, kw_only=True)
class _Failure:
    pattern: re.Pattern[str]
    error: type[RukPakError]
    text: str


def _failure(pattern: str, error: type[RukPakError], text: str) -> _Failure:
    return _Failure(pattern=re.compile(pattern, re.IGNORECASE), error=error, text=text)


# The first that is found.
_FAILURES = (
    _failure(r"fsck error|hasDot|has bad object|object corrupt|inflate returned", ContentError, "invalid repository"),
    _failure(r"attempting to allocate", ContentError, "the repository has objects that need too much memory"),
    _failure(r"No space left on device|Disk quota", UnavailableError, "the operator's disk is full"),
    _failure(
        r"Host key verification failed",
        AccessError,
        "host key verification failed: ssh-knownhosts has no such key for this host",
    ),
    _failure(r"Permission denied \(|Too many authentication failures", AccessError, "the server refuses the ssh key"),
    _failure(
        r"Authentication failed|could not read (Username|Password)|returned error: 401|terminal prompts disabled",
        AccessError,
        "authentication required or refused",
    ),
    _failure(r"returned error: 403", AccessError, "the credentials have no access"),
    _failure(
        r"repository .*not found|returned error: (404|410)|does not appear to be a git repository",
        AccessError,
        "repository not found, or not visible with these credentials",
    ),
    _failure(
        r"error setting certificate|error reading ca cert|Problem with the SSL CA cert",
        ContentError,
        "caBundle cannot be read",
    ),
    _failure(
        r"certificate|SSL|TLS|handshake",
        UnavailableError,
        "TLS failed; for a private authority give its certificate in caBundle",
    ),
    _failure(
        r"is this a git repository|dumb http|bad line length|unable to parse|protocol error|mismatched algorithms",
        ContentError,
        "the URL is not that of a git repository",
    ),
    _failure(r"returned error: (429|5\d\d)", UnavailableError, "the server is not available"),
    _failure(r"transport '.*' not allowed", ContentError, "the protocol is not allowed"),
)
_OTHER = _failure("", UnavailableError, "the fetch failed")


def is_missing_ref(text: str) -> bool:
    return re.search(r"couldn't find remote ref|no such remote ref", text, re.IGNORECASE) is not None


def is_not_sent_by_hash(text: str) -> bool:
    """The commit is unknown, or the server sends what has a name only."""
    return _NOT_SENT_BY_HASH.search(text) is not None


def object_format_of(text: str) -> str:
    """How the server makes hashes, when it is not as we took it to be; else empty."""
    found = _OTHER_FORMAT.search(text)
    return found[1] if found else ""


def is_no_connection(text: str) -> bool:
    """Another address of the host may answer."""
    return _NO_CONNECTION.search(text) is not None


def explain(said: str, remote: Remote, revision: Revision, redacted: Callable[[str], str]) -> RukPakError:
    if is_missing_ref(said):
        return revision.missing(remote.shown)
    words = said.replace(remote.url, "").replace(remote.shown, "")  # of git and the server, and not of the name
    found = next((one for one in _FAILURES if one.pattern.search(words)), _OTHER)
    text = f"bundle unpack git clone error: {remote.shown}: {found.text}"
    detail = cleaned(redacted(said))
    return found.error(f"{text} - {detail}" if detail else text)


def cleaned(said: str) -> str:
    """On one line."""
    lines = (_CONTROL.sub("", line).strip() for line in re.split(r"[\r\n]+", said))
    texts = (_PREFIX.sub("", line) for line in lines if line and not _PROGRESS.match(line))
    text = "; ".join(dict.fromkeys(text for text in texts if not _EMPTY_PHRASES.match(text)))
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}… (cut)"
