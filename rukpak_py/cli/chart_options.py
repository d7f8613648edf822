"""Options for charts, with the names that helm gives them."""

from collections.abc import Callable, Sequence
from typing import IO, Any, TypeVar

import click
from click.core import ParameterSource

from rukpak_py.formats.detection import FormatName
from rukpak_py.library import ChartOptions, ChartValues

F = TypeVar("F", bound=Callable[..., Any])

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
