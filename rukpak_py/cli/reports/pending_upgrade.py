"""An upgrade that waits, in short, for people and for programs: what stands in `status.pendingUpgrade`."""

from collections.abc import Iterator, Sequence
from typing import Any

from rukpak_py.api.upgrades import PLAN_LINES_AT_MOST, PLAN_NAMES_AT_MOST, PendingUpgrade, Verdict, counts_text
from rukpak_py.cli.cluster.deployments import EditedDeployment
from rukpak_py.cli.terminal import Style, clean, wrapped

Json = dict[str, Any]


def lines_of(name: str, pending: PendingUpgrade, style: Style) -> Iterator[str]:
    version = f" (version {pending.version})" if pending.version else ""
    yield style.paint(
        _line(f"Upgrade of BundleDeployment {name} to Bundle {pending.bundle}{version}", style, 0), "bold"
    )
    colour = "green" if pending.verdict == Verdict.SAFE else "yellow"
    yield f"  {style.paint(clean(pending.verdict), colour)}: {counts_text(pending.counts)}"
    for title, lines, most in (
        ("rights gained", pending.rights_gained, PLAN_LINES_AT_MOST),
        ("CustomResourceDefinitions", pending.crds, PLAN_LINES_AT_MOST),
        ("hooks that run", pending.hooks, PLAN_LINES_AT_MOST),
        ("objects", pending.names, PLAN_NAMES_AT_MOST),
    ):
        yield from _section(title, lines, most, style)


def _section(title: str, lines: Sequence[str], most: int, style: Style) -> Iterator[str]:
    if not lines:
        return
    yield f"  {title}{f', the first {most}' if len(lines) >= most else ''}"
    for line in lines:
        yield _line(line, style, 4)


def _line(text: str, style: Style, indent: int) -> str:
    return wrapped(clean(text), width=style.width, first=" " * indent, indent=indent + 4)


def document(written: EditedDeployment, pending: PendingUpgrade, *, approved: bool, now: bool) -> Json:
    return {
        "kind": written.resource.gvk.kind,
        "name": written.name,
        "digest": pending.digest,
        "approved": approved,
        "now": now,
        "bundle": pending.bundle,
        "version": pending.version or None,
        "verdict": pending.verdict,
        "reason": pending.reason,
    }
