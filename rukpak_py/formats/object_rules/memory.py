"""Rule for amounts of memory that were meant to have another unit: `512m` is half a byte, and `512` is 512 bytes.

An API server accepts both. With such a limit no container starts; such a request reserves nothing.
"""

from collections.abc import Iterator
from typing import Final

from rukpak_py.core.findings import Severity
from rukpak_py.formats.json_fields import mapping
from rukpak_py.formats.object_rules.judged import Judged
from rukpak_py.formats.object_rules.pods import amount_of
from rukpak_py.formats.rules import Family, Problem

FAMILY: Family[Judged] = Family(title="Amounts of memory", origin="rukpak-py")

_FIELDS: Final = ("limits", "requests")
_RESOURCES: Final = ("memory", "ephemeral-storage")
_LEAST: Final = 1 << 16  # bytes; no process runs in less


@FAMILY.rule(
    "OBJ-027",
    title="Amounts of memory and storage have a unit",
    hint="Write the unit: `512Mi`, or `1Gi`. The suffix `m` means a thousandth, and no suffix means bytes.",
    severity=Severity.WARNING,
)
def amounts_have_units(judged: Judged) -> Iterator[Problem]:
    for pods in judged.pods:
        for origin, container in pods.containers():
            for field in _FIELDS:
                given = mapping(container, "resources", field)
                for name in _RESOURCES:
                    amount = amount_of(given.get(name))
                    if amount is not None and 0 < amount < _LEAST:
                        message = f"resources.{field}.{name} is {str(given[name])[:60]}, which is less than 64 KiB"
                        yield origin.problem(message, "resources", field, name)
