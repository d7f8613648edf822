"""A bundle that was opened: found, its format known, read when it is asked for, and rendered."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.option_checks import member
from rukpak_py.sources.local import content_of_files, open_content

if TYPE_CHECKING:
    from rukpak_py.api.deployment_spec import Patch
    from rukpak_py.formats.helm.request import HelmRequest
    from rukpak_py.formats.registry_v1.bundle import RegistryBundle
    from rukpak_py.formats.registry_v1.reading import Reading
    from rukpak_py.sources.image.descriptors import ImageDetails

Json: TypeAlias = dict[str, Any]
# A path, or the files themselves: content by path.
Content: TypeAlias = str | os.PathLike[str] | Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartValues:
    """Values for a chart; `origin` names them in messages."""

    document: Json | str | bytes = field(repr=False)
    origin: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartOptions:
    """How a chart is rendered, apart from where to. None is helm's default."""

    values: tuple[ChartValues, ...] = ()
    settings: tuple[str, ...] = field(default=(), repr=False)  # key=value, as in --set of helm
    release_name: str | None = None
    kube_version: str | None = None
    api_versions: tuple[str, ...] = ()
    helm: str | None = None  # the program; None: that of RUKPAK_HELM, else the one on PATH

    @property
    def are_chosen(self) -> bool:
        """Whether they say anything about a chart; that is a mistake for another bundle."""
        return replace(self, helm=None) != ChartOptions()


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendering:
    objects: list[Json]
    install_namespace: str | None  # None: plain manifests, which do not choose one
    hooks: list[Json] = field(default_factory=list)  # of charts
    left_out: list[str] = field(default_factory=list)  # what only the rendering shows, as sentences
    crds: int = 0  # of the objects those that are in the crds/ of a chart: the first ones
    unmatched: tuple[int, ...] = ()  # patches without a target

    @property
    def all(self) -> list[Json]:
        return [*self.objects, *self.hooks]


