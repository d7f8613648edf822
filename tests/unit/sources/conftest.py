"""A web server for tests of the http source."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.sources.websites import Site, website


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with website() as site:
        yield site
