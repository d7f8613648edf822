"""Which BundleDeployment a Bundle is of, as the caches show it."""

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.template_hash import specs_equal
from rukpak_py.controllers.cache import Cache


class BundleOwners:
    def __init__(self, deployments: Cache[BundleDeployment]) -> None:
        self._deployments = deployments

    def class_of(self, bundle: Bundle) -> str:
        """Of the deployment that controls the Bundle; empty: none that we know."""
        deployment = self._of(bundle)
        return deployment.spec.provisioner_class if deployment is not None else ""

    def uid_of(self, bundle: Bundle) -> str:
        """Of the deployment whose template the Bundle is of: an owner reference alone can be written by others."""
        deployment = self._of(bundle)
        is_of_it = deployment is not None and specs_equal(bundle.spec, deployment.spec.template.spec)
        return deployment.metadata.uid if deployment is not None and is_of_it else ""

    def _of(self, bundle: Bundle) -> BundleDeployment | None:
        controller = bundle.metadata.controller
        name = self._deployments.name_of(controller.uid) if controller is not None else None
        return self._deployments.get(name) if name is not None else None
