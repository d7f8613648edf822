"""Rules of the catalogs of OpenShift's community: bundles with removed APIs are for old clusters only."""

import json
from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.registry_v1.metadata.annotations import OPENSHIFT_VERSIONS
from rukpak_py.formats.registry_v1.rules import community
from tests.unit.bundles import Json, bundle, crd, csv_document, manifest
from tests.unit.readings import findings_of

OLD_CRD = {**crd(), "apiVersion": "apiextensions.k8s.io/v1beta1"}
OLD_ROLE = manifest("ClusterRole", "r", api_version="rbac.authorization.k8s.io/v1beta1")
OLD_BUDGET = manifest("PodDisruptionBudget", "p", api_version="policy/v1beta1")
WITHOUT = (
    f"OpenShift 4.9 does not serve CustomResourceDefinition {crd()['metadata']['name']} of {OLD_CRD['apiVersion']}"
)


def highest(value: Any) -> str:
    return json.dumps([{"type": "other", "value": 1}, {"type": "olm.maxOpenShiftVersion", "value": value}])


def rules(*, properties: str | None, versions: str | None, crds: list[Json], others: list[Json] | None = None) -> Any:
    csv = csv_document(annotations={} if properties is None else {"olm.properties": properties})
    annotations = {} if versions is None else {OPENSHIFT_VERSIONS: versions}
    tree = bundle(csv=csv, crds=crds, others=others or [], annotations=annotations)
    return findings_of(tree, community.FAMILY)


@pytest.mark.parametrize("properties", [highest("4.8"), highest("v4.8"), highest("4.8.1"), highest("4.6")])
@pytest.mark.parametrize("versions", ["v4.6-v4.8", "4.6-4.8", "=v4.8", "=4.7"])
def test_bundle_for_old_clusters_is_accepted(properties: str, versions: str) -> None:
    assert rules(properties=properties, versions=versions, crds=[OLD_CRD]) == []


def test_bundle_without_removed_apis_says_nothing() -> None:
    assert rules(properties=None, versions=None, crds=[crd()]) == []


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        (None, "is not set"),
        ("[]", "is not set"),
        ("no JSON", "is not set"),
        ("[" * 100_000, "is not set"),
        (highest("4.9"), 'is "4.9"'),
        (highest("4.10"), 'is "4.10"'),
        (highest(4.8), "is 4.8"),
        (highest("4"), 'is "4"'),
        (highest("5.1"), 'is "5.1"'),
    ],
)
def test_highest_version_has_to_serve_the_apis(properties: str | None, said: str) -> None:
    (finding,) = rules(properties=properties, versions="v4.6-v4.8", crds=[OLD_CRD])
    assert (finding.rule, finding.severity) == ("RV1-620", Severity.ERROR)
    assert finding.message == f"olm.maxOpenShiftVersion {said}, but {WITHOUT}"


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        (None, "is not set"),
        ("v4.6", "is 'v4.6'"),
        ("v4.6-v4.9", "is 'v4.6-v4.9'"),
        ("v4.6-v4.10", "is 'v4.6-v4.10'"),
        ("=v4.9", "is '=v4.9'"),
        ("v4.5,v4.6", "is 'v4.5,v4.6'"),
        ("old ones", "is 'old ones'"),
    ],
)
def test_range_has_to_serve_the_apis(versions: str | None, said: str) -> None:
    (finding,) = rules(properties=highest("4.8"), versions=versions, crds=[OLD_CRD])
    assert (finding.rule, finding.severity, finding.file) == ("RV1-621", Severity.ERROR, "metadata/annotations.yaml")
    assert finding.message == f"{OPENSHIFT_VERSIONS} {said}, but {WITHOUT}"


def test_later_removals_are_warnings_about_later_versions() -> None:
    assert rules(properties=highest("4.11"), versions="v4.6-v4.11", crds=[], others=[OLD_BUDGET]) == []
    found = rules(properties=highest("4.12"), versions="v4.6-v4.12", crds=[], others=[OLD_BUDGET])
    assert [(one.rule, one.severity) for one in found] == [
        ("RV1-620", Severity.WARNING),
        ("RV1-621", Severity.WARNING),
    ]
    assert "OpenShift 4.12 does not serve PodDisruptionBudget p of policy/v1beta1" in found[0].message


def test_first_removal_counts_and_others_of_it_are_counted() -> None:
    (finding,) = rules(
        properties=highest("4.8"), versions="v4.11", crds=[OLD_CRD], others=[OLD_BUDGET, OLD_ROLE, OLD_ROLE]
    )
    assert finding.message.endswith("and 2 more")
    assert "OpenShift 4.9 " in finding.message
