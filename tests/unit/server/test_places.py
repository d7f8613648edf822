"""Connections of a port that give way to a new one."""

import asyncio
import gc
import weakref
from collections.abc import Sequence

import pytest

from rukpak_py.server.places import Connection, Phase, Places

ADMITTED = True


class Port:
    def __init__(self, capacity: int, strangers: int) -> None:
        self.places = Places("test", capacity=capacity, strangers=strangers)
        self.ended: list[Connection] = []

    def connect(self) -> Connection | None:
        connection = Connection(self.ended.append)
        return connection if self.places.take(connection) else None


def port_with(*states: tuple[Phase, bool], strangers: int = 99) -> tuple[Port, list[Connection]]:
    """A port whose places are all taken by these connections; each entered its phase after the one before it."""
    port = Port(len(states), strangers)
    connections = []
    for since, (phase, is_admitted) in enumerate(states):
        connection = port.connect()
        assert connection is not None
        connection.phase, connection.since, connection.is_admitted = phase, since, is_admitted
        connections.append(connection)
    return port, connections


@pytest.mark.parametrize(
    ("states", "gives_way"),
    [
        ([(Phase.ARRIVING, False), (Phase.ARRIVING, False)], 0),
        ([(Phase.IDLE, False), (Phase.ARRIVING, False)], 1),
        ([(Phase.IDLE, False), (Phase.IDLE, False)], 0),
        ([(Phase.ANSWERED, False), (Phase.IDLE, False)], 1),
        ([(Phase.ARRIVING, ADMITTED), (Phase.IDLE, False)], 1),
        ([(Phase.IDLE, ADMITTED), (Phase.ARRIVING, False)], 1),
        ([(Phase.ARRIVING, ADMITTED), (Phase.IDLE, ADMITTED)], 1),
        ([(Phase.IDLE, ADMITTED), (Phase.IDLE, ADMITTED)], 0),
        ([(Phase.ANSWERED, ADMITTED), (Phase.ANSWERED, False)], 1),
        ([(Phase.ANSWERED, False), (Phase.ANSWERED, False)], 0),
        ([(Phase.ANSWERED, ADMITTED), (Phase.ANSWERED, ADMITTED)], None),
        ([(Phase.ARRIVING, ADMITTED), (Phase.ANSWERED, ADMITTED)], None),
    ],
)
async def test_a_connection_gives_way_or_the_new_one_is_refused_when_all_places_are_taken(
    states: Sequence[tuple[Phase, bool]], gives_way: int | None
) -> None:
    port, connections = port_with(*states)
    new = port.connect()
    assert (new is None) == (gives_way is None)
    assert port.ended == ([] if gives_way is None else [connections[gives_way]])
    assert len(port.places) == len(states)


async def test_strangers_beyond_their_part_give_way_to_each_other_only() -> None:
    port = Port(capacity=10, strangers=2)
    admitted = port.connect()
    assert admitted is not None
    admitted.admit()
    admitted.idle(60)
    first, second, third = (port.connect() for _ in range(3))
    assert (port.ended, len(port.places)) == ([first], 3)
    for connection in (second, third):
        assert connection is not None
        connection.answering()
    assert port.connect() is not None
    assert port.ended == [first, second], "they go one after the other, and the admitted one stays"


async def test_an_admitted_connection_leaves_its_place_among_strangers() -> None:
    port = Port(capacity=10, strangers=1)
    for _ in range(5):
        connection = port.connect()
        assert connection is not None
        connection.admit()
    assert (port.ended, len(port.places)) == ([], 5)


async def test_the_body_of_a_request_belongs_to_its_arrival() -> None:
    connection = Connection(lambda _: None)
    began = connection.since
    connection.answering()
    connection.receiving()
    assert (connection.phase, connection.since) == (Phase.ARRIVING, began)


async def test_a_connection_that_has_ended_is_held_by_no_deadline() -> None:
    """Its handler may end later, and would keep it, with its buffers, for another while."""
    ended: list[Connection] = []
    connection = Connection(ended.append)
    connection.arriving(3600)
    connection.end()
    connection.idle(0)
    connection.arriving(0)
    connection.admitted_within(0)
    await asyncio.sleep(0.01)
    assert ended == [connection]
    gone = weakref.ref(connection)
    ended.clear()
    del connection
    gc.collect()
    assert gone() is None
