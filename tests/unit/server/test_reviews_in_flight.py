"""Bytes of reviews that are held at a time, and the review that gives way."""

from contextlib import ExitStack

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.server.review import Reception, ReviewsInFlight

TEN = Limits(reviews_bytes=10)


class Bench:
    def __init__(self, stack: ExitStack) -> None:
        self.reviews = ReviewsInFlight(TEN)
        self.gave_up: list[int] = []
        self._stack = stack

    def review(self, number: int, size: int, *, is_whole: bool = False) -> Reception:
        reception = self._stack.enter_context(self.reviews.reception(lambda: self.gave_up.append(number)))
        self.reviews.add(reception, size)
        reception.is_whole = is_whole
        return reception


def test_the_oldest_unfinished_review_gives_way() -> None:
    with ExitStack() as stack:
        bench = Bench(stack)
        bench.review(0, 3, is_whole=True)
        bench.review(1, 3)
        bench.review(2, 3)
        bench.review(3, 3)
        assert (bench.gave_up, bench.reviews.held) == ([1], 9)
    assert bench.reviews.held == 0


def test_as_many_give_way_as_the_bytes_need() -> None:
    with ExitStack() as stack:
        bench = Bench(stack)
        for number in range(5):
            bench.review(number, 2)
        bench.review(5, 7)
        assert (bench.gave_up, bench.reviews.held) == ([0, 1, 2, 3], 9)


def test_a_review_that_is_judged_gives_way_last() -> None:
    with ExitStack() as stack:
        bench = Bench(stack)
        bench.review(0, 5, is_whole=True)
        bench.review(1, 5, is_whole=True)
        bench.review(2, 5)
        assert bench.gave_up == [0]


def test_a_review_that_has_no_room_alone_is_refused() -> None:
    with ExitStack() as stack:
        bench = Bench(stack)
        with pytest.raises(UnavailableError, match="RUKPAK_LIMIT_REVIEWS_BYTES sets it"):
            bench.review(0, 11)


def test_a_review_that_gave_way_counts_no_more() -> None:
    with ExitStack() as stack:
        bench = Bench(stack)
        gone = bench.review(0, 6)
        bench.review(1, 6)
        bench.reviews.add(gone, 1)
        assert (bench.gave_up, bench.reviews.held) == ([0], 6)
