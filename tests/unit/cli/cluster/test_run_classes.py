"""Which class `rukpakctl run` takes when the user names none."""

from pathlib import Path

import pytest

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.cli.cluster.running import detected_class
from rukpak_py.content.tree import Tree
from rukpak_py.sources.local_directory import read_bundle
from tests.unit.cli.running import SAMPLES

CHART = {"Chart.yaml": b"apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": b""}
CSV = {"manifests/csv.yaml": b"apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"}
PACKAGE = {"metadata/annotations.yaml": b"annotations: {operators.operatorframework.io.bundle.package.v1: web}\n"}
MANIFEST = {"manifests/a.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (MANIFEST, PLAIN_CLASS),
        ({}, PLAIN_CLASS),
        (CHART, HELM_CLASS),
        ({f"web/{path}": data for path, data in CHART.items()}, HELM_CLASS),
        (CHART | MANIFEST, PLAIN_CLASS),
        (CSV | PACKAGE, REGISTRY_CLASS),
        (CSV, PLAIN_CLASS),
        (MANIFEST | PACKAGE, REGISTRY_CLASS),
        (MANIFEST | {"metadata/annotations.yaml": b"annotations: {team: web}\n"}, PLAIN_CLASS),
    ],
    ids=[
        "manifests",
        "nothing",
        "chart",
        "chart in the only directory",
        "chart with manifests",
        "OLM bundle",
        "a CSV as a manifest",
        "OLM bundle without a CSV",
        "annotations of others",
    ],
)
def test_plain_unless_only_another_class_can_install_it(files: dict[str, bytes], name: str) -> None:
    assert detected_class(Tree(files)).name == name


@pytest.mark.parametrize(
    ("sample", "name"), [("notes", PLAIN_CLASS), ("web-chart", HELM_CLASS), ("greeter-v1", REGISTRY_CLASS)]
)
def test_the_directory_is_read_far_enough_to_tell(sample: str, name: str) -> None:
    assert detected_class(read_bundle(Path(SAMPLES / sample))).name == name
