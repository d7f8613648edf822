"""Use of the stores on disk."""

import asyncio
import os
from pathlib import Path

from rukpak_py.controllers.store_use import StoreUse, disk_use
from tests.scrapes import value
from tests.waiting import until

BLOCK = 4096


def test_files_count_by_what_they_take_on_disk(tmp_path: Path) -> None:
    inner = tmp_path / "content"
    inner.mkdir()
    (inner / "one").write_bytes(b"x" * (10 * BLOCK))
    (tmp_path / "two").write_bytes(b"x")
    (tmp_path / "link").symlink_to("/usr")
    use = disk_use(tmp_path)
    assert use.files == 3
    taken = sum(path.stat().st_blocks * 512 for path in (inner / "one", tmp_path / "two"))
    link = os.lstat(tmp_path / "link").st_blocks * 512
    assert use.used == taken + link
    assert 0 < use.free <= use.size


async def test_a_store_in_another_counts_once_and_a_lost_one_has_no_metrics(tmp_path: Path) -> None:
    bundles, uploads = tmp_path / "bundles", tmp_path / "bundles/uploads"
    uploads.mkdir(parents=True)
    (bundles / "a").write_bytes(b"x")
    for name in "bc":
        (uploads / name).write_bytes(b"x")
    looking = asyncio.create_task(StoreUse({"of-a": bundles, "of-b": uploads}, every=0.01).run())
    try:
        await until(lambda: value("rukpak_store_files", store="of-b") == 2)
        assert value("rukpak_store_files", store="of-a") == 1
        assert value("rukpak_store_filesystem_size_bytes", store="of-a") > 0
        bundles.rename(tmp_path / "gone")
        await until(lambda: not value("rukpak_store_filesystem_size_bytes", store="of-a"))
        assert not value("rukpak_store_files", store="of-a")
    finally:
        looking.cancel()
        await asyncio.wait([looking])
