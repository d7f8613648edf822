"""The sources' `Pods`, in terms of the API client: a watch by label, and requests.

The watch runs while there are unpack pods or a job needs one, and for a moment after that; without pods it costs
nothing. It runs at the beginning, too: an operator before this one may have left some. Every change of a pod is told
with the name of its Bundle.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress

from rukpak_py.api.names import BUNDLE_KIND, OWNER_KIND_LABEL
from rukpak_py.core.errors import AccessError, UnavailableError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, ApiError, InvalidError, NotFoundError, StaleError
from rukpak_py.kube.exec import run_command
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import PODS, Resource
from rukpak_py.kube.seen_versions import OnRestore
from rukpak_py.sources.source import PodClaim

NODES = Resource(gvk=GroupVersionKind("", "v1", "Node"), plural="nodes", namespaced=False)
SYNC_SECONDS = 10.0
IDLE_SECONDS = 60.0  # without a pod, and without a job that needs one
_REMEMBERED = 1000  # pods that other clients deleted


class UnpackPodWatch:
    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        on_change: Callable[[str], None],
        on_restore: OnRestore | None = None,
        idle_seconds: float = IDLE_SECONDS,
        sync_seconds: float = SYNC_SECONDS,
        stays: bool = False,
    ) -> None:
        """`on_change` is called with the name of the Bundle. `stays`: it runs without pods, too: they are missed."""
        self._client = client
        self._namespace = namespace
        self._on_change = on_change
        self._on_restore = on_restore
        self._idle_seconds = idle_seconds
        self._sync_seconds = sync_seconds
        self._stays = stays
        self._informer: Informer | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self._deleted: dict[str, str] = {}  # the uid of the Bundle, by the name of the pod

    @property
    def informer(self) -> Informer | None:
        """None while no job needs it."""
        return self._informer

    def start(self) -> Informer:
        if self._informer is None:
            self._informer = Informer(
                self._client,
                PODS,
                namespace=self._namespace,
                label_selector=f"{OWNER_KIND_LABEL}={BUNDLE_KIND}",
                full=True,
                on_change=self._changed,
                on_restore=self._on_restore,
            )
            self._informer.start()
        self._put_off_idle()
        return self._informer

    async def close(self) -> None:
        self._cancel_idle()
        informer, self._informer = self._informer, None
        if informer is not None:
            await informer.stop()
        await asyncio.gather(*self._stopping, return_exceptions=True)

    async def watch(self) -> None:
        informer = self.start()
        try:
            await informer.wait_synced(self._sync_seconds)
        except TimeoutError as error:
            problem = informer.status.problem if informer.status is not None else None
            raise UnavailableError(f"unpack pods: {problem or 'the API server does not answer'}") from error

    def get(self, name: str) -> bytes | None:
        live = self._informer.get(PODS.key(self._namespace, name)) if self._informer is not None else None
        return live.json if live is not None else None

    def is_in_step(self) -> bool:
        return self._informer is not None and self._informer.synced.is_set()

    def was_deleted(self, name: str, bundle_uid: str) -> bool:
        return self._deleted.get(name) == bundle_uid

    async def create(self, manifest: bytes) -> bool:
        try:
            await self._client.create(PODS, self._namespace, manifest)
        except AlreadyExistsError:
            return False
        except InvalidError as error:  # of the settings: nothing else in it is anybody's choice
            raise AccessError(error.message) from error
        except ApiError as error:
            if isinstance(error, AccessError):
                raise AccessError(error.message) from error
            raise
        self.start()  # the request may have taken longer than the watch runs without pods
        return True

    async def claim(self, name: str) -> PodClaim | None:
        try:
            metadata = await self._client.get_metadata(PODS, self._namespace, name)
        except NotFoundError:
            return None
        owner = metadata.controller.uid if metadata.controller is not None else ""
        is_watched = metadata.labels.get(OWNER_KIND_LABEL) == BUNDLE_KIND
        return PodClaim(uid=metadata.uid, owner=owner, is_watched=is_watched)

    async def delete(self, name: str, uid: str) -> None:
        with suppress(NotFoundError, StaleError):
            await self._client.delete(PODS, self._namespace, name, uid=uid)

    def run(self, name: str, container: str, command: Sequence[str], *, end: str = "") -> AsyncGenerator[bytes, None]:
        return run_command(self._client, self._namespace, name, container, command, end=end)

    async def obstacle(self) -> str:
        try:
            nodes = await self._client.list_page(NODES, limit=1)
        except ApiError:
            return ""  # nodes may exist even where the operator may not list them
        return "" if nodes.items else "the cluster has no node"

    def _changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if new is None and old is not None:
            owner = old.metadata.controller
            self._deleted[key.name] = owner.uid if owner is not None else ""
            while len(self._deleted) > _REMEMBERED:
                del self._deleted[next(iter(self._deleted))]
        else:
            self._deleted.pop(key.name, None)
        self._put_off_idle()
        self._on_change(key.name)

    def _put_off_idle(self) -> None:
        self._cancel_idle()
        if self._stays:
            return
        self._idle = asyncio.get_running_loop().call_later(self._idle_seconds, self._stop_when_idle)

    def _cancel_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _stop_when_idle(self) -> None:
        self._idle = None
        if self._informer is None or len(self._informer) or not self._informer.synced.is_set():
            self._put_off_idle()
            return
        informer, self._informer = self._informer, None
        task = asyncio.create_task(informer.stop(), name="stop watching unpack pods")
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
