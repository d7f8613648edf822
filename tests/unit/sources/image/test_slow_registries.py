"""Registries that send a byte now and then: a fetch ends soon, says why, and holds nothing that others need."""

import asyncio
import gzip
import itertools
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import HttpSource
from rukpak_py.api.source_types import ImageSource as ImageSpec
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpacking import Unpacked, UnpackJobs
from rukpak_py.controllers.jobs import HOLDING_CONTENT, ContentBudget
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Fact
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, KIB
from rukpak_py.sources.http import DownloadSettings, HttpFetcher
from rukpak_py.sources.image import pace
from rukpak_py.sources.image.unpack_methods import NotForOperatorError, may_help
from rukpak_py.sources.source import Fetched, FetchRequest
from tests.hostile.registry import HostileRegistry
from tests.hostile.registry_attacks import FILES, Attack
from tests.source_secrets import logins
from tests.unit.controllers.fakes import FakeContent, FakeRecords, nothing_installed
from tests.unit.controllers.values import bundle, spec
from tests.unit.images import layer
from tests.unit.sources.image.image_fetches import NOTHING_LEFT, Fetching
from tests.unit.sources.image.image_pulls import LOOPBACK
from tests.unit.web_servers import Answer, serving
from tests.waiting import until
from tests.workers import WORKERS

pytestmark = pytest.mark.usefixtures("hasty")
SECONDS_PER_BYTE = 20.0  # by the clock that the fetch sees
FEW_BYTES = 9  # at most as many come in one read of a slow answer
INTERVAL = 0.001  # between bytes, by that of the machine
MOST_SENT = 10_000
MANY = 20
MOST_IN_MEMORY = 600 * KIB  # of a fetch: a client for it, chunks, and the server's answer to it
ANSWER = r"is too slow: its answer takes more than 60 s \(RUKPAK_LIMIT_IMAGE_ANSWER_SECONDS sets it\)"
LAYER = r"is too slow: \d+ bytes? of a layer in \d+ s, less than 4 KiB per second \(RUKPAK_LIMIT_IMAGE_RATE sets it\)"
SLOW = {
    Attack.SLOW_STATUS: ANSWER,
    Attack.SLOW_HEADERS: ANSWER,
    Attack.SLOW_TOKEN: ANSWER,
    Attack.SLOW_MANIFEST: ANSWER,
    Attack.SLOW_CONFIG: ANSWER,
    Attack.SLOW_LAYER: LAYER,
    Attack.SLOW_LAYER_CUT: LAYER,
}


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each byte of a slow answer has taken twenty seconds, also where a busy machine reads a few of them at once."""
    received = pace.Pace.received
    now = 1000.0

    def late(one: pace.Pace, size: int) -> None:
        nonlocal now
        now += size * SECONDS_PER_BYTE if size <= FEW_BYTES else 0
        received(one, size)

    monkeypatch.setattr(pace, "monotonic", lambda: now)
    monkeypatch.setattr(pace.Pace, "received", late)
    return iter(())


@pytest.mark.usefixtures("slow_clock")
@pytest.mark.parametrize("attack", SLOW)
async def test_a_byte_every_twenty_seconds_ends_soon_wherever_it_is(attack: Attack, tmp_path: Path) -> None:
    fetching = Fetching(tmp_path)
    with HostileRegistry(attack, interval=INTERVAL) as registry:
        with pytest.raises(UnavailableError, match=SLOW[attack]) as refused:
            await fetching.fetch(registry.ref)
        assert registry.sent < MOST_SENT
        await until(lambda: registry.connections == 0)
    assert not may_help(refused.value), "a kubelet would wait for it in place of all other pods of its node"
    assert (fetching.arrived, fetching.left) == ([], NOTHING_LEFT)


@pytest.mark.usefixtures("slow_clock")
async def test_a_pull_has_a_time_in_all(tmp_path: Path) -> None:
    fetching = Fetching(tmp_path, replace(DEFAULT_LIMITS, image_seconds=50, image_answer_seconds=1000, image_rate=1))
    with HostileRegistry(Attack.SLOW_MANIFEST, interval=INTERVAL) as registry:
        text = "the image takes more than 50 s to arrive from .* RUKPAK_LIMIT_IMAGE_SECONDS sets it"
        with pytest.raises(UnavailableError, match=text.replace(" R", ".R")):
            await fetching.fetch(registry.ref)
    assert fetching.left == NOTHING_LEFT


@pytest.mark.parametrize("attack", [Attack.SILENT, Attack.SLOW_HEADERS, Attack.SLOW_LAYER])
async def test_silent_registry_is_not_waited_for_longer(
    attack: Attack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waits are measured by the clock of the machine: the next byte is an hour away."""
    monkeypatch.setattr(pace, "WINDOW_SECONDS", 0.2)
    fetching = Fetching(tmp_path, replace(DEFAULT_LIMITS, image_answer_seconds=1))
    with HostileRegistry(attack, interval=3600) as registry, pytest.raises(UnavailableError) as refused:
        await fetching.fetch(registry.ref)
    assert isinstance(refused.value, NotForOperatorError) is (attack is Attack.SILENT), "a node may reach it"
    assert ("does not answer" if attack is Attack.SILENT else "is too slow") in str(refused.value)


