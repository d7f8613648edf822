"""Events of changes of a status, as a user lives through them: each transition one Event, in full, and once."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from rukpak_py.api.bundle_deployment import BundleDeploymentStatus, Installation, RecordedOptions, RecordedValues
from rukpak_py.api.conditions import find_condition
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.bundle_details import BundleFails
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import KeyFacts
from rukpak_py.controllers.result.object_details import OverBudget, Unhealthy, UnmatchedOverride
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress
from rukpak_py.core.objects import ObjectKey
from tests.unit.controllers.result.concluding import (
    APPLIED,
    DEAD,
    FINISHED,
    FIRST,
    FIRST_REFUSED,
    FRESH,
    GAVE_UP,
    ILL,
    KEPT,
    MAP,
    NOW,
    PARTLY,
    POD,
    READY,
    REFUSED,
    ROLLING,
    SECOND,
    SLOW,
    SUSPENDED,
    UPGRADE_REFUSED,
    UPGRADED,
    WELL,
    Case,
    after,
    case,
    fact,
    installed,
    problems,
    progress,
)

FIRST_ILL, FIRST_DEAD = (one + progress(installed=installed(), valid="b1") for one in (ILL, DEAD))
OTHER_ILL = progress(fact(Cause.UNHEALTHY_FAILED, "failed", POD, MAP), reached=APPLIED)
BUDGET = progress(fact(Cause.PRUNE_BUDGET, "nothing was pruned"), reached=APPLIED)
OVER_BUDGET = after(READY, NO_PROGRESS, BUDGET)
DRIFT = progress(fact(Cause.REFUSED, "no"), reached=PARTLY)
CONTENT = progress(fact(Cause.UNPACK_CONTENT, "empty"))
OVERRIDE = progress(fact(Cause.OVERRIDE_UNMATCHED, UnmatchedOverride(line="spec.overrides[0] …")), reached=FINISHED)
PAUSE = progress(fact(Cause.SUSPENDED))
BUDGET_OF_MANY = Fact(
    cause=Cause.PRUNE_BUDGET,
    detail=OverBudget(most=3),
    objects=tuple(ObjectKey("", "ConfigMap", "ns", "n" * 50 + str(number)) for number in range(9)),
)

INSTALLING = [
    case(
        "an installation that is refused at first",
        FIRST_REFUSED,
        WELL,
        Ready="True Succeeded",
        Installed="True InstallationSucceeded",
        events=["Normal Installed"],
    ),
    case(
        "an upgrade whose objects are on their way",
        READY,
        ILL + progress(installed=installed("b2", "d2"), valid="b2"),
        key=SECOND,
        events=["Normal Upgraded"],
    ),
    case("what is fetched again", READY, NO_PROGRESS, progress(fact(Cause.REFETCHING, since=0.0)), events=[]),
    case("wrong content of a first installation", FRESH, CONTENT, events=["Warning UnpackFailed"]),
    case("wrong content of an upgrade", READY, CONTENT, KEPT, SECOND, events=["Warning UnpackFailed"]),
    case(
        "drift that could be corrected",
        after(READY, NO_PROGRESS, DRIFT),
        NO_PROGRESS,
        WELL,
        events=["Normal Succeeded"],
    ),
    case(
        "trouble that ends with an upgrade is told as that alone",
        after(READY, progress(fact(Cause.RENDERING_UNAVAILABLE, "died")), KEPT, SECOND),
        UPGRADED,
        key=SECOND,
        events=["Normal Upgraded"],
    ),
    case("a budget that is exceeded", READY, NO_PROGRESS, BUDGET, events=["Warning PruneBudgetExceeded"]),
    case("it still is", OVER_BUDGET, NO_PROGRESS, BUDGET, events=[], same=OVER_BUDGET),
    case("it is raised", OVER_BUDGET, NO_PROGRESS, WELL, events=["Normal Succeeded"]),
]

HEALTH = [
    case("a first installation that fails", FRESH, FIRST_DEAD, events=["Normal Installed", "Warning Unhealthy"]),
    case("what was healthy fails", READY, NO_PROGRESS, DEAD, events=["Warning Unhealthy"]),
    case("another object fails beside it", GAVE_UP, NO_PROGRESS, OTHER_ILL, events=[]),
    case("all is well again after a failure", GAVE_UP, NO_PROGRESS, WELL, events=["Normal Healthy"]),
    case("all is well after it took long", SLOW, NO_PROGRESS, WELL, events=["Normal Healthy"]),
    case(
        "what was not healthy because nothing was installed does not count",
        FIRST_REFUSED,
        FIRST_ILL,
        now=NOW + 300,
        Ready="Unknown Unhealthy",
        report=NOW + 420,
    ),
    case(
        "a clock that was set back counts from its own time",
        ROLLING,
        NO_PROGRESS,
        ILL,
        now=NOW - 50,
        Ready="Unknown Unhealthy",
        report=NOW + 70,
    ),
]

PAUSES = [
    case("it is still suspended", SUSPENDED, PAUSE, events=[], same=SUSPENDED),
    case("what failed is suspended", GAVE_UP, PAUSE, events=["Normal Suspended"]),
    case("and resumed when all is well", after(GAVE_UP, PAUSE), NO_PROGRESS, WELL, events=["Normal Resumed"]),
]

FULL_TEXTS = [
    case(
        "a long refusal",
        FRESH,
        progress(fact(Cause.REFUSED, "x" * 1000 + "\nmore", MAP)),
        texts=["x" * 1000],
    ),
    case(
        "ill health",
        READY,
        NO_PROGRESS,
        progress(
            fact(Cause.UNHEALTHY_FAILED, Unhealthy(lines=("a: x", "b: y" * 200), total=3, example="b: y" * 200), POD),
            reached=APPLIED,
        ),
        texts=["2 of 3 objects are not healthy: " + "b: y" * 200],
    ),
    case(
        "a Bundle that cannot be unpacked",
        FRESH,
        progress(fact(Cause.UNPACK_CONTENT, BundleFails(bundle="b1", why="y" * 500))),
        texts=["Failed to unpack its Bundle: " + "y" * 500],
    ),
    case(
        "a line of a condition",
        READY,
        NO_PROGRESS,
        progress(BUDGET_OF_MANY, reached=APPLIED),
        texts=[OverBudget(most=3).text(BUDGET_OF_MANY.objects)],
    ),
]


@pytest.mark.parametrize("one", [*INSTALLING, *HEALTH, *PAUSES, *FULL_TEXTS], ids=lambda one: one.title)
def test_a_case_is_concluded_as_it_says(one: Case) -> None:
    assert not problems(one)


def events(before: BundleDeploymentStatus, wanted: Progress, kept: Progress, key: KeyFacts = FIRST) -> list[str]:
    found = case("", before, wanted, kept, key).conclusion()
    return [f"{one.type} {one.reason}" for one in (*found.happened, *found.events)]


def test_an_ordinary_roll_out_warns_of_nothing() -> None:
    """It used to make seven Warnings, one for each change of its replicas."""
    status, seen = after(FRESH, progress(fact(Cause.APPLYING))), list[str]()
    change = progress(installed=installed(), valid="b1")
    for number in range(7):
        rolling = progress(fact(Cause.UNHEALTHY, f"a: object InProgress: Ready: {number}/7", POD), reached=APPLIED)
        seen += events(status, NO_PROGRESS, rolling + change)
        status = after(status, NO_PROGRESS, rolling + change)
    seen += events(status, NO_PROGRESS, WELL)
    assert seen == ["Normal Installed"]


def test_drift_that_cannot_be_corrected_is_told_beside_the_failure_and_does_not_repeat_it() -> None:
    gone = progress(fact(Cause.NOT_CORRECTED, "the Bundle is gone"))
    assert events(UPGRADE_REFUSED, REFUSED, gone, SECOND) == ["Warning ReconcileFailed"]
    assert events(after(UPGRADE_REFUSED, REFUSED, gone, SECOND), REFUSED, KEPT, SECOND) == []


def test_an_override_that_is_about_nothing_is_told_once_and_changes_nothing_else() -> None:
    first = after(READY, NO_PROGRESS, OVERRIDE)
    found = case("", READY, NO_PROGRESS, OVERRIDE).conclusion().events
    assert [(one.type, one.reason, one.message) for one in found] == [
        ("Warning", "OverrideUnmatched", "spec.overrides[0] …")
    ]
    assert find_condition(first.conditions, "Ready") == find_condition(READY.conditions, "Ready")
    assert events(first, NO_PROGRESS, OVERRIDE) == []
    assert events(first, NO_PROGRESS, WELL) == []


VALUES = RecordedValues(kind="Secret", name="s", key="k", digest="1")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (RecordedOptions(watch_namespaces=("a",)), ["Normal Upgraded"]),
        (RecordedOptions(values_from=(with_fields(VALUES, digest="2"),)), ["Normal Upgraded"]),
        (RecordedOptions(values_from=(VALUES,)), []),
        (RecordedOptions(values_from=(with_fields(VALUES, current_digest="3"),)), []),
        (None, []),
    ],
    ids=["other options", "other values", "the same", "under another key", "an entry of the first release"],
)
def test_other_options_are_an_upgrade(before: RecordedOptions | None, expected: list[str]) -> None:
    def well(options: RecordedOptions | None) -> Progress:
        entry = Installation(bundle="b1", digest="d1", time="2026-01-01T00:00:00Z", options=options)
        return progress(reached=FINISHED, valid="b1", installed=installed(history=(entry,)))

    former = after(FRESH, NO_PROGRESS, well(before))
    assert events(former, NO_PROGRESS, well(RecordedOptions(values_from=(VALUES,)))) == expected


def changed_at(status: BundleDeploymentStatus, kind: str = "Ready") -> str:
    found = find_condition(status.conditions, kind)
    assert found is not None
    return found.last_transition_time


# Every condition of every write


def test_every_condition_is_of_the_generation_that_was_looked_at() -> None:
    status = after(FRESH, progress(fact(Cause.APPLYING)), key=KeyFacts(generation=4, bundle="b1"))
    assert status.observed_generation == 4
    assert {one.observed_generation for one in status.conditions} == {4}


def test_an_aspect_that_is_not_spoken_of_keeps_what_it_said_and_since_when() -> None:
    status = after(FIRST_REFUSED, progress(fact(Cause.APPLYING)), now=NOW + 300)
    assert find_condition(status.conditions, "Installed") == find_condition(FIRST_REFUSED.conditions, "Installed")
    assert changed_at(status) > changed_at(FIRST_REFUSED), "Ready is Unknown meanwhile"


def test_saying_the_same_again_later_changes_nothing() -> None:
    again = after(FIRST_REFUSED, progress(fact(Cause.REFUSED, "no", MAP), valid="b1"), now=NOW + 300)
    assert again == FIRST_REFUSED


def test_suspending_keeps_the_verdict_and_since_when_it_holds() -> None:
    assert changed_at(after(READY, PAUSE, now=NOW + 300)) == changed_at(READY)


def test_fields_change_with_what_is_said_of_them_and_stay_without() -> None:
    first = after(FRESH, progress(fact(Cause.APPLYING), delete_hooks=True))
    assert first.delete_hooks
    assert after(first, progress(fact(Cause.APPLYING))).delete_hooks
    assert not after(first, progress(fact(Cause.APPLYING), delete_hooks=False)).delete_hooks


def test_a_request_that_is_still_to_be_acted_on_leaves_the_former_one() -> None:
    asked = [KeyFacts(generation=1, bundle="b1", asked=when) for when in ("today", "tomorrow")]
    handled = after(FRESH, progress(fact(Cause.APPLYING)), key=asked[0])
    waiting = progress(fact(Cause.HOOK_RUNNING, since=0.0), fact(Cause.REQUEST_OPEN))
    assert after(handled, waiting, key=asked[1]).last_handled_reconcile_at == "today"


def test_a_long_text_stands_in_one_condition() -> None:
    """It was 32,000 characters in three of them: 94 KiB for each deployment, on every write and in every watch."""
    text = "\n".join(f"ConfigMap ns/some-rather-long-name-{number:04} cannot be applied" for number in range(2000))
    status = after(FRESH, progress(fact(Cause.REFUSED, text, MAP)))
    lengths = {one.type: len(one.message) for one in status.conditions}
    assert lengths["Installed"] == 32_000
    assert sum(lengths.values()) < 32_000 + 2 * 300 + 100
    ready = find_condition(status.conditions, "Ready")
    assert ready is not None
    assert ready.message == text.partition("\n")[0]


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ([], "Instantiated bundle b1 successfully"),
        (["one"], "Instantiated bundle b1 successfully\none"),
        (["one", "two"], "Instantiated bundle b1 successfully\none\ntwo"),
    ],
)
def test_notes_stand_beside_installed(notes: list[str], message: str) -> None:
    facts = [fact(Cause.OVERRIDE_UNMATCHED, note) for note in notes]
    status = after(READY, NO_PROGRESS, progress(*facts, reached=FINISHED))
    found = find_condition(status.conditions, "Installed")
    assert found is not None
    assert found.message == message
    others = [[one for one in each.conditions if one.type != "Installed"] for each in (status, READY)]
    assert others[0] == others[1]


# When the key comes back while something stands that no attempt helps


IN_AN_HOUR = fact(Cause.LOOK_AGAIN, at=NOW + 3600)  # at certificates that are to be renewed, for instance
NOT_APPLICABLE = fact(Cause.NOT_APPLICABLE, "x")


@pytest.mark.parametrize(
    ("wanted", "kept", "wanted_later"),
    [
        (NO_PROGRESS, progress(*BUDGET.facts, IN_AN_HOUR, reached=APPLIED), NO_PROGRESS),
        (
            progress(NOT_APPLICABLE),
            progress(IN_AN_HOUR, reached=FINISHED),
            progress(NOT_APPLICABLE, fact(Cause.NOT_DUE)),
        ),
    ],
    ids=["a budget that is exceeded", "wanted content that is not tried again, beside what is installed"],
)
def test_a_look_that_is_due_later_comes_back_though_what_fails_is_not_tried_again(
    wanted: Progress, kept: Progress, wanted_later: Progress
) -> None:
    first = case("", READY, wanted, kept, SECOND).conclusion().schedule
    assert (first.attempt_at, first.report_at) == (None, NOW + 3600)
    key = replace(SECOND, turn=Turn(is_attempt=False, failures=first.failures, attempt_at=first.attempt_at))
    later = case("", READY, wanted_later, kept, key, now=NOW + 60).conclusion().schedule
    assert later.next_at == NOW + 3600


def test_drift_that_cannot_be_corrected_is_tried_again_beside_wanted_content_that_is_not() -> None:
    """With pauses that grow, as every failure: each try costs calls."""
    found, now, pauses = case("", READY, progress(NOT_APPLICABLE), KEPT, SECOND).conclusion(), NOW, list[float]()
    assert found.schedule.attempt_at is None
    wanted = progress(NOT_APPLICABLE, fact(Cause.NOT_DUE))
    for _ in range(5):
        schedule = found.schedule
        is_due = schedule.attempt_at is not None and schedule.attempt_at <= now
        key = replace(SECOND, turn=Turn(is_attempt=is_due, failures=schedule.failures, attempt_at=schedule.attempt_at))
        found = case("", found.status, wanted, DRIFT, key, now=now).conclusion()
        assert found.schedule.next_at is not None
        pauses.append(found.schedule.next_at - now)
        now = found.schedule.next_at
    assert pauses == sorted(set(pauses))