@dataclass(frozen=True, kw_only=True)
class OpenedBundle:
    """A bundle that was found; it is read when it is asked for."""

    tree: Tree
    is_directory: bool = True  # no archive: charts are loaded differently
    image: "ImageDetails | None" = None  # that the files were read from
    format: FormatName
    parity: bool
    limits: Limits

    @cached_property
    def reading(self) -> "Reading":
        """The parsed content of a registry+v1 bundle, with its defects."""
        from rukpak_py.formats.registry_v1.read import read  # noqa: PLC0415 - plain bundles do not pay for it

        return read(self.tree, parity=self.parity, limits=self.limits)

    @cached_property
    def bundle(self) -> "RegistryBundle":
        """The registry+v1 bundle; an error when it cannot be rendered."""
        return self.reading.complete()

    def in_parity(self, *, is_detected: bool) -> "OpenedBundle":
        """The reference renderer knows one format, and says what it misses of it; a chart is never meant."""
        if self.format is FormatName.HELM or (self.format is FormatName.PLAIN and not is_detected):
            raise ContentError(f"parity is for bundles of format {FormatName.REGISTRY}, not {self.format}")
        return replace(self, format=FormatName.REGISTRY, parity=True)

    def demand_chart(self) -> None:
        if self.format is not FormatName.HELM:
            raise ContentError(
                f"values, release name and versions are for charts, and this bundle is of format {self.format}"
            )

    def warnings(self) -> list[Finding]:
        """Findings about objects that a rendering leaves out, adds or merges without refusing the bundle."""
        from rukpak_py.formats.render_warnings import render_warnings  # noqa: PLC0415 - only `render` prints them

        return render_warnings(
            self.format, self.tree, lambda: self.reading, self.limits, is_directory=self.is_directory
        )

    def findings(self, profiles: Collection[str] = (), *, categories: frozenset[str] = frozenset()) -> list[Finding]:
        from rukpak_py.formats import validation  # noqa: PLC0415 - who renders does not pay for the rules

        asked = [member(validation.Profile, profile, "profile") for profile in profiles]
        return validation.validate(
            self.tree,
            format_name=self.format,
            is_directory=self.is_directory,
            profiles=asked,
            categories=categories,
            limits=self.limits,
        )

    def render(
        self, options: RenderOptions, chart: ChartOptions | None = None, patches: "Sequence[Patch]" = ()
    ) -> Rendering:
        chart = chart or ChartOptions()
        if chart.are_chosen:
            self.demand_chart()
        if _chooses_for_olm(options) and self.format is not FormatName.REGISTRY:
            what = "watch namespaces, certificates, deployment configuration and aggregated roles"
            raise ContentError(f"{what} are for bundles of format {FormatName.REGISTRY}, not {self.format}")
        match self.format:
            case FormatName.REGISTRY:
                rendering = self._rendered_registry(options)
            case FormatName.PLAIN:
                from rukpak_py.formats.plain import PlainFormat  # noqa: PLC0415 - registry+v1 does not pay for it

                objects = [made.manifest() for made in PlainFormat().render(self.tree, options).objects]
                rendering = Rendering(objects=objects, install_namespace=options.install_namespace)
            case FormatName.HELM:
                rendering = self._rendered_chart(options, chart)
        if patches:
            rendering = _with_patches(rendering, patches, options)
        return rendering if self.parity else _declared(rendering, is_told=self.format is not FormatName.HELM)

    def configured(self, options: RenderOptions, config: bytes) -> RenderOptions:
        """With what a configuration (YAML or JSON) says: watchNamespace and deploymentConfig."""
        from rukpak_py.content import yaml  # noqa: PLC0415 - see reading
        from rukpak_py.formats.registry_v1 import render as renderer  # noqa: PLC0415 - see reading
        from rukpak_py.formats.registry_v1.render.config import checked_config  # noqa: PLC0415 - see reading

        if self.format is not FormatName.REGISTRY:
            raise ContentError(
                f"only bundles of format {FormatName.REGISTRY} can be configured, this one is {self.format}"
            )
        try:
            value = yaml.load(config, limits=self.limits)
        except ContentError as error:
            raise ContentError(f"invalid configuration: {error}") from error
        given = options.watch_namespaces
        if isinstance(value, dict) and given is not None and len(given) == 1 and given[0]:
            value = {"watchNamespace": given[0], **value}
        namespace = renderer.install_namespace(self.bundle, options.install_namespace)
        found = checked_config(self.bundle, namespace, value)
        watched = found.watch_namespaces or given
        if given is not None and watched != given:
            raise ContentError(f"the configuration watches {found.watch_namespace}, the option {', '.join(given)}")
        return replace(options, watch_namespaces=watched, deployment_config=found.deployment_config)

    def _rendered_registry(self, options: RenderOptions) -> Rendering:
        from rukpak_py.formats.registry_v1 import render as renderer  # noqa: PLC0415 - see reading
        from rukpak_py.formats.registry_v1.bundle import InstallMode  # noqa: PLC0415 - see reading
        from rukpak_py.formats.registry_v1.render.config import (  # noqa: PLC0415 - see reading
            checked_deployment_config,
        )
        from rukpak_py.formats.rules import Locator  # noqa: PLC0415 - see reading

        if options.deployment_config is not None:
            options = replace(options, deployment_config=checked_deployment_config(options.deployment_config))
        namespace = renderer.install_namespace(self.bundle, options.install_namespace)
        modes = self.bundle.csv.supported_modes
        if self.parity and not options.watch_namespaces and InstallMode.ALL not in modes and InstallMode.OWN in modes:
            options = replace(options, watch_namespaces=(namespace,))  # the reference leaves that to its caller
        objects = renderer.render(self.bundle, options, Locator(self.tree, self.limits))
        return Rendering(objects=objects, install_namespace=namespace)

    def _rendered_chart(self, options: RenderOptions, chart: ChartOptions) -> Rendering:
        from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE  # noqa: PLC0415 - other formats do not pay for it
        from rukpak_py.formats.helm.format import HelmFormat  # noqa: PLC0415 - see above

        namespace = options.install_namespace or DEFAULT_SYSTEM_NAMESPACE
        request = _helm_request(chart, namespace)
        made = HelmFormat(helm=chart.helm).render_release(
            self.tree, request, is_directory=self.is_directory, limits=self.limits
        )
        return Rendering(
            objects=[one.manifest() for one in (*made.crds, *made.objects)],
            crds=len(made.crds),
            hooks=[hook.object.manifest() for hook in made.hooks],
            install_namespace=namespace,
            left_out=[
                f"an object for the hook {hook!r} is left out: helm does not know it" for hook in made.unknown_hooks
            ],
        )


