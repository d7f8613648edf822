"""Logins of a pull, the servers that see them, and waits: registries that ask, refuse, redirect and limit."""

import base64
import io
import logging
import ssl
from collections.abc import Iterator, Sequence
from threading import Event
from urllib.parse import parse_qs, urlsplit

import pytest
from urllib3 import HTTPResponse

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, RukPakError, UnavailableError
from rukpak_py.sources.image import tokens, transport
from rukpak_py.sources.image.credentials import RegistryCredentials
from tests.unit.sources.image import image_pulls
from tests.unit.sources.image.image_pulls import FILES, reference
from tests.unit.sources.image.image_registry import REPOSITORY, Contents, asked_for
from tests.unit.web_servers import Answer, Asked, Server, serving

pytestmark = pytest.mark.usefixtures("hasty")
PASSWORD, IDENTITY, TOKEN = "s3cr:et", "1dentity", "t0ken"
LOGIN = RegistryCredentials(user="me", password=PASSWORD)
BASIC = f"Basic {base64.b64encode(f'me:{PASSWORD}'.encode()).decode()}"
SCOPE = f"repository:{REPOSITORY}:pull"


@pytest.fixture
def contents() -> Contents:
    contents = Contents()
    contents.image({"bin/x": b"1"}, FILES, tag="v1")
    return contents


def pulled(server: Server, *logins: RegistryCredentials) -> Tree:
    return image_pulls.pulled(reference(server), logins=logins)[1]


def refused(server: Server, kind: type[RukPakError], *logins: RegistryCredentials) -> str:
    text = image_pulls.refused(reference(server), kind, logins=logins)
    for secret in (PASSWORD, IDENTITY, TOKEN, BASIC.removeprefix("Basic ")):
        assert secret not in text
    return text


def with_basic(asked: Asked) -> Answer | None:
    if asked.login == BASIC:
        return None
    return Answer(401, {"WWW-Authenticate": 'Basic realm="x"'}, b'{"errors": [{"message": "authentication required"}]}')


class Tokens:
    """A registry with a token service, which is this server too unless it is told otherwise."""

    def __init__(self, server: Server, realm: str = "", *, life: float = 300) -> None:
        self.realm = realm or f"http://{server.address}/token"
        self.life = life
        self.valid: list[str] = []
        self.made = 0

    def __call__(self, asked: Asked) -> Answer | None:
        if asked.path.startswith("/token"):
            return self.give(asked)
        if (asked.login or "").removeprefix("Bearer ") in self.valid:
            return None
        challenge = f'Bearer realm="{self.realm}",service="registry",scope="{SCOPE}"'
        return Answer(401, {"WWW-Authenticate": challenge})

    def give(self, asked: Asked) -> Answer:
        posted = parse_qs(asked.body.decode())
        if asked.login not in {None, BASIC} or posted.get("refresh_token", [IDENTITY]) != [IDENTITY]:
            return Answer(401)
        self.made += 1
        self.valid = [f"{TOKEN}-{self.made}"]
        name = "access_token" if posted else "token"
        return Answer(200, body=f'{{"{name}": "{self.valid[0]}", "expires_in": {self.life}}}'.encode())


def tokens_asked(server: Server) -> Sequence[Asked]:
    return [asked for asked in server.asked if asked.path.startswith("/token")]


def test_password_is_sent_after_one_request_without(server: Server) -> None:
    server.answer = with_basic
    assert dict(pulled(server, LOGIN)) == FILES
    assert [asked.login for asked in server.asked if asked.path != "/v2/"].count(None) == 1


def test_no_password_and_a_wrong_one(server: Server) -> None:
    server.answer = with_basic
    assert refused(server, AccessError) == f"{server.address} refuses: it wants a login. Log in."
    wrong = RegistryCredentials(user="me", password="wrong")
    assert refused(server, AccessError, wrong) == f"{server.address} refuses: authentication required. Log in."
    assert dict(pulled(server, wrong, LOGIN)) == FILES


