"""The committed CRDs are what the types say."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rukpak_py.api.crds import HEADER, crds, main, render

FOLDER = Path(__file__).parents[3] / "config" / "crds"
BUNDLES, DEPLOYMENTS = "core.rukpak.io_bundles.yaml", "core.rukpak.io_bundledeployments.yaml"
INSTANCES = "core.rukpak.io_bundleinstances.yaml"


def version(name: str) -> dict[str, Any]:
    [only] = crds()[name]["spec"]["versions"]
    return dict(only)


def schema(name: str, *path: str) -> dict[str, Any]:
    found = version(name)["schema"]["openAPIV3Schema"]
    for step in path:
        found = found["properties"][step]
    return dict(found)


def walk(node: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = [(path, node)]
    for name, child in node.get("properties", {}).items():
        found += walk(child, f"{path}.{name}")
    if "items" in node:
        found += walk(node["items"], f"{path}[]")
    return found


def test_config_crds_is_not_stale(tmp_path: Path) -> None:
    main(tmp_path)
    generated = {path.name: path.read_text() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert committed == generated, "run `make generate`"


@pytest.mark.parametrize("name", [BUNDLES, DEPLOYMENTS, INSTANCES])
def test_files_say_that_they_are_generated(name: str) -> None:
    text = render(crds()[name])
    assert text.startswith(HEADER)
    assert yaml.safe_load(text) == crds()[name]


@pytest.mark.parametrize("name", [BUNDLES, DEPLOYMENTS, INSTANCES])
def test_every_field_is_described(name: str) -> None:
    bare = [path for path, node in walk(schema(name)) if not node.get("description")]
    assert [path for path in bare if not path.startswith(".metadata") and not path.endswith("[]")] == []


@pytest.mark.parametrize("name", [BUNDLES, DEPLOYMENTS, INSTANCES])
def test_status_has_no_rules_and_never_reads_as_current(name: str) -> None:
    status = schema(name, "status")
    assert status["default"] == {"observedGeneration": -1}
    assert not [path for path, node in walk(status) if "x-kubernetes-validations" in node or "oneOf" in node]


def test_columns_say_how_it_does_and_those_of_the_original_stay() -> None:
    columns = [(column["name"], column.get("priority", 0)) for column in version(BUNDLES)["additionalPrinterColumns"]]
    assert columns == [
        ("Type", 0),
        ("Phase", 0),
        ("Age", 0),
        ("Provisioner", 1),
        ("Resolved Source", 1),
        ("Ready", 0),
        ("Message", 1),
    ]
    columns = [
        (column["name"], column.get("priority", 0)) for column in version(DEPLOYMENTS)["additionalPrinterColumns"]
    ]
    assert columns == [
        ("Ready", 0),
        ("Reason", 0),
        ("Content", 0),
        ("Version", 0),
        ("App Version", 0),
        ("Upgrade", 0),
        ("Age", 0),
        ("Active Bundle", 1),
        ("Install State", 1),
        ("Provisioner", 1),
        ("Message", 0),
    ]


def test_one_of_stands_in_bundles_only() -> None:
    assert len(schema(BUNDLES, "spec", "source")["oneOf"]) == 5
    assert len(schema(BUNDLES, "spec", "source", "git", "ref")["oneOf"]) == 3
    assert "oneOf" not in schema(DEPLOYMENTS, "spec", "template", "spec", "source")


def test_a_bundle_consists_of_a_bounded_number_of_config_maps() -> None:
    for source in (schema(BUNDLES, "spec", "source"), schema(DEPLOYMENTS, "spec", "template", "spec", "source")):
        assert source["properties"]["configMaps"]["maxItems"] == 256


def test_nothing_is_offered_that_does_nothing_yet() -> None:
    fields = set(schema(DEPLOYMENTS, "spec")["properties"])
    assert fields == {
        "provisionerClassName",
        "template",
        "config",
        "serviceAccountName",
        "installNamespace",
        "createNamespace",
        "watchNamespaces",
        "suspend",
        "prune",
        "adopt",
        "crdSafety",
        "overrides",
        "patches",
        "upgrades",
        "dependsOn",
        "wait",
    }


def test_the_old_kind_takes_what_the_new_one_takes_and_shows_the_same_columns() -> None:
    assert schema(INSTANCES, "spec") == schema(DEPLOYMENTS, "spec")
    old, new = version(INSTANCES), version(DEPLOYMENTS)
    assert old["additionalPrinterColumns"] == new["additionalPrinterColumns"]
    assert schema(INSTANCES, "metadata") == schema(DEPLOYMENTS, "metadata")
