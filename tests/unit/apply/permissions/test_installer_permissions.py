"""The permissions of an installer: everything that installing takes, and nothing else."""

from typing import Any

import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.api.names import WATCH_ROLE_LABEL
from rukpak_py.apply.permissions.installer import PermittedResource, needs_of, plural_of, rules_by_scope
from rukpak_py.apply.permissions.manifests import account_with_roles, roles_for
from rukpak_py.apply.permissions.permission import Held, Permission, permissions_of
from tests.unit.cli.objects import RBAC, binding, manifest, role, rule, workload

APPS: Any = {"install_namespace": "apps"}
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
    needs = needs_of(
        [manifest("PersistentVolume", "a"), manifest("ConfigMap", "b", namespace="there")], install_namespace="x"
    )
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
    needs = needs_of([manifest("PersistentVolume", "a"), manifest("ConfigMap", "b")], install_namespace="apps")
    made = roles_for(needs.rules, name="installer", account=Account("apps", "robot"))
    assert [(one["kind"], one["metadata"].get("namespace")) for one in made] == [
        ("ClusterRole", None),
        ("ClusterRoleBinding", None),
        ("Role", "apps"),
        ("RoleBinding", "apps"),
    ]
    assert made[1]["subjects"] == [{"kind": "ServiceAccount", "name": "robot", "namespace": "apps"}]
    assert [one["kind"] for one in roles_for(needs.rules, name="installer")][:2] == ["ClusterRole", "Role"]


def test_account_comes_with_the_namespaces_that_roles_need() -> None:
    objects = [manifest("Namespace", "brought"), manifest("ConfigMap", "b"), manifest("Role", "kube", namespace="x")]
    needs = needs_of([*objects, manifest("Secret", "s", namespace="kube-system")], install_namespace="apps")
    made = account_with_roles(needs.rules, name="installer", account=Account("apps", "robot"))
    namespaces = [one["metadata"] for one in made if one["kind"] == "Namespace"]
    assert namespaces == [{"name": "apps"}, {"name": "brought"}, {"name": "x"}], "no mark says whose they are"
    assert made[3] == {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "robot", "namespace": "apps"},
    }
    assert [one["metadata"]["namespace"] for one in made if one["kind"] == "RoleBinding"] == [
        "apps",
        "brought",
        "kube-system",
        "x",
    ]


def test_hook_is_created_read_and_deleted_and_never_patched() -> None:
    needs = needs_of([], hooks=[manifest("Job", "migrate", api_version="batch/v1")], install_namespace="apps")
    assert needs.rules == {
        "apps": [
            rule("create", "jobs", group="batch"),
            rule("get delete", "jobs", group="batch", names=["migrate"]),
        ]
    }


def test_escalation_helps_a_hook_only_without_a_name() -> None:
    """The server knows no name of what is created by POST."""
    (need,) = needs_of([], hooks=[role("r", rule("get"))], install_namespace="apps").grants
    assert need.instead == Permission("", "escalate", RBAC, "clusterroles")


def test_hook_binds_a_role_of_the_content() -> None:
    needs = needs_of([role("r", rule("get"))], hooks=[binding("b", "r", namespace="x", kind="ClusterRole")], **APPS)
    assert needs.grants[1].held == frozenset({Permission("x", "get", "", "pods")})


def test_secret_of_a_serving_certificate_is_kept_by_its_name() -> None:
    service = manifest("Service", "hooks", namespace="apps")
    service["metadata"]["annotations"] = {"core.rukpak.io/serving-certificate": "hooks-cert"}
    held = Held(needs_of([service], **APPS).permissions)
    assert held.covers(Permission("apps", "create", "", "secrets"))
    assert all(
        held.covers(Permission("apps", verb, "", "secrets", "hooks-cert")) for verb in ("get", "patch", "delete")
    )
    assert not held.covers(Permission("apps", "get", "", "secrets", "another"))


def test_pods_of_workloads_are_listed_in_their_namespace() -> None:
    held = Held(needs_of([workload("web", namespace="shop")], **APPS).permissions)
    assert held.covers(Permission("shop", "list", "", "pods"))
    assert not held.covers(Permission("apps", "list", "", "pods"))


