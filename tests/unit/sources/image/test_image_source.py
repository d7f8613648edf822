"""The image source: whose logins it takes, what it asks nobody for, and what it leaves behind."""

import asyncio
import base64
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.api.source import ImageSource as ImageSpec
from rukpak_py.api.source import Source
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.logins import LoginPolicy
from rukpak_py.sources.ports import SourceSecret
from rukpak_py.sources.source import FetchRequest
from tests.source_secrets import Secrets, logins
from tests.unit.bundles import tree_of
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.unit.sources.image.image_registry import REPOSITORY, Contents, asked_for
from tests.unit.web_servers import Answer, Asked, Server
from tests.workers import SPOOL, WORKERS

PASSWORD = "s3cret"
FILES = {"manifests/a.yaml": b"a: 1"}
BASIC = f"Basic {base64.b64encode(b'me:s3cret').decode()}"


@dataclass
class Ports(Secrets):
    """All of them."""

    read: list[str] = field(default_factory=list)
    secrets: dict[str, SourceSecret] = field(default_factory=dict)
    of_account: Sequence[str] = ()
    unpacked: dict[tuple[str, str], Tree] = field(default_factory=dict)

    async def names(self) -> Sequence[str]:
        return self.of_account

    async def find(self, ref: str, provisioner_class: str) -> Tree | None:
        return self.unpacked.get((ref, provisioner_class))


@pytest.fixture
def ports() -> Ports:
    return Ports()


@pytest.fixture
def source(ports: Ports) -> ImageFetcher:
    given = ImagePorts(logins=logins(ports), pull_secrets=ports, unpacked=ports)
    return ImageFetcher(
        given, addresses=LOOPBACK, plain_http=frozenset(), limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL
    )


def request(ref: str, *, pull_secret: str = "", class_name: str = PLAIN_CLASS) -> FetchRequest:
    image = ImageSpec(ref=ref, pull_secret=pull_secret)
    return FetchRequest(bundle="b", uid="u", source=Source(type="image", image=image), provisioner_class=class_name)


def pull_secret(
    server: Server, password: str = PASSWORD, *, kind: str = "kubernetes.io/dockerconfigjson"
) -> SourceSecret:
    auth = {"username": "me", "password": password}
    return SourceSecret(type=kind, data={".dockerconfigjson": json.dumps({"auths": {server.address: auth}}).encode()})


def with_basic(asked: Asked) -> Answer | None:
    return None if asked.login == BASIC else Answer(401, {"WWW-Authenticate": 'Basic realm="x"'})


async def test_the_resolved_source_is_a_digest_without_secrets(
    server: Server, contents: Contents, source: ImageFetcher
) -> None:
    image = contents.image(FILES, tag="v1")
    fetched = await source.fetch(request(f"{server.address}/{REPOSITORY}:v1"))
    assert dict(fetched.tree) == FILES
    resolved = ImageSpec(ref=f"{server.address}/{REPOSITORY}@{image['digest']}")
    assert fetched.resolved == Source(type="image", image=resolved)


@pytest.mark.parametrize(
    ("class_name", "kept"),
    [
        (PLAIN_CLASS, ["manifests/a"]),
        (REGISTRY_CLASS, ["manifests/a", "metadata/b", "tests/scorecard/c"]),
        (HELM_CLASS, ["Chart.yaml", "manifests/a", "metadata/b", "tests/scorecard/c", "usr/x"]),
    ],
)
async def test_a_class_reads_its_part(
    server: Server, contents: Contents, source: ImageFetcher, class_name: str, kept: Sequence[str]
) -> None:
    names = ("Chart.yaml", "manifests/a", "metadata/b", "tests/scorecard/c", "usr/x", "etc/passwd", "bin/sh", "dev/z")
    contents.image(dict.fromkeys(names, b"1"), tag="v1")
    fetched = await source.fetch(request(f"{server.address}/{REPOSITORY}:v1", class_name=class_name))
    assert sorted(fetched.tree) == kept


