"""Rules of a chart that ask helm: it is rendered with its default values, and the objects are judged.

Without a helm nothing is told. A chart that demands values by `required` or `fail` is not broken: its message is a
warning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from rukpak_py.api.conditions import first_line
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.findings import Severity
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import Object
from rukpak_py.formats.documents import Document
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.helm.render import RaisedByChartError, render_chart
from rukpak_py.formats.helm.request import DEFAULT_RELEASE, HelmRequest
from rukpak_py.formats.helm.rules import ChartReading
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.rules import Family, Place, Problem

TEMPLATES: Final = "HELM-005"
_PLACE: Final = re.compile(
    r"(?:YAML parse error on )?([^:\s]{1,1000}):(?:([0-9]{1,9}):)? "
)  # with which a message of helm begins


@dataclass(kw_only=True)
class RenderedChart:
    reading: ChartReading
    problem: Problem | None = None
    judged: Judged = field(default_factory=Judged)

    @classmethod
    def of(cls, reading: ChartReading, limits: Limits, *, is_directory: bool) -> "RenderedChart":
        made = cls(reading=reading)
        if reading.chart is None:
            return made
        try:
            program = HelmProgram.find(None)
        except UnavailableError:
            return made
        request = HelmRequest(release_name=DEFAULT_RELEASE, namespace=DEFAULT_SYSTEM_NAMESPACE)
        try:
            rendered = render_chart(
                reading.tree, request, program, chart=reading.chart, is_directory=is_directory, limits=limits
            )
        except UnavailableError:
            return made
        except ContentError as error:
            severity = Severity.WARNING if isinstance(error, RaisedByChartError) else None
            made.problem = replace(made._problem(first_line(str(error))), severity=severity)
            return made
        objects = (*rendered.objects, *(hook.object for hook in rendered.hooks))
        for one, source in zip(objects, rendered.sources, strict=True):
            made._judge(one, source)
        for one in rendered.crds:
            made._judge(one, "")
        return made

    def _judge(self, rendered: Object, source: str) -> None:
        """`source`: the template; empty: a file of crds/."""
        file = self.reading.place(source.partition("/")[2] or "crds").file
        document = Document(file=file, index=0, manifest=rendered.manifest())
        self.judged.add(document, title=f"{rendered.head.key}: ")

    def _problem(self, message: str) -> Problem:
        found = _PLACE.match(message)
        if found is None or "/templates/" not in found[1]:
            return Problem(message=message, place=Place(file=self.reading.root))
        return Problem(
            message=message, place=self.reading.place(found[1].partition("/")[2]), at=(int(found[2] or 0), 0)
        )


FAMILY: Family[RenderedChart] = Family(title="Charts that are rendered", origin="helm, when it renders the chart")


@FAMILY.rule(
    TEMPLATES,
    title="A chart renders with its default values",
    hint="Correct the template, the values or their schema at the place that is named.",
    may_be_error=True,
)
def templates_render(chart: RenderedChart) -> Iterator[Problem]:
    if chart.problem is not None:
        yield chart.problem
