"""Values after a way through Go's types: parts that stay, go, are added or are rewritten."""

from typing import Any

import pytest

from rukpak_py.formats.go_types.restore import TypeDefect, restore


def restored(value: Any, type_name: str) -> Any:
    defects: list[TypeDefect] = []
    result = restore(value, type_name, keep_unknown=False, defects=defects, unknown=[])
    assert defects == []
    return result


@pytest.mark.parametrize(
    ("type_name", "value", "written"),
    [
        ("EnvVar", {"name": "a", "value": ""}, {"name": "a"}),
        ("PodSpec", {"containers": [], "hostNetwork": False, "nodeSelector": {}}, {"containers": []}),
        ("Container", {"name": "c", "env": [], "stdin": False}, {"name": "c", "resources": {}}),
        ("ContainerPort", {"hostPort": 0, "containerPort": 1}, {"containerPort": 1}),
        ("WebhookClientConfig", {"caBundle": ""}, {}),
        ("PolicyRule", {"verbs": ["get"], "apiGroups": []}, {"verbs": ["get"]}),
    ],
)
def test_an_empty_member_is_left_out(type_name: str, value: Any, written: Any) -> None:
    assert restored(value, type_name) == written


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("PodSpec", {"containers": [], "securityContext": {}, "affinity": {}, "priority": 0}),
        ("SecurityContext", {"privileged": False, "runAsUser": 0, "capabilities": {}}),
        ("Toleration", {"tolerationSeconds": 0}),
        ("JSONSchemaProps", {"minimum": 0, "maxLength": 0, "x-kubernetes-preserve-unknown-fields": False, "$ref": ""}),
        ("CustomResourceSubresources", {"status": {}}),
        ("WebhookClientConfig", {"url": ""}),
    ],
)
def test_an_empty_member_stays_where_go_has_a_pointer(type_name: str, value: Any) -> None:
    assert restored(value, type_name) == value


@pytest.mark.parametrize(
    ("type_name", "written"),
    [
        ("PolicyRule", {"verbs": None}),
        ("StrategyDeploymentPermissions", {"serviceAccountName": "", "rules": None}),
        ("ServiceReference", {"namespace": "", "name": ""}),
        ("InstallMode", {"type": "", "supported": False}),
        ("TypedLocalObjectReference", {"apiGroup": None, "kind": "", "name": ""}),
        ("WebhookConversion", {"conversionReviewVersions": None}),
        ("TCPSocketAction", {"port": 0}),
        ("ResourceFieldSelector", {"resource": "", "divisor": "0"}),
        ("ObjectMeta", {}),
        ("SpecDescriptor", {"path": ""}),
        (
            "DeploymentSpec",
            {"selector": None, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}},
        ),
    ],
)
def test_required_members_and_structs_are_written_when_nothing_is_given(type_name: str, written: Any) -> None:
    assert restored({}, type_name) == written
    assert restored(None, type_name) == written
    assert restored(dict.fromkeys(written), type_name) == written  # null is absent


def test_a_csv_without_a_version_has_version_zero_and_no_release() -> None:
    spec = restored({}, "ClusterServiceVersion")["spec"]
    assert spec["version"] == "0.0.0"
    assert "release" not in spec


@pytest.mark.parametrize(
    ("type_name", "value", "written"),
    [
        ("[]EnvVar", [None], [{"name": ""}]),
        ("[]string", ["a", None], ["a", ""]),
        ("map[string]string", {"a": None}, {"a": ""}),
        ("map[string]bool", {"a": None, "b": True}, {"a": False, "b": True}),
        ("[]*string", [None], [None]),
        ("core.ResourceList", {"cpu": None}, {"cpu": "0"}),
        ("[]JSON", [None, 0, "", {}], [None, 0, "", {}]),
        ("[]string", [], []),
        ("[]string", None, None),
        ("map[string]string", {}, {}),
    ],
)
def test_null_in_a_list_or_map_is_the_zero_value(type_name: str, value: Any, written: Any) -> None:
    assert restored(value, type_name) == written


def test_members_of_an_embedded_struct_stand_beside_those_around_it() -> None:
    volume = {"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}
    assert restored(volume, "Volume") == volume


@pytest.mark.parametrize(
    ("type_name", "value", "written"),
    [
        ("int32", 4294967296, 0),
        ("int32", 2147483648, -2147483648),
        ("int32", -2147483649, 2147483647),
        ("int64", -(1 << 63), -(1 << 63)),
        ("int32", 9.3e18, 0),  # as the processor converts what does not fit
        ("int64", 9.3e18, -(1 << 63)),
        ("float64", 5, 5),
        ("float64", 0.5, 0.5),
        ("float64", 1e300, 1e300),
        ("float64", 9007199254740993, 9007199254740992),
        ("[]uint8", [256, 257, None, 65], "AAEAQQ=="),
        ("[]uint8", [], ""),
    ],
)
def test_numbers_become_what_fits_their_type(type_name: str, value: Any, written: Any) -> None:
    result = restored(value, type_name)
    assert (result, type(result)) == (written, type(written))


@pytest.mark.parametrize(
    ("type_name", "value", "written"),
    [
        ("Quantity", "1000m", "1"),
        ("Quantity", " 1024Mi ", "1Gi"),
        ("Quantity", 0.1, "100m"),
        ("IntOrString", 8080, 8080),
        ("IntOrString", "8080", "8080"),
        ("IntOrString", "", ""),
        ("OperatorVersion", "v1.02", "1.2.0"),
        ("OperatorRelease", "1.alpha", "1.alpha"),
        ("Time", "2021-01-02T03:04:05.5+02:00", "2021-01-02T01:04:05Z"),
        ("Time", "0001-01-01T00:00:00Z", None),
        ("RawMessage", {"a": [1.5]}, {"a": [1.5]}),
        ("FieldsV1", {"f:metadata": {}}, {"f:metadata": {}}),
        ("[]uint8", "YWI=\n", "YWI="),
        ("[]uint8", "YW\r\nJj", "YWJj"),
        ("[]uint8", "YWJ=", "YWI="),  # bits that nothing is made of
    ],
)
def test_types_with_json_code_of_their_own_write_one_form(type_name: str, value: Any, written: Any) -> None:
    assert restored(value, type_name) == written


def test_a_zero_time_vanishes_only_where_go_has_no_pointer() -> None:
    zero = "0001-01-01T00:00:00Z"
    assert restored({"creationTimestamp": zero, "deletionTimestamp": zero}, "ObjectMeta") == {"deletionTimestamp": None}


def test_a_raw_value_stays_even_when_it_is_empty() -> None:
    descriptors = [{"path": "a", "value": 0}, {"path": "b", "value": None}, {"path": "c", "value": ""}]
    written = [{"path": "a", "value": 0}, {"path": "b"}, {"path": "c", "value": ""}]
    assert restored(descriptors, "[]SpecDescriptor") == written


def test_an_old_definition_loses_what_the_new_version_moved() -> None:
    old = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "version": "v1", "validation": {"openAPIV3Schema": {}}},
    }
    result = restored(old, "CustomResourceDefinition")
    assert result["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    assert result["spec"] == {
        "group": "example.com",
        "names": {"plural": "", "kind": ""},
        "scope": "",
        "versions": None,
    }
