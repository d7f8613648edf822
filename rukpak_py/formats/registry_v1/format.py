"""registry+v1 for the operator: bundles of OLM, checked and rendered straight from their content."""

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.formats.registry_v1.rules import demand_renderable
from rukpak_py.formats.registry_v1.rules.refusals import InstallRequest
from rukpak_py.formats.rules import Locator


class RegistryV1Format:
    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """Whether it can be rendered at all; where to, and for which namespaces, is the deployment's to say."""
        bundle = read(tree, parity=False, limits=limits).complete()
        demand_renderable(InstallRequest(bundle=bundle), Locator(tree, limits))

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]:
        bundle = read(tree, parity=False, limits=options.limits).complete()
        return [Object.from_manifest(made) for made in render(bundle, options, Locator(tree, options.limits))]

    def stays_small(self, tree: Tree) -> bool:  # noqa: ARG002 - what it becomes depends on the options, too
        return False
