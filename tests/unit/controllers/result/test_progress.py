"""Results of stages combine: whatever the order of the stages, and never with two values for one field."""

from itertools import permutations
from typing import Any

import pytest

from rukpak_py.api.hook_status import RunningHook
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached
from tests.unit.controllers.result.concluding import FIRST, FRESH, MAP, NOW, at, content, fact, installed, progress

SOME = [
    progress(fact(Cause.REFUSED, "no", MAP), reached=Reached.PARTLY),
    progress(fact(Cause.KIND_MISSING, "no kind"), valid="b1"),
    progress(fact(Cause.OVERRIDE_UNMATCHED, "nothing"), reached=Reached.APPLIED),
    progress(installed=installed(), hooks=(), running_hook=None),
]
FIELDS: dict[str, Any] = {
    "content": content(),
    "valid": "b1",
    "installed": installed(),
    "hooks": (),
    "running_hook": RunningHook(revision="r", run="1", event="pre-install", version="v1", kind="Job", name="j"),
}


def test_nothing_changes_nothing() -> None:
    for one in SOME:
        assert one + NO_PROGRESS == one == NO_PROGRESS + one


def test_the_grouping_of_stages_does_not_matter() -> None:
    for a, b, c in permutations(SOME, 3):
        assert (a + b) + c == a + (b + c)


def test_the_order_of_stages_does_not_matter_to_what_users_see() -> None:
    seen = {
        conclude(FRESH, a + b + c + d, NO_PROGRESS, FIRST, at(NOW)).status.conditions
        for a, b, c, d in permutations(SOME)
    }
    assert len(seen) == 1


def test_a_stage_that_got_further_counts() -> None:
    assert (Progress(reached=Reached.APPLIED) + Progress(reached=Reached.PARTLY)).reached is Reached.APPLIED
    assert [one.name for one in sorted(Reached)] == ["NOTHING", "PARTLY", "APPLIED", "FINISHED", "GONE"]


def test_the_same_fact_of_two_stages_is_one() -> None:
    assert (SOME[0] + SOME[0]).facts == SOME[0].facts


@pytest.mark.parametrize("name", FIELDS)
def test_two_stages_that_set_one_field_are_an_error(name: str) -> None:
    one = progress(**{name: FIELDS[name]})
    with pytest.raises(ValueError, match=f"set the same fields of the status: {name}"):
        one + one


def test_fields_that_different_stages_set_are_all_set() -> None:
    both = progress(**{name: value for name, value in FIELDS.items() if name != "valid"}) + progress(valid="b1")
    assert {name: getattr(both.change, name) for name in FIELDS} == FIELDS