async def test_a_layer_in_chunks_of_one_byte_makes_its_pull_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks are read by Python, one by one: five milliseconds for the 8 KiB that are read of a socket at once."""
    worked = itertools.count(0, 0.005)
    pay = pace.Pace._pay
    debts: list[float] = []

    def counted(one: pace.Pace) -> None:
        pay(one)
        debts.append(one._debt)

    monkeypatch.setattr(pace.Pace, "_pay", counted)
    monkeypatch.setattr(pace, "thread_time", lambda: next(worked))
    monkeypatch.setattr(pace, "_WORK_SHARE", 0.05)  # so that it ends within the patience of a test
    fetching = Fetching(tmp_path)
    with HostileRegistry(Attack.CHUNKS) as registry:
        assert dict((await fetching.fetch(registry.ref)).tree) == FILES
    assert max(debts) > pace._MOST_DEBT


async def test_many_layers_that_stall_are_on_disk_and_not_in_memory(tmp_path: Path) -> None:
    fetching = Fetching(tmp_path)
    with HostileRegistry(Attack.STALLED_LAYER) as registry:
        tracemalloc.start()
        try:
            jobs = [asyncio.create_task(fetching.fetch(registry.ref)) for _ in range(MANY)]
            await until(lambda: fetching.spool.used > MANY * 3_900_000)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
    assert held < MANY * MOST_IN_MEMORY
    await until(lambda: fetching.left == NOTHING_LEFT)


async def test_segments_of_one_byte_are_read_together(tmp_path: Path) -> None:
    fetching = Fetching(tmp_path)
    with HostileRegistry(Attack.SEGMENTS) as registry:
        assert dict((await fetching.fetch(registry.ref)).tree) == FILES


@pytest.mark.parametrize("attack", [Attack.SILENT, *SLOW])
async def test_a_cancelled_job_leaves_no_thread_and_no_file(attack: Attack, tmp_path: Path) -> None:
    fetching = Fetching(tmp_path)
    with HostileRegistry(attack, interval=3600) as registry:
        jobs = [asyncio.create_task(fetching.fetch(registry.ref)) for _ in range(4)]
        last = {Attack.SLOW_TOKEN: 2, Attack.SLOW_CONFIG: 2, Attack.SLOW_LAYER: 3, Attack.SLOW_LAYER_CUT: 3}
        await until(lambda: len(registry.asked) == 4 * last.get(attack, 1))
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        await asyncio.wait_for(asyncio.to_thread(fetching.source.threads.shutdown), 10)
    assert fetching.left == NOTHING_LEFT


class Sources:
    """Images and archives, as in the operator."""

    def __init__(self, images: Fetching) -> None:
        downloads = DownloadSettings(addresses=LOOPBACK, limits=DEFAULT_LIMITS)
        self._images = images.source
        self._archives = HttpFetcher(logins(), downloads, workers=WORKERS, spool=images.spool)

    def lane(self, source: Source) -> str:
        return self._images.lane(source) if source.image else self._archives.lane(source)

    async def fetch(self, request: FetchRequest) -> Fetched:
        return await (self._images if request.source.image else self._archives).fetch(request)

    async def clean_up(self, bundle: str, uid: str, source: Source) -> None:
        pass


def bundle_of(name: str, source: Source) -> Bundle:
    return changed(bundle(name), spec=changed(spec(name), source=source))


async def test_slow_registries_hold_no_place_of_those_who_hold_content(tmp_path: Path) -> None:
    fetching = Fetching(tmp_path)
    ended: list[str] = []
    jobs = UnpackJobs(
        Sources(fetching),
        FakeContent(),
        records=FakeRecords(),
        states=BundleStates(),
        deployment_class=lambda _: "",
        deployment_uid=lambda _: "",
        installed_as=nothing_installed,
        on_end=ended.append,
        budget=ContentBudget(HOLDING_CONTENT),
    )
    archive = gzip.compress(layer({"manifests/a.yaml": b"a: 1"}))
    registries = [HostileRegistry(Attack.SLOW_LAYER, interval=3600).start() for _ in range(HOLDING_CONTENT)]
    try:
        with serving(lambda _: Answer(200, body=archive)) as website:
            for number, registry in enumerate(registries):
                slow = Source(type=SourceType.IMAGE, image=ImageSpec(ref=registry.ref))
                jobs.start(bundle_of(f"slow-{number}", slow))
            await until(lambda: all(len(registry.asked) == 3 for registry in registries))
            good = bundle_of("good", Source(type=SourceType.HTTP, http=HttpSource(url=f"http://{website.address}/x")))
            jobs.start(good)
            await until(lambda: ended == ["good"])
            assert isinstance(jobs.take(good), Unpacked)
        await jobs.close()
        await asyncio.wait_for(asyncio.to_thread(fetching.source.threads.shutdown), 10)
    finally:
        for registry in registries:
            registry.stop()
    assert fetching.left == NOTHING_LEFT


@pytest.mark.usefixtures("slow_clock")
async def test_a_slow_registry_is_a_failure_that_may_pass(tmp_path: Path) -> None:
    """So it is asked again, after the pause of the queue."""
    ended: list[str] = []
    jobs = UnpackJobs(
        Sources(Fetching(tmp_path)),
        FakeContent(),
        records=FakeRecords(),
        states=BundleStates(),
        deployment_class=lambda _: "",
        deployment_uid=lambda _: "",
        installed_as=nothing_installed,
        on_end=ended.append,
    )
    with HostileRegistry(Attack.SLOW_LAYER, interval=INTERVAL) as registry:
        slow = bundle_of("slow", Source(type=SourceType.IMAGE, image=ImageSpec(ref=registry.ref)))
        jobs.start(slow)
        await until(lambda: ended == ["slow"])
    result = jobs.take(slow)
    assert isinstance(result, Fact)
    assert result.cause is Cause.FETCH_UNAVAILABLE
    assert result.text.startswith(f"source bundle content: {registry.address} is")
