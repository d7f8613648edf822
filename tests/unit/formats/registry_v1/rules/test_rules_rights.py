"""Permissions without an account, and webhooks without a path."""

from typing import Any

import pytest

from rukpak_py.core.findings import Severity
from rukpak_py.formats.validation import validate
from tests.unit.bundles import Json, bundle, csv_document, manifest, permission, webhook

GOOD = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


def told(csv: Json, *rules: str, others: tuple[Json, ...] = ()) -> list[tuple[str, str, str]]:
    found = [one for one in validate(bundle(csv=csv, others=others)) if one.rule in rules]
    assert {one.severity for one in found} <= {Severity.WARNING}
    return [(one.rule, one.message, one.hint) for one in found]


def test_permissions_and_shipped_roles_are_judged() -> None:
    role = manifest("Role", "r", api_version="rbac.authorization.k8s.io/v1", rules=[{**GOOD, "verbs": ["gett"]}])
    csv = csv_document(permissions=[permission(rules=[GOOD, {**GOOD, "apiGroups": ["apps/v1"]}])])
    found = [(one.rule, one.path) for one in validate(bundle(csv=csv, others=[role])) if one.rule.startswith("OBJ")]
    groups = "spec.install.spec.permissions[0].rules[1].apiGroups[0]"
    assert sorted(found) == [("OBJ-016", "rules[0].verbs[0]"), ("OBJ-017", groups)]


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