def test_instances_of_a_crd_and_contents_of_a_namespace_are_listed() -> None:
    held = Held(needs_of([CRD, manifest("Namespace", "shop")], **APPS).permissions)
    assert held.covers(Permission("", "list", "example.com", "oxen"))
    assert held.covers(Permission("shop", "list", "", "secrets"))
    assert not held.covers(Permission("", "list", "", "secrets"))


def test_olm_is_asked_for_its_packages() -> None:
    held = Held(needs_of([], looks_for_olm=True, **APPS).permissions)
    assert held.covers(Permission("", "list", "operators.coreos.com", "subscriptions"))


def test_resource_of_the_server_counts_before_the_guess() -> None:
    def resource_of(_: Any) -> PermittedResource:
        return PermittedResource("example.com", "oxen", is_namespaced=False)

    needs = needs_of([manifest("Ox", "olaf", api_version="example.com/v1")], resource_of=resource_of, **APPS)
    assert Permission("", "patch", "example.com", "oxen", "olaf") in needs.permissions


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


def watched_by(objects: list[Any], *, hooks: list[Any] | None = None) -> dict[str, list[Any]]:
    return rules_by_scope(needs_of(objects, hooks=hooks or [], install_namespace="apps").watched)


def test_operator_watches_each_kind_of_the_content_in_all_namespaces() -> None:
    objects = [manifest("ConfigMap", "a"), workload("web"), CRD, manifest("Ox", "o", api_version="example.com/v1")]
    assert watched_by(objects) == {
        "": [
            rule("get list watch", "configmaps"),
            rule("get list watch", "deployments", group="apps"),
            rule("get list watch", "oxen", group="example.com"),
        ]
    }


def test_operator_watches_secrets_only_in_the_namespaces_that_have_some() -> None:
    service = manifest("Service", "hooks", namespace="there")
    service["metadata"]["annotations"] = {"core.rukpak.io/serving-certificate": "hooks-cert"}
    secrets = rule("get list watch", "secrets")
    assert watched_by([manifest("Secret", "a"), service]) == {
        "": [rule("get list watch", "services")],
        "apps": [secrets],
        "there": [secrets],
    }


def test_operator_needs_no_right_for_what_it_always_watches() -> None:
    bundle = manifest("Bundle", "b", api_version="core.rukpak.io/v1alpha1")
    assert watched_by([CRD, manifest("Namespace", "n"), manifest("ResourceQuota", "q"), bundle]) == {}


def test_operator_watches_hooks_but_no_secrets_among_them() -> None:
    hooks = [manifest("Job", "migrate", api_version="batch/v1"), manifest("Secret", "seed")]
    assert watched_by([], hooks=hooks) == {"": [rule("get list watch", "jobs", group="batch")]}


def test_rights_to_watch_are_manifests_of_their_own() -> None:
    needs = needs_of([manifest("ConfigMap", "a"), manifest("Secret", "b")], install_namespace="apps")
    made = account_with_roles(
        needs.rules,
        name="installer",
        account=Account("apps", "robot"),
        watched=rules_by_scope(needs.watched),
        operator=Account("rukpak-system", "core-admin"),
    )
    everywhere, of_secrets, bound = made[-3:]
    labels = {"rbac.core.rukpak.io/aggregate-to-watch": "true"}
    assert everywhere["metadata"] == {"name": "installer-watch", "labels": labels}
    assert everywhere["kind"] == "ClusterRole"
    assert everywhere["rules"] == [rule("get list watch", "configmaps")]
    assert of_secrets["metadata"] == {"name": "installer-watch", "namespace": "apps"}
    assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "core-admin", "namespace": "rukpak-system"}]
    assert not any(WATCH_ROLE_LABEL in one["metadata"].get("labels", {}) for one in made[:-3])


def test_namespace_that_only_the_operator_watches_comes_too() -> None:
    account, operator = Account("apps", "robot"), Account("rukpak-system", "core-admin")
    watched = {"there": [rule("get list watch", "secrets")]}
    made = account_with_roles({}, name="installer", account=account, watched=watched, operator=operator)
    assert [one["metadata"]["name"] for one in made if one["kind"] == "Namespace"] == ["apps", "there"]
