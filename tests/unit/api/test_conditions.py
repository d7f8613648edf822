"""Conditions tell what is true, since when, and of which generation."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.conditions import (
    BUNDLE_CONDITIONS,
    BUNDLE_DEPLOYMENT_CONDITIONS,
    Condition,
    Conditions,
    Summary,
    brief,
    complete,
    cut,
    find_condition,
    set_condition,
    summarise,
)
from rukpak_py.api.names import ConditionStatus, ConditionType, Reason

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def installed(conditions: Conditions, status: ConditionStatus, message: str = "", *, now: str = NOW) -> Conditions:
    return set_condition(
        conditions,
        type=ConditionType.INSTALLED,
        status=status,
        reason=Reason.INSTALLATION_SUCCEEDED,
        message=message,
        generation=2,
        now=now,
    )


def summarised(summary: Summary, conditions: Conditions = ()) -> Conditions:
    return summarise(conditions, summary, reason=Reason.PROGRESSING, message="m", generation=1, now=NOW)


def test_transition_time_stays_while_the_status_stays() -> None:
    before = installed((), ConditionStatus.TRUE, "one", now=THEN)
    after = installed(before, ConditionStatus.TRUE, "two")
    assert [(one.message, one.last_transition_time) for one in after] == [("two", THEN)]


def test_transition_time_moves_with_the_status() -> None:
    before = installed((), ConditionStatus.TRUE, now=THEN)
    assert installed(before, ConditionStatus.FALSE)[0].last_transition_time == NOW


def test_setting_the_same_again_changes_nothing() -> None:
    before = installed((), ConditionStatus.TRUE, now=THEN)
    assert installed(before, ConditionStatus.TRUE) == before


def test_a_condition_keeps_its_place() -> None:
    before = summarised(Summary.READY, installed((), ConditionStatus.TRUE))
    after = installed(before, ConditionStatus.FALSE)
    assert [one.type for one in after] == ["Installed", "Ready"]


def test_every_condition_says_its_generation() -> None:
    assert installed((), ConditionStatus.TRUE)[0].observed_generation == 2


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (Summary.READY, {"Ready": "True"}),
        (Summary.PROGRESSING, {"Ready": "Unknown", "Reconciling": "True"}),
        (Summary.RETRYING, {"Ready": "False", "Reconciling": "True"}),
        (Summary.STALLED, {"Ready": "False", "Stalled": "True"}),
        (Summary.NOT_SERVED, {"Ready": "Unknown"}),
    ],
)
@pytest.mark.parametrize("former", list(Summary))
def test_reconciling_and_stalled_stand_only_while_true(
    former: Summary, summary: Summary, expected: dict[str, str]
) -> None:
    conditions = summarised(summary, summarised(former))
    assert {one.type: one.status for one in conditions} == expected


@pytest.mark.parametrize(
    ("former", "ready"),
    [
        (None, "Unknown"),
        (Summary.READY, "True"),
        (Summary.PROGRESSING, "Unknown"),
        (Summary.RETRYING, "False"),
        (Summary.STALLED, "False"),
        (Summary.NOT_SERVED, "Unknown"),
    ],
)
def test_suspended_deployment_keeps_its_last_verdict(former: Summary | None, ready: str) -> None:
    before = summarised(former) if former else ()
    assert {one.type: one.status for one in summarised(Summary.SUSPENDED, before)} == {"Ready": ready}


@pytest.mark.parametrize("summary", list(Summary))
def test_the_whole_is_told_in_one_short_line(summary: Summary) -> None:
    text = "first " * 100 + "\nsecond line"
    conditions = summarise((), summary, reason=Reason.UNHEALTHY, message=text, generation=1, now=NOW)
    assert {one.message for one in conditions} == {brief(text)}
    assert all(len(one.message) <= 300 for one in conditions)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("", ""),
        ("one line", "one line"),
        ("one line\nanother", "one line"),
        ("\n one line \nanother", "one line"),
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 12 + " … (cut)"),
        ("some words that are", "some words that are"),
        ("some words that are longer", "some words … (cut)"),
        ("twelve chars and more", "twelve chars … (cut)"),
    ],
)
def test_the_first_line_is_cut_between_two_words(message: str, shown: str) -> None:
    assert brief(message, 20) == shown


@given(st.text(), st.integers(min_value=20, max_value=40))
def test_a_brief_message_is_one_short_line(message: str, limit: int) -> None:
    shown = brief(message, limit)
    assert len(shown) <= limit
    assert "\n" not in shown
    assert message.strip().startswith(shown.removesuffix(" … (cut)"))


@pytest.mark.parametrize("kinds", [BUNDLE_CONDITIONS, BUNDLE_DEPLOYMENT_CONDITIONS])
def test_every_type_is_there_from_the_first_write(kinds: tuple[ConditionType, ...]) -> None:
    conditions = complete((), kinds, generation=1, now=NOW)
    assert [(one.type, one.status) for one in conditions] == [(kind, "Unknown") for kind in kinds]


def test_completing_keeps_what_is_known() -> None:
    conditions = complete(
        installed((), ConditionStatus.TRUE, now=THEN), BUNDLE_DEPLOYMENT_CONDITIONS, generation=7, now=NOW
    )
    known = find_condition(conditions, ConditionType.INSTALLED)
    assert known is not None
    assert (known.status, known.last_transition_time) == ("True", THEN)
    assert {one.observed_generation for one in conditions} == {7}


@given(st.text(), st.integers(min_value=20, max_value=40))
def test_messages_never_exceed_the_limit(message: str, limit: int) -> None:
    shown = cut(message, limit)
    assert len(shown) <= limit
    assert shown == message or shown.endswith(" … (cut)")


def test_a_condition_is_written_in_full() -> None:
    condition = Condition(type="T", status="True", reason="R", message="", last_transition_time=NOW)
    assert msgspec.to_builtins(condition) == {
        "type": "T",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": NOW,
        "observedGeneration": 0,
    }
