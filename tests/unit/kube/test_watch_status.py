"""Since when the server refuses a watch, whatever happens in between."""

import pytest

from rukpak_py.kube.errors import ApiError, ErrorAnswer, ForbiddenError, KindNotServedError, ServerUnavailableError
from rukpak_py.kube.resources import NAMESPACES
from rukpak_py.kube.watching import WatchTracker

GRANTED = None
FORBIDDEN = ForbiddenError(ErrorAnswer(subject="watch Namespace", status=403, message="no right"))
ABSENT = KindNotServedError(ErrorAnswer(subject="watch Namespace", status=404, message="not found"))
BUSY = ServerUnavailableError(ErrorAnswer(subject="watch Namespace", status=503, message="later"))
AWAY = ServerUnavailableError(ErrorAnswer(subject="watch Namespace", message="no answer"))


@pytest.mark.parametrize(
    ("events", "refused_since", "absent_since"),
    [
        ([], None, None),
        ([FORBIDDEN], 1, None),
        ([FORBIDDEN, FORBIDDEN, BUSY], 1, None),
        ([FORBIDDEN, GRANTED], None, None),
        ([FORBIDDEN, GRANTED, FORBIDDEN], 3, None),
        ([FORBIDDEN, AWAY], None, None),  # the server does not answer: that is not a refusal
        ([FORBIDDEN, AWAY, FORBIDDEN], 3, None),
        ([ABSENT, ABSENT], 1, 1),
        ([FORBIDDEN, ABSENT], 1, 2),
        ([ABSENT, BUSY], 1, None),
        ([ABSENT, BUSY, ABSENT], 1, 3),
    ],
)
def test_the_clock_of_a_refusal(
    events: list[ApiError | None], refused_since: float | None, absent_since: float | None
) -> None:
    now = 0.0
    tracker = WatchTracker(NAMESPACES, reader="test", clock=lambda: now)
    for event in events:
        now += 1
        if event is None:
            tracker.answered()
        else:
            tracker.refused(event)
    assert (tracker.status.refused_since, tracker.status.absent_since) == (refused_since, absent_since)
    assert tracker.status.active_at == now
    assert (tracker.status.problem is None) == (refused_since is None)
