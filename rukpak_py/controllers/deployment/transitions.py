"""Which Events a change of a deployment's status emits: one for each transition, none for work in progress.

* The content that is installed changed: `Installed` or `Upgraded`. Health is not part of it.
* A Warning when an aspect fails, or fails otherwise, and when Ready does for a reason of its own. Unhealthy objects
  count once they have failed, or when they have been in progress for too long (`StillUnhealthy`); not every change.
* The end of what a Warning was emitted for.
* A Warning for each line of Installed about what does not work as somebody may think.
* Suspended, resumed, no longer served; what left the content and is kept.

Pure, and derived from the status alone: a status that is written once emits its Events once, also when the operator
restarts in between.
"""

from collections.abc import Iterator

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus
from rukpak_py.api.conditions import Condition, brief, find_condition, first_line
from rukpak_py.api.install_options import mean_the_same
from rukpak_py.api.installed import installed_of
from rukpak_py.api.names import ConditionStatus, ConditionType, EventReason, Reason
from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.events import EventNote, normal, warning

_ASPECTS = (ConditionType.HAS_VALID_BUNDLE, ConditionType.INSTALLED, ConditionType.HEALTHY)
_HEALTH = frozenset({Reason.UNHEALTHY, Reason.STILL_UNHEALTHY})
_PAUSED = frozenset({Reason.SUSPENDED, Reason.CLASS_NOT_SERVED})


def transitions(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> list[EventNote]:
    return [
        *_installed(before, after),
        *_paused(before, after),
        *_failed_aspects(before, after),
        *_noted(before, after),
        *_failed_as_a_whole(before, after),
        *_recovered(before, after),
        *_kept(before, after),
    ]


def _installed(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    if after.active_bundle and (_has_other_content(before, after) or _has_other_options(before, after)):
        reason = EventReason.UPGRADED if before.active_bundle else EventReason.INSTALLED
        yield normal(reason, f"{messages.instantiated(after.active_bundle)}, {after.digest}")


def _has_other_content(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> bool:
    """Of another Bundle, or of one of this name that was made again. What the original installed has no digest."""
    is_remade = "" not in {before.digest, after.digest} and before.digest != after.digest
    return after.active_bundle != before.active_bundle or is_remade


def _has_other_options(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> bool:
    """The same content was installed anew. An entry learns its options, or digests under a new key, without that."""
    former, latest = installed_of(before), installed_of(after)
    old, new = (one.entry if one is not None else None for one in (former, latest))
    if old is None or new is None:
        return False
    return old.bundle == new.bundle and old.options is not None and not mean_the_same(old.options, new.options)


def _paused(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    old, new = _reason(before), _reason(after)
    if new == Reason.SUSPENDED != old:
        yield normal(EventReason.SUSPENDED, messages.SUSPENDED)
    elif old in _PAUSED and new not in _PAUSED:
        yield normal(EventReason.RESUMED, messages.RESUMED)


def _failed_aspects(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    for kind in (ConditionType.HAS_VALID_BUNDLE, ConditionType.INSTALLED):
        old, new = find_condition(before.conditions, kind), find_condition(after.conditions, kind)
        if new is None or not (new.status == ConditionStatus.FALSE or new.reason == Reason.RECONCILE_FAILED):
            continue
        if old is None or _without_notes(old) != _without_notes(new):
            yield warning(new.reason, _line(after, new))


def _noted(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    """Lines of Installed about what does not work as somebody may think, whether it is true or false."""
    old, new = (find_condition(one.conditions, ConditionType.INSTALLED) for one in (before, after))
    known = set(old.message.splitlines()) if old is not None else set[str]()
    for line in new.message.splitlines() if new is not None else ():
        reason = messages.warning_of(line)
        if reason is not None and line not in known:
            yield warning(reason, line)


def _without_notes(condition: Condition) -> tuple[str, str, list[str]]:
    lines = [line for line in condition.message.splitlines() if messages.warning_of(line) is None]
    return condition.status, condition.reason, lines


def _line(status: BundleDeploymentStatus, condition: Condition) -> str:
    """Its first line; where the original's text takes several, Ready has one that says the same."""
    ready, line = find_condition(status.conditions, ConditionType.READY), first_line(condition.message)
    is_about_it = ready is not None and (ready.status, ready.reason) == (condition.status, condition.reason)
    return ready.message if ready is not None and is_about_it and ready.message != brief(line) else line


def _failed_as_a_whole(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    """What no aspect says, and health, of which Ready knows whether it failed or lasts."""
    old, new = _warning(before), _warning(after)
    if new is None:
        return
    kind, text = _spoken_by(after, new)
    if kind in {ConditionType.HAS_VALID_BUNDLE, ConditionType.INSTALLED} or _is_told_by_an_aspect(after, new):
        return
    reason = Reason.UNHEALTHY if new.reason == Reason.STILL_UNHEALTHY else new.reason
    if old is None or (_is_worse(old, new) if new.reason in _HEALTH else _differs(old, new)):
        yield warning(reason, text)


def _recovered(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    old, new = _warning(before), find_condition(after.conditions, ConditionType.READY)
    if old is None or new is None or new.status != ConditionStatus.TRUE or new.reason in _PAUSED:
        return
    if _has_other_content(before, after) or old.reason in _PAUSED:
        return  # which was told
    if old.reason in _HEALTH:
        yield normal(Reason.HEALTHY, messages.HEALTHY)
    else:
        yield normal(new.reason, new.message)


def _kept(before: BundleDeploymentStatus, after: BundleDeploymentStatus) -> Iterator[EventNote]:
    known = set(before.kept)
    new = [one for one in after.kept if one not in known]
    if new:
        yield normal(EventReason.KEPT, messages.kept_text(new))


def _warning(status: BundleDeploymentStatus) -> Condition | None:
    """Ready, while it says what somebody should look at."""
    ready = find_condition(status.conditions, ConditionType.READY)
    if ready is None or ready.reason == Reason.SUSPENDED:
        return None
    lasts = ready.reason in {Reason.STILL_UNHEALTHY, Reason.CLASS_NOT_SERVED}
    return ready if lasts or ready.status == ConditionStatus.FALSE else None


def _spoken_by(status: BundleDeploymentStatus, ready: Condition) -> tuple[ConditionType | None, str]:
    """The aspect whose text Ready has cut short, and the whole line of it."""
    for kind in _ASPECTS:
        condition = find_condition(status.conditions, kind)
        for number, line in enumerate(condition.message.splitlines() if condition is not None else ()):
            if line and brief(line) == ready.message:
                return (kind if number == 0 else None), line
    return None, ready.message


def _is_told_by_an_aspect(status: BundleDeploymentStatus, ready: Condition) -> bool:
    aspects = (find_condition(status.conditions, kind) for kind in _ASPECTS if kind is not ConditionType.HEALTHY)
    return any(one is not None and (one.status, one.reason) == (ready.status, ready.reason) for one in aspects)


def _is_worse(old: Condition, new: Condition) -> bool:
    """A failure after something in progress, or after another trouble. The texts change with every object."""
    return old.reason not in _HEALTH or (new.status == ConditionStatus.FALSE and old.status != ConditionStatus.FALSE)


def _differs(old: Condition, new: Condition) -> bool:
    return (old.status, old.reason, old.message) != (new.status, new.reason, new.message)


def _reason(status: BundleDeploymentStatus) -> str:
    ready = find_condition(status.conditions, ConditionType.READY)
    return ready.reason if ready is not None else ""
