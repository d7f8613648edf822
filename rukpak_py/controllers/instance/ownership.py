"""Who owns a BundleDeployment that has the name of a BundleInstance, and whether it may be taken. Pure."""

from enum import Enum, auto

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import BUNDLE_INSTANCE_KIND, OWNER_KIND_LABEL, OWNER_NAME_LABEL


class ChildSituation(Enum):
    OURS = auto()  # our owner reference
    LEAVING = auto()  # of a former BundleInstance of the name: it was deleted, or is about to be collected
    LEFT_BEHIND = auto()  # of a former one, without an owner (`--cascade=orphan`, or a backup), with the spec of ours
    LEFT_AND_CHANGED = auto()  # the same with another spec: somebody may rely on it
    OTHER = auto()


def situation(deployment: BundleDeployment, instance: BundleInstance) -> ChildSituation:
    metadata, controller = deployment.metadata, deployment.metadata.controller
    if controller is not None:
        if controller.uid == instance.metadata.uid:
            return ChildSituation.OURS
        is_former = (controller.kind, controller.name) == (BUNDLE_INSTANCE_KIND, instance.metadata.name)
        return ChildSituation.LEAVING if is_former else ChildSituation.OTHER
    if metadata.owner_references or not _is_labelled_for(metadata, instance):
        return ChildSituation.OTHER
    if metadata.is_deleted:
        return ChildSituation.LEAVING
    return ChildSituation.LEFT_BEHIND if deployment.spec == instance.spec else ChildSituation.LEFT_AND_CHANGED


def owner_labels(instance: BundleInstance) -> dict[str, str]:
    return {OWNER_KIND_LABEL: BUNDLE_INSTANCE_KIND, OWNER_NAME_LABEL: instance.metadata.name}


def is_ours(deployment: BundleDeployment | None, instance: BundleInstance) -> bool:
    return deployment is not None and situation(deployment, instance) is ChildSituation.OURS


def _is_labelled_for(metadata: ObjectMeta, instance: BundleInstance) -> bool:
    return owner_labels(instance).items() <= metadata.labels.items()
