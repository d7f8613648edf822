"""Namespaces, CRDs and kinds of the cluster, as two watches and discovery show them.

Two watches for the process. When a CRD changes, discovery is asked again until it shows what the CRD says (it lags
behind by up to a second), and the kinds that came or went are told: what waits for one of them continues by itself.
The same when discovery no longer shows what a CRD says: often for a while, then now and then, and never not at all.
API services without a backend are told in the log, as they block the deletion of every namespace; why they are not
available is asked for with discovery, for those whose kinds they hide.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

import msgspec

from rukpak_py.apply.order import is_builtin
from rukpak_py.core.crds import CrdFacts, crd_facts
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.core.text import excerpt, joined
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ApiError, NotFoundError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import API_SERVICES, CRDS, NAMESPACES, Resource

LOG = logging.getLogger(__name__)
LAG_SECONDS = 15.0  # how long discovery is asked again and again for what a CRD promises
LAG_INTERVAL_SECONDS = 0.2
LATE_INTERVAL_SECONDS = 30.0  # and how often after that, while it is not shown
FRESH_SECONDS = 5.0  # an answer of discovery for those who miss a kind
RETRY_SECONDS = 1.0
# On an API service that the server keeps by itself, because of its own kinds or of a CRD of the same group and version.
AUTOMANAGED_LABEL = "kube-aggregator.kubernetes.io/automanaged"
SERVICE_MESSAGE_CHARACTERS = 500  # of what an API service says about itself
GONE_AFTER_SECONDS = 60.0  # between two complete discoveries that do not show a built-in kind


class Cluster:
    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        *,
        on_namespace: Callable[[str], None],
        on_kinds: Callable[[frozenset[GroupKind]], None],
    ) -> None:
        self.discovery = discovery
        self._client = client
        self._on_namespace = on_namespace
        self._on_kinds = on_kinds
        self._crds: dict[str, CrdFacts] = {}
        self._by_kind: dict[GroupKind, dict[str, CrdFacts]] = {}  # several may claim a kind; one is established
        self._absent_since: dict[GroupKind, float] = {}
        self._namespaces = Informer(client, NAMESPACES, keep=False, on_change=self._namespace_changed)
        self._crd_watch = Informer(client, CRDS, full=True, keep=False, on_change=self._crd_changed)
        self._unanswered: frozenset[str] = frozenset()
        self._broken: dict[str, str] = {}  # by group: which API service is not available, and why
        self._outdated = asyncio.Event()
        self._awaited: dict[GroupKind, float] = {}  # kinds that discovery should show soon, and since when
        self._snapshot = discovery.served
        self._refreshed_at = float("-inf")
        self._served_kinds: dict[GroupKind, frozenset[Resource]] = {}
        self.task: asyncio.Task[None] | None = None  # follows discovery from `start` on; it must not end

    async def start(self) -> None:
        await self._refresh()
        self._namespaces.start()
        self._crd_watch.start()
        await self._namespaces.wait_synced()
        await self._crd_watch.wait_synced()
        self.task = asyncio.create_task(self._follow(), name="discovery")

    async def close(self) -> None:
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        await self._namespaces.stop()
        await self._crd_watch.stop()

    def has_namespace(self, name: str) -> bool:
        return self._namespaces.get(NAMESPACES.key("", name)) is not None

    def crd_of(self, kind: GroupKind) -> CrdFacts | None:
        """CRD that has the kind, among those that claim it."""
        return max(self._by_kind.get(kind, {}).values(), key=lambda crd: crd.is_established, default=None)

    def resource_of(self, gvk: GroupVersionKind) -> Resource | None:
        """Resource by its CRD, which a watch shows before discovery does, else by discovery."""
        crd = self.crd_of(gvk.group_kind)
        if crd is not None and crd.is_established and gvk.version in crd.versions:
            return crd_resource(crd, gvk.version)
        return self.discovery.find(gvk)

    def is_established(self, kind: GroupKind) -> bool:
        crd = self.crd_of(kind)
        return crd is not None and crd.is_established

    def serves(self, resource: Resource) -> bool:
        """Whether its CRD says so, for this very version."""
        crd = self.crd_of(resource.group_kind)
        return crd is not None and crd.is_established and resource.gvk.version in crd.versions

    def informers(self) -> tuple[Informer, ...]:
        return self._namespaces, self._crd_watch

    def broken_service(self, group: str) -> str:
        """The API service of the group that is not available, and its own reason; empty: none that is known."""
        return self._broken.get(group, "")

    async def refresh(self) -> None:
        """Ask for what is served, unless that was done a moment ago; who waits for a kind that came is told."""
        if monotonic() - self._refreshed_at > FRESH_SECONDS:
            await self._refresh()

    async def may_be_hidden(self, gvk: GroupVersionKind) -> bool:
        """Whether a kind without a CRD may exist although discovery does not show it.

        An aggregated kind does while its API service stands. A built-in kind is gone when two complete discoveries,
        a minute apart, did not show it. A kind that is served in another version is not hidden.
        """
        if self.discovery.preferred(gvk.group, gvk.kind) is not None:
            return False
        if not is_builtin(gvk.group):
            return await self._has_api_service(gvk)
        gone_at = self._absent_since.setdefault(gvk.group_kind, monotonic()) + GONE_AFTER_SECONDS
        if self._refreshed_at < gone_at <= monotonic():
            await self._refresh()
        is_gone = gvk.group_kind in self._absent_since and self._refreshed_at >= gone_at
        return not is_gone or gvk.api_version in self.discovery.stale_groups

    async def _has_api_service(self, gvk: GroupVersionKind) -> bool:
        try:
            service = await self._client.get_metadata(API_SERVICES, "", f"{gvk.version}.{gvk.group}")
        except NotFoundError:
            return False
        return AUTOMANAGED_LABEL not in service.labels

    async def _why_broken(self, api_version: str) -> str:
        group, _, version = api_version.rpartition("/")
        name = f"{version}.{group}"
        with suppress(ApiError, msgspec.MsgspecError):
            status = _API_SERVICE.decode(await self._client.get(API_SERVICES, "", name)).status
            for one in (status.conditions if status is not None else None) or ():
                if one.type == "Available" and one.status != "True" and one.message:
                    return f"APIService {name} is not available: {excerpt(one.message, SERVICE_MESSAGE_CHARACTERS)}"
        return f"APIService {name} is not available: no backend answers for it"

    def _namespace_changed(self, key: ObjectKey, old: LiveObject | None, new: LiveObject | None) -> None:
        if old is None or new is None:
            self._on_namespace(key.name)

    def _crd_changed(self, key: ObjectKey, _old: LiveObject | None, new: LiveObject | None) -> None:
        before = self._crds.get(key.name)
        now = crd_facts(new.json or b"") if new is not None else None
        if before == now:
            return
        if before is not None:
            del self._crds[key.name]
            self._by_kind[before.kind].pop(key.name)
        if now is not None:
            self._crds[key.name] = now
            self._by_kind.setdefault(now.kind, {})[key.name] = now
        for facts in (before, now):
            if facts is not None:
                self._awaited.setdefault(facts.kind, monotonic())
        self._outdated.set()

    async def _refresh(self) -> None:
        asked_at = monotonic()
        await self.discovery.refresh()
        self._refreshed_at = asked_at
        self._report_changed_kinds()
        unanswered = self.discovery.stale_groups
        self._broken = {name.rpartition("/")[0]: await self._why_broken(name) for name in sorted(unanswered)}
        if unanswered == self._unanswered:
            return
        self._unanswered = unanswered
        if unanswered:
            LOG.warning(
                "%s: no namespace can be deleted until it is available or removed", joined(self._broken.values())
            )
        else:
            LOG.info("the backends of all APIServices answer again")

    def _report_changed_kinds(self) -> None:
        if self.discovery.served is self._snapshot:
            return
        self._snapshot = self.discovery.served
        served: dict[GroupKind, set[Resource]] = {}
        for resource in self.discovery.served.resources.values():
            served.setdefault(resource.group_kind, set()).add(resource)
        now = {kind: frozenset(resources) for kind, resources in served.items()}
        changed = frozenset(
            kind for kind in now.keys() | self._served_kinds.keys() if now.get(kind) != self._served_kinds.get(kind)
        )
        self._served_kinds = now
        for kind in now:
            self._absent_since.pop(kind, None)
        for kind in changed:
            if self.crd_of(kind) is not None and not self._agrees(kind):
                self._awaited.setdefault(kind, monotonic())
                self._outdated.set()
        if changed:
            self._on_kinds(changed)

    async def _follow(self) -> None:
        """One refresh for any number of changes, again while discovery lags behind the CRDs."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause()):
                    await self._outdated.wait()
            self._outdated.clear()
            try:
                await self._refresh()
            except RukPakError as error:
                LOG.debug("discovery: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            arrived = self._no_longer_awaited()
            if arrived:  # also when discovery says nothing new: a CRD became established, or went
                self._on_kinds(arrived)

    def _pause(self) -> float | None:
        """Seconds before discovery is asked again; None: until something changes."""
        if any(self._is_new(since) for since in self._awaited.values()):
            return LAG_INTERVAL_SECONDS
        return LATE_INTERVAL_SECONDS if self._awaited or self._unanswered else None

    @staticmethod
    def _is_new(since: float) -> bool:
        return monotonic() - since < LAG_SECONDS

    def _no_longer_awaited(self) -> frozenset[GroupKind]:
        """Kinds of which discovery and CRD agree by now. A kind shown for long without a CRD is an API service's."""
        done = frozenset(
            kind
            for kind, since in self._awaited.items()
            if self._agrees(kind) or (self.crd_of(kind) is None and not self._is_new(since))
        )
        for kind in done:
            del self._awaited[kind]
        return done

    def _agrees(self, kind: GroupKind) -> bool:
        crd = self.crd_of(kind)
        wanted = set(crd.versions) if crd is not None and crd.is_established else set[str]()
        return {resource.gvk.version for resource in self._served_kinds.get(kind, ())} == wanted


def crd_resource(crd: CrdFacts, version: str) -> Resource:
    gvk = GroupVersionKind(crd.kind.group, version, crd.kind.kind)
    return Resource(gvk=gvk, plural=crd.plural, namespaced=crd.namespaced)


class _Condition(msgspec.Struct, gc=False, frozen=True):
    type: str = ""
    status: str = ""
    message: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_Condition] | None = None


class _ApiService(msgspec.Struct, gc=False, frozen=True):
    status: _Status | None = None


_API_SERVICE = msgspec.json.Decoder(_ApiService)
