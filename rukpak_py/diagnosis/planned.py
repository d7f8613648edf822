"""The words for a plan of an upgrade: what commands print and the page shows."""

from collections.abc import Iterator, Mapping

from rukpak_py.api.upgrades import PlanCounts, Verdict, counts_text
from rukpak_py.apply.upgrade_document import (
    Basis,
    ChangedImage,
    ObjectName,
    PlannedAction,
    PlannedField,
    PlannedHook,
    PlannedObject,
    PlanState,
    UpgradeDocument,
)
from rukpak_py.core.objects import ObjectKey

NOTHING_TO_DO = "what it asks for is installed: there is nothing to do"
NOTHING_ELSE = "no field that can be seen"
HOW: Mapping[str, str] = {
    PlannedAction.PRUNED: "deleted",
    PlannedAction.REPLACED: "deleted and created again",
    PlannedAction.TAKEN: "taken over",
    PlannedAction.KEPT: "dropped by the content, and kept",
}


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
    return f"{object_title(one.object)}, container {one.container}: {one.old or '(none)'} → {one.new or '(none)'}"


def _hook(one: PlannedHook) -> str:
    return f"{one.object} at {', '.join(one.events)}{', new or changed' if one.is_changed else ''}"


def object_title(name: ObjectName) -> str:
    return str(ObjectKey(name.group, name.kind, name.namespace, name.name))


def notes_of(one: PlannedObject) -> Iterator[str]:
    """Sentences about the fields of an object."""
    if one.basis == Basis.CONTENT:
        yield f"compared with the installed content{f': {one.why}' if one.why else ''}"
    elif one.why:
        yield f"not compared: {one.why}" if one.action == PlannedAction.CHANGED else one.why
    elif one.action == PlannedAction.CHANGED and not one.fields and not one.left_out:
        yield NOTHING_ELSE


def values_of(field: PlannedField) -> list[str]:
    """The former value and the new one, or the only one that there is."""
    values = [_short(value) if field.secret else value for value in (field.old, field.new) if value is not None]
    return values or ["(not shown: content of a Secret)"]


def _short(digest: str) -> str:
    """The digest of a Secret's value, short: it only tells two values apart."""
    head, _, digits = digest.rpartition(":")
    return f"{head.partition(':')[0]}:{digits[:12]}…"
