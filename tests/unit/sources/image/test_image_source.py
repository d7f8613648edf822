"""The image source: whose logins it takes, when it sends no request, and what it leaves behind."""

import asyncio
import base64
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import AccessError, ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.image.source import ImageFetcher, ImagePorts
from rukpak_py.sources.image.unpack_methods import ImageQuestion
from rukpak_py.sources.logins import LoginPolicy
from rukpak_py.sources.source import FetchRequest, ImageAccess, ImageContent, SourceSecret
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
    proofs: set[str] = field(default_factory=set)  # uids

    async def names(self) -> Sequence[str]:
        return self.of_account

    async def find(self, access: ImageAccess) -> ImageContent | None:
        is_proven = not self.proofs.isdisjoint({access.bundle, access.deployment})
        tree = self.unpacked.get((access.image, access.provisioner_class)) if is_proven else None
        return ImageContent(tree=tree) if tree is not None else None

    async def is_stored(self, access: ImageAccess) -> bool:
        return (access.image, access.provisioner_class) in self.unpacked

    async def prove(self, access: ImageAccess) -> None:
        self.proofs.add(access.bundle)


@pytest.fixture
def ports() -> Ports:
    return Ports()


@pytest.fixture
def source(ports: Ports) -> ImageFetcher:
    given = ImagePorts(logins=logins(ports), pull_secrets=ports, unpacked=ports)
    return ImageFetcher(
        given, addresses=LOOPBACK, plain_http=frozenset(), limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL
    )


def request(
    ref: str, *, pull_secret: str = "", class_name: str = PLAIN_CLASS, uid: str = "u", deployment: str = ""
) -> FetchRequest:
    source = Source(type="image", image=ImageSpec(ref=ref, pull_secret=pull_secret))
    return FetchRequest(bundle="b", uid=uid, source=source, provisioner_class=class_name, deployment=deployment)


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


STORED = tree_of({"manifests/a.yaml": "a: 1"})


def stored_image(server: Server, contents: Contents, ports: Ports) -> tuple[str, str]:
    """The content of an image is in the store: its reference by digest, and the path of its manifest."""
    digest = contents.image(FILES, tag="v1")["digest"]
    ref = f"{server.address}/{REPOSITORY}@{digest}"
    ports.unpacked[ref, PLAIN_CLASS] = STORED
    return ref, f"manifests/{digest}"


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_stored_content_is_not_handed_out_where_the_registry_refuses(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports, status: int
) -> None:
    ref, manifest = stored_image(server, contents, ports)
    server.answer = lambda _: Answer(status, {"WWW-Authenticate": 'Basic realm="x"'} if status == 401 else {})
    with pytest.raises((AccessError, UnavailableError), match=rf"\(image {ref}\)"):
        await source.fetch(request(ref))
    assert set(asked_for(server)) == {manifest}
    assert ports.proofs == set()