async def test_content_that_was_unpacked_before_costs_no_request(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    image = contents.image(FILES, tag="v1")
    ref = f"{server.address}/{REPOSITORY}@{image['digest']}"
    tree = tree_of({"manifests/a.yaml": "a: 1"})
    ports.unpacked[ref, PLAIN_CLASS] = tree
    fetched = await source.fetch(request(f"{server.address}/{REPOSITORY}:any@{image['digest']}"))
    assert (fetched.tree, server.asked) == (tree, [])
    assert fetched.resolved.image == ImageSpec(ref=ref)
    await source.fetch(request(ref, class_name=REGISTRY_CLASS))
    assert asked_for(server)[0] == f"manifests/{image['digest']}"


async def test_the_secret_of_the_bundle_and_those_of_the_account(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    contents.image(FILES, tag="v1")
    server.answer = with_basic
    ref = f"{server.address}/{REPOSITORY}:v1"
    ports.secrets["one"] = pull_secret(server)
    assert dict((await source.fetch(request(ref, pull_secret="one"))).tree) == FILES
    ports.of_account = ("missing", "one")
    assert dict((await source.fetch(request(ref))).tree) == FILES
    ports.secrets["wrong"] = pull_secret(server, "wrong")
    assert dict((await source.fetch(request(ref, pull_secret="wrong"))).tree) == FILES


async def test_a_missing_or_broken_secret_is_told_where_the_registry_refuses(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    contents.image(FILES, tag="v1")
    ref = f"{server.address}/{REPOSITORY}:v1"
    ports.of_account = ("broken",)
    ports.secrets["broken"] = SourceSecret(data={"x": b"s3cret"})
    assert dict((await source.fetch(request(ref, pull_secret="missing"))).tree) == FILES
    server.answer = with_basic
    with pytest.raises(AccessError) as caught:
        await source.fetch(request(ref, pull_secret="missing"))
    advice = "Name a Secret with a login in spec.source.image.pullSecret"
    assert str(caught.value).split("; ") == [
        f"{ref} cannot be pulled: {server.address} refuses: it wants a login. {advice}",
        'get secret rukpak-system/missing: Secret "missing" not found',
        "Secret broken is not a pull secret: it has neither the key .dockerconfigjson nor .dockercfg",
    ]


async def test_a_pull_secret_of_another_type_is_bound_to_hosts(
    server: Server, contents: Contents, ports: Ports
) -> None:
    contents.image(FILES, tag="v1")
    server.answer = with_basic
    ref = f"{server.address}/{REPOSITORY}:v1"
    given = ImagePorts(
        logins=logins(ports, LoginPolicy(bind_secrets_to_hosts=True)), pull_secrets=ports, unpacked=ports
    )
    source = ImageFetcher(
        given, addresses=LOOPBACK, plain_http=frozenset(), limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL
    )
    opaque = pull_secret(server, kind="Opaque")
    ports.secrets["s"] = opaque
    with pytest.raises(AccessError, match=f'; Secret "s" may not be sent to {server.address}: it has no annotation'):
        await source.fetch(request(ref, pull_secret="s"))
    assert {asked.login for asked in server.asked} == {None}
    ports.secrets["s"] = replace(opaque, hosts=server.address)
    assert dict((await source.fetch(request(ref, pull_secret="s"))).tree) == FILES
    ports.secrets["s"] = pull_secret(server)
    assert dict((await source.fetch(request(ref, pull_secret="s"))).tree) == FILES


async def test_a_secret_of_the_operator_is_no_pull_secret(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    """A source that names it is wrong. The administrator who gave it to the account hears where it matters."""
    contents.image(FILES, tag="v1")
    ref = f"{server.address}/{REPOSITORY}:v1"
    ports.secrets["copy"] = replace(pull_secret(server), own="it is ours")
    for name in ("copy", "rukpak-ca-signer"):
        with pytest.raises(ContentError):
            await source.fetch(request(ref, pull_secret=name))
    assert server.asked == []
    ports.of_account = ("copy", "rukpak-serving")
    assert dict((await source.fetch(request(ref))).tree) == FILES
    server.answer = with_basic
    with pytest.raises(AccessError, match='; it is ours; Secret "rukpak-serving" holds keys'):
        await source.fetch(request(ref))
    assert {asked.login for asked in server.asked} == {None}


async def test_failures_begin_with_the_image_and_keep_their_class(
    server: Server, contents: Contents, source: ImageFetcher
) -> None:
    ref = f"{server.address}/{REPOSITORY}:v1"
    with pytest.raises(UnavailableError, match=f"{ref} cannot be pulled: the registry answers GET with 404"):
        await source.fetch(request(ref))
    contents.document(b"<html>", "application/json", tag="v1")
    with pytest.raises(ContentError, match=f"{ref} cannot be pulled: the image's manifest cannot be decoded"):
        await source.fetch(request(ref))
    server.answer = lambda _: Answer(429, {"Retry-After": "99"})
    with pytest.raises(UnavailableError) as caught:
        await source.fetch(request(ref))
    assert caught.value.retry_after == 99


async def test_what_is_no_reference(source: ImageFetcher) -> None:
    with pytest.raises(ContentError, match="is not a valid image name"):
        await source.fetch(request("Not An Image"))
    with pytest.raises(ContentError, match="is not a digest"):
        await source.fetch(request("quay.io/x@sha256:12"))
    unset = FetchRequest(bundle="b", uid="u", source=Source(type="image"))
    with pytest.raises(ContentError, match="bundle source image configuration is unset"):
        await source.fetch(unset)


def test_lanes_are_registries(source: ImageFetcher) -> None:
    def lane(ref: str) -> str:
        return source.lane(request(ref).source)

    assert (lane("quay.io/x"), lane("x"), lane("a:5000/x@sha256:" + "0" * 64)) == ("quay.io", "docker.io", "a:5000")
    assert lane("Not An Image") == source.lane(Source(type="image")) == "image"


async def test_content_arrives_after_the_manifest_and_before_layers(
    server: Server, contents: Contents, source: ImageFetcher
) -> None:
    contents.image(FILES, tag="v1")
    seen: list[list[str]] = []

    async def content_arrives() -> None:
        seen.append(asked_for(server))

    image = ImageSpec(ref=f"{server.address}/{REPOSITORY}:v1")
    await source.fetch(
        FetchRequest(bundle="b", uid="u", source=Source(type="image", image=image), content_arrives=content_arrives)
    )
    [before] = seen
    assert [path.partition("/")[0] for path in before] == ["manifests", "blobs"]  # the configuration


async def test_a_cancelled_job_leaves_a_silent_registry_at_once(server: Server, source: ImageFetcher) -> None:
    """Ten registries that hang hold no thread, and nobody who stops."""
    asked, done = threading.Event(), threading.Event()

    def hang(_: Asked) -> None:
        asked.set()
        done.wait(30)

    server.answer = hang
    jobs = [asyncio.create_task(source.fetch(request(f"{server.address}/{REPOSITORY}:v1"))) for _ in range(10)]
    await asyncio.to_thread(asked.wait, 30)
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    stopped = asyncio.to_thread(source.threads.shutdown, wait=True)
    await asyncio.wait_for(stopped, 10)
    done.set()


async def test_a_cancelled_job_does_not_wait_for_a_registry_to_get_well(server: Server, source: ImageFetcher) -> None:
    asked = threading.Event()

    def later(_: Asked) -> Answer:
        asked.set()
        return Answer(503, {"Retry-After": "9"})

    server.answer = later
    job = asyncio.create_task(source.fetch(request(f"{server.address}/{REPOSITORY}:v1")))
    await asyncio.to_thread(asked.wait, 30)
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)
    await asyncio.wait_for(asyncio.to_thread(source.threads.shutdown, wait=True), 5)
