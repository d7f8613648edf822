"""The queue of Events that wait to be written."""

from datetime import UTC, datetime

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.events import QUEUE_BYTES, EventQueue, EventSubject, Note

BUNDLE = GroupVersionKind("core.rukpak.io", "v1alpha1", "Bundle")
LANES = 4


def note(name: str, message: str = "") -> Note:
    about = EventSubject(gvk=BUNDLE, name=name, uid=name)
    return Note(about=about, type="Normal", reason="Unpacked", message=message, at=datetime.now(UTC))


async def test_ten_thousand_events_of_an_ordinary_length_fit() -> None:
    queue = EventQueue(LANES)
    assert all(queue.add(note(str(number), "x" * 200)) for number in range(10_000))


async def test_event_beyond_the_byte_limit_is_refused_until_one_is_done() -> None:
    queue = EventQueue(1)
    large = note("a", "x" * (QUEUE_BYTES // 2))
    assert queue.add(large)
    assert not queue.add(large)
    assert queue.add(note("b"))

    first = await queue.get(0)
    assert not queue.add(large)
    queue.done(0, first)
    assert queue.add(large)
    assert queue.unfinished == 2


async def test_events_of_one_object_stay_in_order() -> None:
    queue = EventQueue(LANES)
    for number in range(10):
        queue.add(note("a", str(number)))
    lane = hash(note("a").about.identity) % LANES
    assert [(await queue.get(lane)).message for _ in range(10)] == [str(number) for number in range(10)]
