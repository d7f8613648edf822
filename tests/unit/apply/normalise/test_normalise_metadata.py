"""Metadata of a manifest, and what of it is sent."""

from typing import Any

import pytest

from rukpak_py.apply.normalise import Normalised, normalise
from rukpak_py.core.errors import ContentError


def config_map(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", **metadata}, "data": {"a": "1"}}


def normal(manifest: dict[str, Any], *, namespaced: bool = True) -> Normalised:
    return normalise(manifest, namespaced=namespaced, default_namespace="shop")


def metadata_of(manifest: dict[str, Any], *, namespaced: bool = True) -> dict[str, Any]:
    metadata: dict[str, Any] = normal(manifest, namespaced=namespaced).manifest["metadata"]
    return metadata


@pytest.mark.parametrize("namespace", [{}, {"namespace": None}, {"namespace": ""}])
def test_a_namespaced_object_without_namespace_gets_the_default(namespace: dict[str, Any]) -> None:
    assert metadata_of(config_map(**namespace)) == {"name": "settings", "namespace": "shop"}


def test_a_namespace_that_is_named_stays() -> None:
    assert metadata_of(config_map(namespace="other"))["namespace"] == "other"


def test_a_cluster_scoped_object_loses_its_namespace() -> None:
    assert metadata_of(config_map(namespace="other"), namespaced=False) == {"name": "settings"}


@pytest.mark.parametrize(
    "field",
    [
        {"managedFields": []},
        {"managedFields": [{"manager": "kubectl"}]},
        {"uid": "1"},
        {"resourceVersion": "7"},
        {"creationTimestamp": None},
        {"creationTimestamp": "2020-01-01T00:00:00Z"},
        {"generation": 3},
        {"deletionTimestamp": "2020-01-01T00:00:00Z"},
        {"deletionGracePeriodSeconds": 30},
        {"selfLink": "/x"},
        {"generateName": "settings-"},
        {"clusterName": "x"},
        {"ownerReferences": []},
        {"labels": None, "annotations": None, "finalizers": None},
        {"labels": {}, "annotations": {}, "finalizers": []},
    ],
)
def test_fields_that_the_server_writes_are_dropped_without_a_warning(field: dict[str, Any]) -> None:
    result = normal(config_map(**field))
    assert result.manifest["metadata"] == {"name": "settings", "namespace": "shop"}
    assert result.warnings == ()


@pytest.mark.parametrize("status", [None, {}, {"conditions": []}, "odd"])
@pytest.mark.parametrize("api_version", ["v1", "shop.test/v1"])
def test_the_status_is_dropped(status: object, api_version: str) -> None:
    assert "status" not in normal({**config_map(), "apiVersion": api_version, "status": status}).manifest


def test_content_cannot_choose_an_owner() -> None:
    result = normal(config_map(ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}]))
    assert "ownerReferences" not in result.manifest["metadata"]
    assert result.warnings == (
        "ConfigMap shop/settings: metadata.ownerReferences is dropped: content cannot choose the owner of an object",
    )


def test_content_cannot_forge_ownership() -> None:
    result = normal(
        config_map(
            labels={"core.rukpak.io/owner-name": "another", "core.rukpak.io/x": "y", "app": "shop"},
            annotations={"core.rukpak.io/applied": "sha256:0", "core.rukpak.io/owner-uid": "1", "note": "kept"},
        )
    )
    assert result.manifest["metadata"]["labels"] == {"app": "shop"}
    assert result.manifest["metadata"]["annotations"] == {"note": "kept"}
    assert [warning.split(": ")[1] for warning in result.warnings] == [
        "label core.rukpak.io/owner-name is dropped",
        "label core.rukpak.io/x is dropped",
        "annotation core.rukpak.io/applied is dropped",
        "annotation core.rukpak.io/owner-uid is dropped",
    ]


def test_annotations_that_users_set_for_us_stay() -> None:
    annotations = {"core.rukpak.io/prune": "false", "core.rukpak.io/force": "true"}
    assert metadata_of(config_map(annotations=annotations))["annotations"] == annotations


def test_the_revision_of_an_exported_deployment_is_left_to_its_controller() -> None:
    assert metadata_of(config_map(annotations={"deployment.kubernetes.io/revision": "3"})) == {
        "name": "settings",
        "namespace": "shop",
    }


def test_finalizers_stay_each_once() -> None:
    assert metadata_of(config_map(finalizers=["b.test/x", "a.test/x", "b.test/x"]))["finalizers"] == [
        "b.test/x",
        "a.test/x",
    ]


def test_an_unknown_field_is_dropped_with_a_warning() -> None:
    result = normal(config_map(nonsense=1))
    assert "nonsense" not in result.manifest["metadata"]
    assert result.warnings == ("ConfigMap shop/settings: metadata.nonsense is dropped: there is no such field",)


def test_a_null_label_is_the_empty_text_as_in_a_post() -> None:
    assert metadata_of(config_map(labels={"a": None}))["labels"] == {"a": ""}


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({}, "a manifest has no kind"),
        ({"kind": 1}, "a manifest has no kind"),
        ({"kind": "ConfigMap"}, "a manifest of kind ConfigMap has no apiVersion"),
        ({"kind": "ConfigMap", "apiVersion": ["v1"]}, "a manifest of kind ConfigMap has no apiVersion"),
        (config_map() | {"metadata": None}, "a manifest of kind ConfigMap: metadata must be a mapping, got null"),
        (config_map() | {"metadata": []}, "a manifest of kind ConfigMap: metadata must be a mapping, got a list"),
        (config_map(name=None), "a manifest of kind ConfigMap: metadata.name is missing"),
        (
            config_map(name="", generateName="x-"),
            "a manifest of kind ConfigMap: metadata.name is missing (generateName makes a new object at every apply)",
        ),
        (config_map(name=5), "a manifest of kind ConfigMap: metadata.name must be a string, got a number"),
        (
            config_map(name="../../pods/x"),
            "a manifest of kind ConfigMap: metadata.name '../../pods/x' cannot be the name of an object",
        ),
        (config_map(name=".."), "a manifest of kind ConfigMap: metadata.name '..' cannot be the name of an object"),
        (
            config_map(namespace=True),
            "a manifest of kind ConfigMap: metadata.namespace must be a string, got a boolean",
        ),
        (
            config_map(namespace="a/b"),
            "a manifest of kind ConfigMap: metadata.namespace 'a/b' of settings cannot be the name of a namespace",
        ),
        (config_map(labels=["a"]), "ConfigMap shop/settings: metadata.labels must be a mapping, got a list"),
        (config_map(labels={"a": 1}), "ConfigMap shop/settings: metadata.labels[a] must be a string, got a number"),
        (
            config_map(labels={1: "a"}),
            "ConfigMap shop/settings: metadata.labels has a key that is a number; keys must be strings",
        ),
        (
            config_map(annotations={"a": {}}),
            "ConfigMap shop/settings: metadata.annotations[a] must be a string, got a mapping",
        ),
        (config_map(finalizers="x"), "ConfigMap shop/settings: metadata.finalizers must be a list, got a string"),
        (config_map(finalizers=[1]), "ConfigMap shop/settings: metadata.finalizers[0] must be a string, got a number"),
    ],
)
def test_a_manifest_that_no_server_takes_is_refused_with_its_name_and_path(
    manifest: dict[str, Any], message: str
) -> None:
    with pytest.raises(ContentError) as caught:
        normal(manifest)
    assert str(caught.value) == message
