"""Rights that mean nothing."""

import pytest

from rukpak_py.core.findings import Severity
from tests.unit.formats.object_rules.judging import Json, findings_of, manifest

GOOD = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
_USUAL = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"]
_NOT_LIMITED = "is limited to resourceNames, and so granted to no request"


def of_rule(rule: str, fields: Json) -> list[tuple[str, str]]:
    role = manifest("ClusterRole", "r", "rbac.authorization.k8s.io/v1", rules=[{**GOOD, **fields}])
    found = [one for one in findings_of(role) if one.rule == rule]
    assert {one.severity for one in found} <= {Severity.WARNING}
    return [(one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("verb", "near"),
    [
        ("gett", "get"),
        ("GET", "get"),
        ("lsit", "list"),
        ("gte", "get"),
        ("updates", "update"),
        (" list", ""),
        ("delete-collection", "deletecollection"),
        ("get,list", ""),
        ("get list", ""),
    ],
)
def test_a_slip_of_a_verb_is_told(verb: str, near: str) -> None:
    ((message, hint),) = of_rule("OBJ-016", {"verbs": ["watch", verb]})
    assert message == f"'{verb}' is not a verb of Kubernetes"
    assert hint == f"Did you mean `{near}` instead of `{verb}`?" if near else hint.startswith("Write one of get,")


@pytest.mark.parametrize("verb", [*_USUAL, "use", "bind", "escalate", "impersonate", "post", "put", "head", "request"])
def test_verbs_of_any_api_are_accepted(verb: str) -> None:
    assert of_rule("OBJ-016", {"verbs": [verb]}) == []


@pytest.mark.parametrize(
    ("group", "right"),
    [
        ("apps/v1", "apps"),
        ("rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io"),
        ("v1", '""'),
        ("core", '""'),
        ("core/v1", '""'),
        ("apps", None),
        ("", None),
        ("*", None),
        ("v1.example.com", None),
    ],
)
def test_a_group_has_no_version(group: str, right: str | None) -> None:
    message = f"'{group}' is not an API group: the rule grants nothing in it"
    expected = [] if right is None else [(message, f"Write `{right}`.")]
    assert of_rule("OBJ-017", {"apiGroups": ["batch", group]}) == expected


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"verbs": ["create", "get"], "resourceNames": ["a"]}, f"`create` of configmaps {_NOT_LIMITED}"),
        (
            {"verbs": ["create"], "resources": ["pods/exec", "pods"], "resourceNames": ["a"]},
            f"`create` of pods {_NOT_LIMITED}",
        ),
        ({"verbs": ["create"], "resources": ["pods/exec"], "resourceNames": ["a"]}, None),
        ({"verbs": ["get", "update"], "resourceNames": ["a"]}, None),
        ({"verbs": ["*"], "resourceNames": ["a"]}, None),
        ({"verbs": ["create"], "resourceNames": []}, None),
        ({"verbs": ["create"]}, None),
    ],
)
def test_creating_is_not_limited_to_names(rule: Json, message: str | None) -> None:
    assert [found for found, _ in of_rule("OBJ-018", rule)] == ([] if message is None else [message])