def test_a_token_for_a_password(server: Server) -> None:
    server.answer = service = Tokens(server)
    assert dict(pulled(server, LOGIN)) == FILES
    [asked] = tokens_asked(server)
    assert (service.made, asked.method, asked.login) == (1, "GET", BASIC)
    assert parse_qs(urlsplit(asked.path).query) == {"service": ["registry"], "scope": [SCOPE]}


def test_anonymous_token_is_asked_for_without_a_login(server: Server) -> None:
    server.answer = Tokens(server)
    assert dict(pulled(server)) == FILES
    assert [asked.login for asked in tokens_asked(server)] == [None]


def test_a_token_for_an_identity_token(server: Server) -> None:
    server.answer = Tokens(server)
    assert dict(pulled(server, RegistryCredentials(identity_token=IDENTITY))) == FILES
    [asked] = tokens_asked(server)
    assert (asked.method, asked.login) == ("POST", None)
    given = parse_qs(asked.body.decode())
    assert (given["grant_type"], given["scope"]) == (["refresh_token"], [SCOPE])


def test_c17_a_token_that_ends_early_is_asked_for_again(server: Server) -> None:
    service = Tokens(server)

    def forgetful(asked: Asked) -> Answer | None:
        answer = service(asked)
        if answer is None and "/manifests/" in asked.path:
            service.valid = []
        return answer

    server.answer = forgetful
    assert dict(pulled(server, LOGIN)) == FILES
    assert service.made == 2


