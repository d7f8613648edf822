"""Private repositories over https: who we are, whom we trust, and secrets that go nowhere else."""

import asyncio
import base64
import logging
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from e2e.cluster.pki import Authority
from rukpak_py.api.source_types import GitRef
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.git import command
from rukpak_py.sources.git.command import GitError
from rukpak_py.sources.git.failures import explain
from rukpak_py.sources.git.remote import parse_remote, revision_of
from rukpak_py.sources.logins import LoginPolicy
from rukpak_py.sources.source import SourceSecret
from tests.git_fetching import LOOPBACK, NAME, fetched, fetched_from, git_source
from tests.git_repositories import Repository
from tests.git_web_server import GitWebServer, git_web_server
from tests.source_secrets import LENIENT, Secrets, Warnings

FILES = {"manifests/a.yaml": b"a: 1\n"}
CANARY = "canary/päss word\n$(touch x)"
LOGIN = ("jane", CANARY)
SECRET = {"username": b"jane", "password": CANARY.encode()}
AUTH = "configuring Auth error: "


@pytest.fixture
def private(git_repository: Repository, git_web: GitWebServer) -> GitWebServer:
    git_repository.commit(FILES)
    git_web.login = LOGIN
    return git_web


@pytest.fixture
async def plain(git_repository: Repository) -> AsyncIterator[GitWebServer]:
    git_repository.commit(FILES)
    async with git_web_server(git_repository.path.parent, scheme="http") as server:
        yield server


async def failure(error: type[RukPakError], web: GitWebServer, **given: object) -> str:
    with pytest.raises(error) as raised:
        await fetched_from(web, **given)  # type: ignore[arg-type]
    assert type(raised.value) is error
    assert CANARY not in str(raised.value)
    return str(raised.value)


async def test_user_and_password_are_sent(private: GitWebServer) -> None:
    result = await fetched_from(private, secret="s", secrets=Secrets(s=SECRET))
    assert dict(result.tree) == FILES
    assert all("Authorization" in request.headers for request in private.requests)


@pytest.mark.parametrize("secret", ["", "wrong"])
async def test_wrong_or_missing_credentials_are_refused(private: GitWebServer, secret: str) -> None:
    secrets = Secrets(wrong={"username": b"jane", "password": b"swordfish"})
    text = await failure(AccessError, private, secret=secret, secrets=secrets)
    assert text.startswith(
        f"bundle unpack git clone error: {private.url(NAME)}: authentication required or refused; "
        "auth.secret must name a Secret with the right login - "
    )
    assert "swordfish" not in text


async def test_secret_without_credentials_is_refused_before_a_request(private: GitWebServer) -> None:
    text = await failure(AccessError, private, secret="s", secrets=Secrets(s={"token": b"x"}))
    assert text == f"{AUTH}Secret s has neither username nor password"
    text = await failure(UnavailableError, private, secret="s")
    assert text == f'{AUTH}get secret rukpak-system/s: Secret "s" not found'
    assert private.requests == []


async def test_credentials_in_the_url_are_never_shown(private: GitWebServer, git_repository: Repository) -> None:
    private.login = ("jane", "p@ss:word")
    url = private.url(NAME).replace("//", "//jane:p%40ss:word@")
    result = await fetched(git_source(url, ca_bundle=private.ca_bundle, branch="main"))
    assert dict(result.tree) == FILES
    for repository, ref in ((url, "no"), (url.replace("p%40ss", "b%40d"), "main")):
        with pytest.raises(RukPakError) as error:
            await fetched(git_source(repository, ca_bundle=private.ca_bundle, branch=ref))
        assert "word" not in str(error.value)
        assert "xxxxx@localhost" in str(error.value)


