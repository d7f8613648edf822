"""Helps the garbage collector with the objects of a deployment that is gone.

The collector looks for new kinds every 30 seconds: on a young cluster it does not know of our deployments, or of the
kinds that they brought, and their objects stay that long. A second after the deletion, what is left is deleted by us.

* Only for deployments that were served with the operator's own rights. What an account has installed is left to the
  collector: the account named by a deployment that is gone is no authority, and the operator's rights are not its.
* Only after a deletion that certainly did not orphan (`ProvenDeletions`), and when a GET shows that the deployment does
  not exist.
* Only objects that the collector would delete: controlled by the deployment's uid, with no other owner and none of
  the collector's finalizers. Copies that clients made of them are left to it. The request carries the uid and the
  resourceVersion on which this was decided; an object that changed meanwhile is read and judged again.
* Each object is asked to go once. What its own finalizers hold is theirs to release: what they still hold half a minute
  later is told, because the deployment that could say so is gone.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.core.errors import RukPakError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import KindNotServedError, NotFoundError, StaleError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import Resource

HELD_AFTER = 30.0  # seconds: finalizers of working controllers are gone by then
AFTER = 1.0  # seconds: a collector that knows the kinds needs 0.3
LOOKS = 3  # at what is left: objects may have been on their way, requests may have failed
TRIES = 3  # at an object that moves
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    resource: Resource
    live: ObservedObject


@dataclass(kw_only=True)
class _Removal:
    """A deployment that is gone."""

    name: str
    uid: str
    asked: set[str] = field(default_factory=set)  # uids of the objects that were asked to go
    looks: int = 0


class StillExists(Protocol):
    async def __call__(self, name: str, uid: str, /) -> bool: ...


def is_left_behind(live: ObservedObject, uid: str) -> bool:
    """Whether the collector would delete this object when the deployment with this uid is gone."""
    is_controlled = live.controller is not None and live.controller.uid == uid and live.is_controlled_by_deployment
    return is_controlled and not live.is_left_to_collector and not live.is_deleted


def owned_by(inventory: Inventory, uid: str) -> Iterator[Leftover]:
    """The objects of a deployment that the inventory shows, of kinds that it still watches."""
    for live in inventory.owned_by(uid).values():
        informer = inventory.informer_of(live.gvk.group_kind, live.key.namespace)
        if informer is not None and live.is_proven_of(uid):
            yield Leftover(resource=informer.resource, live=live)


class OrphanCleanup:
    def __init__(
        self,
        client: Client,
        *,
        owned: Callable[[str], Iterable[Leftover]],
        still_exists: StillExists,
        done: Callable[[], None],
        held: Callable[[str, ObservedObject], None],
        after: float = AFTER,
        held_after: float = HELD_AFTER,
    ) -> None:
        """`owned`: by the uid of a deployment, what the watches show. `done` is called when nothing waits any more.

        `held` hears, with the name of its deployment, of an object that finalizers hold.
        """
        self._client = client
        self._owned = owned
        self._still_exists = still_exists
        self._done = done
        self._held = held
        self._after = after
        self._held_after = held_after
        self._waiting: asyncio.Queue[tuple[float, _Removal]] = asyncio.Queue()
        self._pending: set[str] = set()  # uids

    @property
    def is_idle(self) -> bool:
        """Whether no deployment that is gone needs the watches any more."""
        return not self._pending

    def deleted(self, name: str, uid: str) -> None:
        """Clean up after a deployment that is gone, and whose objects are certainly to go with it."""
        self._pending.add(uid)
        self._look_later(_Removal(name=name, uid=uid))

    async def run(self) -> None:
        """Look after one deployment after the other: this is help, and never in the way of work."""
        while True:
            due, removal = await self._waiting.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            try:
                is_done = await self._collect(removal)
            except RukPakError as error:
                is_done = False
                LOG.warning("could not look after what BundleDeployment %s left behind: %s", removal.name, error)
            removal.looks += 1
            if not is_done and removal.looks < LOOKS:
                self._look_later(removal)
                continue
            if any(one.live.held_by for one in self._owned(removal.uid)):
                asyncio.get_running_loop().call_later(self._held_after, self._tell_held, removal)
            else:
                self._end(removal)

    def _tell_held(self, removal: _Removal) -> None:
        for one in self._owned(removal.uid):
            if one.live.held_by:
                self._held(removal.name, one.live)
        self._end(removal)

    def _end(self, removal: _Removal) -> None:
        self._pending.discard(removal.uid)
        if self.is_idle:
            self._done()

    def _look_later(self, removal: _Removal) -> None:
        self._waiting.put_nowait((asyncio.get_running_loop().time() + self._after, removal))

    async def _collect(self, removal: _Removal) -> bool:
        """Look once; return whether nothing is left that has not been asked to go."""
        name, uid, asked = removal.name, removal.uid, removal.asked
        left = [one for one in self._owned(uid) if is_left_behind(one.live, uid) and one.live.uid not in asked]
        if not left or await self._still_exists(name, uid):
            return True
        LOG.info("deleting %d objects of BundleDeployment %s, which the garbage collector has left", len(left), name)
        await run_bounded(lambda one: self._delete(one, uid, asked), left)
        return False

    async def _delete(self, leftover: Leftover, uid: str, asked: set[str]) -> None:
        live: ObservedObject | None = leftover.live
        for _ in range(TRIES):
            if live is None or not is_left_behind(live, uid):
                return
            try:
                await self._client.delete(
                    leftover.resource,
                    live.key.namespace,
                    live.key.name,
                    uid=live.uid,
                    resource_version=str(live.version),
                    propagation="Background",  # the server's default for Jobs would leave their Pods
                )
            except (NotFoundError, KindNotServedError):
                return
            except StaleError:
                live = await self._read(leftover.resource, live)
            except RukPakError as error:
                LOG.warning("could not delete %s, which the garbage collector left: %s", live.key, error)
                return
            else:
                asked.add(live.uid)
                return

    async def _read(self, resource: Resource, live: ObservedObject) -> ObservedObject | None:
        """The same object as it is now."""
        try:
            metadata = await self._client.get_metadata(resource, live.key.namespace, live.key.name)
        except (NotFoundError, KindNotServedError):
            return None
        return observed_object(live.key, live.gvk, metadata) if metadata.uid == live.uid else None
