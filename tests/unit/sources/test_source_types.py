"""The types of sources: what the API says of them, and how they are fetched, are two tables of the same types."""

from typing import Any, cast

import msgspec
import pytest

from rukpak_py.api.names import SourceType
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import SPECS
from rukpak_py.core.errors import ContentError
from rukpak_py.sources.by_type import FETCHERS, SourcesByType
from rukpak_py.sources.source import FetchRequest


def test_each_source_type_has_a_member_a_spec_and_a_fetcher() -> None:
    members = {field.encode_name for field in msgspec.structs.fields(Source)} - {"type"}
    assert members == set(SPECS) == set(FETCHERS) == set(SourceType)


async def test_unknown_source_type_is_refused_with_the_served_types() -> None:
    unused = cast("Any", object())
    sources = SourcesByType(dict.fromkeys(SourceType, unused))
    with pytest.raises(ContentError) as caught:
        await sources.fetch(FetchRequest(bundle="b", uid="u", source=Source(type="configMap")))
    assert str(caught.value) == (
        'source type "configMap" not supported; use one of configMaps, git, http, image, upload'
    )
