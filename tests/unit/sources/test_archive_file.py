"""An archive while it arrives: what happens to its file."""

import asyncio
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from rukpak_py.core.limits import DEFAULT_LIMITS, MIB
from rukpak_py.sources.archive_file import ArchiveFile
from rukpak_py.sources.spool import Spool, SpoolFile


def files_in(folder: Path) -> list[Path]:
    return list(folder.glob("*/*"))


async def test_a_download_that_is_cancelled_while_its_file_is_opened_leaves_no_file(tmp_path: Path) -> None:
    """The thread that opens it cannot be cancelled. It goes on after its caller was cancelled."""
    spool = Spool(replace(DEFAULT_LIMITS, spool_bytes=MIB), tmp_path)
    started, go_on = asyncio.Event(), Event()
    loop = asyncio.get_running_loop()

    class SlowHash:
        def update(self, _data: bytes) -> None:
            loop.call_soon_threadsafe(started.set)
            go_on.wait()

    def open_file() -> SpoolFile:
        return spool.file()

    archive = ArchiveFile(DEFAULT_LIMITS, open_file)
    archive._hash = SlowHash()  # type: ignore[assignment]

    async def receive() -> None:
        with archive:
            await archive.add(bytes(MIB // 2))

    receiving = asyncio.create_task(receive())
    await started.wait()
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    go_on.set()
    await loop.shutdown_default_executor()  # the thread is done
    assert spool.used == 0
    assert files_in(tmp_path) == []
