"""Reading with the reader's own rights, through a client that is theirs.

A part that the API server refuses is an `UnreadPart`. Where a kind may not be listed in the whole cluster it is listed
in the namespaces that are known of the deployment. Objects come whole only where their health needs it; nothing of
a Secret but its metadata is ever asked for.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import orjson

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, InstalledKind
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, GROUP, OWNER_NAME_LABEL, TEMPLATE_HASH_LABEL
from rukpak_py.api.reading import read_bundle, read_bundle_deployment
from rukpak_py.api.template_hash import template_hash_of
from rukpak_py.apply.health import cause_among, has_health, judge
from rukpak_py.apply.health.result import Health, HealthStatus
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.core.text import excerpt
from rukpak_py.diagnosis.events import event_view
from rukpak_py.diagnosis.model import (
    MESSAGE_CHARACTERS,
    BundleView,
    DeploymentSummary,
    DeploymentView,
    EventView,
    ObjectView,
    State,
    UnreadPart,
)
from rukpak_py.diagnosis.verdicts import summary_of, verdict_of
from rukpak_py.diagnosis.workloads import claims_of, failed_container, reason_of
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import ForbiddenError, NotFoundError
from rukpak_py.kube.events import CLUSTER_SCOPED_NAMESPACE
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLES, CLAIMS, EVENTS, PODS, Resource

PAGE = 50  # objects that come whole, CRDs and histories among them
WORKLOADS = 10  # whose pods are asked about
PODS_EACH = 20
CLAIMS_EACH = 3  # of the pods of a workload that wait for a node
EVENTS_EACH = 50
DISCOVERY_SECONDS = 30.0  # between two looks at the kinds that the cluster serves
UNKNOWN_KIND_SECONDS = 2.0  # the same, for a deployment with a kind that was not there
_STATES = {
    HealthStatus.CURRENT: State.READY,
    HealthStatus.IN_PROGRESS: State.PROGRESSING,
    HealthStatus.FAILED: State.FAILED,
    HealthStatus.TERMINATING: State.DELETING,
}


async def read_deployments(client: Client) -> AsyncGenerator[BundleDeployment, None]:
    """All of them, page by page: they are large, and callers keep little of each."""
    async with aclosing(client.list_by_page(BUNDLE_DEPLOYMENTS, params={}, page=PAGE, full=True)) as pages:
        async for page in pages:
            for one in page.items:
                yield read_bundle_deployment(one.json or b"{}")


async def read_summaries(client: Client) -> AsyncGenerator[DeploymentSummary, None]:
    """The list of deployments."""
    async with aclosing(read_deployments(client)) as deployments:
        async for one in deployments:
            yield summary_of(one)


async def read_view(client: Client, name: str, *, discovery: Discovery | None = None) -> DeploymentView:
    """`ApiError`: the deployment itself cannot be read. `discovery`: refreshed here, and not for every view."""
    deployment = read_bundle_deployment(await client.get(BUNDLE_DEPLOYMENTS, "", name))
    discovery = discovery or Discovery(client)
    await discovery.refresh_after(DISCOVERY_SECONDS)
    if not all(_resource_of(kind, discovery) for kind in deployment.status.kinds):
        await discovery.refresh_after(UNKNOWN_KIND_SECONDS)
    reading = _Reading(client=client, discovery=discovery, deployment=deployment)
    await reading.read()
    return reading.view()


@dataclass(kw_only=True)
class _Reading:
    """One run: parts are read beside each other, and each failure stays with its part."""

    client: Client
    discovery: Discovery
    deployment: BundleDeployment
    bundles: list[Bundle] = field(default_factory=list)
    objects: dict[ObjectKey, ObjectView] = field(default_factory=dict)
    selectors: dict[ObjectKey, Health] = field(default_factory=dict)  # of unhealthy workloads
    events: list[EventView] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)

    async def read(self) -> None:
        await run_bounded(self._part, [None, *self._kinds()])
        unhealthy = sorted(self.selectors, key=lambda key: (self.objects[key].state.rank, key))
        await run_bounded(self._read_pods, unhealthy[:WORKLOADS])
        await run_bounded(self._read_events, self._subjects())

    def view(self) -> DeploymentView:
        return DeploymentView(
            deployment=self.deployment,
            summary=summary_of(self.deployment),
            bundles=tuple(self._bundle_views()),
            objects=tuple(sorted(self.objects.values(), key=lambda one: one.key)),
            events=tuple(sorted(self.events, key=lambda one: one.last, reverse=True)),
            unread=tuple(UnreadPart(part=part, why=why) for part, why in sorted(self.unread.items())),
        )

    def _failed(self, part: str, error: RukPakError) -> None:
        self.unread[part] = excerpt(str(error), MESSAGE_CHARACTERS)

    # Bundles

    async def _read_bundles(self) -> None:
        selector = f"{OWNER_NAME_LABEL}={self.deployment.metadata.name}"
        try:
            for one in await _whole(self.client, BUNDLES, "", selector):
                bundle = read_bundle(one.json or b"{}")
                owner = bundle.metadata.controller
                if owner is not None and owner.uid == self.deployment.metadata.uid:
                    self.bundles.append(bundle)
        except RukPakError as error:
            self._failed("Bundles", error)

    def _bundle_views(self) -> Iterable[BundleView]:
        wanted = template_hash_of(self.deployment)
        for bundle in sorted(self.bundles, key=lambda one: one.metadata.creation_timestamp or "", reverse=True):
            yield BundleView(
                bundle=bundle,
                verdict=verdict_of(bundle),
                is_active=bundle.metadata.name == self.deployment.status.active_bundle,
                is_wanted=bundle.metadata.labels.get(TEMPLATE_HASH_LABEL) == wanted,
            )

    # objects

    def _kinds(self) -> Iterator[tuple[Resource, tuple[str, ...]]]:
        for kind in self.deployment.status.kinds:
            resource = _resource_of(kind, self.discovery)
            if resource is None:
                self.unread[str(GroupKind(kind.group, kind.kind))] = "the cluster does not serve this kind"
            else:
                yield resource, kind.namespaces

    async def _part(self, kind: tuple[Resource, tuple[str, ...]] | None) -> None:
        """The objects of a kind, or the Bundles."""
        if kind is None:
            await self._read_bundles()
            return
        resource, namespaces = kind
        if namespaces:
            for namespace in namespaces:
                await self._read_objects(resource, namespace)
        elif not await self._read_objects(resource, "") and resource.namespaced:
            for namespace in self._known_namespaces():
                await self._read_objects(resource, namespace)

    def _known_namespaces(self) -> list[str]:
        spec, status = self.deployment.spec, self.deployment.status
        listed = {namespace for kind in status.kinds for namespace in kind.namespaces}
        return sorted({spec.install_namespace, status.install_namespace, *listed} - {""})

    async def _read_objects(self, resource: Resource, namespace: str) -> bool:
        """False: they may not be listed there."""
        name, uid = self.deployment.metadata.name, self.deployment.metadata.uid
        part = f"{resource.gvk.group_kind} objects" + (f" in namespace {namespace}" if namespace else "")
        try:
            found = await self._listed(resource, namespace, f"{OWNER_NAME_LABEL}={name}")
        except ForbiddenError as error:
            self._failed(part, error)
            return False
        except RukPakError as error:
            self._failed(part, error)
            return True
        self.unread.pop(f"{resource.gvk.group_kind} objects", None)  # they are read by namespace
        kept = {(one.group, one.kind, one.namespace, one.name) for one in self.deployment.status.kept}
        for one in found:
            if observed_object(one.key, resource.gvk, one.metadata).owner_uid == uid:
                self.objects[one.key] = self._object_view(one, resource, is_kept=tuple(one.key) in kept)
        return True

    async def _listed(self, resource: Resource, namespace: str, selector: str) -> list[LiveObject]:
        if has_health(resource.gvk):
            return await _whole(self.client, resource, namespace, selector)
        return (await self.client.list_metadata(resource, namespace, label_selector=selector)).items

    def _object_view(self, one: LiveObject, resource: Resource, *, is_kept: bool) -> ObjectView:
        manifest = _manifest(one, resource) if one.json is not None else None
        health = judge(manifest) if manifest is not None else None
        if health is not None and health.pods:
            self.selectors[one.key] = health
        view = _view_of(one, health, is_kept=is_kept)
        if manifest is None or health is None or health.is_healthy:
            return view
        container = failed_container(manifest) if one.key.group_kind == PODS.group_kind else None
        return replace(view, container=container, reason=reason_of(manifest, health, container))

    # pods of unhealthy workloads

    async def _read_pods(self, key: ObjectKey) -> None:
        health = self.selectors[key]
        try:
            page = await self.client.list_page(
                PODS, key.namespace, limit=PODS_EACH, label_selector=health.pods, full=True
            )
        except RukPakError as error:
            self._failed(f"Pods in namespace {key.namespace}", error)
            return
        manifests = [_manifest(one, PODS) for one in page.items if one.json is not None]
        pods = sorted(map(_pod_view, page.items, manifests), key=lambda one: (one.state.rank, one.key))
        cause = cause_among(manifests)
        container = next((one.container for one in pods if one.container is not None), None)
        workload = self.objects[key]
        self.objects[key] = replace(
            workload,
            message="; ".join(part for part in (workload.message, cause) if part),
            reason=container.reason if container is not None else workload.reason,
            container=container,
            children=tuple(pods),
            claims=tuple([one async for one in self._claims(key.namespace, manifests)]),
        )

    async def _claims(self, namespace: str, pods: list[dict[str, Any]]) -> AsyncIterator[ObjectView]:
        """Claims without a volume, those of the content and those that a StatefulSet makes."""
        names = dict.fromkeys(name for pod in pods for name in claims_of(pod))
        for name in islice(names, CLAIMS_EACH):
            key = CLAIMS.key(namespace, name)
            try:
                found = self.objects.get(key) or await self._read_claim(key)
            except NotFoundError:
                continue
            except RukPakError as error:
                self._failed(f"PersistentVolumeClaims in namespace {namespace}", error)
                return
            if not found.state.is_at_rest:
                yield found

    async def _read_claim(self, key: ObjectKey) -> ObjectView:
        body = await self.client.get(CLAIMS, key.namespace, key.name)
        one = LiveObject(key=key, metadata=decode_metadata(body), json=body)
        return self._object_view(one, CLAIMS, is_kept=False)

    # Events

    def _subjects(self) -> Iterator[tuple[ObjectKey, str]]:
        metadata = self.deployment.metadata
        yield ObjectKey(GROUP, BUNDLE_DEPLOYMENT_KIND, "", metadata.name), metadata.uid
        for bundle in self.bundles:
            yield ObjectKey(GROUP, BUNDLE_KIND, "", bundle.metadata.name), bundle.metadata.uid
        unhealthy = sorted((one for one in self.objects.values() if not one.state.is_at_rest), key=_worst_first)
        for one in unhealthy[:WORKLOADS]:
            yield one.key, one.uid
            yield from ((below.key, below.uid) for below in (*one.claims, *one.children[:2]))

    async def _read_events(self, subject: tuple[ObjectKey, str]) -> None:
        key, uid = subject
        namespace = key.namespace or CLUSTER_SCOPED_NAMESPACE
        try:
            pages = self.client.list_by_page(
                EVENTS, namespace, params={"fieldSelector": f"involvedObject.uid={uid}"}, page=EVENTS_EACH, full=True
            )
            async with aclosing(pages):
                async for page in pages:
                    self.events += [event_view(one.json or b"{}", key) for one in page.items]
                    break
        except RukPakError as error:
            self._failed(f"Events in namespace {namespace}", error)


def _resource_of(kind: InstalledKind, discovery: Discovery) -> Resource | None:
    gvk = GroupVersionKind(kind.group, kind.version, kind.kind)
    return discovery.find(gvk) or discovery.preferred(kind.group, kind.kind)


def _manifest(one: LiveObject, resource: Resource) -> dict[str, Any]:
    """The object with its kind, which items of a list do not have."""
    gvk = resource.gvk
    return {**orjson.loads(one.json or b"{}"), "apiVersion": gvk.api_version, "kind": gvk.kind}


async def _whole(client: Client, resource: Resource, namespace: str, selector: str) -> list[LiveObject]:
    found = list[LiveObject]()
    pages = client.list_by_page(resource, namespace, params={"labelSelector": selector}, page=PAGE, full=True)
    async with aclosing(pages):
        async for page in pages:
            found += page.items
    return found


def _view_of(one: LiveObject, health: Health | None, *, is_kept: bool = False) -> ObjectView:
    state = _STATES[health.status] if health is not None else State.READY
    if one.metadata.is_deleted:
        state = State.DELETING
    message = ""
    if health is not None and not health.is_healthy:
        message = "; ".join(part for part in (health.message, health.cause) if part)
    return ObjectView(
        key=one.key,
        uid=one.metadata.uid,
        state=state,
        message=excerpt(message, MESSAGE_CHARACTERS),
        created=one.metadata.creation_timestamp or "",
        is_kept=is_kept,
    )


def _pod_view(one: LiveObject, manifest: Mapping[str, Any]) -> ObjectView:
    health = judge(manifest)
    container = failed_container(manifest) if not health.is_healthy else None
    return replace(_view_of(one, health), container=container, reason=reason_of(manifest, health, container))


def _worst_first(one: ObjectView) -> tuple[int, ObjectKey]:
    return one.state.rank, one.key
