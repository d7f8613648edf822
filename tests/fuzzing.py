"""How many examples a fuzzed property gets, and quick ways to make hostile values of few bytes.

Three hundred in a run of the suite, which tries others each time; by hand
`RUKPAK_FUZZ=100000 pytest --timeout=0 -k "c1_any or c2_any or anything"`.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

fuzzed = settings(
    max_examples=int(os.environ.get("RUKPAK_FUZZ", "300")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
T = TypeVar("T")


class Choices:
    """Choices made by bytes: a strategy for bytes is quick, and a failing example shrinks to few of them."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    @property
    def number(self) -> int:
        return next(self._data, 0)

    def one(self, options: Sequence[T]) -> T:
        return options[self.number % len(options)]

    def seldom(self, options: Sequence[T], usual: T) -> T:
        """Most of the time the usual one, or hardly anything would come far."""
        return self.one(options) if self.number >= 235 else usual

    def some(self, options: Sequence[T], most: int) -> list[T]:
        return [self.one(options) for _ in range(self.number % (most + 1))]


choices = st.binary(max_size=200).map(Choices)
