"""How long an API server may refuse what it has allowed before a watch ends."""

import pytest

from rukpak_py.cli.cluster import following
from rukpak_py.cli.cluster.following import REFUSED_SECONDS, Refusals

LONG = 3600.0


def test_refusals_are_meant_once_they_have_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that was silent for an hour has not been refused for an hour."""
    now = 0.0
    monkeypatch.setattr(following, "monotonic", lambda: now)
    refusals = Refusals()
    now += LONG
    assert not refusals.refused()
    now += REFUSED_SECONDS - 1
    assert not refusals.refused()
    refusals.answered()
    now += LONG
    assert not refusals.refused()
    now += REFUSED_SECONDS
    assert refusals.refused()
