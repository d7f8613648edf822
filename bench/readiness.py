"""When each deployment became Ready, seen by one watch of our own."""

import asyncio
import time
from types import TracebackType
from typing import Self

import msgspec

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] = []


class _Deployment(msgspec.Struct, frozen=True):
    status: _Status = _Status()


_DECODER = msgspec.json.Decoder(_Deployment)


class Readiness:
    def __init__(self, client: Client, *, condition: str = "Ready") -> None:
        self.since: dict[str, float] = {}  # name to `time.perf_counter()`
        self._condition = condition
        self._changed = asyncio.Event()
        self._informer = Informer(client, BUNDLE_DEPLOYMENTS, full=True, keep=False, on_change=self._see)

    async def __aenter__(self) -> Self:
        self._informer.start()
        await self._informer.wait_synced(30)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._informer.stop()

    async def wait_for(self, count: int, *, seconds: float) -> None:
        """Until so many have it."""
        try:
            async with asyncio.timeout(seconds):
                while len(self.since) < count:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise TimeoutError(f"{len(self.since)} of {count} are {self._condition} after {seconds:.0f} s") from error

    async def wait_until(self, name: str, *, seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while name not in self.since:
                self._changed.clear()
                await self._changed.wait()

    def _see(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        if new is None or key.name in self.since:
            return
        conditions = _DECODER.decode(new.json or b"{}").status.conditions
        if any(one.type == self._condition and one.status == "True" for one in conditions):
            self.since[key.name] = time.perf_counter()
            self._changed.set()
