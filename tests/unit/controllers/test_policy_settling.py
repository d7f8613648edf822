"""How long a replica waits for new admission policies."""

from math import inf

import pytest

from rukpak_py.controllers.policy_guard import SETTLE_SECONDS
from rukpak_py.controllers.policy_settling import WHOLE_SECOND, seconds_to_settle

ALL = SETTLE_SECONDS + WHOLE_SECOND
NOON = 1_767_268_800.0


@pytest.mark.parametrize(
    ("changed", "now", "left"),
    [
        (NOON, NOON, ALL),
        (NOON, NOON + 2, ALL - 2),
        (NOON, NOON + ALL, 0),
        (NOON, NOON + 86_400, 0),
        (0, NOON, 0),
        (NOON, inf, ALL),
        (NOON + 3600, NOON, ALL),
    ],
    ids=["new", "settling", "settled", "old", "missing", "without-a-date", "by-a-clock-that-is-ahead"],
)
def test_wait_is_for_what_is_left_of_the_time_to_settle(changed: float, now: float, left: float) -> None:
    assert seconds_to_settle(changed=changed, now=now) == left
