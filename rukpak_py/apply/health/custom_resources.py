"""Health of well-known custom resources by a rule: conditions, and a word in the status, that mean healthy or failed.

`rules` has the table. What its controller always reports and has not reported yet is in progress, and so is what it
tries again by itself. An object that its owner asks to rest is healthy as it is: its controller leaves the status, the
observed generation included, as it was.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

from rukpak_py.apply.health.fields import (
    MalformedStatus,
    Manifest,
    ObservedCondition,
    conditions,
    mappings,
    text,
    value_at,
)
from rukpak_py.apply.health.result import CURRENT, Health, failed, in_progress

FieldValue: TypeAlias = str | bool | EllipsisType  # `...`: any value but an empty one


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """A word at `path`, also `true` or `false`. Any but `healthy` and `failed` is in progress.

    `message`: path of what explains it.
    """

    path: str
    healthy: frozenset[str]
    failed: frozenset[str] = frozenset()
    message: str = "status.message"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """`wanted`: types of conditions that must be True; of `A|B` the first that the status has.

    `unwanted`: types that must not be True. `failing`: those that are a failure while they are True. `fails`: a wanted
    condition that is False is a failure, too. `is_optional`: the controller does not report wanted ones in each case.
    `rests`: fields of which one set has these values, or annotations (`rests_by`), where the object is to rest.
    """

    wanted: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    fails: bool = False
    is_optional: bool = False
    phase: Phase | None = None
    rests: tuple[Mapping[str, FieldValue], ...] = ()
    rests_by: Mapping[str, str] | None = None


def is_at_rest(rule: Rule, obj: Manifest) -> bool:
    annotations = value_at(obj, "metadata.annotations")
    asked = annotations if isinstance(annotations, Mapping) else {}
    if any(asked.get(name) == value for name, value in (rule.rests_by or {}).items()):
        return True
    return any(all(_has(obj, path, value) for path, value in fields.items()) for fields in rule.rests)


def by_rule(rule: Rule, obj: Manifest) -> Health:
    found: dict[str, ObservedCondition] = {}
    for one in conditions(obj):
        found.setdefault(one.type, one)
    for kinds, result in ((rule.failing, failed), (rule.unwanted, in_progress)):
        for kind in kinds:
            if kind in found and found[kind].is_true:
                return result(said(found[kind]))
    if rule.phase is not None and (unfinished := _by_phase(rule.phase, obj)) is not None:
        return unfinished
    for alternatives in rule.wanted:
        types = alternatives.split("|")
        reported = next((found[kind] for kind in types if kind in found), None)
        if reported is None and not rule.is_optional:
            return in_progress(f"the condition {types[0]} is not reported yet")
        if reported is not None and not reported.is_true:
            return (failed if rule.fails and reported.is_false else in_progress)(said(reported))
    return CURRENT


def by_parents(obj: Manifest) -> Health:
    """Judge a route of the Gateway API: each Gateway that it names reports on it apart."""
    reports = list(mappings(obj, "status.parents"))
    if not reports and value_at(obj, "spec.parentRefs"):
        return in_progress("no Gateway has accepted the route yet")
    for report in reports:
        for one in conditions({"status": report}):
            if one.type in {"Accepted", "ResolvedRefs"} and not one.is_true:
                return in_progress(f"Gateway {text(report, 'parentRef.name')}: {said(one)}")
    return CURRENT


def said(one: ObservedCondition) -> str:
    """Words of the condition, its own message last."""
    return ": ".join(part for part in (f"{one.type[:64]} is {one.status[:40]}", one.reason, one.message) if part)


def _by_phase(phase: Phase, obj: Manifest) -> Health | None:
    word = value_at(obj, phase.path)
    if word is None or word == "":
        return in_progress(f"{phase.path} is not reported yet")
    if isinstance(word, bool):
        word = str(word).lower()
    if not isinstance(word, str):
        raise MalformedStatus(f"{phase.path} is not a string")
    if word in phase.healthy:
        return None
    message = value_at(obj, phase.message)
    told = f"{phase.path} is {word[:64]}" + (f": {message}" if message and isinstance(message, str) else "")
    return failed(told) if word in phase.failed else in_progress(told)


def _has(obj: Manifest, path: str, wanted: FieldValue) -> bool:
    value = value_at(obj, path)
    return bool(value) if wanted is ... else value == wanted and type(value) is type(wanted)
