"""Where the objects of a deployment live: from its kinds to the resources that serve them."""

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.apply.memory import Memory
from rukpak_py.apply.owner import Owner
from rukpak_py.apply.target import Target
from rukpak_py.controllers.resolution import Resolution
from rukpak_py.core.objects import GroupKind, GroupVersionKind, ObjectKey
from rukpak_py.kube.discovery import Discovery
from rukpak_py.kube.errors import KindNotServedError, Refusal
from rukpak_py.kube.resources import Resource


class Targets:
    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    def resources(self, deployment: BundleDeployment) -> list[Resource]:
        """Those kinds of the status that are served; of the others there are no objects."""
        found = [
            self._discovery.find(GroupVersionKind(kind.group, kind.version, kind.kind))
            or self._discovery.preferred(kind.group, kind.kind)
            for kind in deployment.status.kinds
        ]
        return [resource for resource in found if resource is not None]

    def target(self, deployment: BundleDeployment, memory: Memory, resolution: Resolution | None = None) -> Target:
        known: dict[GroupKind, Resource] = {one.group_kind: one for one in self.resources(deployment)}
        if resolution is not None:
            known |= resolution.of_kinds()

        def resource_of(key: ObjectKey) -> Resource:
            resource = known.get(GroupKind(key.group, key.kind)) or self._discovery.preferred(key.group, key.kind)
            if resource is None:
                text = f'the cluster does not serve the kind "{key.kind}" of group "{key.group}"'
                raise KindNotServedError(Refusal(subject=str(key), status=404, message=text))
            return resource

        owner = Owner(name=deployment.metadata.name, uid=deployment.metadata.uid)
        return Target(owner=owner, memory=memory, resource_of=resource_of)
