"""What the rest of the cluster offers: which namespaces there are, and which definitions are established.

Two watches for the process. When a namespace appears, or a definition becomes established or goes, discovery is asked
again and everybody who is blocked is woken: a deployment that waits for another one's kinds continues by itself. API
services without a backend are told in the log, as they block the deletion of every namespace.
"""

import asyncio
import logging
from collections.abc import Callable

import msgspec

from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CRDS, NAMESPACES


class _Names(msgspec.Struct, gc=False, frozen=True):
    kind: str = ""


class _Spec(msgspec.Struct, gc=False, frozen=True):
    group: str = ""
    names: _Names = _Names()


class _Condition(msgspec.Struct, gc=False, frozen=True):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_Condition] | None = None


class _Definition(msgspec.Struct, gc=False, frozen=True):
    spec: _Spec = _Spec()
    status: _Status | None = None


LOG = logging.getLogger(__name__)
_DEFINITION = msgspec.json.Decoder(_Definition)


class Cluster:
    def __init__(self, client: Client, discovery: Discovery, *, on_change: Callable[[], None]) -> None:
        self._discovery = discovery
        self._on_change = on_change
        self._established: dict[str, GroupKind] = {}
        self._namespaces = Informer(client, NAMESPACES, keep=False, on_change=self._namespace_changed)
        self._definitions = Informer(client, CRDS, full=True, keep=False, on_change=self._definition_changed)
        self._unanswered: frozenset[str] = frozenset()
        self._outdated = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._refresh()
        self._namespaces.start()
        self._definitions.start()
        self._task = asyncio.create_task(self._follow(), name="discovery")
        await self._namespaces.wait_synced()
        await self._definitions.wait_synced()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._namespaces.stop()
        await self._definitions.stop()

    def has_namespace(self, name: str) -> bool:
        return self._namespaces.get(NAMESPACES.key("", name)) is not None

    def is_established(self, kind: GroupKind) -> bool:
        return kind in self._established.values()

    def informers(self) -> tuple[Informer, ...]:
        return self._namespaces, self._definitions

    def _namespace_changed(self, _key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if old is None or new is None:
            self._on_change()

    def _definition_changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        before = self._established.get(key.name)
        now = _kind_of(new) if new is not None else None
        if before == now:
            return
        if now is None:
            self._established.pop(key.name, None)
        else:
            self._established[key.name] = now
        self._outdated.set()

    async def _refresh(self) -> None:
        await self._discovery.refresh()
        unanswered = self._discovery.stale_groups
        if unanswered == self._unanswered:
            return
        self._unanswered = unanswered
        if unanswered:
            names = ", ".join(sorted(unanswered))
            LOG.warning("no API service answers for %s: until it does or is removed, no namespace can go away", names)
        else:
            LOG.info("all API services answer again")

    async def _follow(self) -> None:
        """One refresh for any number of changes; a failing server is asked again at the next change or soon."""
        while True:
            await self._outdated.wait()
            self._outdated.clear()
            try:
                await self._refresh()
            except ApiError:
                self._outdated.set()
                await asyncio.sleep(1)
            self._on_change()


def _kind_of(definition: LiveObject) -> GroupKind | None:
    """The kind of an established definition."""
    try:
        decoded = _DEFINITION.decode(definition.json or b"{}")
    except msgspec.DecodeError:
        return None
    conditions = (decoded.status.conditions if decoded.status is not None else None) or []
    if any(one.type == "Established" and one.status == "True" for one in conditions):
        return GroupKind(decoded.spec.group, decoded.spec.names.kind)
    return None
