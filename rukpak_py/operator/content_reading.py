"""Where content of others is received and read: temporary files, and worker processes.

Reading what arrives and rendering what is installed have lanes of their own among the worker processes: neither keeps
the other waiting.
"""

import asyncio
from typing import Final

from rukpak_py.core.limits import Limits
from rukpak_py.operator.worker_processes import CALL_SECONDS, WorkerProcesses
from rukpak_py.sources.spool import Spool

READERS: Final = 2
RENDERERS: Final = 2


class ContentReading:
    def __init__(self, limits: Limits) -> None:
        self._processes = WorkerProcesses(seconds=max(CALL_SECONDS, limits.helm_seconds + CALL_SECONDS / 2))
        self.readers = self._processes.lane(READERS)
        self.renderers = self._processes.lane(RENDERERS)
        self.spool = Spool(limits)

    async def open(self) -> None:
        """Remove what processes that were killed have left behind."""
        await asyncio.to_thread(self.spool.remove_abandoned)

    async def close(self) -> None:
        await self._processes.close()
        await asyncio.to_thread(self.spool.close)
