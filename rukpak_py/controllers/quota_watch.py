"""The limits of ResourceQuotas: a deployment that one of them held up goes on when it is raised or deleted.

It is watched only after a write was denied for the first time: most clusters never need it. What is used of a quota is
of no interest, although room may come by it: the failing deployment itself changes that at each attempt, and would wake
itself. Its back-off has to do there.
"""

import asyncio
from collections.abc import Callable

import msgspec

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import RESOURCE_QUOTAS

ANYWHERE = ""
PAGE = 500  # where they have to be listed

Limits = dict[str, str]


class _Status(msgspec.Struct, gc=False, frozen=True):
    hard: Limits = {}


class _Quota(msgspec.Struct, gc=False, frozen=True):
    status: _Status = _Status()


_QUOTA = msgspec.json.Decoder(_Quota)


class QuotaWatch:
    def __init__(self, client: Client) -> None:
        self._limits: dict[ObjectKey, Limits] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._first_list: asyncio.Task[None] | None = None
        self.informer = Informer(client, RESOURCE_QUOTAS, full=True, keep=False, page=PAGE, on_change=self._changed)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call it with the namespace in which limits changed, from now on, or ANYWHERE."""
        self._listeners.append(listener)

    def start(self) -> None:
        """More than once does nothing. What is seen first counts as changed: it may have been raised just before."""
        if self._first_list is None:
            self.informer.start()
            self._first_list = asyncio.create_task(self._listed(), name="first list of quotas")

    async def stop(self) -> None:
        if self._first_list is not None:
            self._first_list.cancel()
            await self.informer.stop()

    async def _listed(self) -> None:
        """A quota that went before that was never seen."""
        await self.informer.synced.wait()
        for listener in self._listeners:
            listener(ANYWHERE)

    def _changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        limits = _limits_of(new) if new is not None else None
        if limits is not None and self._limits.get(key) == limits:
            return
        if limits is None:
            self._limits.pop(key, None)
        else:
            self._limits[key] = limits
        for listener in self._listeners:
            listener(key.namespace)


def _limits_of(quota: LiveObject) -> Limits:
    """Limits as the server enforces them: those of the status, which follow those of the spec."""
    try:
        return _QUOTA.decode(quota.json or b"{}").status.hard
    except msgspec.DecodeError:
        return {}
