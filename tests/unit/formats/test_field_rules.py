"""Unknown fields, and integers that do not fit: told by every format, and refused where something is rendered."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.formats.registry_v1.format import RegistryV1Format
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Json, bundle, crd, csv_document, deployment, manifest, tree_of, webhook
from tests.unit.rendering import only, rendered

HUGE = (1 << 32) + 80
PORTS = {"ports": [{"port": HUGE}]}
REPLICAS = "spec.install.spec.deployments[0].spec.replicas"
RANGE = "Write a number from -2147483648 to 2147483647."


def deployed(**spec: Any) -> Tree:
    entry = deployment("d")
    return bundle(csv=csv_document(deployments=[{**entry, "spec": {**entry["spec"], **spec}}]))


def plain(*manifests: Json) -> Tree:
    return tree_of({"manifests/all.yaml": list(manifests)})


def told(tree: Tree, rule: str) -> list[tuple[str, int]]:
    return [(finding.message, finding.line) for finding in validate(tree) if finding.rule == rule]


@pytest.mark.parametrize(("replicas", "spelled"), [(HUGE, f"{HUGE}"), (-HUGE, f"-{HUGE}"), (1e30, "1.0e+30")])
def test_an_integer_of_the_csv_that_does_not_fit_is_refused_with_its_place(replicas: float, spelled: str) -> None:
    with pytest.raises(InvalidBundleError) as refused:
        rendered(deployed(replicas=replicas))
    (finding,) = refused.value.findings
    assert (finding.rule, finding.path, finding.hint) == ("RV1-903", REPLICAS, RANGE)
    assert finding.message == f"{REPLICAS} must be an integer of 32 bits, got number {spelled}"
    assert finding.line


def test_the_reference_makes_another_integer_of_it() -> None:
    assert only(rendered(deployed(replicas=HUGE), "", parity=True), "Deployment")["spec"]["replicas"] == 80


@pytest.mark.parametrize(
    "tree",
    [
        bundle(csv=csv_document(webhooks=[webhook("w", containerPort=HUGE)])),
        bundle(crds=[crd(conversion={"webhook": {"clientConfig": {"service": {"port": HUGE}}}})]),
        bundle(crds=[crd(versions=[{"name": "v1", "schema": {"openAPIV3Schema": {"maxLength": 1e30}}}])]),
    ],
)
def test_so_are_those_of_webhooks_and_definitions(tree: Tree) -> None:
    assert [defect.finding.rule for defect in read(tree).defects] == ["RV1-903"]


def test_an_integer_of_a_shipped_object_that_does_not_fit_is_refused_in_the_cluster_too() -> None:
    tree = bundle(others=[manifest("Service", "s", spec=PORTS)])
    assert told(tree, "RV1-961") == [(f"spec.ports[0].port must be an integer of 32 bits, got number {HUGE}", 7)]
    with pytest.raises(InvalidBundleError, match=r"manifests/other-0.yaml:7:11: spec.ports\[0\].port must be"):
        RegistryV1Format().render(tree, RenderOptions())


def test_an_integer_of_a_plain_manifest_that_does_not_fit_is_refused_in_the_cluster_too() -> None:
    tree = plain(manifest("ConfigMap", "c"), manifest("Service", "s", spec=PORTS))
    assert told(tree, "PLAIN-011") == [(f"spec.ports[0].port must be an integer of 32 bits, got number {HUGE}", 12)]
    PlainFormat().check(tree)  # as upstream, which looks at it when it is applied
    with pytest.raises(ContentError, match=r"manifests/all.yaml: Service s: spec.ports\[0\].port must be") as refused:
        PlainFormat().render(tree, RenderOptions())
    assert isinstance(refused.value, InvalidBundleError)
    assert refused.value.findings[0].hint == RANGE


def test_numbers_of_unknown_kinds_are_left_alone() -> None:
    tree = plain(manifest("Service", "s", api_version="serving.knative.dev/v1", spec=PORTS))
    assert validate(tree) == []


def test_unknown_fields_of_shipped_objects_are_told_and_left_to_the_cluster() -> None:
    tree = bundle(
        others=[manifest("ConfigMap", "c", immutabel=True), manifest("ServiceMonitor", "m", what={"ever": 1})]
    )
    assert told(tree, "RV1-960") == [("unknown field immutabel", 5)]
    assert only(rendered(tree), "ConfigMap")["immutabel"] is True


def test_unknown_fields_of_rules_of_roles_are_told_once() -> None:
    role = manifest("Role", "r", api_version="rbac.authorization.k8s.io/v1", rules=[{"verb": ["get"]}], more=1)
    tree = bundle(others=[role])
    assert [message for message, _ in told(tree, "RV1-960")] == ["unknown field more"]
    assert [message for message, _ in told(tree, "RV1-945")] == ["unknown field rules[0].verb"]


def test_unknown_fields_of_plain_manifests_are_told_and_left_to_the_cluster() -> None:
    tree = plain(manifest("ConfigMap", "c", dta={"a": "b"}))
    assert told(tree, "PLAIN-010") == [("unknown field dta", 5)]
    (made,) = PlainFormat().render(tree, RenderOptions()).objects
    assert made.manifest()["dta"] == {"a": "b"}


@pytest.mark.parametrize(
    ("tree", "messages"),
    [
        (bundle(), []),
        (bundle(csv=csv_document(deployments=[], permissions=[], owned=[]), crds=[]), ["the bundle has no objects"]),
        (bundle(csv=csv_document(deployments=[], owned=[]), crds=[]), []),
        (bundle(csv=csv_document(deployments=[], permissions=[], owned=[]), crds=[],
                others=[manifest("ConfigMap", "c")]), []),
    ],
)  # fmt: skip
def test_a_bundle_that_installs_nothing_is_told(tree: Tree, messages: list[str]) -> None:
    assert [message for message, _ in told(tree, "RV1-962")] == messages
    assert (rendered(tree) == []) == bool(messages)
