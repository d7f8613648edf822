"""The job of a Bundle: fetched, checked, stored; each step fails in its own words, and only content takes memory."""

import asyncio
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ImageSource
from rukpak_py.content.records import BundleRecord
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpacking import Result, Unpacked, UnpackJobs
from rukpak_py.controllers.jobs import HOLDING_CONTENT
from rukpak_py.controllers.ports import Sources
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact, Words
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
from rukpak_py.formats.by_class import Classes
from rukpak_py.sources.source import Fetched, FetchRequest
from tests.unit.controllers.fakes import FakeContent, FakeRecords, FakeSources, nothing_installed, tree
from tests.unit.controllers.values import bundle, source, spec
from tests.unit.controllers.values import unpacked as unpacked_bundle
from tests.waiting import until

FILES = tree(f=b"1")
ADVISED = Finding(rule="A", severity=Severity.ERROR, message="empty", hint="Add a manifest.")


class Bench:
    """Jobs of Bundles, each with a name and a uid of its own."""

    def __init__(self, sources: Sources, content: FakeContent | None = None) -> None:
        self.ended: list[str] = []
        self.records = FakeRecords()
        self.jobs = UnpackJobs(
            sources,
            content or FakeContent(),
            records=self.records,
            states=BundleStates(),
            deployment_class=lambda _: "",
            deployment_uid=lambda _: "uid-of-shop",
            installed_as=nothing_installed,
            on_end=self.ended.append,
        )

    def start(self, *names: str) -> None:
        for name in names:
            self.jobs.start(replace(bundle(name), spec=spec(name)))

    def result(self, name: str) -> Result | None:
        return self.jobs.take(bundle(name))


async def unpacked(sources: Sources, content: FakeContent) -> Result | None:
    bench = Bench(sources, content)
    bench.start("b")
    await until(lambda: bench.ended == ["b"])
    return bench.result("b")


async def test_content_is_fetched_checked_and_kept() -> None:
    content = FakeContent()
    result = await unpacked(FakeSources(tree=FILES, resolved=source("r")), content)
    assert result == Unpacked(digest=FILES.digest, resolved=source("r"))
    assert FILES.digest in content.stored


@pytest.mark.parametrize(
    ("sources", "content", "message", "cause"),
    [
        (
            FakeSources(tree=FILES, error=UnavailableError("no answer")),
            FakeContent(),
            "source bundle content: no answer",
            Cause.FETCH_UNAVAILABLE,
        ),
        (FakeSources(tree=FILES), FakeContent(refusing=ContentError("empty")), "empty", Cause.FETCH_CONTENT),
        (
            FakeSources(tree=FILES),
            FakeContent(refusing=InvalidBundleError([ADVISED], text="invalid bundle: empty")),
            "invalid bundle: empty. Add a manifest; rukpakctl bundle validate lists all",
            Cause.FETCH_CONTENT,
        ),
    ],
)
async def test_each_step_fails_in_its_own_words(
    sources: FakeSources, content: FakeContent, message: str, cause: Cause
) -> None:
    result = await unpacked(sources, content)
    assert result == Fact(cause=cause, detail=Words(words=message))
    assert content.stored == {}


async def test_a_store_that_fails_says_so() -> None:
    class Full(FakeContent):
        async def keep(self, _tree: Tree, _converted: Tree | None = None) -> str:
            raise UnavailableError("disk full")

    result = await unpacked(FakeSources(tree=FILES), Full())
    assert isinstance(result, Fact)
    assert result.text == "persist bundle content: disk full"


async def test_a_result_is_taken_once() -> None:
    bench = Bench(FakeSources(tree=FILES))
    bench.start("b")
    assert bench.jobs.is_running(bundle())
    await until(lambda: bench.ended)
    assert not bench.jobs.is_running(bundle())
    assert isinstance(bench.result("b"), Unpacked)
    assert bench.result("b") is None


async def test_unpacked_content_is_fetched_again_from_its_recorded_source() -> None:
    sources = FakeSources(tree=FILES)
    bench = Bench(sources)
    one = unpacked_bundle()
    record = BundleRecord(uid=one.metadata.uid, spec_digest="s", digest=FILES.digest, source=source("resolved"))
    await bench.records.keep(record)
    bench.jobs.start(one)
    await until(lambda: bench.ended)
    assert [request.source for request in sources.asked] == [source("resolved")]


