"""Notes in the status: the cause, the first object, since when, and what a restart knows a fact by."""

from dataclasses import replace

import pytest

from rukpak_py.api.conditions import Note, find_condition
from rukpak_py.api.hook_status import RunningHook
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import as_it_is
from rukpak_py.controllers.result.conclusion import Clock
from rukpak_py.controllers.result.deployment_details import Applying
from rukpak_py.controllers.result.object_details import ContestedFields
from rukpak_py.controllers.result.progress import NO_PROGRESS, Words
from rukpak_py.controllers.result.reported_facts import identity_of
from tests.unit.controllers.result.concluding import (
    FRESH,
    ILL,
    MAP,
    NOW,
    OTHER_MAP,
    POD,
    READY,
    after,
    at,
    case,
    fact,
    progress,
)
from tests.unit.controllers.values import START, hook_record

REFUSED = fact(Cause.REFUSED, "no", MAP, OTHER_MAP)


def hide(text: str) -> str:
    return text.replace("hunter2", "***")


def test_a_note_has_the_cause_the_object_the_time_and_an_identity() -> None:
    (note,) = after(FRESH, progress(replace(REFUSED, since=NOW - 30))).notes
    assert note == Note(reason="Refused", object="ConfigMap ns/a", since="2026-01-01T00:01:10Z", id="9b872940a15f")


def test_a_note_of_ill_health_names_no_object_because_they_change() -> None:
    (note,) = after(READY, NO_PROGRESS, ILL).notes
    assert note == Note(reason="Unhealthy", since="2026-01-01T00:01:40Z", id="health")


def test_a_note_without_an_object_or_a_time_begins_now() -> None:
    (note,) = after(FRESH, progress(fact(Cause.APPLYING, Applying(number=3)))).notes
    assert (note.object, note.since) == ("", "2026-01-01T00:01:40Z")


def test_when_it_began_stays_whatever_the_memory_of_another_process_says() -> None:
    before = after(FRESH, progress(replace(REFUSED, since=NOW - 30)))
    (note,) = after(before, progress(replace(REFUSED, since=NOW + 20)), now=NOW + 20).notes
    assert note == before.notes[0]


def test_when_it_began_is_counted_from_the_note_without_a_memory() -> None:
    before = after(FRESH, progress(REFUSED))
    (note,) = after(before, progress(REFUSED), now=NOW + 20).notes
    assert note == before.notes[0]


@pytest.mark.parametrize(
    "other",
    [
        fact(Cause.REFUSED, "no", MAP),
        fact(Cause.REFUSED, "other", MAP, OTHER_MAP),
        fact(Cause.ACCESS, "no", MAP, OTHER_MAP),
        fact(Cause.REFUSED, Words(words="no", line="line"), MAP, OTHER_MAP),
        fact(Cause.REFUSED, ContestedFields(managers=()), MAP, OTHER_MAP),
    ],
)
def test_facts_that_differ_have_other_identities(other: object) -> None:
    assert identity_of(other, as_it_is) != identity_of(REFUSED, as_it_is)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "same",
    [
        fact(Cause.REFUSED, "no", OTHER_MAP, MAP),
        replace(REFUSED, since=1.0, at=7.0, wakes=frozenset({POD})),
    ],
)
def test_facts_that_mean_the_same_have_one_identity(same: object) -> None:
    assert identity_of(same, as_it_is) == identity_of(REFUSED, as_it_is)  # type: ignore[arg-type]


def test_identities_outlive_the_process() -> None:
    """A value that changes here repeats every Event once after an upgrade of the operator."""
    assert identity_of(REFUSED, as_it_is) == "9b872940a15f"
    details = ContestedFields(managers=(("kubectl", "x"),))
    assert identity_of(fact(Cause.FIELDS_CONTESTED, details, MAP), as_it_is) == "435dd8183a3b"


def test_numbers_tell_facts_from_each_other() -> None:
    one, two = (fact(Cause.APPLYING, Applying(number=number)) for number in (1, 2))
    assert identity_of(one, as_it_is) != identity_of(two, as_it_is)


def test_an_identity_is_no_digest_of_a_secret() -> None:
    secret = fact(Cause.REFUSED, "token=hunter2", MAP._replace(name="hunter2"))
    shown = fact(Cause.REFUSED, "token=***", MAP._replace(name="***"))
    assert identity_of(secret, hide) == identity_of(shown, as_it_is)


def test_a_note_names_no_object_by_a_secret() -> None:
    found = case("", FRESH, progress(fact(Cause.REFUSED, "no", MAP._replace(name="hunter2"))), hide=hide).conclusion()
    assert found.status.notes[0].object == "ConfigMap ns/***"


def test_a_status_is_the_same_although_the_clocks_tick() -> None:
    """Ready says when the next attempt is: looks meanwhile must not write it anew."""
    key = case("", key=case("").key).key
    failing = progress(fact(Cause.KINDS_HELD_BACK, "hidden", since=0.0))
    before = after(FRESH, failing, key=key, now=NOW)
    ready = find_condition(before.conditions, "Ready")
    assert ready is not None
    assert ready.message == "hidden; attempt 1, next at 00:02:40Z"
    turn = replace(key.turn, is_attempt=False, failures=1, attempt_at=NOW + 60)
    assert after(before, failing, key=replace(key, turn=turn), now=NOW + 7.4) == before


@pytest.mark.parametrize(
    ("timestamp", "seconds"),
    [
        ("2026-01-01T00:01:00Z", 40.0),
        ("2026-01-01T01:01:00+01:00", 40.0),
        ("2027-01-01T00:00:00Z", 0.0),
        ("2026-01-01T00:00:60Z", 0.0),
        ("", 0.0),
    ],
)
def test_seconds_since_a_time_of_the_status_are_counted(timestamp: str, seconds: float) -> None:
    assert at(NOW).seconds_since(timestamp) == seconds


def test_a_timestamp_is_in_whole_seconds_of_utc() -> None:
    assert Clock(loop=0.0, wall=START + 1.9).timestamp() == "2026-01-01T00:00:01Z"
    assert Clock(loop=0.0, wall=START + 1.9).timestamp(seconds_ago=-10) == "2026-01-01T00:00:11Z"


def test_messages_of_hooks_are_masked_and_recorded() -> None:
    running = RunningHook(revision="r", run="1", event="pre-install", version="v1", kind="Job", name="j")
    failed = hook_record(run="1", kind="Job", name="j", result="Failed", message="token=hunter2")
    change = progress(fact(Cause.APPLYING), hooks=(failed,), running_hook=running)
    status = case("", FRESH, change, hide=hide).conclusion().status
    assert status.running_hook == running
    assert [one.message for one in status.hooks] == ["token=***"]


def test_a_short_status_keeps_the_first_notes() -> None:
    facts = [fact(Cause.REFUSED, str(number)) for number in range(6)]
    status = after(FRESH, progress(fact(Cause.STATUS_TOO_LARGE), *facts))
    assert [note.reason for note in status.notes] == ["StatusTooLarge", "Refused", "Refused", "Refused"]
