"""The objects of hooks in the cluster: read, created and deleted with the identity of the deployment (`Target.client`).

One watch for each kind brings the keys of the deployments back whose hooks change. What it shows decides nothing: the
object is read when its deployment is looked at, by the name that the status records. Objects without the label, which a
former release has created, are therefore found, too, by a look now and then.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace

import orjson

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.hook_status import HookInStatus
from rukpak_py.api.names import HOOK_LABEL, HOOK_RUN_ANNOTATION, RECONCILE_AT_ANNOTATION
from rukpak_py.apply.target import Target
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.hooks.facts import HookState, KnownHook
from rukpak_py.controllers.deployment.hooks.hook_end import SUCCEEDED, has_verdict, seconds_since, time_limit, verdict
from rukpak_py.controllers.deployment.hooks.hook_object import HookObject, LiveHook
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.kube.answers import live_object
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, Metadata
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.seen_versions import OnRestore


class HookWatch:
    def __init__(
        self,
        client: Client,
        *,
        on_change: Callable[[str], None],
        on_gone: Callable[[ObjectKey], None],
        on_restore: OnRestore | None = None,
        unwatched: Collection[GroupKind] = (),
    ) -> None:
        """`on_change` is called with the uid of the deployment; `on_gone` frees a name that a hook may wait for.

        `unwatched`: kinds that the operator may not watch in all namespaces.
        """
        self.informers: dict[GroupKind, Informer] = {}
        self._client = client
        self._on_change = on_change
        self._on_gone = on_gone
        self._on_restore = on_restore
        self._unwatched = unwatched
        self._stopping = set[asyncio.Task[None]]()

    def start(self, resource: Resource) -> bool:
        """Watch the kind, unless it is watched already; in another version only once that is no longer served.

        False: the kind is never watched, and its objects are to be looked at now and then.
        """
        if resource.group_kind in self._unwatched:
            return False
        known = self.informers.get(resource.group_kind)
        if known is not None and not known.served and known.resource.gvk != resource.gvk:
            stopping = asyncio.create_task(self.informers.pop(resource.group_kind).stop())
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)
        if resource.group_kind not in self.informers:
            informer = self.informers[resource.group_kind] = Informer(
                self._client,
                resource,
                label_selector=HOOK_LABEL,
                on_change=self._changed,
                on_restore=self._on_restore,
            )
            informer.start()
        return True

    async def retain(self, used: Collection[GroupKind]) -> None:
        """Stop the watches of kinds of which no hook is waited for."""
        unused = [self.informers.pop(kind) for kind in self.informers.keys() - set(used)]
        for informer in unused:
            await informer.stop()

    async def close(self) -> None:
        await self.retain(())
        await asyncio.gather(*self._stopping)

    def _changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        for live in (old, new):
            if live is not None:
                self._on_change(live.metadata.labels.get(HOOK_LABEL, ""))
        if new is None:
            self._on_gone(key)


class HookObjects:
    def __init__(
        self,
        cluster: Cluster,
        *,
        target_of: Callable[[BundleDeployment], Target],
        watch: Callable[[Resource], bool],
        now: Callable[[], str],
        seconds: float,
    ) -> None:
        """`seconds`: a hook must end within, unless it asks for more."""
        self._cluster = cluster
        self._target_of = target_of
        self.watch = watch
        self.now = now
        self._seconds = seconds

    async def resource_of(self, gvk: GroupVersionKind) -> Resource | None:
        """Refresh discovery when the kind is unknown: an object of the same chart may have brought it."""
        found = self._cluster.resource_of(gvk)
        if found is None:
            await self._cluster.refresh()
            found = self._cluster.resource_of(gvk)
        return found

    async def read(
        self, deployment: BundleDeployment, state: HookState, resource: Resource, key: ObjectKey
    ) -> LiveHook | None:
        """Read the object, and remember how it ended. Its age counts by our clock alone where this process created it.

        What is being deleted is not remembered: it may have to be gone before the hook is run.
        """
        state.was_read = True
        try:
            body = await self._target_of(deployment).client.get(resource, key.namespace, key.name)
        except NotFoundError:
            return None
        metadata, manifest = live_object(resource, body, full=True).metadata, orjson.loads(body)
        end, known = verdict(resource.group_kind, manifest), state.known
        age, created_at = seconds_since(metadata.creation_timestamp, self.now()), None
        if known is not None and known.uid == metadata.uid and known.created_at is not None:
            created_at = known.created_at
            age = _loop_time() - created_at
        if end is not None and not metadata.is_deleted:
            state.known = replace(_known(key, metadata), created_at=created_at, end=end)
        return LiveHook(
            metadata=metadata,
            verdict=end,
            age=age,
            limit=time_limit(resource.group_kind, manifest, self._seconds),
        )

    def limit_of(self, wanted: HookObject) -> float:
        """Seconds that it has, as it is created."""
        return time_limit(wanted.resource.group_kind, orjson.loads(wanted.body), self._seconds)

    async def metadata(self, deployment: BundleDeployment, resource: Resource, one: HookInStatus) -> Metadata | None:
        with suppress(NotFoundError):
            return await self._target_of(deployment).client.get_metadata(resource, one.namespace, one.name)
        return None

    async def create(self, deployment: BundleDeployment, state: HookState, wanted: HookObject) -> Metadata:
        created = await self._target_of(deployment).client.create(
            wanted.resource, wanted.key.namespace, wanted.body, field_manager=wanted.owner.manager
        )
        end = None if has_verdict(wanted.resource.group_kind) else SUCCEEDED
        state.known = replace(_known(wanted.key, created.metadata), run=wanted.mark, created_at=_loop_time(), end=end)
        return created.metadata

    async def delete(
        self, deployment: BundleDeployment, resource: Resource, key: ObjectKey, uid: str, propagation: str
    ) -> None:
        """Delete the object with this uid, which may be gone already, without waiting for its end.

        StaleError: another object has its name, or a webhook answers so.
        """
        client = self._target_of(deployment).client
        with suppress(NotFoundError):
            await client.delete(resource, key.namespace, key.name, uid=uid, propagation=propagation)

    async def delete_recorded(
        self, deployment: BundleDeployment, state: HookState, hooks: Iterable[HookInStatus]
    ) -> list[tuple[ObjectKey, RukPakError]]:
        """Delete each of them once in this process; return the failures. A kind that is not served has no objects."""
        failures: list[tuple[ObjectKey, RukPakError]] = []
        for one in hooks:
            if one.uid in state.deleted:
                continue
            try:
                resource = await self.resource_of(one.gvk)
                if resource is not None:
                    with suppress(StaleError):
                        await self.delete(deployment, resource, one.key, one.uid, "Background")
                    state.deleted.add(one.uid)
            except RukPakError as error:
                failures.append((one.key, error))
        return failures


def _known(key: ObjectKey, metadata: Metadata) -> KnownHook:
    annotations = metadata.annotations
    return KnownHook(
        key=key,
        run=annotations.get(HOOK_RUN_ANNOTATION, ""),
        uid=metadata.uid,
        reconcile_at=annotations.get(RECONCILE_AT_ANNOTATION, ""),
        started_at=metadata.creation_timestamp or "",
    )


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
