"""registry+v1 for a deployment of its own class: rendered straight from the content, with all options."""

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.format import OlmIdentity, RenderedContent, RenderOptions
from rukpak_py.formats.registry_v1.converted import applicable, converted, own_namespace
from rukpak_py.formats.registry_v1.deployment_settings import DeploymentSettings
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.formats.registry_v1.requirements import requirements
from rukpak_py.formats.registry_v1.rules import demand_renderable
from rukpak_py.formats.registry_v1.rules.unsupported import InstallRequest
from rukpak_py.formats.rules import Locator


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
