"""`auto`: when a pod is tried in place of the registry, for how long, and what is told."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.core.errors import AccessError, ConflictError, ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.addresses import AddressPolicy
from rukpak_py.sources.image.credentials import Keychain
from rukpak_py.sources.image.pace import TooSlowError
from rukpak_py.sources.image.registry_or_pod import RegistryOrPod
from rukpak_py.sources.image.source import ImageFetcher, ImageLogins, ImagePorts
from rukpak_py.sources.image.unpack_methods import (
    ImageNotFoundError,
    ImageQuestion,
    ImageUnpack,
    NotForOperatorError,
    OutOfReachError,
    PodFallbacks,
    may_help,
)
from rukpak_py.sources.source import DirectAnswer, DirectFailure, Fetched, FetchRequest, Waiting
from tests.source_secrets import logins
from tests.unit.bundles import tree_of
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.sources.image.test_image_source import Ports
from tests.unit.web_servers import Answer, Server, serving, tls_of
from tests.workers import SPOOL, WORKERS

RETRY_SECONDS = 60.0  # between two attempts while a node pulls
REF = "registry.example.com/team/demo:v1"
FETCHED = Fetched(tree=tree_of({"manifests/a": "1"}), resolved=Source(type="image", image=ImageSpec(ref=REF)))


class Direct:
    def __init__(self) -> None:
        self.error: RukPakError | None = None
        self.known: Fetched | None = None
        self.asked = 0
        self.secrets: tuple[tuple[str, str], ...] = ()  # names and versions

    async def fetch(self, request: FetchRequest) -> Fetched:
        return await self.pull(request, await self.logins(request))

    async def logins(self, request: FetchRequest) -> ImageLogins:
        image = request.source.image
        assert image is not None
        question = ImageQuestion(ref=image.ref, ca_bundle=image.ca_bundle, logins=self.secrets)
        return ImageLogins(question=question, keychain=Keychain(), own_notes=(), notes=())

    async def pull(self, _request: FetchRequest, _logins: ImageLogins) -> Fetched:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return FETCHED

    async def unpacked_before(self, _request: FetchRequest) -> Fetched | None:
        return self.known


class Pods:
    keeps = False

    def __init__(self) -> None:
        self.why_not = ""
        self.answers: list[Fetched | Waiting | RukPakError] = []
        self.asked = 0
        self.settled: list[bool] = []

    async def obstacle(self) -> str:
        return self.why_not

    def is_there(self, _bundle: str) -> bool:
        return self.asked > 0

    async def fetch(self, _request: FetchRequest, _spec: ImageSpec) -> Fetched | Waiting:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, RukPakError):
            raise answer
        return answer

    async def clean_up(self, _bundle: str, _uid: str, _spec: ImageSpec, *, always: bool) -> None:
        self.settled.append(always)


class Bench:
    def __init__(self, setting: ImageUnpack = ImageUnpack.AUTO) -> None:
        self.now = 1000.0
        self.direct, self.pods = Direct(), Pods()
        self.pods.answers = [Waiting()]
        self.told: list[str] = []
        self.source = RegistryOrPod(
            cast("ImageFetcher", self.direct),
            cast("Any", self.pods),
            setting,
            tell=lambda _request, message: self.told.append(message),
            fallbacks=PodFallbacks(lambda: self.now),
        )

    async def fetch(self, ref: str = REF, ca_bundle: str = "") -> Fetched | Waiting:
        return await self.source.fetch(request(ref, ca_bundle))


def request(ref: str = REF, ca_bundle: str = "") -> FetchRequest:
    source = Source(type="image", image=ImageSpec(ref=ref, ca_bundle=ca_bundle))
    return FetchRequest(bundle="b", uid="u", source=source, provisioner_class=PLAIN_CLASS)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OutOfReachError("does not answer"), True),
        (NotForOperatorError("429"), True),
        (ImageNotFoundError("404"), True),
        (AccessError("401"), True),
        (UnavailableError("500"), False),
        (TooSlowError("a byte now and then"), False),
        (ContentError("a limit, a digest, an archive, an address"), False),
        (ConflictError("somebody else"), False),
    ],
)
async def test_which_failures_a_pod_may_help(error: RukPakError, *, expected: bool) -> None:
    bench = Bench()
    bench.direct.error = error
    assert may_help(error) is expected
    if expected:
        assert isinstance(await bench.fetch(), Waiting)
        assert bench.told == [f"Unpacking {REF} by a pod, because {error}"]
    else:
        with pytest.raises(type(error)):
            await bench.fetch()
        assert (bench.pods.asked, bench.told) == (0, [])


async def test_the_way_is_remembered_for_the_registry_for_ten_minutes() -> None:
    bench = Bench()
    bench.direct.error = OutOfReachError("does not answer")
    for _ in range(3):
        await bench.fetch()
    assert (bench.direct.asked, bench.pods.asked, len(bench.told)) == (1, 3, 1)
    await bench.fetch("registry.example.com/team/other:v1")
    assert bench.direct.asked == 1
    await bench.fetch("other.example.com/team/demo:v1")
    assert bench.direct.asked == 2
    bench.now += 601
    bench.direct.error = None
    assert await bench.fetch() is FETCHED
    assert bench.direct.asked == 3


ABOUT_ONE_IMAGE = [ImageNotFoundError("404"), AccessError("401"), NotForOperatorError("the certificate, or 429")]


@pytest.mark.parametrize("error", ABOUT_ONE_IMAGE)
async def test_failure_of_one_image_is_not_remembered_for_others(error: RukPakError) -> None:
    """A mistyped tag, a login that was refused, a Bundle without `caBundle`: the next reference goes its own way."""
    bench = Bench()
    bench.direct.error = error
    for _ in range(3):
        await bench.fetch()
    assert (bench.direct.asked, bench.pods.asked) == (1, 3), "the pod changes often"
    bench.direct.error = None
    for other in ("registry.example.com/team/demo:v2", "registry.example.com/team/other:v1"):
        assert await bench.fetch(other) is FETCHED
    assert await bench.fetch(ca_bundle="of another Bundle") is FETCHED
    assert isinstance(await bench.fetch(), Waiting), "of the first one it still counts"


@pytest.mark.parametrize("error", ABOUT_ONE_IMAGE)
async def test_each_retry_asks_the_registry_again(error: RukPakError) -> None:
    """A minute later; the tag may have been pushed, and no node will say so."""
    bench = Bench()
    bench.direct.error = error
    await bench.fetch()
    bench.now += RETRY_SECONDS
    bench.direct.error = None
    assert await bench.fetch() is FETCHED


@pytest.mark.parametrize("error", ABOUT_ONE_IMAGE)
async def test_a_pod_that_failed_makes_the_next_attempt_ask_the_registry(error: RukPakError) -> None:
    """Such a retry comes after seconds."""
    bench = Bench()
    bench.direct.error = error
    bench.pods.answers = [UnavailableError("unpack failed: Evicted", retry_after=5)]
    with pytest.raises(UnavailableError, match=f"{error}; unpack failed: Evicted") as failed:
        await bench.fetch()
    assert failed.value.retry_after == 5
    bench.direct.error = None
    assert await bench.fetch() is FETCHED


@pytest.mark.parametrize("error", [UnavailableError("503"), TooSlowError("a byte now and then")])
async def test_a_pod_that_is_there_goes_on_whatever_the_registry_says_meanwhile(error: RukPakError) -> None:
    """No pod would be made for that answer, but the node of this one may have the image by now."""
    bench = Bench()
    bench.direct.error = ImageNotFoundError("404")
    bench.pods.answers = [Waiting(), FETCHED]
    await bench.fetch()
    bench.now += RETRY_SECONDS
    bench.direct.error = error
    assert await bench.fetch() is FETCHED
    bench.direct.error = ContentError("a limit")
    bench.now += RETRY_SECONDS
    with pytest.raises(ContentError, match="a limit"):
        await bench.fetch()


async def test_a_registry_that_asks_for_patience_gets_it() -> None:
    bench = Bench()
    bench.direct.error = NotForOperatorError("429", retry_after=3600)
    bench.pods.answers = [Waiting(), UnavailableError("unpack failed: Evicted"), Waiting()]
    await bench.fetch()
    bench.now += 3599
    with pytest.raises(UnavailableError):
        await bench.fetch()
    await bench.fetch()
    assert bench.direct.asked == 1, "also after a pod that failed"
    bench.now += 2
    await bench.fetch()
    assert bench.direct.asked == 2


@pytest.mark.parametrize("after", [(("pull", "2"),), (("pull", "2"), ("of the account", "1"))])
async def test_a_secret_that_appears_or_changes_is_tried_at_once(after: tuple[tuple[str, str], ...]) -> None:
    bench = Bench()
    bench.direct.secrets = (("pull", "Secret pull not found"),)
    bench.direct.error = AccessError("401")
    await bench.fetch()
    bench.direct.secrets, bench.direct.error = after, None
    assert await bench.fetch() is FETCHED


async def test_stored_content_needs_no_pod() -> None:
    bench = Bench()
    bench.direct.error = OutOfReachError("does not answer")
    await bench.fetch()
    bench.direct.known = FETCHED
    assert await bench.fetch() is FETCHED
    assert bench.pods.asked == 1


@pytest.mark.parametrize("error", [OutOfReachError("no answer", retry_after=7), AccessError("401")])
async def test_where_no_pod_can_run_the_direct_cause_is_told(error: RukPakError) -> None:
    bench = Bench()
    bench.direct.error, bench.pods.why_not = error, "the cluster has no node"
    with pytest.raises(type(error), match="no unpack pod can be tried: the cluster has no node") as told:
        await bench.fetch()
    assert str(told.value).startswith(str(error))
    assert told.value.retry_after == error.retry_after
    assert (bench.pods.asked, bench.told) == (0, [])


async def test_a_pod_that_is_refused_names_the_direct_cause_and_is_not_remembered() -> None:
    bench = Bench()
    bench.direct.error = OutOfReachError("does not answer")
    bench.pods.answers = [AccessError("the unpack pod is refused: pods is forbidden")]
    for _ in range(2):
        with pytest.raises(AccessError, match="does not answer; the unpack pod is refused: pods is forbidden"):
            await bench.fetch()
    assert bench.direct.asked == 2


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (AccessError("401"), DirectAnswer.DENIED),
        (ImageNotFoundError("404"), DirectAnswer.NOT_FOUND),
        (NotForOperatorError("429"), DirectAnswer.UNUSABLE),
        (OutOfReachError("does not answer"), DirectAnswer.UNUSABLE),
    ],
)
async def test_the_direct_cause_goes_with_whatever_the_pod_says(error: RukPakError, answer: DirectAnswer) -> None:
    bench = Bench()
    error.brief = "the cause alone"
    bench.direct.error = error
    back_off = Waiting(message='Back-off pulling image "x"', brief="not found")
    bench.pods.answers = [Waiting(), back_off, Waiting(message="the unpack pod is not scheduled: 0/3")]
    direct = DirectFailure(answer=answer, message=str(error), brief="the cause alone")
    assert await bench.fetch() == Waiting(direct=direct)
    assert await bench.fetch() == replace(back_off, direct=direct)
    assert await bench.fetch() == Waiting(message="the unpack pod is not scheduled: 0/3", direct=direct)


async def test_wrong_content_that_a_node_has_needs_no_direct_cause() -> None:
    bench = Bench()
    bench.direct.error = AccessError("401")
    bench.pods.answers = [ContentError("no manifests")]
    with pytest.raises(ContentError, match=r"^no manifests$"):
        await bench.fetch()


async def test_each_setting_goes_its_way() -> None:
    direct, pod = Bench(ImageUnpack.DIRECT), Bench(ImageUnpack.POD)
    direct.direct.error = OutOfReachError("does not answer")
    with pytest.raises(OutOfReachError):
        await direct.fetch()
    await pod.fetch()
    assert (direct.pods.asked, pod.direct.asked, pod.pods.asked, pod.told) == (0, 0, 1, [])


@pytest.mark.parametrize(
    ("setting", "settled"),
    [(ImageUnpack.DIRECT, []), (ImageUnpack.POD, [True]), (ImageUnpack.AUTO, [False])],
)
async def test_pods_are_settled_where_there_may_be_some(setting: ImageUnpack, settled: Sequence[bool]) -> None:
    bench = Bench(setting)
    await bench.source.clean_up("b", "u", request().source)
    assert bench.pods.settled == settled


ANSWERS: list[tuple[Any, type[RukPakError]]] = [
    (Answer(401), AccessError),
    (Answer(403), AccessError),
    (Answer(404), ImageNotFoundError),
    (Answer(429, {"Retry-After": "60"}), NotForOperatorError),
    (Answer(400), UnavailableError),
    (Answer(200, body=b"{}"), ContentError),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
async def test_answer_of_a_registry_becomes_its_error(
    server: Server, contents: Contents, answer: Answer, expected: type[RukPakError]
) -> None:
    del contents
    server.answer = lambda _: answer
    assert type(await failure(f"{server.address}/{REPOSITORY}:v1")) is expected


async def test_a_registry_that_is_not_there_and_one_without_a_name() -> None:
    assert type(await failure("127.0.0.1:1/team/demo:v1")) is OutOfReachError
    assert type(await failure("nowhere.invalid/team/demo:v1")) is OutOfReachError


@pytest.mark.usefixtures("contents")
async def test_a_blob_store_or_a_token_service_that_is_out_of_reach_is_not_the_registry(server: Server) -> None:
    """Other images may have other ones, or none."""
    for place in ("127.0.0.1:1", "nowhere.invalid"):
        elsewhere = f"http://{place}/x"
        for answer in (
            Answer(307, {"Location": elsewhere}),
            Answer(401, {"WWW-Authenticate": f'Bearer realm="{elsewhere}",service="s"'}),
        ):
            server.answer = lambda _, answer=answer: answer  # type: ignore[misc]  # as it is now
            failed = await failure(f"{server.address}/{REPOSITORY}:v1")
            assert type(failed) is NotForOperatorError
            assert place in str(failed)


async def test_an_untrusted_certificate_does_not_put_a_registry_out_of_reach(tmp_path: Path) -> None:
    """Another Bundle names the authority in `caBundle`."""
    context, _ = tls_of(tmp_path)
    with serving(Contents().answer, context) as other:
        untrusted = await failure(f"{other.address}/{REPOSITORY}:v1")
    assert type(untrusted) is NotForOperatorError
    assert "is not trusted" in str(untrusted)


async def test_a_registry_of_the_operators_own_machine_is_another_one_for_a_node() -> None:
    assert type(await failure("localhost:1/team/demo:v1", addresses=AddressPolicy())) is OutOfReachError


async def test_a_refused_address_is_not_for_a_pod() -> None:
    assert not may_help(await failure("169.254.169.254/team/demo:v1"))


async def failure(ref: str, *, addresses: AddressPolicy = LOOPBACK) -> RukPakError:
    ports = Ports()
    given = ImagePorts(logins=logins(ports), pull_secrets=ports, unpacked=ports)
    direct = ImageFetcher(
        given, addresses=addresses, plain_http=frozenset(), limits=DEFAULT_LIMITS, workers=WORKERS, spool=SPOOL
    )
    with pytest.raises(RukPakError) as failed:
        await direct.fetch(request(ref))
    return failed.value
