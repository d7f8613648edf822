"""The media type of a directory of manifests, as opm tells it."""

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.packaging import media_type
from tests.unit.bundles import tree_of

CSV = "kind: ClusterServiceVersion\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"csv.yaml": CSV}, "registry+v1"),
        ({"any-name": CSV}, "registry+v1"),
        ({"csv.yaml": f"---\n{CSV}"}, "registry+v1"),
        ({"broken.yaml": "x: [", "csv.yaml": CSV}, "registry+v1"),
        ({"csv.yaml": f"{CSV}metadata: 5"}, "registry+v1"),
        ({"csv.yaml": f"a: b\n---\n{CSV}"}, "plain"),
        ({"csv.yaml": f"# note\n---\n{CSV}"}, "plain"),
        ({"list.yaml": '{"kind": "List", "items": [{"kind": "ClusterServiceVersion"}]}'}, "plain"),
        ({"csv.yaml": "Kind: ClusterServiceVersion"}, "plain"),
        ({"broken.yaml": "x: ["}, "plain"),
        ({"sub/csv.yaml": CSV, "a.yaml": "a: b"}, "plain"),
        ({"Chart.yaml": "name: x", "csv.yaml": CSV}, "helm"),
        ({"Chart.yaml": "name: 5"}, "helm"),
        ({"Chart.yaml": "version: 1.0.0"}, "plain"),
        ({"chart.yaml": "name: x"}, "plain"),
        ({"Chart.yaml": "name: [", "csv.yaml": CSV}, "registry+v1"),
    ],
)
def test_media_types(files: dict[str, str], expected: str) -> None:
    assert media_type(tree_of(files), shown="m") == expected


@pytest.mark.parametrize("files", [{}, {"sub/csv.yaml": CSV}])
def test_a_directory_without_files_has_none(files: dict[str, str]) -> None:
    with pytest.raises(ContentError) as caught:
        media_type(tree_of(files), shown="/x/m")
    assert str(caught.value) == "The directory /x/m contains no yaml files"
