"""Limits of a registry: a time for an answer, a rate for a layer, a time for all, and a share of the work."""

import threading

import pytest

from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image import pace as pacing
from rukpak_py.sources.image.pace import SILENCE_SECONDS, WINDOW_SECONDS, Pace, TooSlowError
from rukpak_py.sources.image.unpack_methods import NotForOperatorError

LIMITS = Limits(image_seconds=1000, image_answer_seconds=60, image_rate=100)


class Aborted(threading.Event):
    """Remembers for how long it was waited, and does not wait."""

    def __init__(self, clocks: "Clocks") -> None:
        super().__init__()
        self._clocks = clocks
        self.waited = 0.0

    def wait(self, timeout: float | None = None) -> bool:
        self.waited += timeout or 0.0
        self._clocks.now += timeout or 0.0
        return self.is_set()


class Clocks:
    def __init__(self) -> None:
        self.now = 1000.0
        self.worked = 5.0
        self.aborted = Aborted(self)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(pacing, "monotonic", lambda: clocks.now)
    monkeypatch.setattr(pacing, "thread_time", lambda: clocks.worked)
    return clocks


@pytest.fixture
def pace(clocks: Clocks) -> Pace:
    pace = Pace(LIMITS, clocks.aborted)
    pace.begin()
    pace.ask("example.com")
    return pace


def test_an_answer_has_a_time_however_its_bytes_arrive(clocks: Clocks, pace: Pace) -> None:
    for _ in range(3):
        assert pace.patience() <= SILENCE_SECONDS
        pace.received(1)
        clocks.now += 20
    with pytest.raises(
        TooSlowError, match=r"example\.com is too slow: its answer takes more than 60 s .RUKPAK_LIMIT_IM"
    ):
        pace.patience()


def test_a_registry_that_says_nothing_is_out_of_reach(clocks: Clocks, pace: Pace) -> None:
    clocks.now += 59
    assert pace.patience() == 1
    clocks.now += 1
    with pytest.raises(NotForOperatorError, match=r"example\.com does not answer: timed out after 60 s"):
        pace.patience()


def test_requests_for_one_thing_share_its_time(clocks: Clocks, pace: Pace) -> None:
    """A redirect or a token does not give a slow registry more."""
    clocks.now += 40
    pace.received(1)
    pace.ask("other.example.com")
    assert pace.patience() == 20
    pace.begin()
    pace.ask("other.example.com")
    assert pace.patience() == 60


def test_a_layer_may_be_slow_but_not_slower_than_its_rate(clocks: Clocks, pace: Pace) -> None:
    pace.read_layer()
    for _ in range(20):  # longer than any answer may take
        clocks.now += WINDOW_SECONDS / 2
        pace.received(int(LIMITS.image_rate * WINDOW_SECONDS / 2))
        assert 0 < pace.patience() <= WINDOW_SECONDS
    clocks.now += WINDOW_SECONDS
    pace.received(int(LIMITS.image_rate * WINDOW_SECONDS) - 1)
    with pytest.raises(TooSlowError, match="2999 bytes of a layer in 30 s, less than 100 bytes per second"):
        pace.patience()


def test_a_layer_that_is_read_on_has_what_is_left_of_its_times(clocks: Clocks, pace: Pace) -> None:
    clocks.now += 10
    pace.read_layer()
    clocks.now += 20
    assert pace.patience() == 10
    pace.ask("example.com")
    assert pace.patience() == 50
    clocks.now += 5
    pace.read_layer()
    assert pace.patience() == 10
    clocks.now += 10
    with pytest.raises(TooSlowError, match="0 bytes of a layer in 30 s"):
        pace.patience()


def test_the_pull_has_a_time(clocks: Clocks, pace: Pace) -> None:
    pace.read_layer()
    while clocks.now < 1990:
        clocks.now += 10
        pace.received(10_000)
        pace.patience()
    clocks.now += 10
    with pytest.raises(TooSlowError, match=r"the image takes more than 1000 s .*RUKPAK_LIMIT_IMAGE_SECONDS"):
        pace.patience()


def test_an_aborted_pull_waits_for_nothing(clocks: Clocks, pace: Pace) -> None:
    clocks.aborted.set()
    with pytest.raises(UnavailableError, match="it was ended"):
        pace.patience()


def test_honest_work_is_not_slowed_down(clocks: Clocks, pace: Pace) -> None:
    for _ in range(100):
        pace.begin()
        pace.ask("example.com")
        clocks.worked += 0.005
        pace.patience()
    pace.read_layer()
    for _ in range(1000):
        clocks.worked += 0.001
        pace.received(64 * 1024)
        pace.patience()
    assert clocks.aborted.waited == 0


def test_registry_that_makes_work_for_each_byte_is_slowed_down(clocks: Clocks, pace: Pace) -> None:
    """The work for them is a hundredth of the time."""
    pace.read_layer()
    begun, worked = clocks.now, clocks.worked
    for _ in range(1000):
        clocks.worked += 0.005  # for 8 KiB of chunks of one byte
        pace.received(8 * 1024)
        pace.patience()
    assert (clocks.worked - worked) / (clocks.now - begun) < 0.02
