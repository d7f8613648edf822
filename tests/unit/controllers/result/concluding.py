"""Cases for `conclude` in words of the field: what a key is given, and what users and the queue then see."""

from dataclasses import dataclass, field
from typing import Any

from rukpak_py.api.bundle import BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import find_condition
from rukpak_py.api.names import ConditionType
from rukpak_py.controllers.queue import BackOff, Turn
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import as_it_is, conclude
from rukpak_py.controllers.result.conclusion import AnyStatus, Clock, Conclusion, KeyFacts
from rukpak_py.controllers.result.progress import (
    NO_PROGRESS,
    Detail,
    Fact,
    Progress,
    Reached,
    RecordedInstallation,
    StatusChange,
    UnpackedContent,
    Words,
)
from rukpak_py.controllers.result.reported_facts import Hide
from rukpak_py.core.objects import ObjectKey
from tests.unit.controllers.values import START, source

NOW = 100.0
SAID = "it is so"
FRESH = BundleDeploymentStatus()
NEW_BUNDLE = BundleStatus()
MAP, OTHER_MAP = ObjectKey("", "ConfigMap", "ns", "a"), ObjectKey("", "ConfigMap", "ns", "b")
POD = ObjectKey("", "Pod", "ns", "p")
FIRST = KeyFacts(generation=1, bundle="b1")
SECOND = KeyFacts(generation=2, bundle="b2")


def at(seconds: float) -> Clock:
    """The loop's time is 0 at the start of 2026."""
    return Clock(loop=seconds, wall=START + seconds)


def turn(failures: int = 0, *, attempt_at: float | None = None, is_attempt: bool = True, first: float = 0.25) -> Turn:
    return Turn(is_attempt=is_attempt, failures=failures, attempt_at=attempt_at, back_off=BackOff(first=first))


def fact(cause: Cause, said: str | Detail = SAID, *objects: ObjectKey, **more: Any) -> Fact:
    detail = Words(words=said) if isinstance(said, str) else said
    return Fact(cause=cause, detail=detail, objects=objects, **more)


def progress(*facts: Fact, reached: Reached = Reached.NOTHING, **change: Any) -> Progress:
    return Progress(facts=facts, reached=reached, change=StatusChange(**change))


def installed(bundle: str = "b1", digest: str = "d1", **more: Any) -> RecordedInstallation:
    return RecordedInstallation(bundle=bundle, digest=digest, **more)


def content(digest: str = "d1") -> UnpackedContent:
    return UnpackedContent(digest=digest, source=source(), spec_digest="s1", url="https://core/b1.tgz")


@dataclass(frozen=True, kw_only=True)
class Case:
    """`sees`: conditions as `status reason` and what their message holds; None: there is none. Other names are of
    `_of_queue` and `_of_status`.
    """

    title: str
    before: AnyStatus = FRESH
    wanted: Progress = NO_PROGRESS
    installed: Progress = NO_PROGRESS
    key: KeyFacts = FIRST
    now: float = NOW
    hide: Hide = as_it_is
    sees: dict[str, Any] = field(default_factory=dict)

    @property
    def causes(self) -> set[Cause]:
        return {one.cause for one in (*self.wanted.facts, *self.installed.facts)}

    def conclusion(self) -> Conclusion[Any]:
        return conclude(self.before, self.wanted, self.installed, self.key, at(self.now), hide=self.hide)


def case(
    title: str,
    before: AnyStatus = FRESH,
    wanted: Progress = NO_PROGRESS,
    installed: Progress = NO_PROGRESS,
    key: KeyFacts = FIRST,
    *,
    now: float = NOW,
    hide: Hide = as_it_is,
    **sees: Any,
) -> Case:
    return Case(title=title, before=before, wanted=wanted, installed=installed, key=key, now=now, hide=hide, sees=sees)


def after(
    before: AnyStatus = FRESH,
    wanted: Progress = NO_PROGRESS,
    installed: Progress = NO_PROGRESS,
    key: KeyFacts = FIRST,
    *,
    now: float = NOW,
) -> Any:
    return conclude(before, wanted, installed, key, at(now)).status


