"""docs/causes.md: every cause, where it is told, and the way out, made from the tables of the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rukpak_py.api.names import ConditionType, EventReason, Reason
from rukpak_py.controllers.result.cause_table import TABLE, Kind, Row
from rukpak_py.diagnosis.ways_out import OF_WORKLOADS, WAYS_OUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rukpak_py.controllers.result.causes import Cause

HEADER = """\
# Causes

Generated from the program by `make generate`; do not edit. A cause is one thing that can be wrong, be waited for or
have happened. It stands in `status.notes[].reason`, and in the field `cause` of
[`rukpakctl why -o json`](cli/why.md). A cause has the same condition, the same reasons and the same way out wherever
it occurs. Scripts and alerts can rely on it: a cause never gets another meaning.
A BundleInstance has the conditions of its BundleDeployment, and so the same reasons.

Where the reason is "of the operation", it is `InstallFailed`, `UpgradeFailed` or `ReconcileFailed`.
While something is being deleted, the Event of a failure is `Deleting`.
[Troubleshooting](troubleshooting.md) explains the reasons.
"""
WORKLOADS = """\
## Workloads

While an object is unhealthy, `why` names what kubelet, scheduler or controller say of it. The condition is `Healthy`,
the reason [`Unhealthy`](troubleshooting.md#unhealthy).

| cause | way out |
| --- | --- |"""
OF_OPERATION = "of the operation"
SECTIONS = {
    Kind.PAUSE: ("Nothing is done", "Ready has the reason, and nothing goes on by itself."),
    Kind.FAILURE: ("Failures", "`Ready` is `False`, and a Warning is told."),
    Kind.WAIT: (
        "Waits",
        "`Ready` is not `True`; the operator goes on by itself.",
    ),
    Kind.HOLD: ("Upgrades that wait", "The installed version is served meanwhile."),
    Kind.NOTE: ("Notes", "They are told beside the state of the deployment, which they do not change."),
}


def page() -> str:
    sections = [HEADER]
    for kind, (title, text) in SECTIONS.items():
        rows = [(cause, row) for cause, row in TABLE.items() if row.kind is kind]
        sections += [f"## {title}", "", text, "", *_table(rows), ""]
    sections += [WORKLOADS, *(f"| `{cause}` | {_shown(way)} |" for cause, way in OF_WORKLOADS.items())]
    return "\n".join(sections).rstrip() + "\n"


def _table(rows: list[tuple[Cause, Row]]) -> Iterator[str]:
    yield "| cause | condition | reason in `Ready` | Event | way out |"
    yield "| --- | --- | --- | --- | --- |"
    for cause, row in rows:
        yield f"| `{cause}` | {_condition(row)} | {_ready(row)} | {_event(row)} | {_shown(WAYS_OUT.get(cause, ''))} |"


def _shown(way_out: str) -> str:
    return (
        way_out.replace("{name}", "NAME").replace("{object}", "OBJECT").replace("{pod}", "pod/POD").replace("|", "\\|")
    )


def _condition(row: Row) -> str:
    if row.aspect is None:
        return ""
    if row.reason is None:
        return f"`{row.aspect}`, {OF_OPERATION}" if row.kind is Kind.FAILURE else f"`{row.aspect}`"
    return f"`{row.aspect}`, {_linked(row.reason)}"


def _ready(row: Row) -> str:
    if row.kind is Kind.NOTE:
        return ""
    if row.ready is not None:
        return _linked(row.ready)
    return OF_OPERATION if row.reason is None and row.aspect is ConditionType.INSTALLED else _linked(row.reason)


def _event(row: Row) -> str:
    """As `transitions` names it: a failure without an Event of its own has the reason of its condition."""
    if row.event is not None:
        return _linked(row.event)
    if row.kind is not Kind.FAILURE:
        return ""
    reason = row.reason or (row.ready if row.aspect is None else None)
    return f"`{reason}`" if reason is not None else OF_OPERATION  # a link stands before it


def _linked(reason: Reason | EventReason | None) -> str:
    return f"[`{reason}`](troubleshooting.md#{reason.lower()})" if reason is not None else ""