async def test_c18_secrets_are_in_no_argument_no_file_and_no_log(
    private: GitWebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[bytes] = []
    forms = (CANARY.encode(), base64.b64encode(f"jane:{CANARY}".encode()))

    async def look(_: web.Request) -> None:
        """Look while git waits for the answer."""
        seen.extend(await asyncio.to_thread(arguments_and_files, tmp_path / "rukpak-git-*"))

    private.answer = look
    await fetched_from(private, secret="s", secrets=Secrets(s=SECRET))
    assert any(b"git-upload-pack" in one or b"remote-https" in one for one in seen)
    assert not any(form in one for one in seen for form in forms)
    assert not any(form.decode() in caplog.text for form in forms)
    assert os.listdir(tmp_path) == ["served"]  # noqa: PTH208 - not a Path in an async function


def arguments_and_files(pattern: Path) -> list[bytes]:
    """The arguments of all processes, and the files of the private directories."""
    found = []
    for path in [*Path("/proc").glob("[0-9]*/cmdline"), *pattern.parent.glob(f"{pattern.name}/**/*")]:
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return found


async def test_c18_a_server_that_repeats_the_credentials(private: GitWebServer) -> None:
    async def echo(request: web.Request) -> web.Response:
        header = request.headers["Authorization"]
        return web.Response(status=500, text=f"{header} {CANARY}", content_type="text/plain")

    private.answer = echo
    text = await failure(UnavailableError, private, secret="s", secrets=Secrets(s=SECRET))
    assert "the server is not available" in text
    assert base64.b64encode(f"jane:{CANARY}".encode()).decode() not in text


async def test_text_of_a_server_is_cleaned(private: GitWebServer) -> None:
    async def shout(_: web.Request) -> web.Response:
        return web.Response(status=403, text="\x1b[31mred\x07\n" + "long " * 1000, content_type="text/plain")

    private.answer = shout
    text = await failure(AccessError, private)
    assert f"{private.url(NAME)}: the credentials have no access - " in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert len(text) < 1200


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [
        (404, AccessError, "repository not found, or not visible with these credentials"),
        (429, UnavailableError, "the server is not available"),
        (503, UnavailableError, "the server is not available"),
    ],
)
async def test_error_status_of_a_server_becomes_its_error(
    private: GitWebServer, status: int, error: type[RukPakError], text: str
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status)

    private.answer = refuse
    assert f"bundle unpack git clone error: {private.url(NAME)}: {text}" in await failure(error, private)


def test_the_name_of_the_repository_does_not_say_what_failed() -> None:
    remote = parse_remote("https://tls.example.com/certificates/hasDot.git")
    said = f"fatal: unable to access '{remote.url}/': The requested URL returned error: 503"
    failed = explain(GitError(said), remote, revision_of(GitRef(branch="main")), lambda text: text)
    assert isinstance(failed, UnavailableError)
    assert "the server is not available" in str(failed)


async def test_a_server_of_plain_files_is_refused(private: GitWebServer) -> None:
    """The old protocol of git has no shallow fetches, and alternates that lead to other hosts."""

    async def refs(request: web.Request) -> web.Response:
        return web.Response(text=f"{'1' * 40}\trefs/heads/main\n" if "refs" in request.path else "")

    private.answer = refs
    assert "plain web server, but git's smart protocol is needed" in await failure(ContentError, private)


async def test_a_web_page_is_no_repository(private: GitWebServer) -> None:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>hello</html>", content_type="text/html")

    private.answer = page
    assert 'has no branch "main"' in await failure(UnavailableError, private)


async def test_an_authority_that_is_not_trusted(private: GitWebServer) -> None:
    private.login = None
    for ca_bundle in ("", Authority.create("other").pair.certificate.decode()):
        source = git_source(private.url(NAME), branch="main", ca_bundle=ca_bundle)
        with pytest.raises(UnavailableError, match="TLS failed; for a private authority give its certificate in caB"):
            await fetched(source)
    assert private.requests == []


