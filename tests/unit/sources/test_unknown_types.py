"""A source type that nobody serves: the text names those that are."""

from typing import Any, cast

import pytest

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.core.errors import ContentError
from rukpak_py.sources.by_type import SourcesByType
from rukpak_py.sources.source import FetchRequest


async def test_an_unknown_type_is_told_with_those_that_are_served() -> None:
    unused = cast("Any", object())
    sources = SourcesByType(dict.fromkeys(SourceType, unused), image=unused)
    with pytest.raises(ContentError) as caught:
        await sources.fetch(FetchRequest(bundle="b", uid="u", source=Source(type="configMap")))
    assert str(caught.value) == (
        'source type "configMap" not supported; use one of configMaps, git, http, image, upload'
    )
