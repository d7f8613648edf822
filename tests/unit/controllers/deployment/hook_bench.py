"""Everything about the hooks of a deployment, with a client that only stores."""

import asyncio
from typing import Any

import orjson
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.hook_status import RunningHook
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.hooks.given_up import GivenUpHooks
from rukpak_py.controllers.deployment.hooks.hook_facts import FormerHookAtWork, HooksOver, LookAgain
from rukpak_py.controllers.deployment.hooks.hook_jobs import HookJobs
from rukpak_py.controllers.deployment.hooks.runner import HookEnd
from rukpak_py.controllers.deployment.hooks.runs import HookExecution
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.state import ContentFacts, DeploymentState
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.controllers.result.table import Kind
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import DeletePolicy, Hook, HookEvent
from tests.unit.controllers.deployment.parts import FakeCluster, attempt
from tests.unit.controllers.deployment.test_hook_objects import JOBS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient
from tests.unit.controllers.values import UID, deployment
from tests.waiting import until

SECONDS = 300.0
Former = FormerHookAtWork | LookAgain | HooksOver


class HookBench:
    def __init__(self) -> None:
        self.client, self.ended = FakeClient(), list[str]()
        self.now = NOW
        client, cluster = self.client.as_client(), FakeCluster()
        cluster.resources.append(JOBS)
        self.deployments = Cache[BundleDeployment](clock=Clock())
        writer = DeploymentStatusWriter(client=client, deployments=self.deployments)
        self.running = Jobs[HookEnd | None](on_end=self.ended.append)
        self.state = DeploymentState()
        self.jobs = HookJobs(
            client,
            cluster.as_cluster(),
            self.deployments,
            writer,
            now=lambda: self.now,
            seconds=SECONDS,
            jobs=self.running,
        )
        self.given_up = GivenUpHooks(client, self.jobs, writer, now=lambda: self.now, seconds=SECONDS)
        self.stage = HookStage(self.jobs, self.given_up, writer)

    def has(self, of: BundleDeployment) -> None:
        """In the cluster, and in the cache."""
        self.deployments.put(of)
        stored = self.client.put("BundleDeployment", {"metadata": {"name": of.metadata.name, "uid": UID}})
        stored["metadata"]["resourceVersion"] = of.metadata.resource_version

    @property
    def status(self) -> BundleDeploymentStatus:
        found = self.deployments.get("shop")
        assert found is not None
        return found.status

    def attempt(self, rendering: str = "sha256:a", **annotations: str) -> Attempt:
        """Of the deployment as it is now."""
        found = self.deployments.get("shop") or deployment()
        found = replace(found, metadata=replace(found.metadata, annotations=annotations))
        one = attempt(of=found, state=self.state)
        one.state.rendered(one.content, ContentFacts(rendering=rendering))
        return one

    @property
    def begun(self) -> RunningHook | None:
        """By this process, and without a record of its end."""
        return self.state.hooks.job.begun

    async def at_work(self, of: BundleDeployment, wanted: list[HookExecution]) -> Former:
        return await self.given_up.at_work(of, self.state.hooks, wanted)

    async def close(self) -> None:
        await self.running.close()

    async def look(self, one: Attempt, *hooks: Hook, event: HookEvent = HookEvent.PRE_INSTALL) -> HooksOver | Progress:
        """One reconcile."""
        return await self.stage.run(one, hooks, event)

    async def until_one_more_has_ended(self) -> None:
        before = len(self.ended)
        await until(lambda: len(self.ended) > before)

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


def causes(found: Former | Progress) -> list[Cause]:
    """Of what people read."""
    return [fact.cause for fact in found.facts if fact.row.kind is not Kind.SILENT]


def texts(found: Former | Progress) -> list[str]:
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
