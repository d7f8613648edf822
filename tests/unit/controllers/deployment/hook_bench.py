"""Everything about the hooks of a deployment, with a client that only stores."""

import asyncio
from typing import Any

import orjson
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.target import LastApplied, Target
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.facts import HooksOver, LookAgain, SupersededHookRuns
from rukpak_py.controllers.deployment.hooks.hook_objects import HookObjects
from rukpak_py.controllers.deployment.hooks.release_hooks import ReleaseHooks
from rukpak_py.controllers.deployment.hooks.runs import HookExecution
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.hooks.superseded import SupersededHooks
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.state_parts import ContentFacts
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from rukpak_py.kube.resources import Resource
from tests.unit.controllers.deployment.parts import FakeCluster, attempt
from tests.unit.controllers.deployment.test_hook_objects import JOBS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient
from tests.unit.controllers.values import UID, deployment

SECONDS = 300.0
Superseded = SupersededHookRuns | LookAgain | HooksOver


class HookBench:
    def __init__(self) -> None:
        self.client, self.cluster, self.watched = FakeClient(), FakeCluster(), set[str]()
        self.now = NOW
        self.cluster.resources.append(JOBS)
        self.deployments = Cache[BundleDeployment](clock=Clock())
        self.state = DeploymentState()
        writer = DeploymentStatusWriter(client=self.client.as_client(), deployments=self.deployments)
        objects = HookObjects(
            self.cluster.as_cluster(),
            target_of=self._target_of,
            watch=self._watch,
            now=lambda: self.now,
            seconds=SECONDS,
        )
        self.superseded = SupersededHooks(objects, writer)
        self.stage = HookStage(objects, self.superseded, writer)
        self.release = ReleaseHooks(self.stage, self.superseded)

    def _target_of(self, of: BundleDeployment) -> Target:
        return Target(
            owner=Owner.of(of),
            last_applied=LastApplied(),
            resource_of=self.cluster.as_kinds().resource_of(),
            client=self.client.as_client(),
        )

    def _watch(self, resource: Resource) -> bool:
        self.watched.add(resource.gvk.kind)
        return True

    def has(self, of: BundleDeployment) -> None:
        """Put the object in the cluster, and in the cache."""
        self.deployments.put(of)
        stored = self.client.put("BundleDeployment", {"metadata": {"name": of.metadata.name, "uid": UID}})
        stored["metadata"]["resourceVersion"] = of.metadata.resource_version

    @property
    def status(self) -> BundleDeploymentStatus:
        found = self.deployments.get("shop")
        assert found is not None
        return found.status

    def attempt(self, rendering: str = "sha256:a", **annotations: str) -> Attempt:
        """The deployment as it is now."""
        found = self.deployments.get("shop") or deployment()
        found = replace(found, metadata=replace(found.metadata, annotations=annotations))
        one = attempt(of=found, state=self.state)
        one.state.rendered(one.content, ContentFacts(rendering=rendering))
        return one

    async def proceed(self, of: BundleDeployment, wanted: list[HookExecution]) -> Superseded:
        return await self.superseded.proceed(of, self.state.hooks, wanted)

    async def remember_end(self) -> None:
        """The end of a reconcile."""
        await self.superseded.remember_end(self.attempt().deployment, self.state.hooks)

    async def look(self, one: Attempt, *hooks: Hook, event: HookEvent = HookEvent.PRE_INSTALL) -> HooksOver | Progress:
        """One reconcile."""
        return await self.stage.run(one, hooks, event)

    async def run(
        self,
        *hooks: Hook,
        rendering: str = "sha256:a",
        event: HookEvent = HookEvent.PRE_INSTALL,
        annotations: dict[str, str] | None = None,
    ) -> HooksOver | Progress:
        """Looks until one has to wait for something."""
        for _ in range(20):
            found = await self.look(self.attempt(rendering, **annotations or {}), *hooks, event=event)
            if isinstance(found, HooksOver) or not has(found, Cause.LOOK_AGAIN) or pause(found) > 0:
                return found
        raise AssertionError("looks go on and on")

    def live(self, kind: str, name: str) -> dict[str, Any]:
        return self.client.objects[kind, name]

    @property
    def writes(self) -> list[str]:
        """But for those of the status."""
        return [call for call in self.client.calls if call.startswith(("create", "delete"))]


def hook(manifest: dict[str, Any], *policies: DeletePolicy, event: HookEvent = HookEvent.PRE_INSTALL) -> Hook:
    chosen = frozenset(policies or [DeletePolicy.BEFORE_HOOK_CREATION])
    made = Object.from_manifest(orjson.loads(orjson.dumps(manifest)))
    return Hook(object=made, events=frozenset({event}), delete_policies=chosen)


def causes(found: Superseded | Progress) -> list[Cause]:
    """The causes that people read."""
    return [fact.cause for fact in found.facts if fact.row.kind is not Kind.SILENT]


def texts(found: Superseded | Progress) -> list[str]:
    return [fact.text for fact in found.facts if fact.row.kind is not Kind.SILENT]


def is_running(found: HooksOver | Progress) -> bool:
    return has(found, Cause.HOOK_RUNNING)


def has(found: HooksOver | Progress, cause: Cause) -> bool:
    return any(fact.cause is cause for fact in found.facts)


def pause(found: HooksOver | Progress) -> float:
    """Seconds until the next look."""
    (at,) = {fact.at for fact in found.facts if fact.cause is Cause.LOOK_AGAIN}
    assert at is not None
    return round(at - asyncio.get_running_loop().time())


def is_next_look(found: HooksOver | Progress, after: float = 0.0) -> bool:
    """Nothing but that something was recorded, or could not be."""
    is_silent = isinstance(found, Progress) and [fact.cause for fact in found.facts] == [Cause.LOOK_AGAIN]
    return is_silent and pause(found) == after
