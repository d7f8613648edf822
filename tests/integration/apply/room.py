"""The apply room on a real API server: one BundleDeployment that no operator reconciles, and all its objects.

No operator serves its class, so one on the same cluster leaves it alone; it must exist, because the collector deletes
whatever names an owner that does not.
"""

import asyncio
import uuid
from collections.abc import Iterable
from time import monotonic
from typing import Any

import orjson
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.api.install_options import InstallOptions
from rukpak_py.api.names import API_VERSION, BUNDLE_DEPLOYMENT_KIND, OWNER_KIND_LABEL, OWNER_NAME_LABEL
from rukpak_py.api.reading import read_bundle_deployment
from rukpak_py.apply.desired import Desired, desire
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.inventory import Inventory, Watched
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.order import is_builtin
from rukpak_py.apply.plan import Action, Change, Plan
from rukpak_py.apply.results import ChangeSet
from rukpak_py.apply.target import Target
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds
from rukpak_py.controllers.deployment.planning import Planned, Planner
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import RenderedContent
from rukpak_py.kube.client import Client
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, Resource
from tests.manifests import config_map
from tests.waiting import until

Manifest = dict[str, Any]
NOBODYS_CLASS = "rooms-test"


class Room:
    def __init__(self, client: Client, namespace: str, deployment: BundleDeployment) -> None:
        self.client = client
        self.namespace = namespace
        self.deployment = deployment
        self.owner = Owner(name=deployment.metadata.name, uid=deployment.metadata.uid)
        self.changes: list[str] = []
        self.state = DeploymentState()
        self.discovery = Discovery(client)
        self.inventory = Inventory(client, on_change=self._changed, on_gone=lambda _key: None)
        self.cluster = Cluster(client, self.discovery, on_namespace=lambda _name: None, on_kinds=self.inventory.nudge)
        deployments = Cache[BundleDeployment](clock=monotonic)
        writer = DeploymentStatusWriter(client=client, deployments=deployments)
        identities = Identities(client, system_namespace=namespace)
        self.kinds = Kinds(
            client, self.cluster, self.inventory, deployments=deployments, writer=writer, identities=identities
        )
        self.engine = Engine(self.inventory, is_established=self.cluster.is_established)
        self.target = Target(
            owner=self.owner, last_applied=self.state.applied, resource_of=self.kinds.resource_of(), client=client
        )

    @classmethod
    async def open(cls, client: Client, namespace: str) -> "Room":
        name = f"bd-{uuid.uuid4().hex[:10]}"
        source = {"type": "configMaps", "configMaps": [{"configMap": {"name": "none"}}]}
        spec = {
            "provisionerClassName": NOBODYS_CLASS,
            "template": {"spec": {"provisionerClassName": NOBODYS_CLASS, "source": source}},
        }
        body = {
            "apiVersion": API_VERSION,
            "kind": BUNDLE_DEPLOYMENT_KIND,
            "metadata": {"name": name},
            "spec": spec,
        }
        created = await client.create(BUNDLE_DEPLOYMENTS, "", orjson.dumps(body))
        room = cls(client, namespace, read_bundle_deployment(created.json or b""))
        await room.cluster.start()
        return room

    def _changed(self, owner_uid: str) -> None:
        if owner_uid == self.owner.uid:  # the watch shows the objects of other tests, too
            self.changes.append(owner_uid)

    async def close(self) -> None:
        await self.inventory.close()
        await self.cluster.close()
        try:
            await self.client.delete(BUNDLE_DEPLOYMENTS, "", self.deployment.metadata.name)
        except NotFoundError:
            return

    async def desire(
        self, *manifests: Manifest, overrides: tuple[Override, ...] = ()
    ) -> tuple[list[Desired], Resolution]:
        objects = [Object.from_manifest(manifest) for manifest in manifests]
        resolution = await self.kinds.resolve(objects, self.deployment)
        desired = [
            desire(
                one,
                owner=self.owner,
                namespaced=resolution.resources[one.head.gvk].namespaced,
                default_namespace=self.namespace,
                custom=not is_builtin(one.head.gvk.group),
                overrides=overrides,
            )
            for one in objects
        ]
        return desired, resolution

    async def planned(
        self, *manifests: Manifest, adopt: Adopt = Adopt.NEVER, overrides: tuple[Override, ...] = ()
    ) -> Planned:
        """The controller's plan, when every kind that is served has been listed."""
        desired, resolution = await self.desire(*manifests, overrides=overrides)
        await self.listed(resolution)
        attempt = Attempt(
            deployment=replace(self.deployment, spec=replace(self.deployment.spec, adopt=adopt)),
            bundle=Bundle(spec=self.deployment.spec.template.spec),
            options=InstallOptions(overrides=overrides),
            install_namespace=self.namespace,
            makes_namespace=False,
            state=self.state,
        )
        planned = await Planner(self.client, self.inventory, self.kinds).plan(
            attempt,
            Rendered(desired=tuple(desired), resolution=resolution, content=RenderedContent(objects=())),
            HiddenKinds(unserved=resolution.of(KindState.UNSERVED)),
        )
        self.target = planned.target
        return planned

    async def listed(self, resolution: Resolution) -> None:
        """Wait until the watches have shown every kind that is served."""
        self.inventory.watch(resolution.served)
        await until(lambda: not self.inventory.unsynced(Watched(one.group_kind) for one in resolution.served))

    async def plan(
        self, *manifests: Manifest, adopt: Adopt = Adopt.NEVER, overrides: tuple[Override, ...] = ()
    ) -> Plan:
        return (await self.planned(*manifests, adopt=adopt, overrides=overrides)).plan

    async def bring(self, *manifests: Manifest, adopt: Adopt = Adopt.NEVER) -> ChangeSet:
        """Plan and apply; the plan must refuse nothing."""
        return await self.carry_out(await self.plan(*manifests, adopt=adopt))

    async def carry_out(self, plan: Plan) -> ChangeSet:
        assert not plan.refused, [change.reason for change in plan.refused]
        return await self.engine.apply(self.target, plan)

    async def installed(self, *manifests: Manifest, adopt: Adopt = Adopt.NEVER) -> ChangeSet:
        """Brought without a failure, and seen by the watch as it was answered."""
        change_set = await self.bring(*manifests, adopt=adopt)
        assert change_set.is_complete, change_set
        self.changes.clear()
        return change_set

    async def resource(self, manifest: Manifest) -> Resource:
        resolution = await self.kinds.resolve([Object.from_manifest(manifest)], self.deployment)
        (one,) = resolution.resources.values()
        return one

    async def read(self, manifest: Manifest) -> Manifest:
        resource = await self.resource(manifest)
        found: Manifest = orjson.loads(
            await self.client.get(resource, self.namespace if resource.namespaced else "", manifest["metadata"]["name"])
        )
        return found

    async def seen(self, manifest: Manifest) -> None:
        """Wait until the watch has shown the newest version."""
        resource = await self.resource(manifest)
        version = int((await self.read(manifest))["metadata"]["resourceVersion"])
        informer = self.inventory.informer_of(resource.group_kind)
        key = resource.key(self.namespace, manifest["metadata"]["name"])
        assert informer is not None
        await until(lambda: (live := informer.get(key)) is not None and live.metadata.version >= version)

    async def exists(self, manifest: Manifest) -> bool:
        try:
            await self.read(manifest)
        except NotFoundError:
            return False
        return True

    async def another_client_creates(self, manifest: Manifest, *, manager: str = "somebody") -> Manifest:
        resource = await self.resource(manifest)
        answer = await self.client.create(resource, self.namespace, orjson.dumps(manifest), field_manager=manager)
        created: Manifest = orjson.loads(answer.json or b"")
        return created

    async def another_client_patches(self, manifest: Manifest, patch: Manifest, *, manager: str = "somebody") -> None:
        resource = await self.resource(manifest)
        await self.client.patch(
            resource,
            self.namespace if resource.namespaced else "",
            manifest["metadata"]["name"],
            orjson.dumps(patch),
            field_manager=manager,
        )

    async def another_client_deletes(self, manifest: Manifest) -> None:
        resource = await self.resource(manifest)
        await self.client.delete(resource, self.namespace, manifest["metadata"]["name"])

    async def replaced(self, manifest: Manifest, other: Manifest) -> Manifest:
        """Delete the object as another client, and put another one on its name."""
        await self.another_client_deletes(manifest)
        return await self.another_client_creates(other)


def actions(plan: Plan) -> dict[str, Action]:
    return {change.key.name: change.action for change in plan.changes}


def only(plan: Plan) -> Change:
    (change,) = plan.changes
    return change


def names(keys: Iterable[ObjectKey]) -> list[str]:
    return sorted(key.name for key in keys)


def managers(manifest: Manifest) -> set[str]:
    return {entry["manager"] for entry in manifest["metadata"].get("managedFields", [])}


def labelled(name: str, deployment: str, **data: str) -> Manifest:
    manifest = config_map(name, **(data or {"x": "1"}))
    manifest["metadata"]["labels"] = {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: deployment}
    return manifest


async def run(*command: str) -> None:
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    assert await process.wait() == 0


def written(live: Manifest) -> Manifest:
    """The fields that were applied, without those that controllers and the server write all the time."""
    annotations = {
        name: value
        for name, value in live["metadata"].get("annotations", {}).items()
        if not name.startswith("deployment.kubernetes.io/")
    }
    metadata = {name: live["metadata"].get(name) for name in ("uid", "labels", "ownerReferences")}
    rest = {name: value for name, value in live.items() if name not in {"metadata", "status"}}
    return {**rest, "metadata": {**metadata, "annotations": annotations}}
