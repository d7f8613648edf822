"""Pushes to registries that refuse, redirect, or are none. That a push works is shown with a real one."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.image import transport
from rukpak_py.sources.image.build import image_of
from rukpak_py.sources.image.push import push_image
from rukpak_py.sources.image.reference import parse_reference
from rukpak_py.sources.tls import client_context
from tests.unit.bundles import tree_of
from tests.unit.web_servers import Answer, Asked, Server, serving, tls_of

IMAGE = image_of(tree_of({"manifests/x": "a: b", "metadata/y": "c: d"}), labels={})
UPLOADS = "/v2/x/demo/blobs/uploads/"


def usual(asked: Asked) -> Answer:
    match asked.method:
        case "GET":
            return Answer(200)
        case "POST":
            return Answer(202, {"Location": f"{UPLOADS}1?state=s"})
        case _:
            return Answer(201)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(usual) as server:
        yield server


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration without logins; there are no waits between repetitions."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    monkeypatch.setattr(transport, "RETRY", transport.RETRY.new(backoff_factor=0))
    return tmp_path / "config.json"


def log_in(configuration: Path, server: Server) -> None:
    auth = base64.b64encode(b"me:s3cret").decode()
    configuration.write_text(json.dumps({"auths": {server.address: {"auth": auth}}}))


def with_tokens(service: str) -> Callable[[Asked], Answer | None]:
    """A registry that wants tokens of `service` (which may be this server), and takes everything then."""

    def answer(asked: Asked) -> Answer | None:
        if asked.path.startswith("/token"):
            return Answer(200, body=b'{"token": "t0ken"}')
        if asked.login != "Bearer t0ken":
            return Answer(401, {"WWW-Authenticate": f'Bearer realm="{service}/token",scope="s"'})
        return None

    return answer


def refused(server: Server, answer: Callable[[Asked], Answer | None], kind: type[RukPakError]) -> str:
    server.answer = answer
    with pytest.raises(kind) as caught:
        push_image(IMAGE, server.reference, plain_http=True)
    assert str(caught.value).startswith(f"{server.reference} cannot be pushed: ")
    assert "s3cret" not in str(caught.value)
    return str(caught.value)


def test_the_manifest_comes_last(server: Server) -> None:
    push_image(IMAGE, server.reference, plain_http=True)
    blobs = [f"{UPLOADS}1?state=s&digest={blob.digest}" for blob in (*IMAGE.layers, IMAGE.config)]
    assert [asked.path for asked in server.asked if asked.method == "PUT"] == [*blobs, "/v2/x/demo/manifests/1"]


def test_transient_failure_is_retried(server: Server) -> None:
    unwell = iter([503, 429, 502])
    server.answer = lambda asked: Answer(next(unwell, 201)) if asked.method == "PUT" else None
    push_image(IMAGE, server.reference, plain_http=True)


def test_permanent_failure_is_told_in_the_words_of_the_registry(server: Server) -> None:
    body = json.dumps({"errors": [{"code": "NAME_UNKNOWN", "message": "no such repository"}, {"code": "X"}]}).encode()
    text = refused(server, lambda asked: Answer(404, body=body) if asked.method == "POST" else None, UnavailableError)
    assert text.endswith("the registry answers POST with 404: no such repository; X")
    assert len([asked for asked in server.asked if asked.method == "POST"]) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"errors": [1]}', b'{"errors": 1}', b"\xff"])
def test_any_other_body_is_left_out(server: Server, body: bytes) -> None:
    text = refused(server, lambda asked: Answer(400, body=body) if asked.method == "POST" else None, UnavailableError)
    assert text.endswith("the registry answers POST with 400: Bad Request")


def test_a_registry_that_never_gets_well(server: Server) -> None:
    text = refused(server, lambda asked: Answer(503) if asked.method == "POST" else None, UnavailableError)
    assert "503" in text


def test_a_registry_that_is_not_there() -> None:
    with serving(usual) as server:
        reference = server.reference
    with pytest.raises(UnavailableError, match=r"does not answer: .*Connection refused"):
        push_image(IMAGE, reference, plain_http=True)


def test_push_to_a_registry_without_tls_is_refused_with_advice(server: Server) -> None:
    with pytest.raises(UnavailableError, match="--plain-http is for registries without TLS"):
        push_image(IMAGE, server.reference)
    assert server.asked == []


def test_without_a_place_for_blobs_nothing_is_sent(server: Server) -> None:
    text = refused(server, lambda asked: Answer(202) if asked.method == "POST" else None, UnavailableError)
    assert text.endswith("the registry does not say where blobs go")


def test_another_manifest_than_ours_is_an_error(server: Server) -> None:
    other = f"sha256:{'0' * 64}"
    stored = Answer(201, {"Docker-Content-Digest": other})
    text = refused(server, lambda asked: stored if "/manifests/" in asked.path else None, ContentError)
    assert text.endswith(f"the registry stored {other} instead of {IMAGE.digest}")


def test_missing_login_is_told_before_anything_is_sent(server: Server) -> None:
    challenge = Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
    text = refused(server, lambda _: challenge, AccessError)
    assert text.endswith(f"{server.address} refuses: it wants a login. Log in with `docker login {server.address}`")
    assert [asked.path for asked in server.asked] == ["/v2/"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_password_is_told_at_once(server: Server, configuration: Path, status: int) -> None:
    log_in(configuration, server)
    challenge = Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})
    denied = Answer(status, {"WWW-Authenticate": 'Basic realm="x"'}, b'{"errors": [{"message": "denied"}]}')
    text = refused(server, lambda asked: challenge if asked.path == "/v2/" else denied, AccessError)
    assert "refuses: denied. Log in" in text


def test_no_token_is_told_at_once(server: Server, configuration: Path) -> None:
    log_in(configuration, server)
    challenge = Answer(401, {"WWW-Authenticate": f'Bearer realm="http://{server.address}/token",scope="s"'})
    text = refused(server, lambda asked: Answer(401) if "token" in asked.path else challenge, AccessError)
    assert "refuses: no token for this login" in text


def test_logins_stay_with_the_registry(server: Server, configuration: Path) -> None:
    """Blobs may go to a store elsewhere, which is told by its address what it takes."""
    log_in(configuration, server)

    wanted = with_tokens(f"http://{server.address}")

    def elsewhere(asked: Asked) -> Answer | None:
        there = Answer(202, {"Location": f"http://{store.address}/put"})
        return wanted(asked) or (there if asked.method == "POST" else None)

    with serving(usual) as store:
        server.answer = elsewhere
        push_image(IMAGE, server.reference, plain_http=True)
    assert [asked.path.partition("?")[0] for asked in store.asked] == ["/put"] * 3
    assert {asked.login for asked in store.asked} == {None}


@pytest.mark.parametrize("location", ["https://elsewhere.example/x", "file:///etc/passwd"])
def test_uploads_do_not_change_the_protocol(server: Server, location: str) -> None:
    answer = Answer(202, {"Location": location})
    text = refused(server, lambda asked: answer if asked.method == "POST" else None, UnavailableError)
    assert "the registry sends uploads from http to " in text


def test_a_host_without_a_dot_is_still_the_host(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client takes it for a name on docker.io. The server stands in for all hosts here."""
    monkeypatch.setenv("http_proxy", f"http://{server.address}")
    monkeypatch.setenv("no_proxy", "")
    push_image(IMAGE, parse_reference("registry:5000/x/demo:1"), plain_http=True)
    assert {asked.path.partition("/v2/")[0] for asked in server.asked} == {"http://registry:5000"}


