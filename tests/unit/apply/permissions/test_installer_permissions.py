"""The permissions of an installer: everything that installing takes, and nothing else."""

from typing import Any

import pytest

from rukpak_py.apply.permissions.installer import manifests_of, needs_of, plural_of
from rukpak_py.apply.permissions.permission import Held, Permission, permissions_of
from tests.unit.cli.objects import RBAC, binding, manifest, role, rule

CRD = manifest(
    "CustomResourceDefinition",
    "oxen.example.com",
    api_version="apiextensions.k8s.io/v1",
    spec={"group": "example.com", "scope": "Cluster", "names": {"kind": "Ox", "plural": "oxen"}},
)


def rights_needed(objects: list[Any], *, escalate: bool = False) -> Held:
    needs = needs_of(objects, install_namespace="apps", escalate=escalate)
    return Held(permission for scope, rules in needs.rules.items() for permission in permissions_of(rules, scope))


def test_an_object_is_written_by_its_name() -> None:
    assert needs_of([manifest("ConfigMap", "a"), manifest("ConfigMap", "b")], install_namespace="apps").rules == {
        "apps": [rule("create", "configmaps"), rule("get patch delete", "configmaps", names=["a", "b"])]
    }


def test_cluster_scoped_objects_need_rights_in_the_cluster() -> None:
    needs = needs_of([manifest("Namespace", "a"), manifest("ConfigMap", "b", namespace="there")], install_namespace="x")
    assert list(needs.rules) == ["", "there"]


def test_custom_resources_are_named_by_their_definition() -> None:
    held = rights_needed([CRD, manifest("Ox", "olaf", api_version="example.com/v1")])
    assert held.covers(Permission("", "create", "example.com", "oxen"))
    assert held.covers(Permission("", "patch", "example.com", "oxen", "olaf"))


def test_granted_rights_must_be_held() -> None:
    held = rights_needed([role("r", rule("get", "nodes")), binding("b", "r"), role("n", rule("get"), namespace="here")])
    assert held.covers(Permission("", "get", "", "nodes"))
    assert held.covers(Permission("here", "get", "", "pods"))
    assert not held.covers(Permission("", "get", "", "pods"))


def test_with_escalation_nothing_is_held() -> None:
    held = rights_needed([role("r", rule("get", "nodes")), binding("b", "r")], escalate=True)
    assert not held.covers(Permission("", "get", "", "nodes"))
    assert held.covers(Permission("", "escalate", RBAC, "clusterroles", "r"))
    assert held.covers(Permission("", "bind", RBAC, "clusterroles", "r"))


def test_a_role_that_is_not_here_can_only_be_bound_by_permission() -> None:
    held = rights_needed([binding("b", "view", namespace="here", kind="ClusterRole")])
    assert held.covers(Permission("here", "bind", RBAC, "clusterroles", "view"))


def test_a_role_that_the_server_fills_takes_escalation() -> None:
    held = rights_needed([role("r") | {"aggregationRule": {}, "rules": []}])
    assert not held.covers(Permission("", "escalate", RBAC, "clusterroles", "r"))  # an empty aggregation is none
    held = rights_needed([role("r") | {"aggregationRule": {"clusterRoleSelectors": [{}]}}])
    assert held.covers(Permission("", "escalate", RBAC, "clusterroles", "r"))


def test_permission_that_is_held_anyway_is_not_repeated() -> None:
    needs = needs_of([manifest("ConfigMap", "a"), role("r", rule("*", "configmaps"))], install_namespace="apps")
    assert "apps" not in needs.rules


def test_roles_for_an_account() -> None:
    needs = needs_of([manifest("Namespace", "a"), manifest("ConfigMap", "b")], install_namespace="apps")
    made = manifests_of(needs, name="installer", account=("apps", "robot"))
    assert [(one["kind"], one["metadata"].get("namespace")) for one in made] == [
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("Role", "apps"),
        ("RoleBinding", "apps"),
    ]
    assert made[1]["subjects"] == [{"kind": "ServiceAccount", "name": "robot", "namespace": "apps"}]
    assert [one["kind"] for one in manifests_of(needs, name="installer", account=None)] == ["ClusterRole", "Role"]


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Ingress", "ingresses"),
        ("Endpoints", "endpoints"),
        ("EndpointSlice", "endpointslices"),
        ("Gateway", "gateways"),
        ("Elasticsearch", "elasticsearches"),
        ("SecurityContextConstraints", "securitycontextconstraints"),
    ],
)
def test_plural_of_a_kind_is_guessed(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural
