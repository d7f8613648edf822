"""Files of ConfigMaps: one Tree, no file given twice, nothing outside the root, limits while reading."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ConfigMapReference, ConfigMapSource
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, LimitError, Limits, variable_of
from rukpak_py.sources.config_maps import ConfigMap, ConfigMapsSource, fetch
from rukpak_py.sources.source import FetchRequest


class Maps:
    def __init__(self, **maps: Mapping[str, bytes]) -> None:
        self._maps = maps
        self.read: list[str] = []

    async def config_map(self, name: str) -> ConfigMap:
        self.read.append(name)
        if name not in self._maps:
            raise UnavailableError(f'get configmap ns/{name}: ConfigMap "{name}" not found')
        return ConfigMap(data=self._maps[name])


def item(name: str, path: str = "") -> ConfigMapSource:
    return ConfigMapSource(config_map=ConfigMapReference(name=name), path=path)


async def fetched(maps: Maps, *items: ConfigMapSource, limits: Limits = DEFAULT_LIMITS) -> Tree:
    return await fetch(items, maps, limits)


async def test_each_key_is_a_file_below_the_path_of_its_item() -> None:
    maps = Maps(a={"one.yaml": b"1"}, b={"two.yaml": b"2", "three.bin": b"\xff\x00"})
    tree = await fetched(maps, item("a"), item("b", "manifests"))
    assert dict(tree) == {"one.yaml": b"1", "manifests/two.yaml": b"2", "manifests/three.bin": b"\xff\x00"}


@pytest.mark.parametrize("path", ["manifests", "manifests/", "./manifests", "x/../manifests", "manifests//."])
async def test_a_path_may_be_spelt_in_many_ways(path: str) -> None:
    assert list(await fetched(Maps(a={"f": b""}), item("a", path))) == ["manifests/f"]


async def test_two_givers_of_one_file_are_both_named() -> None:
    maps = Maps(b={"f": b"1"}, a={"f": b"1"})
    with pytest.raises(ContentError) as error:
        await fetched(maps, item("b", "m"), item("a", "./m"))
    assert str(error.value) == 'duplicate path "m/f" found in configmaps [a b]'


async def test_all_clashes_are_told_at_once() -> None:
    maps = Maps(a={"f": b"1", "g": b"1"}, b={"f": b"1"}, c={"g": b"1"})
    with pytest.raises(ContentError) as error:
        await fetched(maps, item("a"), item("b"), item("c"))
    assert str(error.value) == (
        '[duplicate path "f" found in configmaps [a b], duplicate path "g" found in configmaps [a c]]'
    )


async def test_a_map_that_is_listed_twice_clashes_with_itself() -> None:
    with pytest.raises(ContentError, match=r'duplicate path "f" found in configmaps \[a a\]'):
        await fetched(Maps(a={"f": b"1"}), item("a"), item("a", "."))


async def test_a_map_that_is_listed_twice_with_two_paths_is_there_twice() -> None:
    assert list(await fetched(Maps(a={"f": b"1"}), item("a", "x"), item("a", "y"))) == ["x/f", "y/f"]


@pytest.mark.parametrize("path", ["..", "../x", "x/../..", "/etc", "a\x00b", "a\\b"])
async def test_c3_nothing_leaves_the_root(path: str) -> None:
    with pytest.raises(ContentError):
        await fetched(Maps(a={"f": b"1"}), item("a", path))


async def test_a_file_where_a_directory_is_needed_is_wrong() -> None:
    with pytest.raises(ContentError):
        await fetched(Maps(a={"x": b"1"}, b={"f": b"1"}), item("a"), item("b", "x"))


@pytest.mark.parametrize("limit", ["content_bytes", "content_files", "file_bytes"])
async def test_limits_hold(limit: str) -> None:
    maps = Maps(a={"f": b"1234", "g": b"5678"})
    with pytest.raises(ContentError, match=variable_of(limit)):
        await fetched(maps, item("a"), limits=replace(DEFAULT_LIMITS, **{limit: 1}))


@pytest.mark.parametrize("limit", ["content_bytes", "content_files"])
async def test_reading_ends_at_the_first_limit(limit: str) -> None:
    maps = Maps(a={"f": b"1"}, b={"g": b"2"}, c={"h": b"3"})
    with pytest.raises(ContentError, match=variable_of(limit)):
        await fetched(maps, item("a"), item("b"), item("c"), limits=replace(DEFAULT_LIMITS, **{limit: 1}))
    assert maps.read == ["a", "b"]


async def test_files_that_are_given_again_and_again_count() -> None:
    maps = Maps(a={"f": b"", "g": b""})
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CONTENT_FILES"):
        await fetched(maps, *[item("a")] * 3, limits=replace(DEFAULT_LIMITS, content_files=5))


async def test_a_map_that_is_listed_often_is_read_once() -> None:
    maps = Maps(a={"f": b"1"}, b={"g": b"2"})
    tree = await fetched(maps, item("a", "x"), item("b"), item("a", "y"))
    assert list(tree) == ["g", "x/f", "y/f"]
    assert maps.read == ["a", "b"]


async def test_nothing_listed_is_no_source() -> None:
    with pytest.raises(ContentError, match="configuration is unset"):
        await fetched(Maps())


async def test_a_map_that_is_missing_may_still_come() -> None:
    with pytest.raises(UnavailableError, match='ConfigMap "b" not found'):
        await fetched(Maps(a={"f": b""}), item("a"), item("b"))


async def test_the_order_of_the_items_does_not_matter() -> None:
    maps = Maps(a={"f": b"1"}, b={"g": b"2"})
    assert (await fetched(maps, item("a"), item("b"))).digest == (await fetched(maps, item("b"), item("a"))).digest


async def test_content_is_announced_when_the_first_answer_is_there_and_before_more_is_read() -> None:
    """Only some jobs may hold content; one that waits for an API server that does not answer is not among them."""
    maps, read_before = Maps(a={"1": b"1"}, b={"2": b"2"}), list[list[str]]()

    async def content_arrives() -> None:
        read_before.append(list(maps.read))

    source = Source(type="configMaps", config_maps=(item("a"), item("b")))
    request = FetchRequest(bundle="b", uid="u", source=source, content_arrives=content_arrives)
    await ConfigMapsSource(maps, DEFAULT_LIMITS).fetch(request)
    assert read_before[0] == ["a"]


async def test_a_path_that_is_long_only_as_it_is_written_is_refused_before_any_key_is_joined_to_it() -> None:
    maps = Maps(a={f"{number}": b"" for number in range(20_000)})
    with pytest.raises(LimitError) as error:
        await fetched(maps, item("a", "a/../" * 280_000))
    assert maps.read == []
    assert variable_of("path_bytes") in str(error.value)
    assert len(str(error.value)) < 300
