"""The bodies of admission reviews: how many bytes of them are held at a time, and which review gives way.

Every byte of a review that is being received or judged counts, whichever connection it came by. When the bytes of one
more piece do not fit, the oldest review that has not arrived as a whole gives way, and if there is none, the oldest
that is being judged: the API server sends a review within milliseconds, so the review of a client that sends slowly,
or never ends, is older than the next real one. A review that gives way loses its connection, and its bytes are free at
once.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp import web

from rukpak_py.core.errors import RukPakError, UnavailableError
from rukpak_py.core.limits import Limits


class LateError(RukPakError):
    """The body of a review did not arrive in time."""


class Reception:
    """One review, from its first byte to its answer."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        self.give_up = give_up
        self.size = 0
        self.is_whole = False


class ReviewsInFlight:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._receptions: dict[Reception, None] = {}  # the oldest first
        self.held = 0  # bytes

    @contextmanager
    def reception(self, give_up: Callable[[], None]) -> Iterator[Reception]:
        """`give_up` ends the review's connection and forgets its bytes."""
        reception = Reception(give_up)
        self._receptions[reception] = None
        try:
            yield reception
        finally:
            self._release(reception)

    def add(self, reception: Reception, size: int) -> None:
        """Count more bytes of a review; UnavailableError when there is no room for them."""
        while self.held + size > self._limits.reviews_bytes:
            oldest = self._oldest(apart_from=reception)
            if oldest is None:
                raise UnavailableError(str(self._limits.exceeded("reviews_bytes", "the size of all admission reviews")))
            self._release(oldest)
            oldest.give_up()
        if reception in self._receptions:
            reception.size += size
            self.held += size

    def _oldest(self, *, apart_from: Reception) -> Reception | None:
        others = [one for one in self._receptions if one is not apart_from]
        return next((one for one in others if not one.is_whole), others[0] if others else None)

    def _release(self, reception: Reception) -> None:
        if reception in self._receptions:
            del self._receptions[reception]
            self.held -= reception.size


async def read_body(request: web.Request, reception: Reception, reviews: ReviewsInFlight, limits: Limits) -> bytes:
    """The whole body; LimitError when it is too large, LateError when it takes too long."""
    too_large = limits.exceeded("review_bytes", "the admission review")
    if (request.content_length or 0) > limits.review_bytes:
        raise too_large
    pieces: list[bytes] = []  # a buffer that grows would be copied again and again, and leave holes
    try:
        async with asyncio.timeout(limits.request_seconds):
            while piece := await request.content.readany():
                if reception.size + len(piece) > limits.review_bytes:
                    raise too_large
                reviews.add(reception, len(piece))
                pieces.append(piece)
    except TimeoutError as error:
        limit = limits.exceeded("request_seconds", "the time that the admission review takes to arrive")
        raise LateError(str(limit)) from error
    reception.is_whole = True
    return b"".join(pieces)
