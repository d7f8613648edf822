"""helm+v3 for the operator: charts, checked without helm and rendered by it. See `render` for what comes out.

What a Bundle serves is the chart below one directory, as the original stored it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import ContentDescription, Release, RenderedContent, RenderOptions
from rukpak_py.formats.helm.chart import read_chart
from rukpak_py.formats.helm.layout import archived, chart_root
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import HelmRendering, render_chart
from rukpak_py.formats.helm.rendered_objects import RESOURCE_POLICY, is_kept
from rukpak_py.formats.helm.request import DEFAULT_RELEASE, ChartCluster, HelmRequest, values_of_config
from rukpak_py.formats.helm.settings import ChartSettings, CrdsMode, settings_of
from rukpak_py.formats.hook import MOST_HOOKS, Hook, HookEvent
from rukpak_py.formats.stored_rendering import rendering


@dataclass(frozen=True, kw_only=True)
class HelmFormat:
    """`helm` is the program's path; None: `RUKPAK_HELM`, else the one on PATH. It is looked for when it is needed."""

    helm: str | None = None

    def check(self, tree: Tree, *, is_directory: bool = False, limits: Limits = DEFAULT_LIMITS) -> Tree | None:
        """The answer: the chart below a directory, where it is not in one already."""
        read_chart(tree, limits, is_directory=is_directory)
        return None if chart_root(tree) else archived(tree)

    def render(self, tree: Tree, options: RenderOptions) -> RenderedContent:
        """Render crds/, unless `spec.config` skips it, then all other objects, and the hooks."""
        release = options.release or Release(name=DEFAULT_RELEASE)
        settings = settings_of(options.config or {}) if release.has_settings else ChartSettings()
        request = HelmRequest(
            release_name=settings.release_for(release.name),
            namespace=options.install_namespace or DEFAULT_SYSTEM_NAMESPACE,
            values=(*options.values, *values_of_config(options.config or {})),
            kube_version=release.kube_version,
            api_versions=release.api_versions,
            is_upgrade=release.is_upgrade,
            cluster=_cluster(options),
        )
        is_directory = options.is_directory
        chart = read_chart(tree, options.limits, is_directory=is_directory)
        program = HelmProgram.find(self.helm or options.helm)
        rendered = render_chart(tree, request, program, chart=chart, is_directory=is_directory, limits=options.limits)
        _check_hooks(rendered.hooks, request.namespace)
        in_crds = () if settings.crds is CrdsMode.SKIP else rendered.crds
        crds = frozenset(one.head.key for one in in_crds)
        return rendering(
            [*in_crds, *rendered.objects],
            crds.union(one.head.key for one in filter(_is_kept, rendered.objects)),
            hooks=rendered.hooks,
            before_hooks=crds,
            create_only=crds if settings.crds is CrdsMode.CREATE else frozenset(),
            description=ContentDescription(
                name=chart.metadata.name, version=chart.metadata.version, app_version=chart.metadata.app_version
            ),
        )

    def render_release(
        self, tree: Tree, request: HelmRequest, *, is_directory: bool, limits: Limits = DEFAULT_LIMITS
    ) -> HelmRendering:
        """Blocks as long as helm runs: for a thread or a worker process."""
        # A broken chart is told as such, with or without helm.
        chart = read_chart(tree, limits, is_directory=is_directory)
        program = HelmProgram.find(self.helm)
        return render_chart(tree, request, program, chart=chart, is_directory=is_directory, limits=limits)

    def stays_small(self, tree: Tree) -> bool:  # noqa: ARG002 - a line of a template may become megabytes
        return False


def _cluster(options: RenderOptions) -> ChartCluster | None:
    view = options.release.cluster if options.release is not None else None
    if view is None:
        return None
    if options.look_up is None:
        raise ValueError("a release with a cluster needs look_up")
    return ChartCluster(view=view, look_up=options.look_up)


def _is_kept(rendered: Object) -> bool:
    return RESOURCE_POLICY.encode() in rendered.json and is_kept(rendered.manifest())


def _check_hooks(hooks: Sequence[Hook], namespace: str) -> None:
    if len(hooks) > MOST_HOOKS:
        raise ContentError(f"the chart has {len(hooks)} hooks; no more than {MOST_HOOKS} can be run")
    first: set[tuple[ObjectKey, HookEvent]] = set()
    for hook in hooks:
        key = hook.object.head.key
        identity = key if key.namespace else key._replace(namespace=namespace)
        for event in sorted(hook.events):
            if (identity, event) in first:
                raise ContentError(f"two {event} hooks are {key}: give one of them another name, or remove it")
            first.add((identity, event))
