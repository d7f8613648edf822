"""Rules for what upstream's tools accept and no cluster does: each with what it finds; a good bundle has none of it."""

from typing import Any

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Fix, InvalidBundleError, Profile, Severity
from rukpak_py.formats.registry_v1.read import read
from rukpak_py.formats.registry_v1.render import render
from rukpak_py.formats.rules import Locator
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Json, bundle, crd, csv_document, deployment, manifest, permission, webhook

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
WEBHOOK = "w.demo.example.com"
WARNINGS = {"RV1-701", "RV1-944", "RV1-945", "RV1-951"}
CONTAINER = {"name": "a", "image": "b"}


def told(tree: Tree, rule: str) -> list[str]:
    """An error of the question whether the bundle installs, but for `WARNINGS`; to opm it is none."""
    found = [finding for finding in validate(tree) if finding.rule == rule]
    assert not [finding for finding in found if finding.is_error != (rule not in WARNINGS)]
    by_opm = validate(tree, profiles=[Profile.OPM])
    assert not [finding for finding in by_opm if finding.rule == rule and finding.is_error]
    return [finding.message for finding in found]


def deployed(**spec: Any) -> Tree:
    entry = deployment("d")
    return bundle(csv=csv_document(deployments=[{**entry, "spec": {**entry["spec"], **spec}}]))


def served(kind: str = "Validating", **fields: Any) -> Tree:
    return bundle(csv=csv_document(webhooks=[webhook(WEBHOOK, kind, **fields)]))


def test_good_bundle_is_not_refused() -> None:
    good = served(
        webhookPath="/path",
        targetPort=9443,
        failurePolicy="Fail",
        matchPolicy="Exact",
        timeoutSeconds=10,
        rules=[{"apiGroups": ["a"], "apiVersions": ["v1"], "resources": ["b"], "operations": ["*"], "scope": "*"}],
    )
    assert [finding for finding in validate(good) if finding.rule >= "RV1-93"] == []


@pytest.mark.parametrize(
    ("spec", "rule", "messages"),
    [
        ({"selector": {}}, "RV1-932", ["deployment 'd' has no selector"]),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}, "RV1-932", []),
        (
            {"selector": {"matchLabels": {"app": "other"}}},
            "RV1-932",
            ["deployment 'd' selects pods with app=other, which its own pods do not have"],
        ),
        ({"template": {"spec": {}}}, "RV1-933", ["deployment 'd' has no containers"]),
        (
            {"template": {"spec": {"containers": [{"name": "A_b"}, {"image": "i"}, CONTAINER, CONTAINER]}}},
            "RV1-933",
            [
                "deployment 'd': container 'A_b' has no image",
                "deployment 'd': the container name 'A_b' is invalid",
                "deployment 'd': a container has no name",
                "deployment 'd': two containers have the name 'a'",
            ],
        ),
        (
            {"template": {"metadata": {"labels": {"a b": "c", "d": "e f"}}, "spec": {"containers": [CONTAINER]}}},
            "RV1-934",
            ["deployment 'd' has the invalid label a b=c", "deployment 'd' has the invalid label d=e f"],
        ),
    ],
)
def test_deployment_that_a_cluster_refuses_is_told(spec: Json, rule: str, messages: list[str]) -> None:
    found = told(deployed(**spec), rule)
    assert len(found) == len(messages)
    assert all(text.startswith(message) for text, message in zip(found, messages, strict=True))


@pytest.mark.parametrize(
    ("rule", "messages"),
    [
        (RULE, []),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, []),
        ({**RULE, "verbs": []}, ["a rule has no verbs"]),
        ({"verbs": ["get"]}, ["a rule has neither resources nor nonResourceURLs"]),
        ({"verbs": ["get"], "resources": ["pods"]}, ["a rule has resources but no apiGroups"]),
        ({**RULE, "nonResourceURLs": ["/"]}, ["a rule has resources and nonResourceURLs, which exclude each other"]),
    ],
)
def test_rules_of_permissions_and_of_shipped_roles(rule: Json, messages: list[str]) -> None:
    assert told(bundle(csv=csv_document(permissions=[permission("demo-sa", [rule])])), "RV1-935") == messages
    assert told(bundle(others=[manifest("ClusterRole", "c", rules=[rule])]), "RV1-935") == messages


