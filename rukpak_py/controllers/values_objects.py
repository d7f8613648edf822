"""The Secrets and ConfigMaps that charts take values from, each read once for each change that a watch shows.

Without an account they are in the system namespace, where the operator has watches anyway. With one they are read with
its rights, and each has a metadata watch by its name, so that rights on that name are enough. Where the account may
not watch, the object is read again every `POLL_SECONDS`. No data of a Secret of the operator itself is handed out,
whichever namespace it is in: see `StoredObject.own`.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import NamedTuple

from rukpak_py.api.accounts import Account
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.core.errors import AccessError, ContentError, RukPakError
from rukpak_py.core.logs import of_no_reconcile
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError
from rukpak_py.kube.informer import Informer, InformerSettings
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource

LOG = logging.getLogger(__name__)
POLL_SECONDS = 60.0  # between two reads of what the account may not watch, and between two tries to watch it
_RESOURCES = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}


class Known(NamedTuple):
    """An object as it was read."""

    uid: str = ""
    version: int = 0
    own: str = ""  # why nothing may refer to it
    data: Mapping[str, bytes] | None = None  # None: it did not exist

    def is_current(self, live: LiveObject | None, *, is_complete: bool) -> bool:
        """`is_complete`: what the watch does not show either does not exist or is news to it."""
        if live is None:
            return not self.uid or not is_complete
        return self.uid == live.metadata.uid and self.version >= live.metadata.version

    def content(self) -> Mapping[str, bytes] | None:
        if self.own:
            raise ContentError(self.own)
        return self.data


class SystemValuesObjects:
    """Those of the system namespace. While a watch does not show an object, it is asked for once: the watch may be
    late, and then shows it in a moment.
    """

    def __init__(self, objects: SystemObjects, *, secrets: Informer, config_maps: Informer) -> None:
        self._objects = objects
        self._watches = {"Secret": secrets, "ConfigMap": config_maps}
        self._known: dict[ValuesObject, Known] = {}
        self._turns: dict[ValuesObject, asyncio.Lock] = {}

    async def read(self, one: ValuesObject) -> Mapping[str, bytes] | None:
        resource, watch = _RESOURCES[one.kind], self._watches[one.kind]
        async with self._turns.setdefault(one, asyncio.Lock()):  # deployments may share it
            known = self._known.get(one)
            live = watch.get(resource.key(self._objects.namespace, one.name))
            if known is None or not known.is_current(live, is_complete=watch.synced.is_set()):
                known = self._known[one] = await _read(self._objects, resource, one.name)
            return known.content()

    def retain(self, wanted: AbstractSet[ValuesObject]) -> None:
        for one in self._known.keys() - wanted:
            del self._known[one]
        for one in self._turns.keys() - wanted:
            if not self._turns[one].locked():
                del self._turns[one]


class AccountObject:
    """One object in the namespace of an account, as the account may read it."""

    def __init__(
        self,
        one: ValuesObject,
        account: Account,
        client: Client,
        *,
        on_change: Callable[[ValuesObject], None],
        poll_seconds: float,
    ) -> None:
        self._one = one
        self._account = account
        self._client = client
        self._resource = _RESOURCES[one.kind]
        self._key = self._resource.key(account.namespace, one.name)
        self._on_change = on_change
        self._poll_seconds = poll_seconds
        self._known: Known | None = None
        self._read_at = 0.0
        self._turn = asyncio.Lock()  # deployments may share it
        self._watch = Informer(
            client,
            self._resource,
            namespace=account.namespace,
            field_selector=f"metadata.name={one.name}",
            keep=False,
            on_change=self._changed,
            settings=InformerSettings(longest_wait=poll_seconds),
        )
        self._watch.start()
        self._polling = asyncio.create_task(self._poll(), name=f"read {self._resource.plural} that cannot be watched")

    async def close(self) -> None:
        self._polling.cancel()
        await self._watch.stop()

    async def read(self, client: Client) -> Mapping[str, bytes] | None:
        async with self._turn:
            if self._known is None or not self._is_current(self._known):
                self._known = None
                self._known = await self._read(client)
            return self._known.content()

    @property
    def _is_watched(self) -> bool:
        status = self._watch.status
        return self._watch.synced.is_set() and status is not None and status.refused_since is None

    def _is_current(self, known: Known) -> bool:
        if self._is_watched:
            return known.is_current(self._watch.get(self._key), is_complete=True)
        return monotonic() < self._read_at + self._poll_seconds

    async def _read(self, client: Client) -> Known:
        self._read_at = monotonic()
        try:
            known = await _read(SystemObjects(client, self._account.namespace), self._resource, self._one.name)
        except ForbiddenError as error:
            rights = f"valuesFrom needs get, list and watch on this {self._one.kind}"
            raise AccessError(f"as service account {self._account}: {error}; {rights}") from error
        live = self._watch.get(self._key)
        if live is not None and not known.is_current(live, is_complete=True):
            self._on_change(self._one)  # while it was read
        return known

    def _changed(self, _key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        if self._known is not None and not self._known.is_current(new, is_complete=True):
            self._on_change(self._one)

    async def _poll(self) -> None:
        of_no_reconcile()
        while True:
            await asyncio.sleep(self._poll_seconds)
            if self._known is None or self._is_watched:
                continue  # the deployments look for what could not be read
            async with self._turn:
                before = self._known
                try:
                    self._known = await self._read(self._client)
                except RukPakError as error:
                    LOG.info("%s", error)
                    self._known = None
            if self._known is None or self._known != before:
                self._on_change(self._one)


class AccountValuesObjects:
    def __init__(self, *, on_change: Callable[[ValuesObject], None], poll_seconds: float = POLL_SECONDS) -> None:
        """`on_change`: it may hold something else than when it was read last."""
        self._on_change = on_change
        self._poll_seconds = poll_seconds
        self._objects: dict[ValuesObject, AccountObject] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def read(self, one: ValuesObject, account: Account, client: Client) -> Mapping[str, bytes] | None:
        found = self._objects.get(one)
        if found is None:
            found = AccountObject(one, account, client, on_change=self._on_change, poll_seconds=self._poll_seconds)
            self._objects[one] = found
        return await found.read(client)

    def retain(self, wanted: AbstractSet[ValuesObject]) -> None:
        for one in self._objects.keys() - wanted:
            closing = asyncio.create_task(self._objects.pop(one).close(), name=f"stop the watch of {one.name}")
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        self.retain(frozenset())
        await asyncio.gather(*self._closing)


class StoredValuesObjects:
    """The controllers' `ValuesObjects`."""

    def __init__(self, system: SystemValuesObjects, accounts: AccountValuesObjects) -> None:
        self._system = system
        self._accounts = accounts

    async def read(self, one: ValuesObject, client: Client) -> Mapping[str, bytes] | None:
        if one.account is None:
            return await self._system.read(one)
        return await self._accounts.read(one, one.account, client)

    def retain(self, wanted: AbstractSet[ValuesObject]) -> None:
        self._system.retain(wanted)
        self._accounts.retain(wanted)

    async def close(self) -> None:
        await self._accounts.close()


async def _read(objects: SystemObjects, resource: Resource, name: str) -> Known:
    found = await objects.read(resource, name)
    if found is None:
        return Known()
    uid, version = found.metadata.uid, found.metadata.version
    if resource is CONFIG_MAPS:
        return Known(uid, version, data=found.config_map_data())
    own = found.own()
    return Known(uid, version, own, data=None if own else found.secret_data())
