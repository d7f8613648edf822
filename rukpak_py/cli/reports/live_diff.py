"""A comparison of content with the cluster, for people and for programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rukpak_py.api.upgrades import PlanCounts, counts_text
from rukpak_py.apply.upgrade_document import PlannedObject
from rukpak_py.cli.reports import fields
from rukpak_py.cli.terminal import Style
from rukpak_py.core.text import counted


def lines_of(objects: Sequence[PlannedObject], hooks: int, style: Style) -> Iterator[str]:
    yield from fields.lines_of(objects, style) if objects else ("no differences",)
    if objects:
        yield ""
        yield _counted(objects)
    if hooks:
        yield f"{counted(hooks, 'hook')} not compared"


def _counted(objects: Sequence[PlannedObject]) -> str:
    counts = Counter(one.action for one in objects)
    known = PlanCounts(**{name: counts[name] for name in PlanCounts.__struct_fields__})
    refused = [f"{counted(counts[fields.REFUSED])} refused"] if counts[fields.REFUSED] else []
    return ", ".join([*([counts_text(known)] if known != PlanCounts() else []), *refused])


def document(deployment: str, objects: Sequence[PlannedObject], hooks: int) -> dict[str, Any]:
    return {"deployment": deployment, "objects": msgspec.to_builtins(list(objects)), "hooks": hooks}