async def test_stored_content_is_not_handed_out_where_the_registry_cannot_be_reached(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    ref, _ = stored_image(server, contents, ports)
    server.answer = lambda _: Answer(503, {})
    with pytest.raises(UnavailableError, match=r"\(image "):
        await source.fetch(request(ref))
    assert ports.proofs == set()


async def test_a_bundle_without_proof_asks_the_registry_for_the_manifest_and_downloads_nothing(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    ref, manifest = stored_image(server, contents, ports)
    server.answer = with_basic
    ports.secrets["one"] = pull_secret(server)
    fetched = await source.fetch(request(ref, pull_secret="one"))
    assert fetched.tree is STORED
    assert set(asked_for(server)) == {manifest}
    assert ports.proofs == {"u"}
    server.asked.clear()
    with pytest.raises(AccessError):
        await source.fetch(request(ref, uid="another"))
    assert ports.proofs == {"u"}, "the login of one Bundle proves nothing for another one"


async def test_a_bundle_of_a_deployment_with_proof_needs_no_registry(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    ref, _ = stored_image(server, contents, ports)
    ports.proofs.add("uid-of-shop")
    server.answer = lambda _: Answer(503, {})
    assert (await source.fetch(request(ref, deployment="uid-of-shop"))).tree is STORED
    assert server.asked == []


async def test_a_registry_that_answers_with_another_manifest_proves_nothing(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    ref, _ = stored_image(server, contents, ports)
    headers = {"Docker-Content-Digest": ref.partition("@")[2], "Content-Type": "application/json"}
    server.answer = lambda _: Answer(200, headers, b"{}")
    with pytest.raises(UnavailableError, match=r"\(image "):
        await source.fetch(request(ref))
    assert ports.proofs == set()


async def test_content_that_was_unpacked_before_costs_no_request(
    server: Server, contents: Contents, source: ImageFetcher, ports: Ports
) -> None:
    image = contents.image(FILES, tag="v1")
    ref = f"{server.address}/{REPOSITORY}@{image['digest']}"
    tree = tree_of({"manifests/a.yaml": "a: 1"})
    ports.unpacked[ref, PLAIN_CLASS] = tree
    ports.proofs.add("u")
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
    advice = "Secret missing (spec.source.image.pullSecret) needs a login for it"
    cause = [
        'get secret rukpak-system/missing: Secret "missing" not found',
        f"{server.address} refuses: it wants a login. {advice}",
        "Secret broken is not a pull secret: it has neither the key .dockerconfigjson nor .dockercfg",
    ]
    assert caught.value.brief == "; ".join(cause)
    assert str(caught.value) == f"{caught.value.brief} (image {ref})"
    with pytest.raises(AccessError, match=r"Name a Secret with a login in spec\.source\.image\.pullSecret"):
        await source.fetch(request(ref))


async def test_a_secret_that_appears_or_changes_makes_another_question(source: ImageFetcher, ports: Ports) -> None:
    """Secrets of the service account count, too: an answer from before says nothing of the new question."""
    ref = "registry.example.com/team/demo:v1"
    ports.of_account = ("shared",)

    async def question(ref: str = ref, named: str = "own") -> ImageQuestion:
        return (await source.logins(request(ref, pull_secret=named))).question

    seen = [await question(), await question(f"{ref}2"), await question(named="other")]
    for name, version in (("own", "1"), ("own", "2"), ("shared", "1")):
        ports.secrets[name] = SourceSecret(data={".dockercfg": b"{}"}, version=version)
        seen += [await question()]
    ports.of_account = ()
    seen += [await question()]
    assert len(set(seen)) == len(seen)
    assert await question() == seen[-1]


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
    with pytest.raises(AccessError, match=rf"^Secret s may not be sent to {server.address}: it has no annotation"):
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
    with pytest.raises(AccessError, match="; it is ours; Secret rukpak-serving holds keys"):
        await source.fetch(request(ref))
    assert {asked.login for asked in server.asked} == {None}


async def test_failures_begin_with_the_cause_and_keep_their_class(
    server: Server, contents: Contents, source: ImageFetcher
) -> None:
    ref = f"{server.address}/{REPOSITORY}:v1"
    with pytest.raises(UnavailableError, match=r"^the registry answers GET with 404"):
        await source.fetch(request(ref))
    contents.document(b"<html>", "application/json", tag="v1")
    with pytest.raises(ContentError, match=r"^the image's manifest cannot be decoded"):
        await source.fetch(request(ref))
    server.answer = lambda _: Answer(429, {"Retry-After": "99"})
    with pytest.raises(UnavailableError) as caught:
        await source.fetch(request(ref))
    assert caught.value.retry_after == 99


async def test_invalid_reference_is_refused(source: ImageFetcher) -> None:
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


async def test_content_arrives_after_all_layers(server: Server, contents: Contents, source: ImageFetcher) -> None:
    contents.image(FILES, tag="v1")
    seen: list[list[str]] = []

    async def content_arrives() -> None:
        seen.append(asked_for(server))

    image = ImageSpec(ref=f"{server.address}/{REPOSITORY}:v1")
    await source.fetch(
        FetchRequest(bundle="b", uid="u", source=Source(type="image", image=image), content_arrives=content_arrives)
    )
    [before] = seen
    assert [path.partition("/")[0] for path in before] == ["manifests", "blobs", "blobs"]  # the configuration, too


async def test_a_cancelled_job_leaves_a_silent_registry_at_once(server: Server, source: ImageFetcher) -> None:
    """Ten registries that hang hold no thread, and do not delay the stop."""
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
