"""The facts of OLM bundles: which of them differ, and how a difference is named."""

from typing import Any

import pytest

from rukpak_py.apply.field_differences import Difference, FieldChange
from rukpak_py.formats.documents import Document
from rukpak_py.formats.registry_v1.bundle import BundleMetadata, RegistryBundle, csv_of
from rukpak_py.library.diffs.bundle_summary import facts_of, summary_differences


def bundle(spec: dict[str, Any], *, annotations: dict[str, str] | None = None, channels: str = "") -> RegistryBundle:
    typed = {"metadata": {"name": "a.v1", "annotations": annotations or {}}, "spec": spec}
    return RegistryBundle(
        parity=False,
        metadata=BundleMetadata(package="a", channels=channels),
        csv=csv_of(Document(file="csv.yaml", index=0, manifest=typed), typed),
        definitions=[],
        others=[],
    )


def changes(
    old: RegistryBundle, new: RegistryBundle, files: tuple[dict[str, str], dict[str, str]] = ({}, {})
) -> list[tuple[str, str, Any, Any]]:
    found = summary_differences(facts_of(old, files[0]), facts_of(new, files[1]))
    return [(one.change.value, one.path, one.old, one.new) for one in found]


def owned(*versions: str) -> dict[str, Any]:
    entries = [{"name": "things.apps.test", "kind": "Thing", "version": version} for version in versions]
    return {"customresourcedefinitions": {"owned": entries}}


def modes(*names: str) -> dict[str, Any]:
    return {"installModes": [{"type": name, "supported": True} for name in names]}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"version": "1.0.0"}, {"version": "2.0.0"}, ("changed", "version", "1.0.0", "2.0.0")),
        ({}, {"replaces": "a.v0"}, ("added", "replaces", None, "a.v0")),
        ({"replaces": "a.v0"}, {}, ("removed", "replaces", "a.v0", None)),
        ({"skips": ["x", "y"]}, {"skips": ["z", "y", "x"]}, ("added", "skips", None, "z")),
        ({}, {"minKubeVersion": "1.25.0"}, ("added", "minKubeVersion", None, "1.25.0")),
        (
            modes("OwnNamespace"),
            modes("OwnNamespace", "AllNamespaces"),
            ("changed", "installModes", "OwnNamespace", "AllNamespaces, OwnNamespace"),
        ),
        (owned("v1", "v2"), owned("v2"), ("removed", "owned", "Thing v1 (things.apps.test)", None)),
    ],
)
def test_facts_of_the_spec(old: dict[str, Any], new: dict[str, Any], expected: tuple[str, str, Any, Any]) -> None:
    assert changes(bundle(old), bundle(new)) == [expected]


def test_order_of_lists_is_no_difference() -> None:
    old = bundle({"skips": ["x", "y"], **owned("v1", "v2")}, channels="a,b")
    new = bundle({"skips": ["y", "x"], **owned("v2", "v1")}, channels="b, a")
    assert changes(old, new) == []


def test_each_annotation_is_a_difference_and_the_range_has_a_name_of_its_own() -> None:
    old = bundle({}, annotations={"a": "1", "b": "2"})
    new = bundle({}, annotations={"a": "1", "olm.skipRange": "<2.0.0"})
    assert changes(old, new, ({"com.x": "v1"}, {"com.x": "v2"})) == [
        ("added", "skipRange", None, "<2.0.0"),
        ("removed", "annotations.b", "2", None),
        ("changed", 'annotations.yaml["com.x"]', "v1", "v2"),
    ]


def test_bundle_of_another_format_has_no_facts() -> None:
    facts = facts_of(bundle({"version": "1.0.0"}), {})
    (name, package, version) = sorted(summary_differences({}, facts), key=lambda one: one.path)
    assert [one.path for one in (name, package, version)] == ["name", "package", "version"]
    assert version == Difference(change=FieldChange.ADDED, path="version", new="1.0.0")