def test_a_webhook_of_an_unknown_type_is_left_out() -> None:
    (finding,) = [found for found in validate(served("ValidatingWebhook")) if found.rule == "RV1-937"]
    assert finding.message == f"webhook '{WEBHOOK}' is of the unknown type 'ValidatingWebhook': it is left out"
    assert finding.hint == "Did you mean `type: ValidatingAdmissionWebhook`?"


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("MutatingAdmisionWebhook", Fix(text="MutatingAdmissionWebhook")),
        ("validatingadmissionwebhook", Fix(text="ValidatingAdmissionWebhook")),
        ("AdmissionWebhook", None),  # of two kinds
        ("Webhook", None),
    ],
)
def test_type_of_a_webhook_is_corrected_where_it_is_a_slip(written: str, fix: Fix | None) -> None:
    (finding,) = [found for found in validate(served(written)) if found.rule == "RV1-937"]
    assert finding.fix == fix


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"generateName": "a.b"}, "generateName 'a.b' must have three segments or more, separated by dots"),
        ({"webhookPath": "path"}, "webhookPath 'path' must begin with /"),
        ({"containerPort": 65536}, "containerPort 65536 must be between 1 and 65535"),
        ({"targetPort": -1}, "targetPort -1 must be between 1 and 65535"),
        ({"sideEffects": "Some"}, "sideEffects 'Some' must be one of None, NoneOnDryRun"),
        ({"sideEffects": None}, "sideEffects is missing"),
        ({"failurePolicy": "fail"}, "failurePolicy 'fail' must be one of Fail, Ignore"),
        ({"timeoutSeconds": 31}, "timeoutSeconds 31 must be between 1 and 30"),
        (
            {"rules": [{"operations": ["create"]}]},
            "operation 'create' must be one of *, CONNECT, CREATE, DELETE, UPDATE",
        ),
        ({"rules": [{"scope": "Namespace"}]}, "scope 'Namespace' must be one of *, Cluster, Namespaced"),
    ],
)
def test_field_of_a_webhook_that_a_cluster_refuses_is_told(fields: Json, problem: str) -> None:
    assert told(served(**fields), "RV1-938") == [f"webhook '{fields.get('generateName', WEBHOOK)}': {problem}"]


def test_a_cluster_takes_no_target_port_for_the_port() -> None:
    assert told(served(targetPort=0), "RV1-938") == []


def versions(schema: Json) -> Json:
    return crd(versions=[{"name": "v1", "served": True, "storage": True, **schema}])


@pytest.mark.parametrize(
    ("schema", "rule", "messages"),
    [
        ({}, "RV1-940", ["version 'v1' of CRD 'demos.demo.example.com' has no schema"]),
        ({"schema": {"openAPIV3Schema": {"type": "obj"}}}, "RV1-941", ["the type 'obj' of a schema does not exist"]),
        (
            {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"type": {"type": "string"}}}}},
            "RV1-941",
            [],
        ),
        (
            {
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"a": {"type": "array", "items": {"type": "int"}, "anyOf": [{"type": "x"}]}},
                    }
                }
            },
            "RV1-941",
            ["the type 'x' of a schema does not exist", "the type 'int' of a schema does not exist"],
        ),
    ],
)
def test_schema_that_a_cluster_refuses_is_told(schema: Json, rule: str, messages: list[str]) -> None:
    assert sorted(told(bundle(crds=[versions(schema)]), rule)) == sorted(messages)


@pytest.mark.parametrize(
    ("other", "rule", "messages"),
    [
        (manifest("ConfigMap", "c", data={"a": 1, "b": "2"}), "RV1-942", ["data.a of ConfigMap 'c' is not a string"]),
        (manifest("Secret", "c", stringData={"a": True}), "RV1-942", ["stringData.a of Secret 'c' is not a string"]),
        ({"kind": "Role", "metadata": {"name": "r"}}, "RV1-943", ["Role 'r' has no apiVersion"]),
        (manifest("Service", "1-a"), "RV1-944", ["Service '1-a' has an invalid name"]),
        (manifest("Service", "a-1"), "RV1-944", []),
        (manifest("Role", "r", rules=[{**RULE, "verb": ["get"]}]), "RV1-945", ["unknown field rules[0].verb"]),
    ],
)
def test_shipped_object_that_a_cluster_refuses_is_told(other: Json, rule: str, messages: list[str]) -> None:
    found = told(bundle(others=[other]), rule)
    assert len(found) == len(messages)
    assert all(text.startswith(message) for text, message in zip(found, messages, strict=True))


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("Role", "Add `apiVersion: rbac.authorization.k8s.io/v1`."),
        ("ConsoleLink", "Add the `apiVersion` of its kind."),
    ],
)
def test_an_api_version_that_is_missing_is_named(kind: str, hint: str) -> None:
    tree = bundle(others=[{"kind": kind, "metadata": {"name": "r"}}])
    assert [one.hint for one in validate(tree) if one.rule == "RV1-943"] == [hint]


