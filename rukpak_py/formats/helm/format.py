"""helm+v3 for the operator: charts, checked without helm and rendered by it. See `render` for what comes out.

What a Bundle serves is the chart below one directory, as the original stored it. Hooks are refused, because nobody
runs them yet: an installation that leaves them out is not what the chart means.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object
from rukpak_py.core.wording import named
from rukpak_py.formats.format import Release, RenderedContent, RenderOptions
from rukpak_py.formats.helm.chart import read_chart
from rukpak_py.formats.helm.hooks import RESOURCE_POLICY, Hook, is_kept
from rukpak_py.formats.helm.layout import archived, chart_root
from rukpak_py.formats.helm.program import HelmProgram
from rukpak_py.formats.helm.render import HelmRendering, render_chart
from rukpak_py.formats.helm.request import DEFAULT_RELEASE, HelmRequest, values_of_config
from rukpak_py.formats.stored_rendering import rendering


@dataclass(frozen=True, kw_only=True)
class HelmFormat:
    """`helm` is the program's path; None: `RUKPAK_HELM`, else the one on PATH. It is looked for when it is needed."""

    helm: str | None = None

    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> Tree | None:
        """The answer: the chart below a directory, where it is not in one already."""
        read_chart(tree, limits)
        return None if chart_root(tree) else archived(tree)

    def render(self, tree: Tree, options: RenderOptions) -> RenderedContent:
        """What is in crds/, then all other objects."""
        release = options.release or Release(name=DEFAULT_RELEASE)
        request = HelmRequest(
            release_name=release.name,
            namespace=options.install_namespace or DEFAULT_SYSTEM_NAMESPACE,
            values=(*options.values, *values_of_config(options.config or {})),
            kube_version=release.kube_version,
            api_versions=release.api_versions,
            is_upgrade=release.is_upgrade,
        )
        chosen = HelmFormat(helm=self.helm or options.helm)
        rendered = chosen.render_release(tree, request, limits=options.limits)
        if rendered.hooks:
            raise ContentError(_hooks_refused(rendered.hooks))
        lasting = [*rendered.crds, *filter(_is_kept, rendered.objects)]
        return rendering([*rendered.crds, *rendered.objects], frozenset(one.head.key for one in lasting))

    def render_release(self, tree: Tree, request: HelmRequest, *, limits: Limits = DEFAULT_LIMITS) -> HelmRendering:
        """Blocks as long as helm runs: for a thread or a worker process."""
        chart = read_chart(tree, limits)  # a broken chart is told as such, with or without helm
        return render_chart(tree, request, HelmProgram.find(self.helm), chart=chart, limits=limits)

    def stays_small(self, tree: Tree) -> bool:  # noqa: ARG002 - a line of a template may become megabytes
        return False


def _is_kept(rendered: Object) -> bool:
    return RESOURCE_POLICY.encode() in rendered.json and is_kept(rendered.manifest())


def _hooks_refused(hooks: Sequence[Hook]) -> str:
    shown = (f"{one.object.head.gvk.kind} {one.object.head.name} ({', '.join(sorted(one.events))})" for one in hooks)
    return (
        f"hooks are not run yet: {named(shown)}; remove them from the chart, or switch them off with spec.config.values"
    )
