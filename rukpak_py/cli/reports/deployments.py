"""BundleDeployments as a table for people, and as documents for programs (docs/cli/get.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rukpak_py.api.conditions import first_line
from rukpak_py.cli.reports.columns import Cell, columns
from rukpak_py.cli.reports.states import cell_of, summary
from rukpak_py.cli.terminal import Style
from rukpak_py.diagnosis.ages import age_of
from rukpak_py.diagnosis.model import DeploymentSummary, State

Json = dict[str, Any]
_WIDE = {"CLASS", "NAMESPACE", "ACCOUNT", "REFERENCE"}
_OPTIONAL = {"VERSION", "UPGRADE"}  # columns that are left out where no row has anything in them


def lines_of(
    rows: Sequence[DeploymentSummary], style: Style, *, wide: bool = False, now: datetime | None = None
) -> list[str]:
    """The table, without its summary line. No rows: nothing."""
    if not rows:
        return []
    shown = [
        title for title in _COLUMNS if (wide or title not in _WIDE) and (title not in _OPTIONAL or _has(rows, title))
    ]
    cells = ([age_of(row.created, now) if title == "AGE" else _COLUMNS[title](row) for title in shown] for row in rows)
    return list(columns(shown, cells, width=style.room, style=style, ends_in_prose=True))


def _has(rows: Iterable[DeploymentSummary], title: str) -> bool:
    return any(_COLUMNS[title](row) for row in rows)


def summary_line(rows: Iterable[DeploymentSummary]) -> str:
    return summary((row.verdict.state for row in rows), "BundleDeployment")


def message_of(row: DeploymentSummary) -> str:
    if row.verdict.state is State.UNKNOWN:
        return "no operator has looked at it yet"
    return first_line(row.verdict.message)


_COLUMNS: Mapping[str, Callable[[DeploymentSummary], str | Cell]] = {
    "NAME": lambda row: row.name,
    "STATE": lambda row: cell_of(row.verdict.state),
    "REASON": lambda row: row.verdict.reason,
    "VERSION": lambda row: row.version,
    "UPGRADE": lambda row: row.pending,
    "SOURCE": lambda row: row.source,
    "AGE": lambda row: row.created,
    "CLASS": lambda row: row.class_name,
    "NAMESPACE": lambda row: row.namespace,
    "ACCOUNT": lambda row: row.account,
    "REFERENCE": lambda row: row.reference,
    "MESSAGE": message_of,
}


def document(rows: Sequence[DeploymentSummary]) -> Json:
    return {"deployments": [deployment_document(row) for row in rows]}


def deployment_document(row: DeploymentSummary) -> Json:
    verdict = row.verdict
    return {
        "name": row.name,
        "state": verdict.state.value,
        "reason": verdict.reason or None,
        "message": verdict.message or None,
        "since": verdict.since or None,
        "version": row.version or None,
        "pendingUpgrade": row.pending or None,
        "class": row.class_name,
        "source": row.source,
        "reference": row.reference or None,
        "installNamespace": row.namespace or None,
        "account": row.account or None,
        "created": row.created or None,
        "bundleInstance": row.instance or None,
    }
