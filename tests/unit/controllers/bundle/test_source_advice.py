"""Manifests of ConfigMaps at the root: the field that puts them where they belong is named."""

import pytest

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import ConfigMapReference, ConfigMapSource, UploadSource
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.bundle.unpacking import for_source
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError, advised
from rukpak_py.formats.plain import PlainFormat
from tests.unit.bundles import tree_of

HELLO = tree_of({"hello.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
UPLOAD = Source(type="upload", upload=UploadSource())


def config_maps(*paths: str) -> Source:
    items = tuple(ConfigMapSource(config_map=ConfigMapReference(name="x"), path=path) for path in paths)
    return Source(type="configMaps", config_maps=items)


def told(source: Source, tree: Tree) -> str:
    with pytest.raises(InvalidBundleError) as refused:
        PlainFormat().check(tree)
    return advised(for_source(refused.value, source, tree))


@pytest.mark.parametrize(("paths", "number"), [(("",), 0), (("docs", ""), 1)])
def test_the_first_config_map_without_a_path_is_named(paths: tuple[str, ...], number: int) -> None:
    assert told(config_maps(*paths), HELLO) == (
        "get objects from bundle manifests: readdir manifests: file does not exist. "
        f"set path: manifests in source.configMaps[{number}]"
    )


@pytest.mark.parametrize(
    ("source", "tree", "advice"),
    [
        (UPLOAD, HELLO, "and give its parent."),
        (config_maps(""), tree_of({**HELLO, "Chart.yaml": b"name: web"}), "core-rukpak-io-helm"),
    ],
)
def test_other_advice_stays(source: Source, tree: Tree, advice: str) -> None:
    assert told(source, tree).endswith(advice)


def test_other_errors_stay() -> None:
    error = ContentError("x")
    assert for_source(error, config_maps(""), HELLO) is error
