"""helm+v3 for the operator: charts, checked without helm and rendered by it. See `render` for what comes out."""

from dataclasses import dataclass

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.helm.chart import read_chart
from rukpak_py.formats.helm.program import HelmProgram
from rukpak_py.formats.helm.render import HelmRendering, render_chart
from rukpak_py.formats.helm.request import HelmRequest


@dataclass(frozen=True, kw_only=True)
class HelmFormat:
    """`helm` is the program's path; None: `RUKPAK_HELM`, else the one on PATH. It is looked for when it is needed."""

    helm: str | None = None

    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        read_chart(tree, limits)

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]:
        """With the chart's own values: what is in crds/, then all other objects, no hooks."""
        request = HelmRequest(namespace=options.install_namespace or DEFAULT_SYSTEM_NAMESPACE)
        rendering = self.render_release(tree, request, limits=options.limits)
        return [*rendering.crds, *rendering.objects]

    def render_release(self, tree: Tree, request: HelmRequest, *, limits: Limits = DEFAULT_LIMITS) -> HelmRendering:
        """Blocks as long as helm runs: for a thread or a worker process."""
        chart = read_chart(tree, limits)  # a broken chart is told as such, with or without helm
        return render_chart(tree, request, HelmProgram.find(self.helm), chart=chart, limits=limits)

    def stays_small(self, tree: Tree) -> bool:  # noqa: ARG002 - a line of a template may become megabytes
        return False
