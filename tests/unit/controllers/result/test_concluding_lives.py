"""Pauses, deletions, and what is between a key and its queue."""

from dataclasses import replace
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import Installation, RecordedOptions
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_PROGRESS, Reached
from rukpak_py.core.objects import ObjectKey
from tests.unit.controllers.result.concluding import (
    FINISHED,
    FIRST,
    FRESH,
    KEPT,
    MAP,
    MINUTES_LATER,
    NOW,
    QUOTA,
    READY,
    REFUSED,
    SECOND,
    SUSPENDED,
    UPGRADE_REFUSED,
    WELL,
    Case,
    after,
    case,
    fact,
    installed,
    problems,
    progress,
    turn,
)
from tests.unit.controllers.values import spec


def entry(bundle: str = "b1", digest: str = "d1", **more: Any) -> Installation:
    return Installation(bundle=bundle, digest=digest, time="2026-01-01T00:00:00Z", **more)


WITH_OPTIONS = installed(history=(entry(options=RecordedOptions(install_namespace="one")),))
OTHER_OPTIONS = installed(history=(entry(options=RecordedOptions(install_namespace="two")),))
OLD_ENTRY = installed(history=(entry(),))
BIG = installed(history=tuple(entry(f"b{n}", template=BundleTemplate(spec=spec())) for n in range(3)))


GOING = replace(FIRST, is_deleted=True)

PAUSES = [
    case(
        "suspended",
        READY,
        progress(fact(Cause.SUSPENDED)),
        Ready="True Suspended",
        Reconciling=None,
        Stalled=None,
        events=["Normal Suspended"],
        attempt=None,
        failures=0,
    ),
    case(
        "suspended while it fails: no other alert fires",
        UPGRADE_REFUSED,
        progress(fact(Cause.SUSPENDED)),
        key=SECOND,
        Ready="False Suspended",
        Installed="False UpgradeFailed",
        Reconciling=None,
        events=["Normal Suspended"],
        notes=["Suspended", "Refused"],
    ),
    case("resumed", SUSPENDED, NO_PROGRESS, WELL, Ready="True Succeeded", events=["Normal Resumed"]),
    case(
        "resumed, and it still fails as before",
        after(UPGRADE_REFUSED, progress(fact(Cause.SUSPENDED)), key=SECOND),
        REFUSED,
        KEPT,
        SECOND,
        Ready="False UpgradeFailed",
        events=["Normal Resumed"],
    ),
    case(
        "the class of another operator",
        READY,
        progress(fact(Cause.CLASS_NOT_SERVED)),
        Ready="Unknown ClassNotServed",
        Reconciling=None,
        Stalled=None,
        Installed="True InstallationSucceeded",
        events=["Warning ClassNotServed"],
    ),
    case(
        "served again",
        after(READY, progress(fact(Cause.CLASS_NOT_SERVED))),
        NO_PROGRESS,
        WELL,
        events=["Normal Resumed"],
    ),
]

DELETIONS = [
    case(
        "a deletion that waits",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.DELETING, "waiting for a", MAP)),
        GOING,
        Ready="Unknown Deleting Deleting: waiting for a",
        Reconciling="True Deleting",
        Installed="True InstallationSucceeded",
        Healthy="True Healthy",
        events=[],
        attempt=NOW + 5,
    ),
    case(
        "a delete that is refused is a failure",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.DELETION_FAILED, "denied", MAP), fact(Cause.DELETING, "waiting for a", MAP)),
        GOING,
        Ready="False Deleting Deleting: denied",
        events=["Warning Deleting"],
        texts=["Deleting: denied"],
        failures=1,
        attempt=NOW + 0.25,
        Installed="True InstallationSucceeded",
    ),
    case(
        "orphaning that fails is one, too",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.ORPHANING_FAILED, "denied")),
        GOING,
        Ready="False Deleting Orphaning: denied",
        events=["Warning Deleting"],
    ),
    case(
        "orphaning that waits",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.ORPHANING, "hidden")),
        GOING,
        Ready="Unknown Deleting Orphaning: hidden",
    ),
    case(
        "a hook of a deletion is told as soon as one of an installation",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.HOOK_RUNNING, since=NOW - 0.5)),
        GOING,
        same=READY,
        report=NOW + 0.5,
    ),
    case(
        "and in the words of a deletion",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.HOOK_RUNNING, "x runs", since=0.0)),
        GOING,
        Ready="Unknown Deleting Deleting: x runs",
    ),
    case(
        "hooks that cannot be found out stall a deletion",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.HOOKS_UNKNOWN, "lost")),
        GOING,
        Ready="False Deleting Deleting: lost",
        Reconciling="True Deleting",
    ),
    case(
        "foreground deletion is warned of once",
        after(READY, NO_PROGRESS, progress(fact(Cause.ORDER_NOT_KEPT), fact(Cause.DELETING)), GOING),
        NO_PROGRESS,
        progress(fact(Cause.ORDER_NOT_KEPT), fact(Cause.DELETING)),
        GOING,
        now=MINUTES_LATER,
        events=[],
    ),
    case(
        "a deletion ends no failure of what is deleted",
        UPGRADE_REFUSED,
        NO_PROGRESS,
        progress(fact(Cause.DELETING)),
        replace(SECOND, is_deleted=True),
        Installed="False UpgradeFailed",
        notes=["Deleting", "Refused"],
        events=[],
    ),
    case(
        "a deployment that is gone",
        READY,
        progress(fact(Cause.CONFLICT), reached=Reached.GONE),
        same=READY,
        events=[],
        attempt=None,
        failures=0,
    ),
]

