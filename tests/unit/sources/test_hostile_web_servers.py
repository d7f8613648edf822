"""Hostile web servers and archives: each attack ends with a message within bounds, and nothing is left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.gzipped_tar import read_gzipped_tar
from rukpak_py.sources.spool import Spool
from rukpak_py.workers.pool import WorkerProcesses
from tests.hostile.archives import HostileArchive, hostile_archive
from tests.hostile.web import HostileWebServer, WebAttack
from tests.unit.sources.websites import Reader

LONGEST_MESSAGE = 2000
PROCESSOR_SECONDS = 20.0  # a third of what a worker process of the operator has
REFUSED = {
    HostileArchive.PAX_RECORDS: "an extended header has more than 2000 records",
    HostileArchive.EXTENSION_HEADERS: "more than 16 extended headers precede one member",
    HostileArchive.GZIP_MEMBERS: "the archive is cut off",
    HostileArchive.DIRECTORIES: "RUKPAK_LIMIT_CONTENT_FILES",
    HostileArchive.LINKS: "never ends at a file",
    HostileArchive.BOMB: "RUKPAK_LIMIT_INFLATION_RATIO",
}
QUICK = {  # the others run into a limit of time, see below
    WebAttack.LARGE: (ContentError, "RUKPAK_LIMIT_ARCHIVE_BYTES"),
    WebAttack.ENDLESS: (ContentError, "RUKPAK_LIMIT_ARCHIVE_BYTES"),
    WebAttack.REASON: (UnavailableError, "http request for bundle content failed"),
    WebAttack.RETRY_AFTER: (UnavailableError, "503"),
    WebAttack.REDIRECTS: (UnavailableError, "RUKPAK_LIMIT_HTTP_REDIRECTS"),
    WebAttack.BROKEN_LOCATION: (UnavailableError, "not a URL|not a valid"),
    WebAttack.METADATA: (RukPakError, "169.254.169.254|2852039166"),
}
SLOW = {WebAttack.DRIP, WebAttack.DRIP_HEADER, WebAttack.NOTHING}


@pytest.fixture
async def processes() -> AsyncIterator[WorkerProcesses]:
    processes = WorkerProcesses(1, processor_seconds=PROCESSOR_SECONDS)
    yield processes
    await processes.close()


@pytest.fixture
async def server() -> AsyncIterator[HostileWebServer]:
    async with HostileWebServer() as server:
        yield server


@pytest.mark.parametrize("kind", HostileArchive)
async def test_a_hostile_archive_is_refused_within_its_processor_time(
    kind: HostileArchive, processes: WorkerProcesses
) -> None:
    data = await asyncio.to_thread(hostile_archive, kind)
    with pytest.raises(ContentError, match=REFUSED[kind]):
        await processes.run(read_gzipped_tar, data, DEFAULT_LIMITS)


def test_each_attack_is_tried() -> None:
    assert set(WebAttack) == QUICK.keys() | SLOW
    assert set(HostileArchive) == REFUSED.keys()


@pytest.mark.parametrize("attack", QUICK)
async def test_a_hostile_answer_is_refused(attack: WebAttack, server: HostileWebServer, tmp_path: Path) -> None:
    kind, text = QUICK[attack]
    spool = Spool(DEFAULT_LIMITS, tmp_path)
    with pytest.raises(kind, match=text) as refused:
        await Reader(spool=spool).fetch(server.url(attack))
    assert len(str(refused.value)) < LONGEST_MESSAGE
    assert spool.used == 0


@pytest.mark.parametrize("attack", sorted(SLOW))
async def test_a_slow_answer_ends_at_a_limit_of_time(
    attack: WebAttack, server: HostileWebServer, tmp_path: Path
) -> None:
    spool = Spool(DEFAULT_LIMITS, tmp_path)
    reader = Reader(spool=spool).with_limits(http_seconds=2)
    with pytest.raises(UnavailableError, match="RUKPAK_LIMIT_HTTP_SECONDS"):
        await reader.fetch(server.url(attack))
    assert spool.used == 0
