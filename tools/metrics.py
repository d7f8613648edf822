"""The table of docs/metrics.md: every metric that is declared, in a page that is otherwise written by hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import Counter, Gauge, Histogram

from rukpak_py.core import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGIN, END = "<!-- begin: made by `make generate` from rukpak_py/core/metrics.py -->", "<!-- end -->"
HEADER = "| name | type | labels | meaning |\n| --- | --- | --- | --- |"


class DeclaredMetric(NamedTuple):
    name: str
    type: str
    labels: tuple[str, ...]
    meaning: str


def page(text: str) -> str:
    """The page with the table of today."""
    table = "\n".join([BEGIN, HEADER, *(_row(one) for one in sorted(declared())), END])
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: table, text, count=1, flags=re.DOTALL)


def declared() -> Iterator[DeclaredMetric]:
    for metric in vars(metrics).values():
        if isinstance(metric, metrics.ObjectGauge):
            yield DeclaredMetric(metric.name, "gauge", metric.labels, metric.documentation)
        elif isinstance(metric, Counter | Gauge | Histogram):
            (family,) = metric.describe()
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = tuple(metric._labelnames)  # noqa: SLF001 - public nowhere
            yield DeclaredMetric(name, family.type, labels, family.documentation)


def _row(metric: DeclaredMetric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    meaning = metric.meaning.replace("<", "&lt;").replace(">", "&gt;")
    return f"| `{metric.name}` | {metric.type} | {labels} | {meaning} |"
