"""A rendering as a whole: order, shipped objects, merging, refusals, and that nothing else changes."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.registry_v1.format import RegistryV1Format
from rukpak_py.formats.registry_v1.render import render
from tests.unit.bundles import bundle, crd, csv_document, deployment, manifest, modes, webhook
from tests.unit.rendering import bundle_of, names, of_kind, only, rendered

EVERYTHING = bundle(
    csv=csv_document(
        webhooks=[webhook("v"), webhook("m", "Mutating")],
        cluster_permissions=[{"serviceAccountName": "b", "rules": []}],
    ),
    others=[manifest("ConfigMap", "c"), manifest("ClusterRole", "r", api_version="rbac.authorization.k8s.io/v1")],
)


def test_objects_come_in_upstreams_order() -> None:
    assert [obj["kind"] for obj in rendered(EVERYTHING, "a")] == [
        "ServiceAccount",
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "ConfigMap",
        "ClusterRole",
        "Deployment",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "Service",
    ]


def test_namespaced_kinds_go_where_the_operator_lives() -> None:
    objects = rendered(
        bundle(
            others=[
                manifest("ConfigMap", "c", namespace="elsewhere"),
                manifest("ClusterRole", "r"),
                manifest("Role", "foreign", api_version="iam.services.k8s.aws/v1alpha1"),
                manifest("VerticalPodAutoscaler", "with", namespace="x"),
                manifest("VerticalPodAutoscaler", "without"),
            ]
        ),
        "",
    )
    shipped = {obj["metadata"]["name"]: obj["metadata"].get("namespace") for obj in objects}
    assert {name: shipped[name] for name in ("c", "r", "foreign", "with", "without")} == {
        "c": "operators",
        "r": None,
        "foreign": "operators",
        "with": "x",
        "without": "operators",
    }
    parity = rendered(bundle(others=[manifest("VerticalPodAutoscaler", "without")]), "", parity=True)
    assert "namespace" not in only(parity, "VerticalPodAutoscaler")["metadata"]


@pytest.mark.parametrize("parity", [True, False])
def test_an_object_without_metadata_stays_without(*, parity: bool) -> None:
    """It cannot be applied; upstream emits it as it is."""
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}
    assert only(rendered(bundle(others=[nameless]), "", parity=parity), "ConfigMap")["metadata"] is None


def test_shipped_text_that_looks_like_a_template_is_not_rendered() -> None:
    text = "{{ .Values.x }} ${HOME} {% if %}"
    shipped = manifest("ConfigMap", "c", data={"a": text})
    assert only(rendered(bundle(others=[shipped])), "ConfigMap")["data"] == {"a": text}


def test_equal_objects_are_one() -> None:
    twice = [manifest("ConfigMap", "c", namespace="x"), manifest("ConfigMap", "c", namespace="y")]
    assert len(of_kind(rendered(bundle(others=twice)), "ConfigMap")) == 1
    assert len(of_kind(rendered(bundle(others=twice), "", parity=True), "ConfigMap")) == 2


def test_different_objects_of_one_name_are_refused() -> None:
    others = [manifest("ConfigMap", "c", data={"a": "1"}), manifest("ConfigMap", "c", data={"a": "2"})]
    with pytest.raises(InvalidBundleError) as refused:
        rendered(bundle(others=others))
    assert "manifests/other-0.yaml" in str(refused.value)
    assert "manifests/other-1.yaml" in str(refused.value)
    assert len(of_kind(rendered(bundle(others=others), "", parity=True), "ConfigMap")) == 2


def test_object_that_is_shipped_and_generated_differently_is_refused() -> None:
    shipped = manifest("Role", "", api_version="rbac.authorization.k8s.io/v1", rules=[])
    role = only(rendered(bundle(), "operators"), "Role")["metadata"]["name"]
    shipped["metadata"]["name"] = role
    with pytest.raises(ContentError) as refused:
        rendered(bundle(others=[shipped]), "operators")
    assert str(refused.value) == (
        f"Role.rbac.authorization.k8s.io/operators/{role} is defined differently in what is generated for the CSV "
        "and in manifests/other-0.yaml; keep one of the two, or give one another name"
    )


def test_objects_without_a_name_are_never_one() -> None:
    generated = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": name}} for name in ("a-", "b-")]
    assert len(of_kind(rendered(bundle(others=generated)), "ConfigMap")) == 2


def test_every_broken_rule_is_told_with_its_place_or_in_upstreams_words_alone() -> None:
    broken = bundle(
        csv=csv_document(deployments=[deployment("Bad")]), crds=[], others=[manifest("Job", "j")], package=None
    )
    with pytest.raises(InvalidBundleError) as parity:
        rendered(broken, "", parity=True)
    assert [line.split(" '")[0] for line in str(parity.value).split("\n")] == [
        "invalid cluster service version strategy deployment name",
        "cluster service definition references owned custom resource definition",
        "package name is empty",
        'unsupported resource "j" with kind "Job"',
    ]
    with pytest.raises(InvalidBundleError) as refused:
        rendered(broken)
    assert all(finding.file and finding.rule and finding.hint for finding in refused.value.findings)
    assert len(refused.value.findings) == 4


def test_owned_api_services_are_refused_except_for_parity() -> None:
    services = {"owned": [{"name": "a", "group": "b", "version": "v1", "kind": "C"}]}
    parts = bundle(csv=csv_document(apiservicedefinitions=services))
    with pytest.raises(InvalidBundleError, match="unsupported bundle: apiServiceDefintions are not supported"):
        rendered(parts)
    assert rendered(parts, "", parity=True)


def test_rules_come_before_options() -> None:
    parts = bundle(csv=csv_document(installModes=modes()), crds=[])
    with pytest.raises(ContentError, match="not found in bundle"):
        rendered(parts, parity=True)


def test_the_bundle_is_never_changed() -> None:
    read = bundle_of(EVERYTHING)
    before = deepcopy(read)
    for targets in (("",), ("a", "b")):
        for config in (None, {"env": [{"name": "A"}], "annotations": {"a": "b"}, "affinity": {}}):
            render(read, RenderOptions(watch_namespaces=targets, deployment_config=config))
    assert read == before


def test_a_status_of_a_definition_is_not_emitted() -> None:
    definition = {**crd(), "status": {"storedVersions": ["v1"]}}
    for parity in (True, False):
        assert "status" not in only(rendered(bundle(crds=[definition]), "", parity=parity), "CustomResourceDefinition")


SCRIPT = """
import sys, json
from tests.unit.formats.registry_v1.render.test_render_objects import EVERYTHING
from tests.unit.rendering import rendered
json.dump(rendered(EVERYTHING, "a", "b"), sys.stdout)
"""


def test_the_same_in_every_process() -> None:
    root = Path(__file__).parents[5]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert json.loads(outputs.pop()) == rendered(EVERYTHING, "a", "b")


def test_the_format_checks_and_renders_a_tree() -> None:
    form = RegistryV1Format()
    form.check(EVERYTHING)
    found = form.render(EVERYTHING, RenderOptions(install_namespace="operators", watch_namespaces=("a",)))
    assert [obj.head.name for obj in found.objects] == names(rendered(EVERYTHING, "a"))
    with pytest.raises(InvalidBundleError, match="package name is empty"):
        form.check(bundle(package=None))
    with pytest.raises(ContentError):
        form.check(bundle(files={"manifests/csv.yaml": None}))
