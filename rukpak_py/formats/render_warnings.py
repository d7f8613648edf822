"""Findings about what a rendering leaves out, adds or merges without refusing it; `render` prints them beside it.

Apart from `validation`: a rendering does not load the rules that it does not judge by.
"""

from collections.abc import Callable

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import Limits
from rukpak_py.formats import plain_rules
from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.helm import rules as helm_rules
from rukpak_py.formats.helm.rules import ChartReading
from rukpak_py.formats.plain_rules import PlainReading
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import additional, collisions, shipped, workloads
from rukpak_py.formats.rules import Locator, judge

_FIELDS_OF_ROLES = "RV1-945"  # the only one of its family that tells of a rendering, not of a cluster


def render_warnings(
    format_name: FormatName, tree: Tree, read: Callable[[], Reading], limits: Limits, *, is_directory: bool
) -> list[Finding]:
    """`read` gives the reading of a registry+v1 bundle. `is_directory`: the tree does not come from an archive."""
    locator = Locator(tree, limits)
    match format_name:
        case FormatName.HELM:
            chart = ChartReading.of(tree, limits, is_directory=is_directory)
            return list(judge((helm_rules.RENDERING,), chart, locator))
        case FormatName.PLAIN:
            return list(judge((plain_rules.FIELDS,), PlainReading.of(tree, limits), locator))
        case FormatName.REGISTRY:
            reading = read()
            found = [defect.finding for defect in reading.defects]
            found += judge((additional.READING_FAMILY,), reading, locator)
            families = (additional.FAMILY, workloads.ACCOUNTS, collisions.FAMILY, shipped.FIELDS)
            found += judge(families, reading.complete(), locator)
            of_shipped = judge((shipped.FAMILY,), reading.complete(), locator)
            found += (finding for finding in of_shipped if finding.rule == _FIELDS_OF_ROLES)
            return sorted(found, key=lambda finding: (finding.file, finding.line, finding.column, finding.rule))
