"""A plan checked and carried out, with a line told for each thing that happens.

Errors of the bundle stop the making of an image; warnings are counted.
"""

from collections.abc import Iterator
from typing import IO

import click

from rukpak_py.cli.packaging.layouts import write
from rukpak_py.cli.packaging.names import shown
from rukpak_py.cli.packaging.plan import DOCKERFILE, PackagingPlan
from rukpak_py.cli.reports.report import CommandReport, counted
from rukpak_py.cli.reports.text import lines_of_findings
from rukpak_py.cli.terminal import Style, clean
from rukpak_py.core.limits import Limits
from rukpak_py.formats.detection import detect_format
from rukpak_py.formats.registry_v1.packaging import HELM
from rukpak_py.library import OpenedBundle


def is_fit(plan: PackagingPlan, stream: IO[str]) -> bool:
    """Whether an image may be made of it."""
    if plan.labels.media_type == HELM:
        click.echo("not checked: the manifests are a chart", file=stream)
        return True
    limits = Limits.from_environment()
    opened = OpenedBundle(tree=plan.tree, format=detect_format(plan.tree, limits), parity=False, limits=limits)
    report = CommandReport(path="", findings=opened.findings())
    errors = [finding for finding in report.findings if finding.is_error]
    style = Style(stream)
    for line in lines_of_findings(errors, style):
        click.echo(line, file=stream)
    if errors:
        click.echo(f"{style.paint('Error:', 'red', 'bold')} the bundle has errors, nothing was built", file=stream)
    elif report.warnings:
        click.echo(f"{counted(report.warnings, 'warning')}: `rukpakctl bundle validate` shows more", file=stream)
    return not errors


def carry_out(plan: PackagingPlan) -> Iterator[str]:
    if (origin := plan.origin) is not None:
        labels = plan.labels
        default = f", default channel {labels.default_channel}" if labels.default_channel else ""
        yield clean(f"package {labels.package}, channels {labels.channels}{default} (from {origin.file})")
    for file in plan.files:
        outcome = write(file.path, file.content, mode=file.mode)
        yield clean(f"{outcome} {shown(file.path)}")
        yield from (clean(f"dropped from {shown(file.path)}: {what}") for what in file.lost)
    for kept in plan.kept:
        yield clean(f"kept {kept}")
    for missing in plan.missing:
        yield clean(f"not in the image: {missing}")
    for differing in plan.differing:
        yield clean(f"label {differing} as in {DOCKERFILE}")