def problems(one: Case) -> list[str]:
    """Differences between the conclusion and the case."""
    found = one.conclusion()
    seen = {**_of_status(found.status), **_of_queue(found), "same": found.status}
    wrong = [
        f"{name}: expected {expected!r}, got {seen[name]!r}"
        for name, expected in one.sees.items()
        if name in seen and seen[name] != expected
    ]
    for name, expected in one.sees.items():
        if name not in seen:
            wrong += _wrong_condition(found.status, name, expected)
    return wrong


def _of_status(status: AnyStatus) -> dict[str, Any]:
    seen: dict[str, Any] = {
        "observed": status.observed_generation,
        "notes": [note.reason for note in status.notes],
    }
    if isinstance(status, BundleStatus):
        return {**seen, "phase": status.phase, "url": status.content_url}
    if not isinstance(status, BundleDeploymentStatus):
        return seen
    templates = sum(entry.template is not None for entry in status.history)
    handled = status.last_handled_reconcile_at
    return {**seen, "active": status.active_bundle, "handled": handled, "templates": templates}


def _of_queue(found: Conclusion[Any]) -> dict[str, Any]:
    schedule = found.schedule
    return {
        "events": [f"{one.type} {one.reason}" for one in (*found.happened, *found.events)],
        "happened": [f"{one.type} {one.reason}" for one in found.happened],
        "texts": [one.message for one in (*found.happened, *found.events)],
        "attempt": schedule.attempt_at,
        "report": schedule.report_at,
        "failures": schedule.failures,
        "under_way": schedule.is_under_way,
        "wakes": set(found.wakes),
    }


def _wrong_condition(status: AnyStatus, name: str, expected: str | None) -> list[str]:
    condition = find_condition(status.conditions, ConditionType(name))
    if condition is None or expected is None:
        return [] if condition is None and expected is None else [f"{name}: expected {expected!r}, got {condition}"]
    value, reason, *text = expected.split(" ", 2)
    is_so = (condition.status, condition.reason) == (value, reason) and (not text or text[0] in condition.message)
    got = f"{condition.status} {condition.reason} {condition.message}"
    return [] if is_so else [f"{name}: expected {expected!r}, got {got!r}"]


PARTLY, APPLIED, FINISHED = Reached.PARTLY, Reached.APPLIED, Reached.FINISHED
SECRET, QUOTA = ObjectKey("", "Secret", "ops", "pull"), ObjectKey("", "ResourceQuota", "ns", "")
CRD = ObjectKey("example.com", "Widget", "", "")
MINUTES_LATER = NOW + 500

WELL = progress(reached=FINISHED, valid="b1", installed=installed())
UPGRADED = progress(reached=FINISHED, valid="b2", installed=installed("b2", "d2"))
KEPT = progress(reached=FINISHED)  # what is installed, beside a wanted Bundle
ILL = progress(fact(Cause.UNHEALTHY, "in progress", POD), reached=APPLIED)
DEAD = progress(fact(Cause.UNHEALTHY_FAILED, "failed", POD), reached=APPLIED)
REFUSED = progress(fact(Cause.REFUSED, "no", MAP), valid="b2")
READY = after(FRESH, NO_PROGRESS, WELL)
ROLLING = after(READY, NO_PROGRESS, ILL)
SLOW = after(ROLLING, NO_PROGRESS, ILL, now=NOW + 120)
GAVE_UP = after(ROLLING, NO_PROGRESS, DEAD)
FIRST_REFUSED = after(FRESH, progress(fact(Cause.REFUSED, "no", MAP), valid="b1"))
UPGRADE_REFUSED = after(READY, REFUSED, KEPT, SECOND)
SUSPENDED = after(READY, progress(fact(Cause.SUSPENDED)))
TOO_MANY_NAMES = [fact(Cause.OVERRIDE_UNMATCHED, f"entry {number}") for number in range(40)]
CROWDED = after(READY, NO_PROGRESS, progress(*TOO_MANY_NAMES, reached=FINISHED))
