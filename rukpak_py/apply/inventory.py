"""The cluster is the inventory: label-selected watches over the kinds in use show what every deployment owns.

* One watch per kind, of all namespaces or of one, for all deployments; of kinds without health only metadata travels.
  Of the kinds `by_namespace` there never is a watch of all namespaces.
* `owned_by(uid)`: label *and* owner uid, as the API server shows them. Copies that clients made have both; what is not
  desired must be proven (`ObservedObject.is_proven_of`) before anything is done to it.
* `observe` puts the answer to our own apply in, so that the next look does not miss it; an older event never
  overwrites a newer answer, and a late answer never brings back an object whose deletion was seen. When a watch itself
  goes back to an older version, etcd was restored, and that is the truth.
* `on_change(owner_uid)` is called when something that a decision looks at has changed, not for every event: our own
  echoes and foreign fields cause no work. `on_gone(key)` frees a name that another deployment may be waiting for.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Coroutine, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import orjson

from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, OWNER_KIND_LABEL
from rukpak_py.apply.health import has_health, judge
from rukpak_py.apply.observed_object import ObservedObject, observed_object
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.seen_versions import OnRestore

SELECTOR = f"{OWNER_KIND_LABEL}={BUNDLE_DEPLOYMENT_KIND}"
REMEMBERED = 4096  # uids


class Watched(NamedTuple):
    kind: GroupKind
    namespace: str = ""  # empty: all

    def __str__(self) -> str:
        return f"{self.kind} in namespace {self.namespace}" if self.namespace else str(self.kind)


class Inventory:
    def __init__(
        self,
        client: Client,
        *,
        on_change: Callable[[str], None],
        on_gone: Callable[[ObjectKey], None],
        on_listed: Callable[[frozenset[GroupKind]], None] = lambda _: None,
        on_restore: OnRestore | None = None,
        by_namespace: frozenset[GroupKind] = frozenset(),
    ) -> None:
        """`on_listed`: the first list of a kind is complete.

        `by_namespace`: kinds of which the operator may see the objects of some namespaces only. Where there are any, it
        has few rights, and one that it loses hides objects again.
        """
        self.by_namespace = by_namespace
        self._client = client
        self._on_listed = on_listed
        self._on_restore = on_restore
        self._on_change = on_change
        self._on_gone = on_gone
        self._informers: dict[Watched, Informer] = {}
        self._first_lists: dict[Watched, asyncio.Task[None]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._objects: dict[ObjectKey, ObservedObject] = {}
        self._owned: dict[str, dict[ObjectKey, ObservedObject]] = {}
        self._deleted_uids: OrderedDict[str, int] = OrderedDict()
        self._disclaimed: OrderedDict[str, int] = OrderedDict()  # by uid: the version from which on events count again

    def watch(self, resources: Iterable[Resource], namespace: str = "") -> None:
        """Start to watch these kinds; those that are watched already stay as they are, in the version they have.

        Only a version that is no longer served is given up for another one.
        """
        for resource in resources:
            watched = self._watched(resource.group_kind, namespace if resource.namespaced else "")
            known = self._informers.get(watched)
            if known is not None and not known.served and known.resource.gvk != resource.gvk:
                self._in_background(self._unwatch(watched).stop())
            if watched not in self._informers:
                informer = Informer(
                    self._client,
                    resource,
                    namespace=watched.namespace,
                    label_selector=SELECTOR,
                    full=has_health(resource.gvk),
                    keep=False,
                    on_change=partial(self._changed, resource.gvk),
                    on_restore=self._on_restore,
                )
                self._informers[watched] = informer
                informer.start()
                self._first_lists[watched] = self._in_background(self._tell_when_listed(informer))

    def informer_of(self, kind: GroupKind, namespace: str = "") -> Informer | None:
        """The watch that shows these objects. None: no watch does."""
        return self._informers.get(self._watched(kind, namespace))

    def nudge(self, kinds: Collection[GroupKind]) -> None:
        """Look again now for these kinds, which came or came back."""
        for watched, informer in self._informers.items():
            if watched.kind in kinds and not (informer.served and informer.synced.is_set()):
                informer.nudge()

    async def retain(self, used: Iterable[Watched]) -> None:
        """Stop the watches that no deployment uses any more."""
        unused = [self._unwatch(watched) for watched in self._informers.keys() - set(used)]
        self._drop_unwatched()
        for informer in unused:
            await informer.stop()
        self._drop_unwatched()  # what came in before the last of them stopped

    def unsynced(self, watches: Iterable[Watched]) -> set[Watched]:
        """Those that have not shown their objects yet, or may not show them any more."""
        found = {watched: self.informer_of(*watched) for watched in watches}
        return {watched for watched, informer in found.items() if informer is not None and not self._shows(informer)}

    def is_listed(self, kind: GroupKind, namespace: str = "") -> bool:
        """Whether the watch of this kind has shown all its objects once."""
        informer = self.informer_of(kind, namespace)
        return informer is not None and informer.synced.is_set()

    def informers(self) -> Mapping[Watched, Informer]:
        return self._informers

    def get(self, key: ObjectKey) -> ObservedObject | None:
        return self._objects.get(key)

    def shows_orphans_of(self, name: str, uid: str) -> bool:
        """Whether the collector took the owner reference of this deployment off an object of its.

        Objects with its labels alone prove nothing: Kubernetes copies those of a Service to its Endpoints. So do
        objects without an identity, which a former deployment of the name may have left.
        """
        return any(
            live.labelled_for == name and live.controller is None and not live.owner_uid
            for live in self._objects.values()
            if live.identity and live.is_proven_of(uid)
        )

    def left_by(self, name: str, uid: str) -> list[ObjectKey]:
        """The objects that a deletion of this deployment that orphans leaves in the cluster."""
        return [live.key for live in self._objects.values() if live.labelled_for == name and live.is_proven_of(uid)]

    def ours(self, uid: str, known: Container[ObjectKey]) -> dict[ObjectKey, ObservedObject]:
        """The objects of a deployment. `known`: those that it has applied, which need no proof."""
        return {key: live for key, live in self.owned_by(uid).items() if key in known or live.is_proven_of(uid)}

    def copies(self, uid: str, known: Container[ObjectKey]) -> list[ObjectKey]:
        """Objects that carry the marks of a deployment and are not of it."""
        return [key for key, live in self.owned_by(uid).items() if key not in known and not live.is_proven_of(uid)]

    def owned_by(self, uid: str) -> Mapping[ObjectKey, ObservedObject]:
        return self._owned.get(uid, {})

    def observe(self, gvk: GroupVersionKind, answer: LiveObject) -> ObservedObject:
        """Take in what the server answered to an apply. Health is known when the watch has shown the whole object."""
        live = observed_object(answer.key, gvk, answer.metadata)
        known = self._objects.get(live.key)
        if live.uid in self._deleted_uids or (known is not None and known.version >= live.version):
            return live
        is_same = known is not None and known.uid == live.uid and known.applied == live.applied
        self._put(replace(live, health=known.health if known is not None and is_same else None))
        return live

    def deleted(self, lives: Iterable[ObservedObject]) -> None:
        """The server said that these are gone; the watch is about to."""
        for live in lives:
            _remember(self._deleted_uids, live.uid, live.version)
            known = self._objects.get(live.key)
            if known is not None and known.uid == live.uid:
                self._drop(known)

    def disclaim(self, answer: LiveObject) -> None:
        """Our marks were on a stranger's object for a moment; the watch may still be about to show them."""
        _remember(self._disclaimed, answer.metadata.uid, answer.metadata.version)
        known = self._objects.get(answer.key)
        if known is not None and known.uid == answer.metadata.uid:
            self._drop(known)

    async def close(self) -> None:
        await self.retain(())
        await asyncio.gather(*self._background, return_exceptions=True)

    def _watched(self, kind: GroupKind, namespace: str) -> Watched:
        """The watch of all namespaces, where there is one, shows the objects of each."""
        everywhere = Watched(kind)
        return everywhere if everywhere in self._informers else Watched(kind, namespace)

    def _shows(self, informer: Informer) -> bool:
        is_denied = bool(self.by_namespace) and informer.status is not None and informer.status.is_denied
        return informer.synced.is_set() and not is_denied

    def _unwatch(self, watched: Watched) -> Informer:
        """A watch that ends before its first list never has one to tell of."""
        self._first_lists.pop(watched).cancel()
        return self._informers.pop(watched)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _tell_when_listed(self, informer: Informer) -> None:
        await informer.synced.wait()
        self._on_listed(frozenset({informer.resource.group_kind}))

    def _changed(self, gvk: GroupVersionKind, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        known = self._objects.get(key)
        if new is None:
            if old is not None:
                _remember(self._deleted_uids, old.metadata.uid, old.metadata.version)
            if known is not None and (old is None or known.uid == old.metadata.uid):
                self._drop(known)
                self._notify(known)
            self._on_gone(key)
            return
        went_back = old is not None and new.metadata.version < old.metadata.version  # a consistent fresh start says so
        if new.metadata.version < self._disclaimed.get(new.metadata.uid, 0) and not went_back:
            return
        self._deleted_uids.pop(new.metadata.uid, None)  # only its label had gone
        live = observed_object(key, gvk, new.metadata, judge(orjson.loads(new.json)) if new.json is not None else None)
        if known is not None and known.version > live.version and not went_back:
            return
        self._put(live)
        if known is None or replace(known, version=live.version) != live:  # else an echo, or fields that are not ours
            self._notify(known, live)

    def _put(self, live: ObservedObject) -> None:
        known = self._objects.get(live.key)
        if known is not None and known.owner_uid != live.owner_uid:
            self._disown(known)
        self._objects[live.key] = live
        if live.owner_uid:
            self._owned.setdefault(live.owner_uid, {})[live.key] = live

    def _drop_unwatched(self) -> None:
        lives = self._objects.values()
        for live in [one for one in lives if self.informer_of(one.gvk.group_kind, one.key.namespace) is None]:
            self._drop(live)

    def _drop(self, live: ObservedObject) -> None:
        self._objects.pop(live.key, None)
        self._disown(live)

    def _disown(self, live: ObservedObject) -> None:
        owned = self._owned.get(live.owner_uid)
        if owned is not None:
            owned.pop(live.key, None)
            if not owned:
                del self._owned[live.owner_uid]

    def _notify(self, *lives: ObservedObject | None) -> None:
        for uid in {live.owner_uid for live in lives if live is not None and live.owner_uid}:
            self._on_change(uid)


def _remember(versions: OrderedDict[str, int], uid: str, version: int) -> None:
    versions[uid] = version
    if len(versions) > REMEMBERED:
        versions.popitem(last=False)