async def test_the_authorities_of_the_system_stay_trusted(
    private: GitWebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private.login = None
    system = tmp_path / "system.pem"
    system.write_text(private.ca_bundle)
    monkeypatch.setenv("SSL_CERT_FILE", str(system))
    other = Authority.create("other").pair.certificate.decode()
    for ca_bundle in ("", other):
        source = git_source(private.url(NAME), branch="main", ca_bundle=ca_bundle)
        assert dict((await fetched(source)).tree) == FILES


async def test_a_ca_bundle_that_is_none(private: GitWebServer) -> None:
    source = git_source(private.url(NAME), branch="main", ca_bundle="-----BEGIN CERTIFICATE-----\nnonsense\n")
    with pytest.raises(ContentError, match="caBundle holds no certificate in PEM"):
        await fetched(source)


async def test_no_verification_when_the_spec_says_so(private: GitWebServer) -> None:
    source = git_source(private.url(NAME), branch="main", insecure_skip_verify=True, secret="s")
    assert dict((await fetched(source, secrets=Secrets(s=SECRET))).tree) == FILES


async def test_a_secret_that_is_not_for_this_host_is_not_sent(private: GitWebServer) -> None:
    bound = LoginPolicy(bind_secrets_to_hosts=True)
    for hosts in (None, f"localhost:{private.port + 1}", "git.example.com"):
        secrets = Secrets(s=SourceSecret(data=SECRET, hosts=hosts))
        text = await failure(AccessError, private, secret="s", secrets=secrets, policy=bound)
        assert text.startswith(f"{AUTH}Secret s may not be sent to localhost:{private.port}: it")
    assert private.requests == []
    secrets = Secrets(s=SourceSecret(data=SECRET, hosts=f"localhost:{private.port}"))
    assert dict((await fetched_from(private, secret="s", secrets=secrets, policy=bound)).tree) == FILES


async def test_a_secret_without_hosts_is_sent_with_a_warning_where_the_setting_is_off(private: GitWebServer) -> None:
    warn = Warnings()
    await fetched_from(private, secret="s", secrets=Secrets(s=SECRET), warn=warn)
    [(_, message)] = warn.seen
    assert message.startswith(f"Secret s is sent to localhost:{private.port}, which --bind-secrets-to-hosts would")
    assert CANARY not in message


async def test_plain_http_works_without_credentials(plain: GitWebServer) -> None:
    assert dict((await fetched(git_source(plain.url(NAME), branch="main"))).tree) == FILES


async def test_plain_http_with_credentials_only_by_the_setting(plain: GitWebServer) -> None:
    plain.login = LOGIN
    source = git_source(plain.url(NAME), branch="main", secret="s")
    with pytest.raises(AccessError) as error:
        await fetched(source, secrets=Secrets(s=SECRET))
    assert str(error.value) == (
        f"{AUTH}credentials are not sent over plain http: use https, or start the operator with "
        "--allow-plain-http-credentials"
    )
    assert plain.requests == []
    result = await fetched(source, secrets=Secrets(s=SECRET), policy=LENIENT)
    assert dict(result.tree) == FILES


@pytest.mark.parametrize(
    ("allowed", "host", "text"),
    [
        ("10.0.0.0/8", "127.0.0.1", "127.0.0.1 is a loopback address"),
        ("10.0.0.0/8", "localhost", "localhost has the address .* is a loopback address"),
        ("10.0.0.0/8", "[::ffff:127.0.0.1]", "is a loopback address"),
        ("10.0.0.0/8", "2130706433", "is a loopback address"),
        ("127.0.0.0/8", "169.254.169.254", "169.254.169.254 is a link-local address"),
        ("127.0.0.0/8", "[fd00:ec2::254]", "the metadata service of a cloud"),
    ],
)
async def test_p4_addresses_that_git_may_not_reach(private: GitWebServer, allowed: str, host: str, text: str) -> None:
    addresses = AddressPolicy(allowed=(ip_network(allowed),))
    source = git_source(private.url(NAME, host), branch="main")
    with pytest.raises(ContentError, match=text):
        await fetched(source, addresses=addresses)
    assert private.requests == []


async def test_p4_the_api_server_is_no_git_server(private: GitWebServer) -> None:
    addresses = replace(LOOPBACK, api_servers=frozenset({("127.0.0.1", private.port)}))
    source = git_source(private.url(NAME, "127.0.0.1"), branch="main")
    with pytest.raises(ContentError, match="is the API server of the cluster, which is not a source"):
        await fetched(source, addresses=addresses)


async def test_c19_dns_rebinding_git_connects_to_what_was_checked(
    private: GitWebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name resolves for us only; git would not find it, nor another address of it."""
    private.login = None

    def resolve(host: str, port: int, policy: AddressPolicy) -> tuple[str, ...]:
        assert host == "rebinding.example"
        return policy.usable(host, port, ["127.0.0.1"])

    monkeypatch.setattr("rukpak_py.sources.git.checkout.resolve_blocking", resolve)
    source = git_source(private.url(NAME, "rebinding.example"), branch="main", insecure_skip_verify=True)
    assert dict((await fetched(source)).tree) == FILES
    assert {request.host for request in private.requests} == {f"rebinding.example:{private.port}"}


async def test_a_proxy_of_the_operator_is_used(plain: GitWebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{plain.port}")
    source = git_source(f"http://only-the-proxy-knows.example/{NAME}", branch="main")
    assert dict((await fetched(source)).tree) == FILES
    for host in ("169.254.169.254", "0xa9fea9fe", "0xa9.254.169.254", "2852039166", "0169.254.169.254", "[fe80::1]"):
        with pytest.raises(ContentError, match="is a link-local address"):
            await fetched(git_source(f"http://{host}/{NAME}", branch="main"))


async def test_nothing_of_the_operators_environment_reaches_git(
    private: GitWebServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    private.login = None
    (tmp_path / "config").write_text("[http]\n\tproxy = http://127.0.0.1:1\n")
    for name, value in {
        "GIT_DIR": "/nowhere",
        "GIT_CONFIG_GLOBAL": str(tmp_path / "config"),
        "GIT_CONFIG_PARAMETERS": "'http.proxy=http://127.0.0.1:1'",
        "GIT_SSL_NO_VERIFY": "1",
        "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_EXEC_PATH": str(tmp_path),
        "ALL_PROXY": "http://127.0.0.1:1",
        "LD_PRELOAD": "",
    }.items():
        monkeypatch.setenv(name, value)
    assert dict((await fetched_from(private)).tree) == FILES
    assert not (tmp_path / "trace").exists()
    assert os.environ["GIT_DIR"] == "/nowhere"


async def test_c12_every_process_is_cut_off_from_configuration(
    private: GitWebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading too: no hooks, no templates, no prompts, no other protocol."""
    private.login = None
    seen: list[dict[str, str]] = []
    start = command.Commands.started

    def observed(self: command.Commands, *arguments: str, **more: Any) -> Any:
        seen.append(self._environment)
        return start(self, *arguments, **more)

    monkeypatch.setattr(command.Commands, "started", observed)
    await fetched_from(private)
    assert len(seen) == 4
    for environment in seen:
        count = int(environment["GIT_CONFIG_COUNT"])
        given = {environment[f"GIT_CONFIG_KEY_{n}"]: environment[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}
        assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
        assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
        assert environment["GIT_TERMINAL_PROMPT"] == "0"
        assert environment["GIT_ALLOW_PROTOCOL"] in {"https", ""}
        assert given["core.hooksPath"] == "/dev/null"
        assert given["http.followRedirects"] == given["fetch.recurseSubmodules"] == "false"


async def test_a_machine_without_git(private: GitWebServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for program in ("env", "timeout"):
        (tmp_path / "bin" / program).symlink_to(f"/usr/bin/{program}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    text = await failure(UnavailableError, private)
    assert "the fetch failed - timeout: " in text
    assert "No such file or directory" in text
