"""Rights that mean nothing, permissions without an account, and webhooks without a path."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Json, bundle, csv_document, manifest, permission, webhook

GOOD = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
_USUAL = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"]
_NOT_LIMITED = "is limited to resourceNames, and so granted to no request"


def told(csv: Json, *rules: str, others: tuple[Json, ...] = ()) -> list[tuple[str, str, str]]:
    found = [one for one in validate(bundle(csv=csv, others=others)) if one.rule in rules]
    assert {one.severity for one in found} <= {Severity.WARNING}
    return [(one.rule, one.message, one.hint) for one in found]


@pytest.mark.parametrize(
    ("verb", "near"),
    [
        ("gett", "get"),
        ("GET", "get"),
        ("updates", "update"),
        (" list", ""),
        ("delete-collection", "deletecollection"),
        ("get,list", ""),
        ("get list", ""),
    ],
)
def test_a_slip_of_a_verb_is_told(verb: str, near: str) -> None:
    csv = csv_document(cluster_permissions=[permission(rules=[{**GOOD, "verbs": ["watch", verb]}])])
    ((_, message, hint),) = told(csv, "RV1-975")
    assert message == f"'{verb}' is not a verb of Kubernetes"
    assert hint == f"Did you mean `{near}` instead of `{verb}`?" if near else hint.startswith("Write one of get,")


@pytest.mark.parametrize("verb", [*_USUAL, "use", "bind", "escalate", "impersonate", "post", "put", "head", "request"])
def test_verbs_of_any_api_are_accepted(verb: str) -> None:
    assert told(csv_document(permissions=[permission(rules=[{**GOOD, "verbs": [verb]}])]), "RV1-975") == []


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
    csv = csv_document(permissions=[permission(rules=[{**GOOD, "apiGroups": ["batch", group]}])])
    message = f"'{group}' is not an API group: the rule grants nothing in it"
    expected = [] if right is None else [("RV1-976", message, f"Write `{right}`.")]
    assert told(csv, "RV1-976") == expected


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
    csv = csv_document(permissions=[permission(rules=[{**GOOD, **rule}])])
    assert [found for _, found, _ in told(csv, "RV1-977")] == ([] if message is None else [message])


def test_shipped_roles_are_judged_too() -> None:
    role = manifest("Role", "r", api_version="rbac.authorization.k8s.io/v1", rules=[{**GOOD, "verbs": ["gett"]}])
    assert [rule for rule, *_ in told(csv_document(), "RV1-975", others=(role,))] == ["RV1-975"]


@pytest.mark.parametrize("field", ["permissions", "cluster_permissions"])
@pytest.mark.parametrize(
    ("account", "is_told"), [({}, True), ({"serviceAccountName": ""}, True), ({"serviceAccountName": "default"}, False)]
)
def test_a_permission_names_an_account(field: str, account: Json, *, is_told: bool) -> None:
    fields: dict[str, Any] = {field: [{**account, "rules": [GOOD]}]}
    message = "a permission names no service account: it is granted to `default`, and to all pods that run without an "
    found = [found for _, found, _ in told(csv_document(**fields), "RV1-924")]
    assert found == ([f"{message}account"] if is_told else [])


@pytest.mark.parametrize(
    ("kind", "path", "is_told"),
    [
        ("Validating", {}, True),
        ("Mutating", {"webhookPath": ""}, True),
        ("Conversion", {}, True),
        ("Validating", {"webhookPath": "/"}, False),
        ("Conversion", {"webhookPath": "/convert"}, False),
        ("OfAnotherType", {}, False),
    ],
)
def test_a_webhook_has_a_path(kind: str, path: Json, *, is_told: bool) -> None:
    csv = csv_document(webhooks=[webhook("w.demo.example.com", kind, **path)])
    message = "webhook 'w.demo.example.com' has no webhookPath: the API server calls `/`"
    assert [found for _, found, _ in told(csv, "RV1-939")] == ([message] if is_told else [])