OTHERS = [
    case(
        "back-off wins over looking again",
        FRESH,
        progress(fact(Cause.REFUSED), fact(Cause.LOOK_AGAIN)),
        key=replace(FIRST, turn=turn(20)),
        attempt=NOW + 60,
        report=None,
    ),
    case(
        "a look that finds all well settles a key that has failed",
        READY,
        NO_PROGRESS,
        WELL,
        replace(FIRST, turn=turn(3, attempt_at=150.0, is_attempt=False)),
        failures=0,
        attempt=None,
    ),
    case(
        "a failure that is never tried again is looked at when the first of its waits says so",
        READY,
        progress(fact(Cause.HOOK_FAILED), fact(Cause.LOOK_AGAIN, at=NOW + 30), fact(Cause.RENDERING, since=NOW)),
        key=SECOND,
        report=NOW + 1,
    ),
    case(
        "a pause of half a minute is not told",
        FRESH,
        progress(fact(Cause.REFUSED, "no", at=NOW + 30)),
        Ready="False InstallFailed no",
        texts=["no"],
    ),
    case(
        "one that is longer is",
        FRESH,
        progress(fact(Cause.REFUSED, "no", at=NOW + 31)),
        Ready="False InstallFailed no; attempt 1, next at 00:02:11Z",
    ),
    case(
        "a hook of a superseded installation is named in the words of a deletion while that goes on",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.FORMER_HOOK, "old hook")),
        replace(FIRST, is_deleted=True),
        Ready="Unknown Deleting Deleting: old hook",
    ),
    case(
        "a deletion that fails says nothing of an upgrade",
        READY,
        progress(fact(Cause.HOOKS_UNKNOWN, "lost")),
        key=replace(SECOND, is_deleted=True),
        Ready="False Deleting Deleting: lost",
    ),
    case(
        "a status that is too large is short whatever else is told",
        READY,
        progress(fact(Cause.STATUS_TOO_LARGE), fact(Cause.REFUSED)),
        progress(reached=FINISHED, installed=BIG),
        SECOND,
        templates=0,
    ),
    case(
        "a request is open whatever else is told",
        READY,
        progress(fact(Cause.APPLYING)),
        key=replace(FIRST, asked="now"),
        handled="now",
    ),
    case(
        "the soonest of several waits counts",
        FRESH,
        progress(fact(Cause.FORMER_HOOK), fact(Cause.KINDS_COMING, since=0.0)),
        attempt=NOW + 5,
    ),
    case(
        "the soonest of several failures counts",
        FRESH,
        progress(fact(Cause.REFUSED), fact(Cause.KINDS_HELD_BACK, since=0.0)),
        attempt=NOW + 0.25,
    ),
    case(
        "a wait keeps the failures in a row",
        FRESH,
        progress(fact(Cause.APPLYING)),
        key=replace(FIRST, turn=turn(3)),
        failures=3,
    ),
    case("what is well forgets them", READY, NO_PROGRESS, WELL, replace(FIRST, turn=turn(3)), failures=0),
    case("a request is echoed", READY, NO_PROGRESS, WELL, replace(FIRST, asked="now"), handled="now"),
    case(
        "one that is still to be acted on is not",
        READY,
        progress(fact(Cause.HOOK_RUNNING, since=0.0), fact(Cause.REQUEST_OPEN)),
        key=replace(FIRST, asked="now"),
        handled="",
    ),
    case(
        "a quota that is raised wakes at once",
        FRESH,
        progress(fact(Cause.REFUSED, wakes=frozenset({QUOTA}))),
        wakes={QUOTA},
    ),
    case(
        "a history that was too large is said to be shorter",
        READY,
        NO_PROGRESS,
        progress(fact(Cause.HISTORY_CUT, "cut"), reached=FINISHED, installed=BIG),
        Installed="True InstallationSucceeded Instantiated bundle b1 successfully\ncut",
        Ready="True Succeeded",
        templates=3,
    ),
    case(
        "a status that is too large is written short, of this generation",
        READY,
        progress(fact(Cause.STATUS_TOO_LARGE, "413 " + "x" * 1000)),
        progress(reached=FINISHED, installed=BIG),
        SECOND,
        Ready="False StatusTooLarge",
        Stalled="True StatusTooLarge",
        templates=0,
        observed=2,
        active="b1",
    ),
    case(
        "secrets are masked in every text",
        FRESH,
        progress(fact(Cause.REFUSED, "token=hunter2", ObjectKey("", "ConfigMap", "ns", "hunter2"))),
        hide=lambda text: text.replace("hunter2", "***"),
        Ready="False InstallFailed token=***",
        Installed="False InstallFailed token=***",
        texts=["token=***"],
    ),
]


@pytest.mark.parametrize("one", [*PAUSES, *DELETIONS, *OTHERS], ids=lambda one: one.title)
def test_a_case_is_concluded_as_it_says(one: Case) -> None:
    assert not problems(one)
