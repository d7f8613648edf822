"""Fetching apart from the workers: one job per Bundle, its result taken once, and no failure lost."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.controllers.fetching import AT_ONCE, Failed, Jobs, Result, Unpacked, unpack
from rukpak_py.core.errors import ContentError, UnavailableError
from tests.unit.controllers.fakes import FakeContent, FakeSources, tree, until
from tests.unit.controllers.values import source

DONE = Unpacked(digest="sha256:1", resolved=source())


class Bench:
    def __init__(self) -> None:
        self.ended: list[str] = []
        self.jobs = Jobs(on_end=self.ended.append)
        self.gate = asyncio.Event()
        self.started = 0
        self.at_once = self.most_at_once = 0

    async def job(self) -> Result:
        self.started += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await self.gate.wait()
        finally:
            self.at_once -= 1
        return DONE

    def start(self, name: str = "b") -> None:
        self.jobs.start(name, f"uid-of-{name}", "configMaps", self.job)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.jobs.close()


async def test_the_end_of_a_job_is_told_and_its_result_is_taken_once(bench: Bench) -> None:
    bench.start()
    assert bench.jobs.is_running("uid-of-b")
    assert bench.jobs.take("uid-of-b") is None
    bench.gate.set()
    await until(lambda: bench.ended)
    assert not bench.jobs.is_running("uid-of-b")
    assert bench.jobs.take("uid-of-b") == DONE
    assert bench.jobs.take("uid-of-b") is None
    assert bench.ended == ["b"]


async def test_a_bundle_has_one_job_at_a_time(bench: Bench) -> None:
    bench.start()
    bench.start()
    bench.gate.set()
    await until(lambda: bench.ended)
    bench.start()  # its result waits to be taken
    assert bench.started == 1
    bench.jobs.take("uid-of-b")
    bench.start()
    await until(lambda: len(bench.ended) == 2)
    assert bench.started == 2


async def test_only_some_jobs_run_at_once(bench: Bench) -> None:
    for number in range(AT_ONCE + 3):
        bench.start(f"b{number}")
    await until(lambda: bench.started == AT_ONCE)
    assert bench.jobs.is_running(f"uid-of-b{AT_ONCE + 2}"), "waiting for its turn is running, too"
    bench.gate.set()
    await until(lambda: len(bench.ended) == AT_ONCE + 3)
    assert bench.most_at_once == AT_ONCE


async def test_a_dropped_job_is_cancelled_and_leaves_no_result(bench: Bench) -> None:
    bench.start()
    await until(lambda: bench.started)
    bench.jobs.drop("uid-of-b")
    bench.jobs.drop("unknown")
    await until(lambda: not bench.at_once)
    assert not bench.jobs.is_running("uid-of-b")
    assert bench.jobs.take("uid-of-b") is None


async def test_a_job_that_waits_for_its_turn_can_be_dropped(bench: Bench) -> None:
    for number in range(AT_ONCE + 1):
        bench.start(f"b{number}")
    await until(lambda: bench.started == AT_ONCE)
    bench.jobs.drop(f"uid-of-b{AT_ONCE}")
    bench.gate.set()
    await until(lambda: len(bench.ended) == AT_ONCE + 1)
    assert bench.started == AT_ONCE


async def test_closing_ends_everything(bench: Bench) -> None:
    bench.start("a")
    bench.start("b")
    await until(lambda: bench.started == 2)
    await bench.jobs.close()
    assert bench.at_once == 0
    assert not bench.jobs.is_running("uid-of-a")


async def test_content_is_fetched_checked_and_kept() -> None:
    content, files = FakeContent(), tree(f=b"1")
    result = await unpack(
        FakeSources(tree=files, resolved=source("r")), content, source=source(), provisioner_class=PLAIN_CLASS
    )
    assert result == Unpacked(digest=files.digest, resolved=source("r"))
    assert files.digest in content.stored


@pytest.mark.parametrize(
    ("sources", "content", "message", "kind"),
    [
        (
            FakeSources(tree=tree(), error=UnavailableError("no answer")),
            FakeContent(),
            "source bundle content: no answer",
            UnavailableError,
        ),
        (FakeSources(tree=tree()), FakeContent(refusing=ContentError("empty")), "empty", ContentError),
        (
            FakeSources(tree=tree(), error=KeyError("a secret")),
            FakeContent(),
            "source bundle content: unexpected KeyError; this is a bug, please report it",
            UnavailableError,
        ),
    ],
)
async def test_each_step_fails_with_its_own_words(
    sources: FakeSources, content: FakeContent, message: str, kind: type[Exception]
) -> None:
    result = await unpack(sources, content, source=source(), provisioner_class=PLAIN_CLASS)
    assert isinstance(result, Failed)
    assert result.message == message
    assert isinstance(result.error, kind)
    assert content.stored == {}


async def test_a_store_that_fails_says_so() -> None:
    class Full(FakeContent):
        async def keep(self, _tree: object) -> str:
            raise UnavailableError("disk full")

    result = await unpack(FakeSources(tree=tree()), Full(), source=source(), provisioner_class=PLAIN_CLASS)
    assert isinstance(result, Failed)
    assert result.message == "persist bundle content: disk full"


async def test_a_bug_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    sources = FakeSources(tree=tree(), error=ZeroDivisionError())
    await unpack(sources, FakeContent(), source=source(), provisioner_class=PLAIN_CLASS)
    (record,) = caplog.records
    assert record.exc_info is not None
