"""Use of the stores on disk, as metrics: looked at from time to time, because a look at each scrape would cost more.

A store that cannot be read has no metrics until it can be read again.
"""

import asyncio
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.core.metrics import STORE_BYTES, STORE_FILES, STORE_FREE, STORE_SIZE

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 60.0
_GAUGES = (STORE_BYTES, STORE_FILES, STORE_FREE, STORE_SIZE)


@dataclass(frozen=True, kw_only=True)
class DiskUse:
    """Use of a directory, and of the file system on which it lies."""

    used: int
    files: int
    free: int
    size: int


def disk_use(directory: Path, *, without: frozenset[Path] = frozenset()) -> DiskUse:
    """Blocking; OSError. `without`: directories in it that are left out. Files that vanish meanwhile do not count."""
    sizes = list(_sizes(directory, without))
    system = os.statvfs(directory)
    return DiskUse(
        used=sum(sizes),
        files=len(sizes),
        free=system.f_bavail * system.f_frsize,
        size=system.f_blocks * system.f_frsize,
    )


class StoreUse:
    def __init__(self, stores: Mapping[str, Path], *, every: float = LOOK_SECONDS) -> None:
        """`stores`: directories by their name in the metrics. One that lies in another counts only for itself."""
        self._stores = stores
        self._every = every

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            for name, directory in self._stores.items():
                await self._look(name, directory)
            await asyncio.sleep(self._every)

    async def _look(self, name: str, directory: Path) -> None:
        try:
            use = await asyncio.to_thread(disk_use, directory, without=frozenset(self._stores.values()) - {directory})
        except OSError as error:
            LOG.debug("the use of %s cannot be measured: %s", directory, error.strerror)
            for gauge in _GAUGES:
                with suppress(KeyError):
                    gauge.remove(name)
            return
        for gauge, value in zip(_GAUGES, (use.used, use.files, use.free, use.size), strict=True):
            gauge.labels(name).set(value)


def _sizes(directory: Path, without: frozenset[Path]) -> Iterator[int]:
    """Sizes on disk of the files below a directory; links are not followed."""
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                elif Path(entry.path) not in without:
                    yield from _sizes(Path(entry.path), without)