def open_bundle(
    path: Content,
    *,
    format: str | None = None,  # noqa: A002 - the name of the option everywhere
    parity: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    registries: bool = False,
) -> OpenedBundle:
    """Open a bundle; its format is detected unless it is given. ContentError when it cannot be opened.

    `registries`: an image of a registry is pulled.
    """
    if isinstance(path, Mapping):
        content = content_of_files(path, limits=limits)
    elif not os.fspath(path):  # an unset variable, which Path would read as the working directory
        raise ContentError("the path of the bundle is empty")
    else:
        content = open_content(path, limits=limits, registries=registries)
    name = detect_format(content.tree, limits) if format is None else member(FormatName, format, "format")
    opened = OpenedBundle(
        tree=content.tree,
        is_directory=content.is_directory,
        image=content.image,
        format=name,
        parity=False,
        limits=limits,
    )
    return opened.in_parity(is_detected=format is None) if parity else opened


def _helm_request(chart: ChartOptions, namespace: str) -> "HelmRequest":
    from rukpak_py.formats.helm import request  # noqa: PLC0415 - only charts pay for it

    return request.HelmRequest(
        release_name=chart.release_name or request.DEFAULT_RELEASE,
        namespace=namespace,
        values=tuple(request.ValuesDocument(document=one.document, origin=one.origin) for one in chart.values),
        settings=chart.settings,
        kube_version=chart.kube_version,
        api_versions=chart.api_versions,
    )


def _chooses_for_olm(options: RenderOptions) -> bool:
    """Whether they say anything that other formats have no use for."""
    is_chosen = options.certificates is not Certificates.OPERATOR or options.aggregated_roles
    return is_chosen or bool(options.watch_namespaces) or bool(options.deployment_config)


def _declared(rendering: Rendering, *, is_told: bool) -> Rendering:
    """Without the fields that an API server would refuse; `is_told`: a Finding names them, with their place."""
    from rukpak_py.formats.builtin_types import checked  # noqa: PLC0415 - who validates does not pay for it

    objects, hooks = list(map(checked, rendering.objects)), list(map(checked, rendering.hooks))
    told = [] if is_told else [sentence for one in (*objects, *hooks) for sentence in one.left_out]
    return replace(
        rendering,
        objects=[one.manifest for one in objects],
        hooks=[one.manifest for one in hooks],
        left_out=[*rendering.left_out, *told],
    )


def _with_patches(rendering: Rendering, patches: "Sequence[Patch]", options: RenderOptions) -> Rendering:
    from rukpak_py.core.objects import Object  # noqa: PLC0415 - only patches need them
    from rukpak_py.formats.patches import patch_objects  # noqa: PLC0415 - the same

    crds, others = rendering.objects[: rendering.crds], rendering.objects[rendering.crds :]
    found = patch_objects(
        [Object.from_manifest(one) for one in others],
        patches,
        default_namespace=rendering.install_namespace or "",
        limits=options.limits,
    )
    objects = [*crds, *(one.manifest() for one in found.objects)]
    return replace(rendering, objects=objects, unmatched=found.unmatched)
