"""The controllers of BundleDeployments and BundleInstances, put together."""

from collections.abc import Callable
from dataclasses import dataclass

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.apply.engine import Engine
from rukpak_py.apply.inventory import Inventory
from rukpak_py.certificates.deployments import ServingCertificates
from rukpak_py.certificates.secret import CertificateOwner
from rukpak_py.certificates.store import ServingSecrets
from rukpak_py.controllers.cluster import Cluster
from rukpak_py.controllers.deployment.after_apply import AfterApply
from rukpak_py.controllers.deployment.applying import Applier
from rukpak_py.controllers.deployment.attempt import AttemptFactory
from rukpak_py.controllers.deployment.certificates import CertificateStage
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.gate_stage import Gates
from rukpak_py.controllers.deployment.generated_secrets import GeneratedSecrets, RenderedAgain, SecondRendering
from rukpak_py.controllers.deployment.half_upgrade import HalfUpgrade
from rukpak_py.controllers.deployment.hooks.hook_objects import HookObjects, HookWatch
from rukpak_py.controllers.deployment.hooks.release_hooks import DeletionHooks, ReleaseHooks
from rukpak_py.controllers.deployment.hooks.stage import HookStage
from rukpak_py.controllers.deployment.hooks.superseded import SupersededHooks
from rukpak_py.controllers.deployment.identities import Identities
from rukpak_py.controllers.deployment.kept_renderings import (
    ChartReleases,
    ClusterCapabilities,
    KeptRenderings,
    keys_in_use,
)
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.lookups import LookupPolicy
from rukpak_py.controllers.deployment.ownership_form import OwnershipForm
from rukpak_py.controllers.deployment.permission_report import PermissionReports
from rukpak_py.controllers.deployment.permission_review import PermissionReview
from rukpak_py.controllers.deployment.plan_report import PlanReports
from rukpak_py.controllers.deployment.planning import Planner
from rukpak_py.controllers.deployment.reconcile import DeploymentReconciler
from rukpak_py.controllers.deployment.reconcile_content import ContentReconciler
from rukpak_py.controllers.deployment.rendering import MadeContent, Renderer
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.reporting import Reporting
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.deployment.undo import Undo
from rukpak_py.controllers.deployment.uninstall import Uninstall
from rukpak_py.controllers.deployment.upgrade_approval import UpgradeApproval
from rukpak_py.controllers.event_router import EventRouter
from rukpak_py.controllers.events import Recorder
from rukpak_py.controllers.existence import Existence
from rukpak_py.controllers.instance.child_deployment import ChildDeployment
from rukpak_py.controllers.instance.reconcile import InstanceReconciler, awaits_verdict, reverted_event
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.controllers.judging import Judging
from rukpak_py.controllers.ports import Content, DigestKeys, Renderings, ValuesObjects
from rukpak_py.controllers.writes import StatusWriter
from rukpak_py.core.limits import Limits
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, BUNDLE_INSTANCES, SECRETS
from rukpak_py.kube.seen_versions import OnRestore


@dataclass(frozen=True, kw_only=True)
class DeploymentDependencies:
    """The rest of the process, as the controller of BundleDeployments uses it."""

    client: Client
    identities: Identities
    router: EventRouter
    inventory: Inventory
    cluster: Cluster
    content: Content
    renderings: Renderings
    states: DeploymentStates
    values: ValuesObjects
    digest_keys: DigestKeys
    events: Recorder
    request_content: Callable[[Bundle], None]
    now: Callable[[], str]
    system_namespace: str
    default_namespace: str
    cluster_domain: str
    judging: Judging
    hook_seconds: float
    lookup_secrets_in: frozenset[str]
    limits: Limits


