"""registry+v1 for a deployment of its own class: rendered straight from the content, with all options.

Of its `spec.config`, `deploymentConfig` changes the Deployments, as OLM's does; `certificates` says who makes those of
webhooks, and `aggregatedRoles` asks for roles for the users of the operator's kinds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Self

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.format import Certificates, OlmIdentity, RenderedContent, RenderOptions
from rukpak_py.formats.registry_v1.converted import applicable, converted, own_namespace
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.formats.registry_v1.render.config import DEPLOYMENT_CONFIG, json_type
from rukpak_py.formats.registry_v1.requirements import requirements
from rukpak_py.formats.registry_v1.rules import demand_renderable
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Locator

CERTIFICATES = "certificates"
AGGREGATED_ROLES = "aggregatedRoles"
_KNOWN = (AGGREGATED_ROLES, CERTIFICATES, DEPLOYMENT_CONFIG)


@dataclass(frozen=True, kw_only=True)
class DeploymentSettings:
    """`spec.config` of a BundleDeployment of class registry, as a value."""

    deployment_config: Mapping[str, Any] | None = None
    certificates: Certificates = Certificates.OPERATOR
    aggregated_roles: bool = False

    @classmethod
    def read(cls, config: Mapping[str, Any] | None) -> Self:
        """ContentError names everything that cannot be meant. null is not given."""
        given = {key: value for key, value in (config or {}).items() if value is not None}
        for key in given:
            if key not in _KNOWN:
                raise ContentError(f"spec.config.{key} is not known; {_advice(key)}")
        deployment_config = given.get(DEPLOYMENT_CONFIG)  # its fields are checked when it is applied
        if deployment_config is not None and not isinstance(deployment_config, dict):
            raise ContentError(f"spec.config.{DEPLOYMENT_CONFIG} must be an object, got {json_type(deployment_config)}")
        certificates = given.get(CERTIFICATES, Certificates.OPERATOR)
        if certificates not in list(Certificates):
            raise ContentError(f"spec.config.{CERTIFICATES} is {certificates!r}; set one of {', '.join(Certificates)}")
        aggregated_roles = given.get(AGGREGATED_ROLES, False)
        if not isinstance(aggregated_roles, bool):
            got = json_type(aggregated_roles)
            raise ContentError(f"spec.config.{AGGREGATED_ROLES} must be true or false, got {got}")
        return cls(
            deployment_config=deployment_config,
            certificates=Certificates(certificates),
            aggregated_roles=aggregated_roles,
        )

    def applied_to(self, options: RenderOptions) -> RenderOptions:
        return replace(
            options,
            certificates=self.certificates,
            deployment_config=self.deployment_config,
            aggregated_roles=self.aggregated_roles,
        )


def _advice(key: str) -> str:
    if key == "watchNamespace":
        return "set spec.watchNamespaces of the BundleDeployment"
    (near,) = get_close_matches(key, _KNOWN, n=1) or [""]
    return f"did you mean {near}?" if near else f"the class has {', '.join(_KNOWN)}"


class RegistryV1Format:
    def check(
        self,
        tree: Tree,
        *,
        is_directory: bool = False,  # noqa: ARG002 - for charts
        limits: Limits = DEFAULT_LIMITS,
    ) -> Tree | None:
        """Whether it can be rendered at all; where to, and for which namespaces, is the deployment's to say."""
        bundle = read(tree, limits=limits).complete()
        demand_renderable(InstallRequest(bundle=bundle), Locator(tree, limits))
        return converted(bundle, tree, limits)

    def render(self, tree: Tree, options: RenderOptions) -> RenderedContent:
        bundle = read(tree, limits=options.limits).complete()
        settings = DeploymentSettings.read(options.config)
        manifests = render(bundle, settings.applied_to(options), Locator(tree, options.limits))
        return RenderedContent(
            objects=applicable(bundle, manifests),
            default_namespace="" if options.install_namespace else own_namespace(bundle),
            requirements=requirements(bundle),
            olm=OlmIdentity(package=bundle.metadata.package, csv=bundle.csv.name),
            description=bundle.description,
        )

    def stays_small(self, tree: Tree) -> bool:  # noqa: ARG002 - what it becomes depends on the options, too
        return False
