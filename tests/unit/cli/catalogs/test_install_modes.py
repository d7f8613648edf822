"""Namespaces to watch against the install modes that the catalog has of a bundle."""

import base64
import json
from typing import Any

import pytest

from rukpak_py.catalog.model import BUNDLE_OBJECT, CSV_METADATA, Property
from rukpak_py.cli.catalogs.install_modes import watch_problem
from tests.unit.catalog.catalogs import bundle


def modes(*supported: str) -> list[dict[str, Any]]:
    known = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    return [{"type": name, "supported": name in supported} for name in known]


def problem(watched: tuple[str, ...], *supported: str, namespace: str = "ops", **metadata: Any) -> str:
    value = {"installModes": modes(*supported), **metadata}
    return watch_problem(bundle("1.0.0", properties=[Property(type=CSV_METADATA, value=value)]), watched, namespace)


@pytest.mark.parametrize(
    ("watched", "needed"),
    [
        (("",), "AllNamespaces"),
        (("ops",), "OwnNamespace"),
        (("shop",), "SingleNamespace"),
        (("shop", "shop"), "SingleNamespace"),
        (("a", "b"), "MultiNamespace"),
    ],
)
def test_each_number_of_namespaces_needs_its_mode(watched: tuple[str, ...], needed: str) -> None:
    others = {"OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"} - {needed}
    assert problem(watched, needed) == ""
    assert problem(watched, *others).endswith(f"needs {needed}")


def test_several_with_its_own_need_two_modes() -> None:
    assert problem(("a", "ops"), "MultiNamespace").endswith("needs OwnNamespace")
    assert problem(("a", "ops"), "MultiNamespace", "OwnNamespace") == ""


def test_own_namespace_is_chosen_by_the_bundle_where_none_is_given() -> None:
    assert problem(("p-system",), "OwnNamespace", namespace="") == ""
    suggested = {"operatorframework.io/suggested-namespace": "home"}
    assert problem(("home",), "OwnNamespace", namespace="", annotations=suggested) == ""
    assert "(home)" in problem(("home",), "AllNamespaces", namespace="", annotations=suggested)


def test_bundle_without_install_modes_has_no_problem() -> None:
    assert watch_problem(bundle("1.0.0"), ("shop",), "") == ""
    assert watch_problem(bundle("1.0.0", properties=[Property(type=CSV_METADATA, value=None)]), ("shop",), "") == ""
    assert problem(()) == ""


def test_modes_are_those_of_the_csv_where_the_catalog_has_objects() -> None:
    csv = {"kind": "ClusterServiceVersion", "spec": {"installModes": modes("AllNamespaces")}}
    value = {"data": base64.b64encode(json.dumps(csv).encode()).decode()}
    found = watch_problem(bundle("1.0.0", properties=[Property(type=BUNDLE_OBJECT, value=value)]), ("shop",), "")
    assert found == "p.v1.0.0 supports AllNamespaces, and to watch namespace shop needs SingleNamespace"
