"""Options that several commands share: how a bundle is read and rendered, and what is printed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rukpak_py.cli.namespace_names import namespace_name, namespace_names
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.format import Certificates, RenderOptions
from rukpak_py.formats.manifests import MANIFESTS, manifests_at_root
from rukpak_py.library import ChartOptions, ChartValues, OpenedBundle, Rendering, open_bundle

if TYPE_CHECKING:
    from rukpak_py.api.deployment_spec import Patch

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = tuple(name.value for name in FormatName)
_OF_OLM = {
    "watch_namespaces": "--watch-namespace",
    "certificates": "--certificates",
    "aggregated_roles": "--aggregated-roles",
}
CERTIFICATES = tuple(maker.value for maker in Certificates)

path_argument = click.argument("path", type=click.Path())


def format_option() -> Callable[[F], F]:
    return click.option(
        "--format", "format_name", type=click.Choice(FORMATS), help="Format of the bundle. Default: detected."
    )


@dataclass(frozen=True, kw_only=True)
class RenderFlags:
    """How to render, as it was asked for."""

    format_name: str | None
    install_namespace: str | None
    watch_namespaces: tuple[str, ...]
    certificates: str
    aggregated_roles: bool
    config: bytes | None
    chart: ChartOptions
    of_olm: tuple[str, ...]  # given options that only bundles of OLM have a use for

    def opened(self, path: str, *, parity: bool = False) -> OpenedBundle:
        opened = open_bundle(path, format=self.format_name, limits=Limits.from_environment(), registries=True)
        _demand_root(path, opened)
        is_detected = self.format_name is None
        without_parity = opened.format is FormatName.HELM or not is_detected
        unusable = [*self.of_olm, *(["--parity"] if parity and without_parity else [])]
        if unusable and opened.format is not FormatName.REGISTRY:
            raise click.UsageError(
                f"{unusable[0]} is for bundles of format {FormatName.REGISTRY}, not {opened.format}."
            )
        demand_chart(opened.format)
        return opened.in_parity(is_detected=is_detected) if parity else opened

    def render(self, opened: OpenedBundle, patches: "Sequence[Patch]" = ()) -> Rendering:
        options = RenderOptions(
            install_namespace=self.install_namespace,
            watch_namespaces=self.watch_namespaces or None,
            certificates=Certificates(self.certificates),
            aggregated_roles=self.aggregated_roles,
            limits=opened.limits,
        )
        configured = options if self.config is None else opened.configured(options, self.config)
        return opened.render(configured, self.chart, patches)

    def rendered(self, path: str) -> Rendering:
        return self.render(self.opened(path))


def rendering_options(command: F) -> F:
    """Adds them; the command takes them as `**chosen` and hands them to `choice`."""
    options: Sequence[Callable[[F], F]] = (
        format_option(),
        click.option(
            "--install-namespace",
            callback=namespace_name,
            metavar="NAMESPACE",
            help="Namespace to install into. Default: that of the CSV, else <package>-system (charts: rukpak-system).",
        ),
        click.option(
            "--watch-namespace",
            "watch_namespaces",
            multiple=True,
            callback=namespace_names,
            metavar="NAMESPACE",
            help="A namespace that the operator watches, '' is all of them; may be repeated. Default: all, or its own.",
        ),
        click.option(
            "--certificates",
            type=click.Choice(CERTIFICATES),
            default=CERTIFICATES[0],
            show_default=True,
            help="Who issues the certificates of webhooks. `operator`: rukpak, only for BundleDeployments.",
        ),
        click.option(
            "--aggregated-roles",
            is_flag=True,
            help="Add roles for the users of the operator's kinds, as spec.config.aggregatedRoles does.",
        ),
        click.option(
            "--config",
            type=click.File("rb"),
            metavar="FILE",
            help="Configuration (watchNamespace, deploymentConfig) in YAML or JSON; - is standard input.",
        ),
        chart_options,
    )
    for option in reversed(options):
        command = option(command)
    return command


def render_flags_of(chosen: dict[str, Any]) -> RenderFlags:
    config: IO[bytes] | None = chosen.pop("config")
    chart = chart_options_of(chosen)
    return RenderFlags(**chosen, config=None if config is None else config.read(), chart=chart, of_olm=tuple(_given()))


def read_patches(text: bytes) -> "tuple[Patch, ...]":
    """The list that `spec.patches` of a BundleDeployment has."""
    import msgspec  # noqa: PLC0415 - only patches need it

    from rukpak_py.api.deployment_spec import Patch  # noqa: PLC0415 - the same
    from rukpak_py.content import yaml  # noqa: PLC0415 - the same

    try:
        return msgspec.convert(yaml.load(text), type=tuple[Patch, ...])
    except (ContentError, msgspec.ValidationError) as error:
        raise ContentError(f"--patches: it is not a list of patches as in spec.patches: {error}") from error


def _demand_root(path: str, opened: OpenedBundle) -> None:
    """Not the directory manifests/ alone."""
    found = Path(path).resolve()
    is_part = found.name == MANIFESTS and found.is_dir() and MANIFESTS not in opened.tree.directories
    if is_part and opened.format is not FormatName.HELM and manifests_at_root(opened.tree):
        parent = Path(path).parent if Path(path).name == MANIFESTS else found.parent
        raise ContentError(f"{path} is the directory {MANIFESTS}/ of a bundle: give {parent}")


def _given() -> Iterator[str]:
    """The options in use that only apply to bundles of OLM."""
    context = click.get_current_context()
    for name, option in _OF_OLM.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            yield option


_OF_CHARTS = {  # where they are given for another format, it is a mistake; `--helm` may be meant for all commands
    "values": "--values",
    "settings": "--set",
    "release_name": "--release-name",
    "kube_version": "--kube-version",
    "api_versions": "--api-version",
}


def chart_options(command: F) -> F:
    """Adds them; the command hands its options to `chart_options_of`, which takes them out."""
    options: Sequence[Callable[[F], F]] = (
        click.option(
            "-f",
            "--values",
            multiple=True,
            type=click.File("rb"),
            metavar="FILE",
            help="Charts: values in YAML, - is standard input; may be repeated, the last one wins.",
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            help="Charts: a value, in helm's syntax; may be repeated, and wins over --values.",
        ),
        click.option("--release-name", metavar="NAME", help="Charts: name of the release. Default: release-name."),
        click.option(
            "--kube-version", metavar="VERSION", help="Charts: version of Kubernetes. Default: helm's newest."
        ),
        click.option(
            "--api-version",
            "api_versions",
            multiple=True,
            metavar="GROUP/VERSION[/KIND]",
            help="Charts: an API that the cluster has besides those of Kubernetes; may be repeated.",
        ),
        click.option(
            "--helm",
            metavar="PROGRAM",
            help="Charts: the helm program to render with. Default: $RUKPAK_HELM, else helm on PATH.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def demand_chart(found: FormatName) -> None:
    """A usage error where an option for charts was given for a bundle of another format."""
    if found is FormatName.HELM:
        return
    context = click.get_current_context()
    for name, option in _OF_CHARTS.items():
        if context.get_parameter_source(name) not in {None, ParameterSource.DEFAULT}:
            raise click.UsageError(f"{option} is for bundles of format {FormatName.HELM}, not {found}.")


def chart_options_of(chosen: dict[str, Any]) -> ChartOptions:
    values: Sequence[IO[bytes]] = chosen.pop("values")
    names = ("settings", "release_name", "kube_version", "api_versions", "helm")
    return ChartOptions(
        values=tuple(ChartValues(document=file.read(), origin=file.name) for file in values),
        **{name: chosen.pop(name) for name in names},
    )
