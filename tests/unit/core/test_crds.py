"""The one reading of a CustomResourceDefinition: of the cluster, of content and of charts."""

import json
from typing import Any

import pytest

from rukpak_py.core.crds import crd_facts
from rukpak_py.core.objects import GroupKind


def crd(**spec: Any) -> dict[str, Any]:
    whole = {"group": "shop.test", "names": {"kind": "Shop", "plural": "shops"}, "scope": "Namespaced", "versions": []}
    given = {name: value for name, value in (whole | spec).items() if value is not None}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": given}


def test_crd_gives_the_same_facts_as_json_and_decoded() -> None:
    versions = [{"name": "v1", "served": True, "schema": {"a": [1]}}, {"name": "v1beta1", "served": False}]
    manifest = crd(versions=versions)
    manifest["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    found = crd_facts(manifest)
    assert found is not None
    assert found == crd_facts(json.dumps(manifest).encode())
    assert (found.kind, found.plural, found.versions) == (GroupKind("shop.test", "Shop"), "shops", ("v1",))
    assert found.namespaced
    assert found.is_established


def test_crd_of_a_cluster_kind_without_status_is_neither_namespaced_nor_established() -> None:
    found = crd_facts(crd(scope="Cluster"))
    assert found is not None
    assert (found.namespaced, found.is_established, found.versions) == (False, False, ())


def test_crd_version_that_does_not_say_whether_it_is_served_is_not_served() -> None:
    found = crd_facts(crd(versions=[{"name": "v1"}]))
    assert found is not None
    assert found.versions == ()


@pytest.mark.parametrize("status", [None, [], "x", {"conditions": None}, {"conditions": [5]}])
def test_crd_with_any_status_in_content_is_not_established(status: object) -> None:
    found = crd_facts({**crd(), "status": status})
    assert found is not None
    assert not found.is_established


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"apiVersion": 1, "kind": None, "spec": None},
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"},
        crd(names=[]),
        crd(names={"kind": "Shop"}),
        crd(group=5),
        crd(group=None),
        crd(group=""),
        crd(names={"kind": "", "plural": "shops"}),
        crd(names={"kind": "Shop", "plural": ""}),
        crd(scope=None),
        crd(versions=[5]),
    ],
)
def test_malformed_crd_has_no_facts(manifest: dict[str, Any]) -> None:
    assert crd_facts(manifest) is None
    assert crd_facts(json.dumps(manifest).encode()) is None
