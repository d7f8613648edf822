"""Permissions that reach further than they look are called out; ordinary ones are not."""

import pytest

from rukpak_py.apply.permissions.permission import Permission, permissions_of
from rukpak_py.apply.permissions.risky import RISKY_PERMISSIONS, warnings_of
from tests.unit.cli.objects import RBAC, rule


@pytest.mark.parametrize(
    ("permission", "warnings"),
    [
        (Permission("", "*", "*", "*"), ["everything"]),
        (Permission("here", "get", "", "secrets"), ["secrets"]),
        (Permission("here", "get", "", "secrets", "mine"), []),
        (Permission("", "create", "", "pods/exec"), ["exec"]),
        (Permission("", "get", "", "*/exec"), ["exec"]),
        (Permission("", "bind", RBAC, "clusterroles", "admin"), ["bind"]),
        (Permission("", "escalate", RBAC, "roles"), ["escalate"]),
        (Permission("", "impersonate", "", "users", "boss"), ["impersonate"]),
        (Permission("", "patch", "apps", "deployments"), ["workloads"]),
        (Permission("", "*", "batch", "jobs"), ["wildcard", "workloads"]),
        (Permission("", "get", "", "nodes/proxy"), ["nodes"]),
        (Permission("", "create", "", "serviceaccounts/token"), ["tokens"]),
        (Permission("", "patch", "admissionregistration.k8s.io", "validatingwebhookconfigurations"), ["webhooks"]),
        (Permission("", "create", "admissionregistration.k8s.io", "mutatingadmissionpolicies"), ["policies"]),
        (Permission("", "delete", "admissionregistration.k8s.io", "validatingadmissionpolicybindings"), ["policies"]),
        (Permission("", "patch", "apiextensions.k8s.io", "customresourcedefinitions"), ["crds"]),
        (Permission("", "patch", "apiextensions.k8s.io", "customresourcedefinitions", "things.example.com"), []),
        (Permission("", "get", "apiextensions.k8s.io", "customresourcedefinitions"), []),
        (Permission("", "patch", "", "nodes"), ["node-objects"]),
        (Permission("", "patch", "", "*/status"), ["node-objects"]),
        (Permission("", "list", "", "nodes"), []),
        (Permission("", "update", "certificates.k8s.io", "certificatesigningrequests/approval"), ["certificates"]),
        (Permission("", "patch", "", "namespaces"), ["namespaces"]),
        (Permission("", "create", "", "persistentvolumes"), ["volumes"]),
        (Permission("", "use", "security.openshift.io", "securitycontextconstraints", "privileged"), ["privileged"]),
        (Permission("", "get", url="*"), ["wildcard"]),
        (Permission("", "get", "", "pods"), []),
        (Permission("", "get", "", "configmaps"), []),
        (Permission("", "get", "example.com", "secrets"), []),
    ],
)
def test_risky_permission_gets_its_warnings(permission: Permission, warnings: list[str]) -> None:
    assert [warning.id for warning in warnings_of([permission])] == warnings


def test_a_wildcard_is_called_out_with_what_it_reaches() -> None:
    warnings = warnings_of(permissions_of([rule("get", "*")], ""))
    assert {warning.id for warning in warnings} >= {"wildcard", "secrets", "nodes", "exec"}


def test_scopes_are_told_apart() -> None:
    warnings = warnings_of([Permission("", "get", "", "secrets"), Permission("here", "get", "", "secrets")])
    assert [(warning.scope, len(warning.permissions)) for warning in warnings] == [("", 1), ("here", 1)]


def test_ids_are_unique() -> None:
    assert len({risk.id for risk in RISKY_PERMISSIONS}) == len(RISKY_PERMISSIONS)
