"""The controller of BundleInstances, put together."""

from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.controllers.events import Recorder
from rukpak_py.controllers.existence import Existence
from rukpak_py.controllers.instance.child_deployment import ChildDeployment
from rukpak_py.controllers.instance.reconcile import InstanceReconciler
from rukpak_py.controllers.instance.status import awaits_verdict, reverted_event
from rukpak_py.controllers.writes import StatusWriter
from rukpak_py.formats.by_class import CLASSES
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import BUNDLE_INSTANCES
from rukpak_py.operator.event_router import EventRouter


def instance_reconciler(client: Client, router: EventRouter, events: Recorder) -> InstanceReconciler:
    def tell_reverted(instance: BundleInstance) -> None:
        events.about(instance).emit([reverted_event(instance)])

    instances, deployments = router.instances.cache, router.deployments.cache
    existence = Existence(client, BUNDLE_INSTANCES, instances, on_gone=router.instances.forget)
    return InstanceReconciler(
        instances=instances,
        deployments=deployments,
        child=ChildDeployment(client, deployments, existence, on_reverted=tell_reverted),
        writer=StatusWriter(client, BUNDLE_INSTANCES, instances, awaits=awaits_verdict),
        events=events,
        classes=CLASSES,
    )
