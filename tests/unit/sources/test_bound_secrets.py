"""Secrets that a source sends, and where: the setting, what is told without it, and what is never sent."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from rukpak_py.api.names import DIGEST_KEY_SECRET, SecretName
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import Authorization, GitRef, GitSource, HttpSource, ImageSource, SecretReference
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources import logins as module
from rukpak_py.sources.image.layout import host_platform
from rukpak_py.sources.image.pod import UnpackPods
from rukpak_py.sources.image.pod_manifest import PodSettings
from rukpak_py.sources.logins import LoginPolicy, OwnSecretError, Recipient
from rukpak_py.sources.source import FetchRequest, SourceSecret
from tests.source_secrets import LENIENT, STRICT, Secrets, Warnings, logins
from tests.sources_alone import sources_alone
from tests.unit.sources.websites import FILES, LOOPBACK, Reader, Site, authority, website
from tests.workers import SPOOL, WORKERS

BOUND = LoginPolicy(bind_secrets_to_hosts=True, allow_plain_http_credentials=True)
DATA = {"username": b"ann", "password": b"c4nary"}
SERVER = Recipient(scheme="https", host="git.example.com", port=8443)
OWN = (*map(str, SecretName), DIGEST_KEY_SECRET)
TYPES = ("Opaque", "kubernetes.io/basic-auth", "kubernetes.io/ssh-auth", "kubernetes.io/tls", "example.com/other")
PULL_TYPES = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")


def request(uid: str = "1") -> FetchRequest:
    return FetchRequest(bundle="demo", uid=uid, source=Source(type="http"))


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with website() as site:
        yield site


@pytest.mark.parametrize("kind", [*TYPES, *PULL_TYPES])
async def test_every_type_needs_the_annotation_for_a_server(kind: str) -> None:
    secrets = Secrets(
        good=SourceSecret(data=DATA, type=kind, hosts="git.example.com:8443"),
        none=SourceSecret(data=DATA, type=kind),
        other=SourceSecret(data=DATA, type=kind, hosts="git.example.com:443, other.example"),
        broken=SourceSecret(data=DATA, type=kind, hosts="https://git.example.com:8443"),
    )
    bound = logins(secrets, BOUND)
    assert (await bound.for_server("good", SERVER, request())).data == DATA
    start = "may not be sent to git.example.com:8443: it"
    for name, reason in (
        (
            "none",
            " has no annotation core.rukpak.io/hosts. If the Secret is meant for this host, set the annotation to",
        ),
        ("other", "s annotation core.rukpak.io/hosts does not name this host. If the Secret is meant for it, add"),
        ("broken", "s annotation core.rukpak.io/hosts is invalid: 'https://git.example.com:8443' is not a host: write"),
    ):
        with pytest.raises(AccessError) as error:
            await bound.for_server(name, SERVER, request())
        text = str(error.value)
        assert text.startswith(f"Secret {name} {start}{reason}")
        assert name == "broken" or '"git.example.com:8443"' in text.removeprefix(f"Secret {name}")
        assert "other.example" not in text


async def test_another_port_after_a_redirect_is_checked_again() -> None:
    secrets = Secrets(s=SourceSecret(data=DATA, hosts="git.example.com:80"))
    plain = Recipient(scheme="http", host="git.example.com", port=80)
    login = await logins(secrets, BOUND).for_server("s", plain, request())
    login.check(plain)
    with pytest.raises(AccessError, match=r"may not be sent to git\.example\.com:443"):
        login.check(Recipient(scheme="https", host="git.example.com", port=443))


async def test_without_the_setting_a_warning_is_told_once() -> None:
    secrets = Secrets(s=DATA, named=SourceSecret(data=DATA, hosts="git.example.com"))
    warn = Warnings()
    lax = logins(secrets, STRICT, warn=warn)
    for _ in range(3):
        assert (await lax.for_server("s", SERVER, request())).data == DATA
        await lax.for_server("named", SERVER, request())
    wanted = (
        "Secret s is sent to git.example.com:8443, which --bind-secrets-to-hosts would refuse: it has no "
        "annotation core.rukpak.io/hosts. If the Secret is meant for this host, set the annotation to "
        '"git.example.com:8443"'
    )
    assert warn.seen == [("1", wanted)]
    await lax.for_server("s", SERVER, request("2"))
    await lax.for_server("s", Recipient(scheme="https", host="git.example.com", port=443), request())
    assert len(warn.seen) == 3


async def test_oldest_warning_is_forgotten_when_too_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_REMEMBERED", 2)
    warn = Warnings()
    lax = logins(Secrets(s=DATA), STRICT, warn=warn)
    for uid in ("1", "2", "3", "3", "1"):
        await lax.for_server("s", SERVER, request(uid))
    assert [uid for uid, _ in warn.seen] == ["1", "2", "3", "1"]


async def test_a_refusal_is_no_warning_and_reads_nothing_of_the_data() -> None:
    """Users who name any Secret do not learn which keys it has."""
    warn = Warnings()
    reader = Reader(secrets={"login": {"token": b"x"}}, policy=BOUND, warn=warn)
    text = await reader.refusal("http://127.0.0.1:9/x.tgz", AccessError, secret="login")
    assert "may not be sent to 127.0.0.1:9" in text
    assert warn.seen == []


async def test_the_http_source_asks_no_server_that_is_not_named(site: Site) -> None:
    url, host = site.url("/demo.tgz"), f"127.0.0.1:{site.port}"
    reader = Reader(secrets={"login": DATA}, policy=BOUND)
    assert f"Secret login may not be sent to {host}" in await reader.refusal(url, AccessError, secret="login")
    assert site.asked == []
    named = Reader(secrets={"login": SourceSecret(data=DATA, hosts=host)}, policy=BOUND)
    assert dict((await named.fetch(url, secret="login")).tree) == FILES
    assert [asked.login for asked in site.asked] == ["ann:c4nary"]
    assert dict((await named.fetch(url)).tree) == FILES
    assert named.warn.seen == []


async def test_the_http_source_warns_and_goes_on_without_the_setting(site: Site) -> None:
    reader = Reader(secrets={"login": DATA})
    assert dict((await reader.fetch(site.url("/demo.tgz"), secret="login")).tree) == FILES
    [(uid, message)] = reader.warn.seen
    assert uid == "1"
    assert message.startswith(f"Secret login is sent to 127.0.0.1:{site.port}, which --bind-secrets-to-hosts would")
    assert "c4nary" not in message


async def test_the_http_source_sends_no_credentials_over_plain_http(site: Site) -> None:
    wanted = (
        "credentials are not sent over plain http: use https, or start the operator with --allow-plain-http-credentials"
    )
    secrets = Secrets(login=SourceSecret(data=DATA, hosts="127.0.0.1"))
    reader = Reader(secrets=secrets.secrets, policy=STRICT)
    assert await reader.refusal(site.url("/demo.tgz"), AccessError, secret="login") == wanted
    for user in ("ann:pw", "token", ":pw"):
        assert await reader.refusal(site.url("/demo.tgz", user=user), AccessError) == wanted
    assert site.asked == []
    assert dict((await reader.fetch(site.url("/demo.tgz"))).tree) == FILES
    assert dict((await Reader(policy=LENIENT).fetch(site.url("/demo.tgz", user="ann:pw"))).tree) == FILES


async def test_the_http_source_sends_credentials_over_https_and_nowhere_after_a_redirect_to_http(
    site: Site, tmp_path: Path
) -> None:
    ours = authority(tmp_path)
    async with website(ours.server("127.0.0.1")) as secure:
        reader = Reader(secrets={"login": DATA}, policy=STRICT)
        await reader.fetch(secure.url("/demo.tgz"), secret="login", ca_bundle=ours.pem)
        secure.redirects("/old.tgz", site.url("/demo.tgz"))
        with pytest.raises(UnavailableError, match="redirects from https to http, which is refused"):
            await reader.fetch(secure.url("/old.tgz"), secret="login", ca_bundle=ours.pem)
    assert {asked.login for asked in secure.asked} == {"ann:c4nary"}
    assert site.asked == []


def naming(secret: str) -> list[Source]:
    """Every way in which a source names one."""
    auth = Authorization(secret=SecretReference(name=secret))
    git = {"ref": GitRef(branch="main"), "auth": auth}
    return [
        Source(type="http", http=HttpSource(url="https://127.0.0.1:9/x.tgz", auth=auth)),
        Source(type="git", git=GitSource(repository="https://127.0.0.1:9/x.git", **git)),  # type: ignore[arg-type]
        Source(type="git", git=GitSource(repository="git@127.0.0.1:x.git", **git)),  # type: ignore[arg-type]
        Source(type="image", image=ImageSource(ref="127.0.0.1:9/x:v1", pull_secret=secret)),
    ]


@pytest.mark.parametrize("name", OWN)
async def test_no_source_names_a_secret_of_the_operator(name: str) -> None:
    for policy in (STRICT, LENIENT, BOUND):
        secrets = Secrets(**{name: SourceSecret(data=DATA, hosts="127.0.0.1, git.example.com")})
        sources = sources_alone(LOOPBACK, credentials=logins(secrets, policy))
        for source in naming(name):
            with pytest.raises(ContentError) as error:
                await sources.fetch(FetchRequest(bundle="b", uid="1", source=source))
            assert str(error.value) == (
                f"Secret {name} holds keys or certificates of the operator, so nothing may refer to it: "
                "name another Secret"
            )
        assert secrets.read == []


async def test_no_source_gets_one_that_is_marked_as_the_operators() -> None:
    secrets = Secrets(copy=SourceSecret(data=DATA, hosts="127.0.0.1", own="it is ours"))
    sources = sources_alone(LOOPBACK, credentials=logins(secrets, LENIENT))
    for source in naming("copy"):
        with pytest.raises(ContentError, match="it is ours"):
            await sources.fetch(FetchRequest(bundle="b", uid="1", source=source))
    for use in (logins(secrets).check_pull_secret("copy"), logins(secrets).for_registry("copy", SERVER, request())):
        with pytest.raises(OwnSecretError):
            await use


async def test_a_secret_for_git_is_bound_too() -> None:
    sources = sources_alone(LOOPBACK, credentials=logins(Secrets(s=DATA), BOUND))
    for source, port in zip(naming("s")[1:3], (9, 22), strict=True):
        with pytest.raises(AccessError) as error:
            await sources.fetch(FetchRequest(bundle="b", uid="1", source=source))
        assert str(error.value).startswith(f"configuring Auth error: Secret s may not be sent to 127.0.0.1:{port}: ")


@pytest.mark.parametrize("kind", PULL_TYPES)
async def test_pull_secrets_name_their_registries_themselves(kind: str) -> None:
    warn = Warnings()
    secret = SourceSecret(type=kind, data={".dockerconfigjson": b"{}", "password": b"c4nary"})
    for policy in (BOUND, STRICT):
        found = await logins(Secrets(s=secret), policy, warn=warn).for_registry("s", SERVER, request())
        assert found.data == {".dockerconfigjson": b"{}"}
    assert warn.seen == []


@pytest.mark.parametrize("kind", TYPES)
async def test_a_pull_secret_of_another_type_needs_the_annotation(kind: str) -> None:
    warn = Warnings()
    data = {".dockercfg": b"{}"}
    secrets = Secrets(
        s=SourceSecret(type=kind, data=data), named=SourceSecret(type=kind, data=data, hosts="*.example.com")
    )
    bound = logins(secrets, BOUND, warn=warn)
    assert (await bound.for_registry("named", SERVER, request())).data == data
    with pytest.raises(AccessError, match=r"may not be sent to git\.example\.com:8443"):
        await bound.for_registry("s", SERVER, request())
    assert warn.seen == []
    assert (await logins(secrets, STRICT, warn=warn).for_registry("s", SERVER, request())).data == data
    assert len(warn.seen) == 1


class NoPods:
    """A cluster without pods, in which none may be made."""

    async def watch(self) -> None:
        pass

    def get(self, name: str) -> None:
        pass


async def test_no_unpack_pod_is_made_with_a_secret_of_the_operator() -> None:
    secrets = Secrets(copy=SourceSecret(own="it is ours"))
    settings = PodSettings(tool_image="", platform=host_platform())
    pods = UnpackPods(
        cast("Any", NoPods()), logins(secrets), settings, limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL
    )
    for name, text in (("copy", "it is ours"), ("rukpak-ca-signer", "holds keys or certificates of the operator")):
        spec = ImageSource(ref="quay.io/x/y:v1", pull_secret=name)
        with pytest.raises(OwnSecretError, match=text):
            await pods.fetch(FetchRequest(bundle="b", uid="1", source=Source(type="image", image=spec)), spec)


async def test_many_bundles_at_once_are_warned_of_once_each() -> None:
    warn = Warnings()
    lax = logins(Secrets(s=DATA), STRICT, warn=warn)
    await asyncio.gather(*(lax.for_server("s", SERVER, request(str(number % 5))) for number in range(50)))
    assert sorted(uid for uid, _ in warn.seen) == ["0", "1", "2", "3", "4"]


def test_no_secret_is_shown_by_accident() -> None:
    secret = SourceSecret(data=DATA, hosts="git.example.com")
    assert "c4nary" not in repr(secret)