async def test_an_image_is_fetched_again_with_the_login_that_the_spec_names() -> None:
    """`resolvedSource` has no pull secret, as in the original."""
    sources = FakeSources(tree=FILES)
    bench = Bench(sources)
    one = unpacked_bundle()
    given = Source(type="image", image=ImageSource(ref="quay.io/x:v1", pull_secret="s", ca_bundle="c"))
    resolved = Source(type="image", image=ImageSource(ref="quay.io/x@sha256:1"))
    bench.jobs.start(
        replace(one, spec=replace(one.spec, source=given), status=replace(one.status, resolved_source=resolved))
    )
    await until(lambda: bench.ended)
    [request] = sources.asked
    assert request.source.image == ImageSource(ref="quay.io/x@sha256:1", pull_secret="s", ca_bundle="c")
    assert request.provisioner_class == one.spec.provisioner_class


@dataclass
class Registries:
    """One lane each. Those of `hanging` wait for an answer before, or for its end after, content began to arrive."""

    hanging: set[str]
    announces: bool
    answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0
    sending: int = 0

    def lane(self, source: Source) -> str:
        return source.config_maps[0].config_map.name

    async def fetch(self, request: FetchRequest) -> Fetched:
        self.asked += 1
        if self.announces:
            await request.content_arrives()
            self.sending += 1
        if request.bundle in self.hanging:
            await self.answer.wait()
        return Fetched(tree=FILES, resolved=request.source)

    async def clean_up(self, bundle: str, uid: str, source: Source) -> None:
        """Do nothing: nothing was made for the content."""


MANY = [f"b{number}" for number in range(2 * HOLDING_CONTENT)]


async def test_a_registry_that_does_not_answer_holds_back_no_other() -> None:
    """Four Bundles of one registry that hung held the whole budget, and nothing else was fetched."""
    registries = Registries(hanging=set(MANY), announces=False)
    bench = Bench(registries)
    bench.start(*MANY)
    await until(lambda: registries.asked == len(MANY))
    bench.start("good")
    await until(lambda: bench.ended == ["good"])
    assert isinstance(bench.result("good"), Unpacked)
    await bench.jobs.close()


async def test_only_some_jobs_read_content_at_a_time() -> None:
    registries = Registries(hanging=set(MANY), announces=True)
    bench = Bench(registries)
    bench.start(*MANY)
    await until(lambda: registries.asked == len(MANY))
    await asyncio.sleep(0)
    assert registries.sending == HOLDING_CONTENT
    registries.answer.set()
    await until(lambda: len(bench.ended) == len(MANY))
    assert all(isinstance(bench.result(name), Unpacked) for name in MANY)


async def test_content_of_a_source_that_does_not_announce_it_counts_from_its_end() -> None:
    class Slow(FakeContent):
        at_once = 0

        def __init__(self) -> None:
            super().__init__()
            self.gate = asyncio.Event()

        async def check(self, _classes: Classes, _tree: Tree, *, is_directory: bool) -> None:
            self.at_once += 1
            await self.gate.wait()

    content, registries = Slow(), Registries(hanging=set(), announces=False)
    bench = Bench(registries, content)
    bench.start(*MANY)
    await until(lambda: registries.asked == len(MANY) and content.at_once == HOLDING_CONTENT)
    for _ in range(10):
        await asyncio.sleep(0)
    assert content.at_once == HOLDING_CONTENT
    content.gate.set()
    await until(lambda: len(bench.ended) == len(MANY))
    assert all(isinstance(bench.result(name), Unpacked) for name in MANY)


async def test_the_jobs_of_a_bundle_that_is_gone_give_their_place_back() -> None:
    registries = Registries(hanging=set(MANY), announces=True)
    bench = Bench(registries)
    bench.start(*MANY[:HOLDING_CONTENT])
    await until(lambda: registries.sending == HOLDING_CONTENT)
    bench.start("good")
    bench.jobs.drop(bundle(MANY[0]))
    await until(lambda: "good" in bench.ended)
    assert bench.result(MANY[0]) is None
    await bench.jobs.close()


@pytest.mark.parametrize(("tree", "is_kept"), [(FILES, True), (tree(f=b"2"), False)], ids=["the same", "other content"])
async def test_content_that_was_unpacked_once_is_not_judged_again(tree: Tree, *, is_kept: bool) -> None:
    """Rules become stricter, and classes change; what is installed must come back all the same."""
    content = FakeContent(refusing=ContentError("empty"))
    bench = Bench(FakeSources(tree=tree), content)
    pinned = replace(bundle("b"), spec=spec("b"), status=BundleStatus(digest=FILES.digest))
    bench.jobs.start(pinned)
    await until(lambda: bench.ended == ["b"])
    assert isinstance(bench.result("b"), Unpacked if is_kept else Fact)
    assert (FILES.digest in content.stored) is is_kept
