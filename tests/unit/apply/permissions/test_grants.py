"""Roles and bindings are resolved to what each holder may do."""

from typing import Any

import pytest

from rukpak_py.apply.permissions.grants import RoleReference, RoleSubject, grants_of
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.core.errors import ContentError
from tests.unit.cli.objects import RBAC, account, binding, manifest, role, rule, workload

ROBOT = RoleSubject("ServiceAccount", "apps", "robot")
GET_PODS = rule("get")


def test_a_cluster_role_binding_grants_in_the_whole_cluster() -> None:
    found = grants_of([role("reader", GET_PODS), binding("b", "reader")])
    assert found.permissions == {ROBOT: {Permission("", "get", "", "pods")}}
    assert found.references == []


def test_a_role_binding_grants_a_cluster_role_in_its_namespace_only() -> None:
    found = grants_of([role("reader", GET_PODS), binding("b", "reader", namespace="here", kind="ClusterRole")])
    assert found.permissions == {ROBOT: {Permission("here", "get", "", "pods")}}


def test_roles_of_other_namespaces_are_others() -> None:
    found = grants_of([role("reader", GET_PODS, namespace="there"), binding("b", "reader", namespace="here")])
    assert found.references == [RoleReference(ROBOT, "here", "Role", "reader")]
    assert found.permissions == {RoleSubject("Role", "there", "reader"): {Permission("there", "get", "", "pods")}}


def test_role_that_is_not_among_the_objects_stays_a_reference() -> None:
    found = grants_of([binding("b", "their-role")])
    assert (found.permissions, found.references) == ({}, [RoleReference(ROBOT, "", "ClusterRole", "their-role")])
    assert str(found.references[0]) == "whatever ClusterRole their-role allows"


def test_binding_to_cluster_admin_allows_everything() -> None:
    found = grants_of([binding("b", "cluster-admin")])
    assert found.permissions == {ROBOT: {Permission("", "*", "*", "*"), Permission("", "*", url="*")}}
    assert found.references == []


def test_binding_to_cluster_admin_in_a_namespace_allows_everything_there() -> None:
    found = grants_of([binding("b", "cluster-admin", namespace="here", kind="ClusterRole")])
    assert found.permissions == {ROBOT: {Permission("here", "*", "*", "*")}}


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("view", {"list configmaps"}),
        ("edit", {"list configmaps", "get secrets", "create pods/exec"}),
        ("admin", {"list configmaps", "get secrets", "create pods/exec", "create rolebindings"}),
    ],
)
def test_roles_that_every_cluster_has_are_expanded(name: str, allowed: set[str]) -> None:
    """And what other ClusterRoles add to them stays a reference."""
    found = grants_of([binding("b", name, namespace="here", kind="ClusterRole")])
    asked = {"list configmaps", "get secrets", "create pods/exec", "create rolebindings", "get nodes"}
    held = {f"{one.verb} {one.resource}" for one in found.permissions[ROBOT] if one.scope == "here"}
    assert asked & held == allowed
    assert list(map(str, found.references)) == [f"whatever else ClusterRole {name} allows"]


def test_role_of_the_content_counts_before_the_one_that_every_cluster_has() -> None:
    found = grants_of([role("cluster-admin", GET_PODS), binding("b", "cluster-admin")])
    assert found.permissions == {ROBOT: {Permission("", "get", "", "pods")}}


def test_workload_with_an_account_of_the_cluster_has_a_reference() -> None:
    found = grants_of([workload("web", account="deployer"), workload("own", account="brought"), account("brought")])
    (reference,) = found.references
    assert reference == RoleReference(RoleSubject("Deployment", "apps", "web"), "apps", "ServiceAccount", "deployer")
    assert str(reference) == "whatever ServiceAccount deployer allows"


def test_unbound_role_holds_its_permissions_for_later_subjects() -> None:
    (holder,) = grants_of([role("reader", GET_PODS)]).permissions
    assert str(holder) == "whoever is bound to ClusterRole reader"


def test_an_aggregated_role_adds_to_another() -> None:
    labels = {f"{RBAC}/aggregate-to-admin": "true", f"{RBAC}/aggregate-to-view": "false"}
    found = grants_of([role("extra", GET_PODS, labels=labels)])
    assert list(found.permissions) == [RoleSubject("ClusterRole", "", "admin")]


def test_roles_that_the_server_fills_are_references() -> None:
    filled = role("filled", GET_PODS) | {"aggregationRule": {"clusterRoleSelectors": []}}
    found = grants_of([filled, binding("b", "filled")])
    assert (found.permissions, found.references) == ({}, [RoleReference(ROBOT, "", "ClusterRole", "filled")])


def test_a_namesake_of_another_group_is_no_role() -> None:
    assert grants_of([manifest("Role", "a", api_version="iam.services.k8s.aws/v1", rules=[GET_PODS])]).permissions == {}


def test_more_rights_than_anybody_needs_are_refused() -> None:
    names = [str(number) for number in range(300)]
    many: dict[str, Any] = {"apiGroups": names, "resources": names, "verbs": names}
    with pytest.raises(ContentError, match="too many to look into"):
        grants_of([role("huge", many)])


@pytest.mark.parametrize("broken", [None, 3, "x", [], {"a": 1}])
@pytest.mark.parametrize("field", ["metadata", "roleRef", "subjects", "rules"])
def test_broken_objects_grant_nothing_and_break_nothing(field: str, broken: Any) -> None:
    found = grants_of([role("reader", GET_PODS) | {field: broken}, binding("b", "reader") | {field: broken}])
    assert all(permissions <= {Permission("", "get", "", "pods")} for permissions in found.permissions.values())
