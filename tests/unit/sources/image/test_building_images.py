"""An image is made from files alone, in the same bytes everywhere, and says what other tools want to know."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.sources.image.build import image_of, layout_of
from rukpak_py.sources.image.descriptors import Platform
from rukpak_py.sources.image.layers import apply_layers
from rukpak_py.sources.image.layout import image_of_layout
from tests.unit.bundles import tree_of

FILES = tree_of({"manifests/csv.yaml": "a: b", "manifests/sub/x": "", "metadata/annotations.yaml": "c: d"})
LABELS = {"one": "1", "two": "2"}


def decoded(layout: Tree, path: str) -> Any:
    return json.loads(layout[path])


def read_back(layout: Tree, architecture: str) -> Tree:
    host = Platform(os="linux", architecture=architecture)
    return apply_layers(image_of_layout(lambda path: [layout[path]], limits=DEFAULT_LIMITS, host=host).layers())


def test_the_digest_is_known() -> None:
    """Another digest means that images of unchanged bundles change for users: that is a breaking change."""
    digest = image_of(FILES, labels=LABELS).digest
    assert digest == "sha256:f364445ff4a48c9d52af8efa536f6223c688637d7e020e7e6cb5f9b2d4dbd00e"


def test_layers_are_the_directories_and_labels_are_in_the_configuration() -> None:
    image = image_of(FILES, labels=LABELS)
    config, manifest = json.loads(image.config.data), json.loads(image.manifest.data)
    assert config == {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": LABELS},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in manifest["layers"]]},
    }
    assert [layer["mediaType"] for layer in manifest["layers"]] == ["application/vnd.oci.image.layer.v1.tar"] * 2
    assert sorted(apply_layers([[image.layers[0].data]])) == ["manifests/csv.yaml", "manifests/sub/x"]
    assert sorted(apply_layers([[image.layers[1].data]])) == ["metadata/annotations.yaml"]


def test_a_layout_names_its_image_for_every_kind_of_reader() -> None:
    image = image_of(FILES, labels=LABELS)
    layout = layout_of(image, "demo:1")
    [descriptor] = decoded(layout, "index.json")["manifests"]
    assert descriptor["digest"] == image.digest
    assert descriptor["annotations"] == {
        "org.opencontainers.image.ref.name": "demo:1",
        "io.containerd.image.name": "docker.io/library/demo:1",
    }
    [for_docker] = decoded(layout, "manifest.json")
    assert for_docker["RepoTags"] == ["docker.io/library/demo:1"]
    assert [layout[path] for path in for_docker["Layers"]] == [layer.data for layer in image.layers]
    assert layout[for_docker["Config"]] == image.config.data


def test_a_layout_without_a_name() -> None:
    layout = layout_of(image_of(FILES, labels={}))
    assert "annotations" not in decoded(layout, "index.json")["manifests"][0]
    assert decoded(layout, "manifest.json")[0]["RepoTags"] == []


def test_every_platform_reads_it() -> None:
    layout = layout_of(image_of(FILES, labels={}))
    assert read_back(layout, "amd64") == read_back(layout, "arm64") == FILES


def test_equal_directories_are_one_blob() -> None:
    image = image_of(tree_of({"a/x": "same"}), labels={})
    assert len(layout_of(image)) == len(image.blobs) + 3


NAMES = st.text("abc.é ", min_size=1, max_size=120).filter(lambda name: name not in {".", ".."} and name[:4] != ".wh.")


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=5))
def test_any_files_are_read_back_and_their_order_does_not_matter(files: dict[str, bytes]) -> None:
    tree = tree_of({f"manifests/{name}": content for name, content in files.items()}, "manifests", "metadata")
    backwards = tree_of({f"manifests/{name}": files[name] for name in reversed(files)}, "metadata", "manifests")
    image = image_of(tree, labels={})
    assert image == image_of(backwards, labels={})
    assert read_back(layout_of(image), "amd64") == tree
