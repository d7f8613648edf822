"""Versions that a CSV names: those that it upgrades from, the Kubernetes that it needs, and the APIs that it owns."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.rules import owned_apis, upgrades
from tests.unit.bundles import bundle, crd, csv_document, owned_crd
from tests.unit.readings import findings_of, told

NAME = "demo.v1.2.3"
_NO_KUBERNETES = "and no Kubernetes has such a version: OLM never installs it"
_NO_RANGE = "is not a range of versions: no version is skipped"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"replaces": "demo.v1.2.2", "skips": ["demo.v1.2.1", "demo.v1.2.0"]}, []),
        ({"replaces": NAME}, [("RV1-972", f"the CSV '{NAME}' replaces itself")]),
        ({"skips": ["demo.v1.2.2", NAME]}, [("RV1-972", f"the CSV '{NAME}' skips itself")]),
        ({"skips": NAME, "replaces": 5}, []),
        ({"minKubeVersion": "1.25.0"}, []),
        ({"minKubeVersion": "0.0.0"}, []),
        ({"minKubeVersion": "1.50.0"}, []),
        ({"minKubeVersion": "4.12"}, []),
        *(
            ({"minKubeVersion": version}, [("RV1-974", f"spec.minKubeVersion is {version}, {_NO_KUBERNETES}")])
            for version in ("2.0.0", "4.12.0", "1.51.0", "1.99.0", "1.190.0")
        ),
        *(
            ({"annotations": {"olm.skipRange": text}}, [])
            for text in ("", "<1.2.3", ">=1.0.0 <1.2.3", "1.x || >=0.9.0 <0.9.9")
        ),
        *(
            ({"annotations": {"olm.skipRange": text}}, [("RV1-973", f"olm.skipRange '{text}' {_NO_RANGE}")])
            for text in ("<v1.2.3", "^1.0.0", "all before", ">=1.0.0 ||", "<1.2")
        ),
    ],
)
def test_versions_are_judged(fields: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    tree = bundle(csv=csv_document(NAME, **fields))
    assert told(tree, upgrades.FAMILY) == expected
    assert {finding.severity for finding in findings_of(tree, upgrades.FAMILY)} <= {Severity.WARNING}


def test_a_csv_without_a_name_does_not_replace_itself() -> None:
    assert told(bundle(csv=csv_document("", replaces="", skips=[""])), upgrades.FAMILY) == []


@pytest.mark.parametrize(("served", "is_told"), [(True, False), (None, False), (False, True)])
def test_an_owned_version_is_served(served: Any, *, is_told: bool) -> None:
    """A second version that is neither served nor owned is not told."""
    schema = {"schema": {"openAPIV3Schema": {"type": "object"}}}
    versions = [
        {"name": "v1", "served": served, "storage": True, **schema},
        {"name": "v1alpha1", "served": False, "storage": False, **schema},
    ]
    tree = bundle(crds=[crd(versions=versions)], csv=csv_document(owned=[owned_crd()]))
    message = "the owned CRD demos.demo.example.com, version v1, kind Demo is not served"
    assert [one for one in told(tree, owned_apis.FAMILY) if one[0] == "RV1-406"] == (
        [("RV1-406", message)] if is_told else []
    )