class DeploymentParts:
    """The reconciler, and those of its parts that hear of events."""

    def __init__(self, around: DeploymentDependencies, *, on_restore: OnRestore) -> None:
        self.states = around.states
        self.identities = around.identities
        self._values = ExternalValues(around.values, around.digest_keys, self.states, identities=self.identities)
        self._around = around
        by_namespace = around.inventory.by_namespace
        self.serving_secrets = ServingSecrets(
            around.client,
            on_change=around.router.object_changed,
            on_restore=on_restore,
            by_namespace=SECRETS.group_kind in by_namespace,
        )
        deployments, queue = around.router.deployments.cache, around.router.deployments.queue
        existence = Existence(around.client, BUNDLE_DEPLOYMENTS, deployments, on_gone=around.router.deployments.forget)

        async def still_exists(owner: CertificateOwner) -> bool:
            deployment = deployments.get(owner.name)
            if deployment is None or deployment.metadata.uid != owner.uid:
                return False
            return await existence.still_exists(deployment, is_doubtful=True)

        self._certificates = ServingCertificates(
            self.serving_secrets, observe=around.inventory.observe, still_exists=still_exists
        )
        self.hook_watch = HookWatch(
            around.client,
            on_change=around.router.object_changed,
            on_gone=around.router.object_gone,
            on_restore=on_restore,
            unwatched=by_namespace,
        )
        self._render_jobs = Jobs[MadeContent](on_end=queue.add)
        self._compare_jobs = Jobs[RenderedAgain](on_end=queue.add)
        self._writer = DeploymentStatusWriter(client=around.client, deployments=deployments, hide=self.states.hide)
        kinds = Kinds(
            around.client,
            around.cluster,
            around.inventory,
            deployments=deployments,
            writer=self._writer,
            identities=self.identities,
        )
        releases = ChartReleases(
            client_of=kinds.client_of,
            capabilities=ClusterCapabilities(around.client, around.cluster.discovery),
            discovery=around.cluster.discovery,
            policy=LookupPolicy(system_namespace=around.system_namespace, opened=around.lookup_secrets_in),
            limits=around.limits,
        )
        kept = KeptRenderings(around.content, around.renderings, around.digest_keys, releases=releases)
        renderer = Renderer(
            around.content,
            kinds,
            kept,
            jobs=self._render_jobs,
            cluster_domain=around.cluster_domain,
            limits=around.limits,
        )
        self._second_rendering = SecondRendering(
            around.content,
            kept,
            jobs=self._compare_jobs,
            request_content=around.request_content,
        )
        templates = Templates(
            around.client,
            around.router.bundles.cache,
            existence,
            has_account=lambda deployment: self.identities.account_of(deployment) is not None,
            on_new=around.router.bundles.queue.add,
        )
        attempts = AttemptFactory(
            around.inventory,
            around.cluster.has_namespace,
            self.identities,
            default_namespace=around.default_namespace,
        )
        rendering = RenderingStage(renderer, former=templates.former, request_content=around.request_content)
        hook_objects = HookObjects(
            around.cluster,
            target_of=kinds.target_of,
            watch=self.hook_watch.start,
            now=around.now,
            seconds=around.hook_seconds,
        )
        superseded = SupersededHooks(hook_objects, self._writer)
        hooks = HookStage(hook_objects, superseded, self._writer)
        form = OwnershipForm(around.inventory, kinds)
        planner = Planner(around.client, around.inventory, kinds)
        review = PermissionReview(around.cluster.resource_of, leaving=planner.leaving, rendered_of=rendering.rendered)
        self.permission_reports = PermissionReports(
            around.identities,
            around.client,
            deployments=deployments,
            states=self.states,
            templates=templates,
            values=self._values,
            attempts=attempts,
            rendering=rendering,
            review=review,
        )
        engine = Engine(around.inventory, is_established=around.cluster.is_established)
        certificates = CertificateStage(
            self._certificates, self.serving_secrets, around.inventory, target_of=planner.target_of
        )
        gates = Gates(
            engine=engine,
            cluster=around.cluster,
            existence=existence,
            deployments=deployments,
            states=self.states,
            permissions=review,
        )
        approval = UpgradeApproval(rendering, self._writer, around.router.dependencies)
        self.plan_reports = PlanReports(
            around.identities,
            deployments=deployments,
            states=self.states,
            templates=templates,
            values=self._values,
            attempts=attempts,
            rendering=rendering,
            kinds=kinds,
            planner=planner,
            gates=gates,
            certificates=certificates,
            approval=approval,
            dependencies=around.router.dependencies,
        )
        uninstall = Uninstall(
            around.client,
            around.inventory,
            kinds,
            templates,
            DeletionHooks(
                hooks,
                superseded,
                templates=templates,
                values=self._values,
                attempts=attempts,
                rendering=rendering,
            ),
            dependencies=around.router.dependencies,
        )
        content = self._content_reconciler(
            around,
            rendering,
            ReleaseHooks(hooks, superseded),
            kinds=kinds,
            planner=planner,
            form=form,
            engine=engine,
            certificates=certificates,
            gates=gates,
            approval=approval,
        )
        self.reconciler = DeploymentReconciler(
            deployments=deployments,
            instances=around.router.instances.cache,
            states=self.states,
            identities=self.identities,
            judging=around.judging,
            templates=templates,
            values=self._values,
            attempts=attempts,
            content=content,
            undo=Undo(
                deployments=deployments, templates=templates, attempts=attempts, content=content, approval=approval
            ),
            ownership_form=form,
            hooks=superseded,
            uninstall=uninstall,
            dependencies=around.router.dependencies,
            reporting=Reporting(self._writer, around.router.waiting, around.events),
            classes=CLASSES,
        )
        self.states.attach(
            self._render_jobs.drop,
            self._compare_jobs.drop,
            renderer.ended,
            self.plan_reports.ended,
            self._values.ended,
            around.router.waiting.ended,
            around.judging.forget,
        )

    async def sweep_renderings(self) -> None:
        """All but those of what is installed, was installed, or is about to be."""
        router, keys = self._around.router, set[str]()
        for one in router.deployments.cache:
            bundles = router.bundles.cache.controlled_by(one.metadata.uid)
            state = self.states.of(one.metadata.uid)
            values = state.values.latest if state is not None else ()
            keys |= keys_in_use(one, bundles, default_namespace=self._around.default_namespace, values=values)
        await self._around.renderings.sweep(keys)

    async def stop_unused_hook_watches(self) -> None:
        """No look is going on: those of hooks that run, or that something is in the way of, stay."""
        running = (one.status.running_hook for one in self._around.router.deployments.cache)
        used = {hook.gvk.group_kind for hook in running if hook is not None}
        used |= {state.hooks.due_kind for state in self.states if state.hooks.due_kind is not None}
        await self.hook_watch.retain(used)

    async def close(self) -> None:
        """Stop the jobs, and the watches of hooks, values and certificates."""
        await self._render_jobs.close()
        await self._compare_jobs.close()
        await self.hook_watch.close()
        await self._around.values.close()
        await self.serving_secrets.close()

    def _content_reconciler(
        self,
        around: DeploymentDependencies,
        rendering: RenderingStage,
        hooks: ReleaseHooks,
        *,
        kinds: Kinds,
        planner: Planner,
        form: OwnershipForm,
        engine: Engine,
        certificates: CertificateStage,
        gates: Gates,
        approval: UpgradeApproval,
    ) -> ContentReconciler:
        applier = Applier(engine, kinds, certificates, has_namespace=around.cluster.has_namespace)
        return ContentReconciler(
            kinds=kinds,
            ownership_form=form,
            rendering=rendering,
            planner=planner,
            gates=gates,
            applier=applier,
            certificates=certificates,
            hooks=hooks,
            after_apply=AfterApply(around.inventory, client_of=kinds.client_of, now=around.now),
            half_upgrade=HalfUpgrade(planner=planner, rendering=rendering, gates=gates, applier=applier),
            generated=GeneratedSecrets(self._second_rendering),
            approval=approval,
        )


def instance_reconciler(
    client: Client, router: EventRouter, events: Recorder, *, identities: Identities, judging: Judging
) -> InstanceReconciler:
    def tell_reverted(instance: BundleInstance) -> None:
        events.about(instance).emit([reverted_event(instance)])

    instances, deployments = router.instances.cache, router.deployments.cache
    existence = Existence(client, BUNDLE_INSTANCES, instances, on_gone=router.instances.forget)
    return InstanceReconciler(
        instances=instances,
        deployments=deployments,
        identities=identities,
        judging=judging,
        child=ChildDeployment(client, deployments, existence, on_reverted=tell_reverted),
        writer=StatusWriter(client, BUNDLE_INSTANCES, instances, awaits=awaits_verdict),
        events=events,
        classes=CLASSES,
    )
