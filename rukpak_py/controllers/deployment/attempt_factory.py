"""Makes attempts: the wanted content with the options of the spec, the installed one with its own.

Values that were found belong to the options that have their digests, and to no others.
"""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.install_options import InstallOptions, identities, options_of
from rukpak_py.api.names import REGISTRY_CLASS
from rukpak_py.apply.inventory import Inventory
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.external_values import NO_VALUES, FoundValues
from rukpak_py.controllers.deployment.history import options_of_active
from rukpak_py.controllers.deployment.kinds import recorded_kinds
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.kube.resources import NAMESPACES


class AttemptFactory:
    def __init__(self, inventory: Inventory, has_namespace: Callable[[str], bool], *, system_namespace: str) -> None:
        self._inventory = inventory
        self._has_namespace = has_namespace
        self._system_namespace = system_namespace

    def wanted(
        self, deployment: BundleDeployment, bundle: Bundle, state: DeploymentState, found: FoundValues
    ) -> Attempt:
        options = structs.replace(options_of(deployment.spec), values_from=found.recorded)
        return replace(self._attempt(deployment, bundle, options, state, found), is_wanted=True)

    def active(
        self, deployment: BundleDeployment, bundle: Bundle, state: DeploymentState, found: FoundValues = NO_VALUES
    ) -> Attempt | None:
        """None: the options that it was installed with are lost."""
        options = options_of_active(deployment)
        return self._attempt(deployment, bundle, options, state, found) if options is not None else None

    def _attempt(
        self,
        deployment: BundleDeployment,
        bundle: Bundle,
        options: InstallOptions,
        state: DeploymentState,
        found: FoundValues,
    ) -> Attempt:
        chooses = bundle.spec.provisioner_class == REGISTRY_CLASS and not options.install_namespace
        namespace = "" if chooses else options.install_namespace or self._system_namespace
        known = self._inventory.get(NAMESPACES.key("", namespace))
        if known is not None:
            is_ours = known.owner_uid == deployment.metadata.uid
        else:  # after a restart the status says it until the watch does
            is_recorded = NAMESPACES.group_kind in recorded_kinds(deployment)
            is_ours = is_recorded and not self._inventory.is_listed(NAMESPACES.group_kind)
        return Attempt(
            deployment=deployment,
            bundle=bundle,
            options=options,
            install_namespace=namespace,
            makes_namespace=options.create_namespace and (is_ours or not self._has_namespace(namespace)),
            state=state,
            values=found.documents if identities(found.recorded) == identities(options.values_from) else (),
        )
