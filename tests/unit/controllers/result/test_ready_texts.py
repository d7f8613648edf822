"""The text of Ready to the letter, and how long a refusal stands."""

from dataclasses import replace

import pytest

from rukpak_py.api.conditions import BRIEF_CHARACTERS, find_condition
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress
from tests.unit.controllers.result.concluding import (
    FIRST,
    FRESH,
    ILL,
    KEPT,
    NOW,
    READY,
    SECOND,
    UPGRADE_REFUSED,
    after,
    fact,
    installed,
    progress,
)


def told(status: object, kind: str = "Ready") -> str:
    found = find_condition(status.conditions, kind)  # type: ignore[attr-defined]
    assert found is not None
    return f"{found.status} {found.message}" if kind != "Ready" else found.message


def test_a_pause_of_half_a_minute_is_not_told() -> None:
    assert told(after(FRESH, progress(fact(Cause.REFUSED, "no", at=NOW + 30)))) == "no"


def test_a_longer_one_stands_behind_a_text_that_is_cut_for_it() -> None:
    message = told(after(FRESH, progress(fact(Cause.REFUSED, "x" * 400, at=NOW + 31))))
    assert message.endswith("x … (cut); attempt 1, next at 00:02:11Z")
    assert len(message) == BRIEF_CHARACTERS


def test_a_deletion_waits_for_a_former_hook_in_its_own_words() -> None:
    going = replace(FIRST, is_deleted=True)
    assert told(after(READY, NO_PROGRESS, progress(fact(Cause.FORMER_HOOK, "old")), going)) == "Deleting: old"


def test_a_line_of_a_condition_is_no_refusal_of_an_upgrade() -> None:
    status = after(READY, progress(fact(Cause.NOT_CORRECTED, "gone")), KEPT, SECOND)
    assert told(status, "Installed") == "True Instantiated bundle b1 successfully\ngone"


UPGRADED = ILL + progress(installed=installed("b2", "d2"), valid="b2")


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [(NO_PROGRESS, UPGRADED), (progress(fact(Cause.HOOKS_SKIPPED)), KEPT)],
    ids=["objects on their way", "a note of the wanted content"],
)
def test_a_refusal_ends_when_the_upgrade_continues(wanted: Progress, kept: Progress) -> None:
    assert told(after(UPGRADE_REFUSED, wanted, kept, SECOND), "Installed").startswith("True Instantiated bundle")


def test_a_wait_makes_no_refusal_of_what_is_installed() -> None:
    before = after(READY, progress(fact(Cause.HOOKS_SKIPPED)), KEPT, SECOND)
    status = after(before, progress(fact(Cause.APPLYING)), KEPT + progress(installed=installed("b3")), SECOND)
    assert told(status, "Installed").startswith("True Instantiated bundle b3 successfully")
