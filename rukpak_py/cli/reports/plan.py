"""The plan of an upgrade for people, and for programs."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rukpak_py.api.upgrades import PlanCounts, Verdict, counts_text
from rukpak_py.apply.upgrade_document import ChangedImage, PlannedHook, PlanState, UpgradeDocument
from rukpak_py.cli.reports import fields
from rukpak_py.cli.terminal import Style, clean, table, wrapped

NOTHING_TO_DO = "what it asks for is installed: there is nothing to do"


def lines_of(plan: UpgradeDocument, style: Style) -> Iterator[str]:
    yield style.paint(wrapped(clean(title(plan)), width=style.width, indent=4), "bold")
    if is_empty(plan):
        yield f"  {NOTHING_TO_DO}"
        return
    yield from table([(name, clean(value)) for name, value in summary(plan)], width=style.width, indent=2)
    for heading, lines, name in sections(plan):
        yield from _section(heading, [f"- {line}" for line in lines], plan.left_out.get(name, 0), style)
    yield from _section("Objects", [], 0, style) if plan.objects else ()
    yield from fields.lines_of(plan.objects, style)
    yield from _more(plan.left_out.get("objects", 0))


def title(plan: UpgradeDocument) -> str:
    versions = [one for one in (plan.version.old, plan.version.new) if one]
    change = " → ".join(dict.fromkeys(versions))
    what = "Upgrade" if plan.from_revision or plan.content.old else "Installation"
    return f"{what} of BundleDeployment {plan.deployment}{f': {change}' if change else ''}"


def is_empty(plan: UpgradeDocument) -> bool:
    return plan.state == PlanState.INSTALLED


def summary(plan: UpgradeDocument) -> Iterator[tuple[str, str]]:
    yield "State", f"{plan.state}{f': {plan.why[0]}' if plan.why else ''}"
    for line in plan.why[1:]:
        yield "", line
    counts = {name: plan.counts.get(name, 0) for name in PlanCounts.__struct_fields__}
    yield "Verdict", plan.verdict
    yield "Changes", counts_text(PlanCounts(**counts))
    yield "Bundle", plan.bundle
    if plan.content.old:
        is_same = plan.content.old == plan.content.new
        yield "Content", "the same" if is_same else f"{plan.content.old} → {plan.content.new}"
        yield "Options", "the same" if plan.options.old == plan.options.new else "other ones"
    yield "Plan", f"{plan.digest}{', approved' if plan.approved else ''}"


def sections(plan: UpgradeDocument) -> Iterator[tuple[str, list[str], str]]:
    """Lists of statements: a heading, lines, and the name of the list."""
    found = (
        ("Reasons for a review", plan.reviews if plan.verdict != Verdict.SAFE else [], "reviews"),
        ("Not undone by going back", plan.irreversible, "irreversible"),
        ("Images", list(map(_image, plan.images)), "images"),
        ("Rights gained", plan.rights_gained, "rightsGained"),
        ("Rights lost", plan.rights_lost, "rightsLost"),
        ("CustomResourceDefinitions", [one.text for one in plan.crds], "crds"),
        ("Hooks that run", list(map(_hook, plan.hooks)), "hooks"),
    )
    for heading, lines, name in found:
        if lines:
            yield heading, lines, name
    if plan.skips_hooks:
        yield "Hooks", ["none runs: an annotation of the BundleDeployment skips them"], ""


def _image(one: ChangedImage) -> str:
    return f"{fields.title(one.object)}, container {one.container}: {one.old or '(none)'} → {one.new or '(none)'}"


def _hook(one: PlannedHook) -> str:
    return f"{one.object} at {', '.join(one.events)}{', new or changed' if one.is_changed else ''}"


def _section(heading: str, lines: Iterable[str], left_out: int, style: Style) -> Iterator[str]:
    yield ""
    yield style.paint(heading, "bold")
    for line in lines:
        yield wrapped(clean(line), width=style.width, first="  ", indent=6)
    yield from _more(left_out)


def _more(left_out: int) -> Iterator[str]:
    if left_out:
        yield f"  and {left_out} more"


def document(plan: UpgradeDocument) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(plan)
    return found
