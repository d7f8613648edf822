"""Findings about what a rendering leaves out, adds or merges without refusing it; `render` prints them beside it."""

from collections.abc import Callable

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding
from rukpak_py.core.limits import Limits
from rukpak_py.formats import plain_rules
from rukpak_py.formats.detection import FormatName
from rukpak_py.formats.helm import rules as helm_rules
from rukpak_py.formats.plain_reading import PlainReading
from rukpak_py.formats.registry_v1.reading import Reading
from rukpak_py.formats.registry_v1.rules import accounts, additional, collisions, fields, shipped
from rukpak_py.formats.rules import Locator, judge

_FIELDS_OF_ROLES = "RV1-945"  # the only one of its family that tells of a rendering, not of a cluster


def warnings(
    format_name: FormatName, tree: Tree, read: Callable[[], Reading], limits: Limits, *, is_directory: bool
) -> list[Finding]:
    """`read` gives the reading of a registry+v1 bundle. `is_directory`: the tree does not come from an archive."""
    locator = Locator(tree, limits)
    match format_name:
        case FormatName.HELM:
            reading = helm_rules.ChartReading.of(tree, limits, is_directory=is_directory)
            return list(judge((helm_rules.RENDERING,), reading, locator))
        case FormatName.PLAIN:
            return list(judge((plain_rules.FIELDS,), PlainReading.of(tree, limits), locator))
        case FormatName.REGISTRY:
            return _of_registry(read(), locator)


def _of_registry(reading: Reading, locator: Locator) -> list[Finding]:
    found = [defect.finding for defect in reading.defects]
    found += judge((additional.READING_FAMILY,), reading, locator)
    families = (additional.FAMILY, accounts.FAMILY, collisions.FAMILY, fields.FAMILY)
    found += judge(families, reading.complete(), locator)
    of_shipped = judge((shipped.FAMILY,), reading.complete(), locator)
    found += (finding for finding in of_shipped if finding.rule == _FIELDS_OF_ROLES)
    return sorted(found, key=lambda finding: (finding.file, finding.line, finding.column, finding.rule))
