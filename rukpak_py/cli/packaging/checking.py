"""Whether an image may be made of a bundle: errors stop it; warnings are counted."""

from typing import IO

import click

from rukpak_py.cli.packaging.plan import Plan
from rukpak_py.cli.reports.report import Report, counted
from rukpak_py.cli.reports.text import lines_of_findings
from rukpak_py.cli.terminal import Style
from rukpak_py.core.limits import Limits
from rukpak_py.formats.detection import detect_format
from rukpak_py.formats.registry_v1.packaging.media_type import HELM
from rukpak_py.library import OpenedBundle


def is_fit(plan: Plan, stream: IO[str]) -> bool:
    if plan.labels.media_type == HELM:
        click.echo("not checked: the manifests are a chart", file=stream)
        return True
    limits = Limits.from_environment()
    opened = OpenedBundle(tree=plan.tree, format=detect_format(plan.tree, limits), parity=False, limits=limits)
    report = Report(path="", findings=opened.findings())
    errors = [finding for finding in report.findings if finding.is_error]
    style = Style(stream)
    for line in lines_of_findings(errors, style):
        click.echo(line, file=stream)
    if errors:
        click.echo(f"{style.paint('Error:', 'red', 'bold')} the bundle has errors, nothing was built", file=stream)
    elif report.warnings:
        click.echo(f"{counted(report.warnings, 'warning')}: `rukpakctl bundle validate` shows more", file=stream)
    return not errors
