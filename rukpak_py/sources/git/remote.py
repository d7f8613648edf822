"""The URL of a repository, taken apart and checked before git sees it.

git reads far more than URLs: `ext::` runs commands, `file://` and paths read local files, a leading dash is an option.
Only https, http and ssh come through, as URLs or in the short form of ssh (`user@host:path`), and git is given a URL
that is put together again from the checked parts, without credentials.

A revision of it is a branch, a tag, a commit, or the default branch.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import SplitResult, unquote, urlsplit

from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.sources.urls import DEFAULT_PORTS, masked, masked_entirely

SSH = "ssh"
_DEFAULT_USER = "git"  # of ssh
_LONGEST = 2048
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\\"'`<>{}|^]|[^\x00-\x7f]")
_ENCODED_CONTROL = re.compile(r"%(0[0-9a-f]|1[0-9a-f]|7f)", re.IGNORECASE)
_HOST = re.compile(r"(?!-)[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_USER = re.compile(r"(?!-)[A-Za-z0-9._+-]{1,128}")
_SHORT = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>\[[^]/]+\]|[^/:@]+):(?P<path>(?!:|//).+)")
_USER_ALONE = re.compile(r"(ssh://)?[A-Za-z0-9._+-]+@[^@]*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Remote:
    """`host` is without the brackets of an IPv6 address, `url` without credentials, `shown` as it was written."""

    scheme: str
    host: str
    port: int
    user: str = field(repr=False)
    url: str
    shown: str
    password: str = field(default="", repr=False)

    @property
    def is_ssh(self) -> bool:
        return self.scheme == SSH

    @property
    def has_default_port(self) -> bool:
        return self.port == DEFAULT_PORTS[self.scheme]


def parse_remote(repository: str) -> Remote:
    """ContentError, never with a password, for everything but a URL of https, http or ssh."""
    if not repository:
        raise ContentError("missing git source information: repository must be provided")
    if len(repository) > _LONGEST or _UNSAFE.search(repository) or _ENCODED_CONTROL.search(repository):
        raise _invalid(repository, "it is too long or has characters that no URL may have")
    if repository.startswith("-"):
        raise _invalid(repository, "it starts with a dash")
    if re.match(r"[A-Za-z0-9+.-]*::", repository):
        raise _invalid(repository, "remote helpers of git are not supported; use https, http or ssh")
    if "://" in repository:
        return _of_url(repository)
    if short := _SHORT.fullmatch(repository):
        return _of_short_form(repository, short)
    raise _invalid(repository, "it is not a URL of https, http or ssh")


def shown(repository: str) -> str:
    """The repository as it was written, without a password. The user name of an HTTP URL may be a token."""
    if _USER_ALONE.fullmatch(repository):
        return repository
    return masked(repository) if repository.count("@") < 2 else masked_entirely(repository)


def _of_url(repository: str) -> Remote:
    try:
        parts = urlsplit(repository)
        port = parts.port
    except ValueError as error:
        raise _invalid(repository, "host or port cannot be read") from error
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise _invalid(repository, f"scheme {scheme[:20]!r} is not supported; use https, http or ssh")
    host = _host(repository, f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or "")
    if parts.fragment:
        raise _invalid(repository, "it has a fragment (#)")
    _check_path(repository, f"{parts.path}?{parts.query}")
    if port == 0 or not parts.path.strip("/"):
        raise _invalid(repository, "it names no repository of the host")
    return Remote(
        scheme=scheme,
        host=host.strip("[]"),
        port=port or DEFAULT_PORTS[scheme],
        user=_user(repository, parts, scheme),
        password=unquote(parts.password or "") if scheme != SSH else "",
        url=_without_credentials(repository, parts, scheme, f"{host}:{port}" if port else host),
        shown=shown(repository),
    )


def _user(repository: str, parts: SplitResult, scheme: str) -> str:
    user = unquote(parts.username or "")
    if scheme == SSH:
        user = user or _DEFAULT_USER
        if not _USER.fullmatch(user):
            raise _invalid(repository, "the user name has characters that are not supported")
    return user


def _without_credentials(repository: str, parts: SplitResult, scheme: str, authority: str) -> str:
    if scheme == SSH:
        if parts.query:
            raise _invalid(repository, "an ssh URL has no query (?)")
        return f"{SSH}://{_user(repository, parts, scheme)}@{authority}{parts.path}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{authority}{parts.path}{query}"


def _of_short_form(repository: str, short: re.Match[str]) -> Remote:
    user, path = short["user"] or _DEFAULT_USER, short["path"]
    host = _host(repository, short["host"])
    if not _USER.fullmatch(user):
        raise _invalid(repository, "the user name has characters that are not supported")
    if path.startswith("-"):
        raise _invalid(repository, "the path starts with a dash")
    _check_path(repository, path)
    return Remote(
        scheme=SSH,
        host=host.strip("[]"),
        port=DEFAULT_PORTS[SSH],
        user=user,
        url=f"{user}@{host}:{path}",
        shown=shown(repository),
    )


def _check_path(repository: str, path: str) -> None:
    """Wherever git finds `@[` in a URL of ssh, it takes what follows for the host."""
    if "[" in path or "]" in path:
        raise _invalid(repository, "the path has a bracket")


def _host(repository: str, host: str) -> str:
    host = host.rstrip(".").lower()
    if not _HOST.fullmatch(host):
        raise _invalid(repository, "it has no valid host name")
    return host


def _invalid(repository: str, reason: str) -> ContentError:
    return ContentError(f"repository {masked_entirely(repository)[:200]!r} is refused: {reason}")


LOCAL_REF = "refs/rukpak/content"  # where what is fetched goes in our own repository
_SHA1, _SHA256 = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_ABBREVIATED = re.compile(r"[0-9a-f]{4,63}")
# What `git check-ref-format` refuses.
_BAD_NAME = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^[./]|[./]$|\.lock(/|$)|^@$")
_LONGEST_NAME = 1024


class RefKind(Enum):
    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"
    DEFAULT = "default branch"


@dataclass(frozen=True, kw_only=True)
class Revision:
    """`name` is what the user wrote; the hash of a commit is in lower case."""

    kind: RefKind
    name: str = ""

    @property
    def is_full_commit(self) -> bool:
        return self.kind is RefKind.COMMIT and any(form.fullmatch(self.name) for form in (_SHA1, _SHA256))

    @property
    def object_format(self) -> str:
        """The object format of the repository, as far as the name tells."""
        return "sha256" if self.kind is RefKind.COMMIT and len(self.name) > 40 else "sha1"

    @property
    def remote_ref(self) -> str:
        match self.kind:
            case RefKind.BRANCH:
                return f"refs/heads/{self.name}"
            case RefKind.TAG:
                return f"refs/tags/{self.name}"
            case RefKind.COMMIT:
                return self.name
            case RefKind.DEFAULT:
                return "HEAD"

    @property
    def refspecs(self) -> tuple[str, ...]:
        return (f"+{self.remote_ref}:{LOCAL_REF}",)

    def missing(self, repository: str) -> RukPakError:
        """A branch or a tag may be pushed later, and looking costs little; a commit may cost the whole history."""
        if self.kind is RefKind.COMMIT:
            return _commit_error(self.name, f"repository {repository!r} has no such commit")
        what = f'{self.kind.value} "{self.name}"' if self.name else "commit yet"
        return UnavailableError(
            f'bundle unpack git clone error: couldn\'t find remote ref "{self.remote_ref}": '
            f"repository {repository!r} has no {what}"
        )

    def ambiguous(self) -> ContentError:
        return _commit_error(self.name, "several commits start like this: give more of the hash")


# All branches and tags: for commits that the server does not send by their hash.
EVERYTHING = ("+refs/heads/*:refs/rukpak/heads/*", "+refs/tags/*:refs/rukpak/tags/*")


def revision_of(ref: GitRef) -> Revision:
    """Read the ref. Of several members, which older objects may have, the original took the commit last of all."""
    if ref.commit:
        commit = ref.commit.lower()
        if not (_SHA256.fullmatch(commit) or _ABBREVIATED.fullmatch(commit)):
            raise _commit_error(ref.commit[:100], "not a hash of 4 to 40 hexadecimal digits, or 64 with SHA-256")
        return Revision(kind=RefKind.COMMIT, name=commit)
    for kind, name in ((RefKind.BRANCH, ref.branch), (RefKind.TAG, ref.tag)):
        if name:
            if len(name) > _LONGEST_NAME or _BAD_NAME.search(name):
                raise ContentError(
                    f"bundle unpack git clone error: {name[:100]!r} is not a valid name of a {kind.value}"
                )
            return Revision(kind=kind, name=name)
    return Revision(kind=RefKind.DEFAULT)


def _commit_error(name: str, reason: str) -> ContentError:
    return ContentError(f'checkout commit "{name}": {reason}')