def test_an_api_version_that_is_missing_is_told_once() -> None:
    definition = {key: value for key, value in crd().items() if key != "apiVersion"}
    pod = {"kind": "Pod", "metadata": {"name": "p"}}
    later = crd("later.example.com")
    del later["apiVersion"]
    tree = bundle(crds=[definition], others=[pod], files={"manifests/x.yaml": [manifest("ConfigMap", "c"), later]})
    told_of = {(one.file, one.rule) for one in validate(tree) if one.rule in {"RV1-301", "RV1-013", "RV1-943"}}
    assert told_of == {
        ("manifests/demos.demo.example.com.crd.yaml", "RV1-301"),
        ("manifests/other-0.yaml", "RV1-013"),
        ("manifests/x.yaml", "RV1-943"),
    }


@pytest.mark.parametrize(
    ("file", "content", "hint"),
    [
        ("dependencies.yaml", [[{"type": "olm.package", "value": {}}]], "Write a list below"),
        ("dependencies.yaml", {"dependancies": []}, "Did you mean `dependencies` instead of `dependancies`?"),
        ("dependency.yaml", {"dependency": [{"type": "a"}]}, "Did you mean `dependencies` instead of `dependency`?"),
        ("dependencies.yaml", {"dependencies": []}, None),
        ("other.yaml", {"a": "b"}, None),
    ],
)
def test_dependencies_that_are_not_read_are_told(file: str, content: Any, hint: str | None) -> None:
    found = [one for one in validate(bundle(files={f"metadata/{file}": content})) if one.rule == "RV1-950"]
    assert [one.message for one in found] == ([f"no dependencies are read from metadata/{file}"] if hint else [])
    assert all(one.hint.startswith(hint or "") for one in found)


@pytest.mark.parametrize(
    ("file", "content", "message", "line"),
    [
        ("metadata/dependencies.yaml", "a:\n  b: [", "cannot be parsed as YAML", 3),
        ("metadata/dependencies.yaml", "dependencies: []\n---\na: [", None, 0),
        ("metadata/dependencies.yaml", None, None, 0),
        ("tests/scorecard/config.yaml", "a:\n  b: [", "cannot be parsed as YAML", 3),
        ("tests/scorecard/config.yaml", "- a\n", "the configuration of scorecard must be an object", 0),
        ("tests/scorecard/config.yaml", "", "the configuration of scorecard must be an object", 0),
        ("tests/scorecard/config.yaml", "a: b\nstages: x\n", "stages of the configuration of scorecard must be", 2),
        ("tests/scorecard/config.yaml", "stages:\n- tests: []\n", None, 0),
        ("tests/scorecard/config.yaml", "kind: Configuration\n", None, 0),
        ("tests/scorecard/config.yaml", None, None, 0),
    ],
)
def test_files_beside_the_manifests_are_decoded(file: str, content: str | None, message: str | None, line: int) -> None:
    rule = "RV1-950" if "dependencies" in file else "RV1-952"
    found = [one for one in validate(bundle(files={file: content})) if one.rule == rule]
    assert [one.message.startswith(message or "-") for one in found] == ([True] if message else [])
    assert all((one.file, one.severity) == (file, Severity.WARNING) for one in found)
    assert [one.line for one in found if line] == ([line] if line else [])


@pytest.mark.parametrize(("written", "is_told"), [("4.10", True), ("'4.10'", False)])
def test_the_highest_version_of_openshift_is_a_text(written: str, *, is_told: bool) -> None:
    text = f"properties:\n- type: olm.maxOpenShiftVersion\n  value: {written}\n"
    assert bool(told(bundle(files={"metadata/properties.yaml": text}), "RV1-951")) is is_told


def test_a_bundle_that_installs_nothing() -> None:
    assert told(bundle(csv=csv_document(deployments=[])), "RV1-701") == ["the CSV installs no deployment"]


@pytest.mark.parametrize(
    ("first", "second", "is_told"),
    [("a.b", "a-b", True), ("x" * 60 + "a", "x" * 60 + "b", True), ("a", "b", False)],
)
def test_services_of_two_deployments_with_webhooks(first: str, second: str, *, is_told: bool) -> None:
    webhooks = [webhook(f"w{n}", deployment_name=name, webhookPath="/x") for n, name in enumerate((first, second))]
    tree = bundle(csv=csv_document(deployments=[deployment(first), deployment(second)], webhooks=webhooks))
    found = [one for one in validate(tree) if one.rule == "RV1-936"]
    assert [one.is_error and one.line > 1 for one in found] == [True] * is_told
    if is_told:
        with pytest.raises(InvalidBundleError) as refused:
            render(read(tree).complete(), locator=Locator(tree))
        assert [one.location for one in refused.value.findings] == [found[0].location]