def test_redirects_are_not_followed(server: Server, configuration: Path) -> None:
    """Servers that they lead to could ask for the password in the name of the registry."""
    log_in(configuration, server)
    with serving(usual) as other:
        other.answer = with_tokens(f"http://{other.address}")
        moved = Answer(307, {"Location": f"http://{other.address}{UPLOADS}"})
        text = refused(server, lambda asked: moved if asked.method == "POST" else None, UnavailableError)
        assert f"redirects to http://{other.address}{UPLOADS}" in text
    assert other.asked == []


def test_logins_of_other_programs_do_not_take_the_place_of_tokens(
    server: Server, configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = configuration.parent / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other")
    monkeypatch.setenv("NETRC", str(netrc))
    log_in(configuration, server)
    server.answer = with_tokens(f"http://{server.address}")
    push_image(IMAGE, server.reference, plain_http=True)
    mine = f"Basic {base64.b64encode(b'me:s3cret').decode()}"
    assert {asked.login for asked in server.asked} == {None, mine, "Bearer t0ken"}


@pytest.mark.parametrize("challenge", ["Bearer", 'Bearer error="x"', "Negotiate", ""])
def test_a_challenge_that_says_nothing_is_a_refusal(server: Server, configuration: Path, challenge: str) -> None:
    log_in(configuration, server)
    text = refused(server, lambda _: Answer(401, {"WWW-Authenticate": challenge}), AccessError)
    assert "refuses: no token for this login" in text


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"null", b'{"token": ""}'])
def test_a_token_that_is_none_is_a_refusal(server: Server, configuration: Path, body: bytes) -> None:
    log_in(configuration, server)
    wanted = with_tokens(f"http://{server.address}")
    text = refused(
        server, lambda asked: Answer(200, body=body) if "token" in asked.path else wanted(asked), AccessError
    )
    assert "refuses: no token for this login" in text


def test_endless_answers_are_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LONGEST_ANSWER", 1_000)
    long = Answer(202, {"Location": UPLOADS}, b"x" * 1_001)
    text = refused(server, lambda asked: long if asked.method == "POST" else None, UnavailableError)
    assert text.endswith("its answer is larger than 1000 bytes")


def test_no_login_goes_from_tls_to_plain_http(configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever it is asked for: the first answer of this registry asks for a token with TLS, the next one without."""
    context, authority = tls_of(configuration.parent)
    trusted = configuration.parent / "ca.pem"
    trusted.write_text(authority)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    client_context.cache_clear()
    with serving(usual) as plain, serving(usual, context) as server:
        log_in(configuration, server)
        answers = [with_tokens(f"https://{server.address}"), with_tokens(f"http://{plain.address}")]
        server.answer = lambda asked: (answers[0] if asked.method == "GET" else answers[1])(asked)
        with pytest.raises(UnavailableError, match="asks for a request without TLS"):
            push_image(IMAGE, server.reference)
    assert [asked.method for asked in server.asked] == ["GET", "POST"]
    assert plain.asked == []
