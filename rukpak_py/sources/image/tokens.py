"""The login to a registry that its `WWW-Authenticate` asks for: basic, or a token of the service that it names.

Credentials go to the registry's own origin and to that token service, which has to speak TLS unless the registry does
without. Tokens are held as long as their service says, by realm, service and scope, and asked for again after that.

A header may have several challenges (RFC 9110, read as leniently as registries need), and several headers are one with
commas between them. So a comma stands between challenges, between the parameters of one, and inside quotes. A word with
`=` behind it is a parameter; another one is the name of the next scheme at the beginning and after a comma, and else a
token that belongs to a scheme. One pass cuts a header into parts, and its length has a limit.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from time import monotonic
from typing import Final, TypeAlias
from urllib.parse import urlencode

import msgspec
import requests
from urllib3.exceptions import HTTPError

from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.core.limits import KIB, readable_size
from rukpak_py.core.text import excerpt
from rukpak_py.sources.image.credentials import RegistryCredentials
from rukpak_py.sources.image.transport import LONGEST_SAID, Session, TooLargeError, host_of, read_answer, retry_after
from rukpak_py.sources.image.unpack_methods import NotForOperatorError
from rukpak_py.sources.urls import read_url

LONGEST_HEADER: Final = 8 * KIB  # real ones have some hundred characters
# Text in quotes, `=`, a comma, blanks, or a word. Each begins with what none of the others begins with.
_PART: Final = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)|(?P<equals>=)|(?P<comma>,)|(?P<blank>\s+)|(?P<word>[^\s"=,]+)', re.DOTALL
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class _Kind(Enum):
    QUOTED = auto()
    EQUALS = auto()
    COMMA = auto()
    BLANK = auto()
    WORD = auto()


_Part: TypeAlias = tuple[_Kind, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Challenge:
    scheme: str  # in lower case
    parameters: Mapping[str, str]  # names in lower case


def parse_challenges(header: str) -> Sequence[Challenge]:
    """UnavailableError when it is too long to be one."""
    if len(header) > LONGEST_HEADER:
        raise UnavailableError(
            f"its WWW-Authenticate header has {len(header)} characters, more than {readable_size(LONGEST_HEADER)}"
        )
    parts = list(_parts(header))
    found: list[Challenge] = []
    parameters: dict[str, str] = {}
    position, is_start = 0, True
    while position < len(parts):
        kind, text = parts[position]
        position += 1
        if kind is _Kind.COMMA:
            is_start = True
        elif kind is _Kind.WORD:
            value, position = _value(parts, position)
            if value is not None:
                parameters.setdefault(text.lower(), value)
            elif is_start:
                parameters = {}
                found.append(Challenge(scheme=text.lower(), parameters=parameters))
            is_start = False
    return found


def _parts(header: str) -> Iterator[_Part]:
    position = 0
    while (match := _PART.match(header, position)) is not None:
        kind = _Kind[(match.lastgroup or "").upper()]
        text = match[match.lastgroup or 0]
        position = match.end()
        if kind is _Kind.QUOTED:
            position += 1  # the closing quote; or what stands at the end of a header without one
            text = _ESCAPED.sub(r"\1", text)
        yield kind, text


def _value(parts: Sequence[_Part], position: int) -> tuple[str | None, int]:
    """The value of the parameter whose name ends at `position`, and where it ends; None: there is no `=`.

    One without quotes may have more of these signs in it, as a URL has.
    """
    start = _behind_blanks(parts, position)
    if _kind(parts, start) is not _Kind.EQUALS:
        return None, position
    start = _behind_blanks(parts, start + 1)
    if _kind(parts, start) is _Kind.QUOTED:
        return parts[start][1], start + 1
    end = start
    while _kind(parts, end) in {_Kind.WORD, _Kind.EQUALS}:
        end += 1
    return "".join(text for _, text in parts[start:end]), end


def _behind_blanks(parts: Sequence[_Part], position: int) -> int:
    return position + 1 if _kind(parts, position) is _Kind.BLANK else position


def _kind(parts: Sequence[_Part], position: int) -> _Kind | None:
    return parts[position][0] if position < len(parts) else None


NO_TOKEN: Final = "no token for this login"  # noqa: S105 - a message
_BASIC: Final = "basic"
_BEARER: Final = "bearer"
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_SHORTEST_LIFE: Final = 60.0  # of tokens whose service does not say; what the specification says of them
_MARGIN: Final = 5.0  # a token is asked for again before it ends
_CLIENT: Final = "rukpak"
_REFUSED: Final = frozenset({400, 401, 403, 404})
_UNREADABLE: Final = (
    *(ValueError, KeyError, TypeError, AttributeError, RecursionError),
    *(UnavailableError, requests.exceptions.RequestException, HTTPError, OSError),
)


class _Token(msgspec.Struct):
    token: str = ""
    access_token: str = ""
    expires_in: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Challenge:
    realm: str
    service: str
    scope: str


@dataclass(frozen=True, kw_only=True)
class _Held:
    token: str
    until: float


class RegistryLogin:
    """The login of one client. `refused` makes the error for a login that is of no use."""

    def __init__(
        self,
        session: Session,
        credentials: RegistryCredentials | None,
        *,
        plain_http: bool,
        refused: Callable[[str], AccessError],
    ) -> None:
        self._session = session
        self._credentials = credentials
        self._plain_http = plain_http
        self._refused = refused
        self.asked = ""  # the URL of the token service, until it has answered or its failure was reported
        self._is_basic = False
        self._challenge: _Challenge | None = None
        self._held: dict[_Challenge, _Held] = {}

    def authenticate_request(
        self,
        original: requests.Response,
        headers: dict[str, str],
        refresh: bool = False,  # noqa: FBT001, FBT002 - as oras calls it
    ) -> tuple[dict[str, str], bool]:
        """Log in as the refusal asks for, or raise it: the method that `oras` calls of its login."""
        if original.status_code == HTTPStatus.UNAUTHORIZED and not refresh:
            # To its end, so that the connection is used again; a page that is too long has nothing to say.
            with suppress(TooLargeError):
                read_answer(original)
            if self.accept(original.headers.get("WWW-Authenticate", "")):
                return {**headers, **self.header()}, True
        raise self._refused(self.said(original))

    def header(self) -> dict[str, str]:
        """The header for the next request to the registry."""
        if self._is_basic:
            return self._basic()
        if self._challenge is None:
            return {}
        held = self._held.get(self._challenge)
        if held is None or held.until < monotonic():
            held = self._held[self._challenge] = self._exchange(self._challenge)
        return {"Authorization": f"Bearer {held.token}"}

    def accept(self, header: str) -> bool:
        """Do what the registry's challenge asks for, best with a token; False when just that was refused."""
        found = parse_challenges(header)
        for one in found:
            if one.scheme == _BEARER and (realm := one.parameters.get("realm")):
                given = {name: one.parameters.get(name, "") for name in ("service", "scope")}
                challenge = _Challenge(realm=realm, **given)
                self._is_basic = False
                self._challenge = challenge
                self._held[challenge] = self._exchange(challenge)
                return True
        if not any(one.scheme == _BASIC for one in found):
            raise self._refused(NO_TOKEN)
        return self._accept_basic()

    def demand_password(self, header: str) -> None:
        """Fail where it is what the registry asks for first, and there is none."""
        found = parse_challenges(header)
        if found and found[0].scheme == _BASIC:
            self._accept_basic()

    def _accept_basic(self) -> bool:
        if self._credentials is None or not self._credentials.password:
            raise self._refused("it wants a login")
        was_basic, self._is_basic = self._is_basic, True
        return not was_basic

    def said(self, answer: requests.Response) -> str:
        """The registry's own words, as far as it has some, without the credentials that it was given."""
        try:
            read_answer(answer)
            errors = json.loads(answer.content)["errors"]
            text = "; ".join(str(error.get("message") or error.get("code")) for error in errors)
        except _UNREADABLE:
            text = ""
        text = text or answer.reason or "no reason"
        secrets = [held.token for held in self._held.values()]
        if self._credentials is not None:
            secrets += [self._credentials.password, self._credentials.identity_token, *self._basic().values()]
        for secret in secrets:
            if secret := secret.removeprefix("Basic "):
                text = text.replace(secret, "***")
        return excerpt(text, LONGEST_SAID)

    def _basic(self) -> dict[str, str]:
        if self._credentials is None or not self._credentials.password:
            return {}
        both = f"{self._credentials.user}:{self._credentials.password}"
        return {"Authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}

    def _exchange(self, challenge: _Challenge) -> _Held:
        """Ask for a token with an identity token, with user and password, or anonymously."""
        scheme = read_url(challenge.realm, what="the address of its token service").scheme
        self.asked, host = challenge.realm, host_of(challenge.realm)
        if scheme != "https" and not (self._plain_http and scheme == "http"):
            raise UnavailableError(f"its token service {host} asks for a request without TLS, which is refused")
        given = {"service": challenge.service, "scope": challenge.scope}
        given = {name: value for name, value in given.items() if value}
        headers = {"Accept": "application/json", "User-Agent": _CLIENT}
        if self._credentials is not None and self._credentials.identity_token:
            secret = {"grant_type": "refresh_token", "refresh_token": self._credentials.identity_token}
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode({**given, **secret, "client_id": _CLIENT})
            answer = self._session.request("POST", challenge.realm, data=body, headers=headers)
        else:
            answer = self._session.request("GET", challenge.realm, params=given, headers=headers | self._basic())
        if answer.status_code != 200:
            answer.close()
            if answer.status_code in _REFUSED:
                raise self._refused(NO_TOKEN)
            kind = NotForOperatorError if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS else UnavailableError
            raise kind(
                f"its token service {host} answers with {answer.status_code}", retry_after=retry_after(answer.headers)
            )
        try:
            read_answer(answer)
            given_token = msgspec.json.decode(answer.content, type=_Token)
        except (TooLargeError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._refused(NO_TOKEN) from error
        token = given_token.token or given_token.access_token
        if not _TOKEN.fullmatch(token):
            raise self._refused(NO_TOKEN)
        self.asked = ""
        life = max((given_token.expires_in or _SHORTEST_LIFE) - _MARGIN, _MARGIN)
        return _Held(token=token, until=monotonic() + life)
