"""Which kinds the cluster serves. Two GETs with ETags answer for all groups; nothing changed costs two empty answers.

Look-ups are on the last snapshot and never wait. `refresh` is single-flight: who asks while one runs gets a run that
began after the question. A kind shows in discovery up to 0.3 s after its definition is Established, and its URL may
answer 404 a little longer: `once_served` sits that out.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from rukpak_py.core.objects import GroupKind, GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery_documents import (
    AGGREGATED,
    GroupVersion,
    Served,
    read_aggregated,
    read_group_version,
    read_index,
    serve,
)
from rukpak_py.kube.errors import ApiError, ErrorAnswer, KindNotServedError, ServerUnavailableError
from rukpak_py.kube.pace import Backoff
from rukpak_py.kube.resources import Resource

SETTLE_SECONDS = 10.0  # how long a kind may answer 404 after its definition was Established
ROOTS = ("/api", "/apis")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Kinds that were read, without the client that read them: another one goes on from here."""

    served: Served = field(default_factory=Served)
    etags: Mapping[str, str] = field(default_factory=dict)
    read: Mapping[str, list[GroupVersion]] = field(default_factory=dict)
    read_at: float = -math.inf  # monotonic: of the last run that succeeded


NOTHING_READ = Snapshot()


class Discovery:
    def __init__(self, client: Client, *, accept: str = AGGREGATED, snapshot: Snapshot = NOTHING_READ) -> None:
        self._client = client
        self._accept = accept
        self._served = snapshot.served
        self._etags = dict(snapshot.etags)
        self._read = dict(snapshot.read)
        self._turn = asyncio.Lock()
        self._began = 0  # runs that have begun
        self._read_at = snapshot.read_at

    @property
    def served(self) -> Served:
        return self._served

    @property
    def stale_groups(self) -> frozenset[str]:
        """Group versions without a backend. Each of them blocks the deletion of every namespace."""
        return self._served.stale

    def find(self, gvk: GroupVersionKind) -> Resource | None:
        return self._served.resources.get(gvk)

    def preferred(self, group: str, kind: str) -> Resource | None:
        """The kind in the version that the server prefers."""
        return self._served.preferred.get(GroupKind(group, kind))

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot(served=self._served, etags=dict(self._etags), read=dict(self._read), read_at=self._read_at)

    async def refresh_after(self, seconds: float) -> None:
        """Ask the server, unless it was asked within the last `seconds`."""
        if time.monotonic() - self._read_at >= seconds:
            await self.refresh()

    async def refresh(self) -> bool:
        """Ask the server; True when something changed. Raises `ApiError` and keeps the snapshot."""
        seen, before = self._began, self._served
        async with self._turn:
            if self._began == seen:
                self._began += 1
                began = time.monotonic()
                changes = [await self._fetch_root(root) for root in ROOTS]
                if any(changes):
                    self._served = serve([version for root in ROOTS for version in self._read[root]])
                self._read_at = began
        return self._served is not before

    async def _fetch_root(self, root: str) -> bool:
        answer = await self._client.raw_get(root, accept=self._accept, etag=self._etags.get(root, ""), verb="discover")
        if answer.status == 304:
            return False
        try:
            versions = read_aggregated(answer.body)
            if versions is None:
                names = read_index(answer.body)
                versions = [await self._fetch_group_version(name) for name in names]
        except msgspec.MsgspecError as error:
            text = "the answer is not a discovery document"
            raise ServerUnavailableError(
                ErrorAnswer(subject=f"get {root}", status=answer.status, message=text)
            ) from error
        # The older index says nothing about changes inside a group, so its ETag proves nothing.
        is_aggregated = "APIGroupDiscoveryList" in answer.headers.get("Content-Type", "")
        self._etags[root] = answer.headers.get("ETag", "") if is_aggregated else ""
        changed = versions != self._read.get(root)
        self._read[root] = versions
        return changed

    async def _fetch_group_version(self, name: str) -> GroupVersion:
        try:
            answer = await self._client.raw_get(f"/apis/{name}" if "/" in name else f"/api/{name}", verb="discover")
        except ApiError:
            group, _, version = name.rpartition("/")
            return GroupVersion(group=group, version=version, is_stale=True)
        return read_group_version(name, answer.body)


async def once_served(call: Callable[[], Awaitable[T]], *, limit: float = SETTLE_SECONDS) -> T:
    """The result of `call`, repeated while the kind is not served, for at most `limit` seconds."""
    backoff = Backoff(first=0.05, limit=1.0)
    deadline = time.monotonic() + limit
    while True:
        try:
            return await call()
        except KindNotServedError:
            wait = backoff.next()
            if time.monotonic() + wait > deadline:
                raise
        await asyncio.sleep(wait)
