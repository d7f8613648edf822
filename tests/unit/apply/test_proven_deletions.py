"""Only a deletion that certainly did not orphan lets us delete anything.

The sequences are those that an API server sends, as watched: `DELETED` shows the last state before the deletion.
"""

import pytest

from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.apply.deletions import Deletion

OURS = "core.rukpak.io/ordered-deletion"
HELD = "example.com/held"
NO, YES = False, True  # deleted

Event = tuple[str, bool, tuple[str, ...]]  # type, deleted, finalizers

SEEN = "watch"
LISTED = "list"
ALIVE: Event = (SEEN, NO, ())

CASES: dict[str, tuple[list[Event], Event, bool]] = {
    "at once": ([ALIVE], (SEEN, NO, ()), True),
    "at once, and known from a list only": ([(LISTED, NO, ())], (SEEN, NO, ()), True),
    "at once, and never seen before": ([], (SEEN, NO, ()), True),
    "orphaning": ([ALIVE, (SEEN, YES, ("orphan",))], (SEEN, YES, ("orphan",)), False),
    "orphaning, and only its end was seen": ([ALIVE], (SEEN, YES, ("orphan",)), False),
    "orphaning, and held by another finalizer": (
        [(SEEN, NO, (HELD,)), (SEEN, YES, (HELD, "orphan")), (SEEN, YES, (HELD,))],
        (SEEN, YES, (HELD,)),
        False,
    ),
    "orphaning, which was added to a deletion that had begun": (
        [(SEEN, NO, (HELD,)), (SEEN, YES, (HELD,)), (SEEN, YES, (HELD, "orphan")), (SEEN, YES, (HELD,))],
        (SEEN, YES, (HELD,)),
        False,
    ),
    "held": ([(SEEN, NO, (HELD,)), (SEEN, YES, (HELD,))], (SEEN, YES, (HELD,)), True),
    "ordered by us": ([(SEEN, NO, (OURS,)), (SEEN, YES, (OURS,))], (SEEN, YES, (OURS,)), True),
    "in the foreground": (
        [ALIVE, (SEEN, YES, ("foregroundDeletion",))],
        (SEEN, YES, ("foregroundDeletion",)),
        True,
    ),
    "held, and its beginning was not seen": ([(SEEN, NO, (HELD,))], (SEEN, YES, (HELD,)), False),
    "held, and first seen while it was deleted": ([(SEEN, YES, (HELD,))], (SEEN, YES, (HELD,)), False),
    "held, across a restart": ([(LISTED, YES, (HELD,)), (SEEN, YES, (HELD,))], (SEEN, YES, (HELD,)), False),
    "held, across a watch that was lost": (
        [(SEEN, NO, (HELD,)), (SEEN, YES, (HELD,)), (LISTED, YES, (HELD,))],
        (SEEN, YES, (HELD,)),
        False,
    ),
    "held, begun while a watch was lost": ([(SEEN, NO, (HELD,)), (LISTED, YES, (HELD,))], (SEEN, YES, (HELD,)), False),
    "finalizers and no deletion: something that no server does": ([], (SEEN, NO, (HELD,)), False),
}


def deployment(*, deleted: bool, finalizers: tuple[str, ...]) -> ObjectMeta:
    return ObjectMeta(uid="u", deletion_timestamp="2001-01-01T00:00:00Z" if deleted else None, finalizers=finalizers)


@pytest.mark.parametrize(("events", "last", "is_proven"), CASES.values(), ids=CASES)
def test_deletion_is_proven_by_its_events_alone(events: list[Event], last: Event, is_proven: bool) -> None:  # noqa: FBT001 - a table's column
    deletion = Deletion()
    for source, deleted, finalizers in events:
        deletion.seen(deployment(deleted=deleted, finalizers=finalizers), listed=source == LISTED)
    assert deletion.is_proven(deployment(deleted=last[1], finalizers=last[2])) is is_proven


@pytest.mark.parametrize(
    ("events", "is_orphaning"),
    [
        ([(SEEN, NO, ("orphan",))], False),
        ([ALIVE, (SEEN, YES, ("orphan",))], True),
        ([ALIVE, (SEEN, YES, (HELD, "orphan")), (SEEN, YES, (HELD,))], True),  # the collector has taken it away
        ([(LISTED, YES, ("orphan",))], True),
        ([ALIVE, (SEEN, YES, (HELD,))], False),
    ],
)
def test_a_deletion_that_once_showed_orphan_orphans(events: list[Event], *, is_orphaning: bool) -> None:
    deletion = Deletion()
    for source, deleted, finalizers in events:
        deletion.seen(deployment(deleted=deleted, finalizers=finalizers), listed=source == LISTED)
    assert deletion.is_orphaning is is_orphaning