def test_a_token_is_asked_for_again_when_its_time_is_over(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(tokens, "monotonic", lambda: now[0])
    server.answer = service = Tokens(server, life=100)
    refusals = []

    def answer(asked: Asked) -> Answer | None:
        now[0] += 60
        found = service(asked)
        refusals.append(found is not None and found.status == 401)
        return found

    server.answer = answer
    assert dict(pulled(server, LOGIN)) == FILES
    assert service.made > 1
    assert sum(refusals) == 1  # only the first request was made without one


def test_c13_a_token_service_without_tls_gets_nothing(contents: Contents) -> None:
    with serving(contents.answer) as server:
        login = tokens.RegistryLogin(
            transport.Session(transport.Connections(None), ssl.create_default_context(), plain_http=True),
            LOGIN,
            plain_http=False,
            refused=AccessError,
        )
        with pytest.raises(UnavailableError, match="asks for a request without TLS"):
            login.accept(f'Bearer realm="http://{server.address}/token"')
        assert server.asked == []


@pytest.mark.parametrize("status", [500, 429])
def test_a_token_service_that_is_not_well_is_no_refusal(server: Server, status: int) -> None:
    service = Tokens(server)
    late = Answer(status, {"Retry-After": "120"})
    server.answer = lambda asked: late if asked.path.startswith("/token") else service(asked)
    with pytest.raises(UnavailableError, match=f"answers with {status}") as caught:
        pulled(server, LOGIN)
    assert caught.value.retry_after == 120


def test_c13_redirects_to_blob_stores_are_followed_without_credentials(server: Server, contents: Contents) -> None:
    with serving(lambda asked: Answer(200, body=contents.blobs[asked.path.partition("?")[0][1:]])) as store:
        service = Tokens(server)

        def answer(asked: Asked) -> Answer | None:
            if (refusal := service(asked)) is not None or "/blobs/" not in asked.path:
                return refusal
            target = f"http://{store.address}/{asked.path.rpartition('/')[2]}?signature=x"
            return Answer(307, {"Location": target})

        server.answer = answer
        assert dict(pulled(server, LOGIN)) == FILES
        assert {asked.login for asked in store.asked} == {None}
        assert len(store.asked) == 3


def test_c13_a_blob_store_that_asks_for_a_login_gets_none(server: Server) -> None:
    challenge = Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
    with serving(lambda _: challenge) as store:
        away = Answer(302, {"Location": f"http://{store.address}/x?X-Amz-Signature=s3cr:et"})
        server.answer = lambda asked: with_basic(asked) or (away if "/blobs/" in asked.path else None)
        assert refused(server, UnavailableError, LOGIN) == f"{store.address} answers with 401: Unauthorized"
        assert [asked.login for asked in store.asked] == [None]


def test_redirects_within_the_registry_are_logged_in(server: Server) -> None:
    def answer(asked: Asked) -> Answer | None:
        if asked.path.startswith("/elsewhere"):
            return with_basic(asked) or Answer(200, body=server.usual(Asked("GET", moved[asked.path], None)).body)
        if "/blobs/" not in asked.path:
            return with_basic(asked)
        target = f"/elsewhere/{asked.path.rpartition('/')[2]}"
        moved[target] = asked.path
        return with_basic(asked) or Answer(307, {"Location": target})

    moved: dict[str, str] = {}
    server.answer = answer
    assert dict(pulled(server, LOGIN)) == FILES


def test_redirects_have_an_end(server: Server) -> None:
    server.answer = lambda asked: Answer(307, {"Location": asked.path})
    assert "redirects more than 5 times" in refused(server, UnavailableError)
    assert len(asked_for(server)) == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://example.com/x", "gopher://127.0.0.1/"])
def test_redirect_to_another_scheme_is_refused(server: Server, target: str) -> None:
    server.answer = lambda asked: Answer(307, {"Location": target})
    assert "asks for a request without TLS" in refused(server, UnavailableError)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_transient_failure_is_retried(server: Server, status: int) -> None:
    unwell = iter([status, status])
    server.answer = lambda asked: unwell_answer(unwell) if "/blobs/" in asked.path else None
    assert dict(pulled(server)) == FILES


def unwell_answer(left: Iterator[int]) -> Answer | None:
    status = next(left, None)
    return None if status is None else Answer(status)


def test_short_waits_are_waited(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(transport.PatientRetry, "pause", lambda _, seconds: waited.append(seconds))
    left = iter([429])

    def answer(asked: Asked) -> Answer | None:
        found = unwell_answer(left) if "/blobs/" in asked.path else None
        return found and Answer(found.status, {"Retry-After": "3"})

    server.answer = answer
    assert dict(pulled(server)) == FILES
    assert waited == [3]


def test_answer_that_would_be_retried_is_closed_when_the_pull_was_ended() -> None:
    is_ended = Event()
    is_ended.set()
    answer = HTTPResponse(io.BytesIO(b"unwell"), status=503, preload_content=False)
    with pytest.raises(UnavailableError, match="it was ended"):
        transport.RETRY.until(is_ended).increment("GET", "/v2/", response=answer)
    assert answer.closed


@pytest.mark.parametrize(("given", "expected"), [("120", 120), ("99999999", 600), ("soon", 0), ("-5", 0)])
def test_long_waits_are_for_the_controller(server: Server, given: str, expected: float) -> None:
    body = b'{"errors": [{"message": "too many requests"}]}'
    server.answer = lambda asked: Answer(429, {"Retry-After": given}, body) if "/v2/" in asked.path else None
    with pytest.raises(UnavailableError, match="the registry answers GET with 429: too many requests") as caught:
        pulled(server)
    assert caught.value.retry_after == expected


def test_c18_what_a_registry_repeats_of_a_login_is_not_told(server: Server) -> None:
    def echo(asked: Asked) -> Answer | None:
        said = f"your login {asked.login} with {PASSWORD} is wrong"
        return with_basic(asked) or Answer(403, body=f'{{"errors": [{{"message": "{said}"}}]}}'.encode())

    server.answer = echo
    text = refused(server, AccessError, LOGIN)
    assert "your login Basic *** with *** is wrong" in text


def test_c18_nothing_of_a_login_is_logged(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service = Tokens(server)
    server.answer = lambda asked: service(asked) or (Answer(503) if "/blobs/" in asked.path else None)
    refused(server, UnavailableError, LOGIN)
    assert not [record for record in caplog.records if record.name.startswith(("urllib3", "oras"))]


def test_a_connection_that_is_not_there(contents: Contents) -> None:
    with serving(contents.answer) as server:
        pass
    assert "Connection refused" in refused(server, UnavailableError)
