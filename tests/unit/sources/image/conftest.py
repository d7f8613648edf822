"""A registry that anybody may read, and pulls that do not wait."""

from collections.abc import Iterator

import pytest

from rukpak_py.sources.image import pull as pulling
from rukpak_py.sources.image import transport
from tests.unit.sources.image.image_registry import Contents
from tests.unit.web_servers import Server, serving


@pytest.fixture
def contents() -> Contents:
    return Contents()


@pytest.fixture
def server(contents: Contents) -> Iterator[Server]:
    with serving(contents.answer) as server:
        yield server


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pauses between repetitions, and no proxy."""
    monkeypatch.setattr(transport, "RETRY", transport.RETRY.new(backoff_factor=0))
    monkeypatch.setattr(pulling, "_PAUSE_SECONDS", 0.0)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
