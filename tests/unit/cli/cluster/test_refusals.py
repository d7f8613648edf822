"""How long an API server may refuse what it has allowed before a watch ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from rukpak_py.cli.cluster import following
from rukpak_py.cli.cluster.following import REFUSED_SECONDS, Refusals, follow
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError, ServerUnavailableError
from rukpak_py.kube.pace import Backoff
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS

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
    refusals.ended()
    now += LONG
    assert not refusals.refused()
    now += REFUSED_SECONDS
    assert refusals.refused()


async def test_server_that_starts_twice_may_refuse_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    now, answer = 0.0, ErrorAnswer(subject="list", message="no")
    lists: list[Any] = [("1", {}), ServerUnavailableError(answer), ForbiddenError(answer), ("2", {})]

    async def listed(*_: Any) -> Any:
        nonlocal now
        now += REFUSED_SECONDS
        found = lists.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async def changes(*_: Any) -> AsyncGenerator[Any, None]:
        if now > 0:
            raise ForbiddenError(answer)
        yield

    monkeypatch.setattr(following, "monotonic", lambda: now)
    monkeypatch.setattr(following, "Backoff", lambda **_: Backoff(first=0.001, limit=0.001))
    monkeypatch.setattr(following, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(following, "_listed", listed)
    monkeypatch.setattr(following, "_changes", changes)
    client: Any = None
    async with aclosing(follow(client, BUNDLE_DEPLOYMENTS, bytes)) as seen:
        assert [(await anext(seen)).is_all for _ in range(2)] == [True, True]
    assert not lists
