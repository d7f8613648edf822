"""Permissions as roles: where they count, what they are named, and who gets them."""

from rukpak_py.content.tree import Tree
from tests.unit.bundles import bundle, csv_document, deployment, manifest, permission
from tests.unit.rendering import names, of_kind, only, rendered

RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
READ_NAMESPACES = {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]}


def tree(**parts: object) -> Tree:
    return bundle(csv=csv_document("my-operator.v1.2.3", **parts))  # type: ignore[arg-type]  # parts are its keywords


def test_a_role_and_its_binding_in_each_target() -> None:
    objects = rendered(tree(permissions=[permission("sa", [RULE])]), "b", "a")
    found = of_kind(objects, "Role", "RoleBinding")
    assert [(obj["kind"], obj["metadata"]["namespace"]) for obj in found] == [
        ("Role", "b"),
        ("RoleBinding", "b"),
        ("Role", "a"),
        ("RoleBinding", "a"),
    ]
    assert len(set(names(found))) == 1
    assert found[0]["rules"] == [RULE]
    assert found[1]["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": found[0]["metadata"]["name"],
    }
    assert found[1]["subjects"] == [{"kind": "ServiceAccount", "name": "sa", "namespace": "operators"}]


def test_operator_that_watches_everything_has_cluster_permissions_and_reads_namespaces() -> None:
    objects = rendered(tree(permissions=[permission("my-operator", [RULE])]), "")
    assert not of_kind(objects, "Role", "RoleBinding")
    assert only(objects, "ClusterRole")["rules"] == [RULE, READ_NAMESPACES]
    assert "namespace" not in only(objects, "ClusterRoleBinding")["metadata"]


def test_the_name_is_cut_to_make_room_for_the_hash() -> None:
    rules = [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]
    objects = rendered(tree(permissions=[permission("my-operator", rules)]), "a")
    assert names(of_kind(objects, "Role")) == ["my-operator.v1.2.3-2hbsetkf1ckzzbw36htk41u0lra9erliqg8l43kl1g5a"]


def test_cluster_permissions_come_before_promoted_ones() -> None:
    objects = rendered(tree(permissions=[permission("a", [RULE])], cluster_permissions=[permission("b", [RULE])]), "")
    assert [obj["subjects"][0]["name"] for obj in of_kind(objects, "ClusterRoleBinding")] == ["b", "a"]


def test_no_account_means_the_default_one_which_is_never_generated() -> None:
    objects = rendered(tree(permissions=[permission("", [RULE])], deployments=[]), "a")
    assert only(objects, "RoleBinding")["subjects"][0]["name"] == "default"
    assert not of_kind(objects, "ServiceAccount")


def test_identical_permissions_are_one_role_and_two_for_parity() -> None:
    twice = tree(permissions=[permission("a", [RULE]), permission("a", [RULE])])
    assert len(of_kind(rendered(twice, "x"), "Role", "RoleBinding")) == 2
    assert len(of_kind(rendered(twice, "x", parity=True), "Role", "RoleBinding")) == 4


def test_a_permission_without_rules_is_a_role_without_rules() -> None:
    entry = {"serviceAccountName": "a"}
    assert only(rendered(tree(permissions=[entry]), "x"), "Role")["rules"] is None
    assert only(rendered(tree(permissions=[entry]), ""), "ClusterRole")["rules"] == [READ_NAMESPACES]


def test_accounts_of_permissions_and_of_deployments() -> None:
    parts = tree(
        permissions=[permission("b", [RULE])],
        cluster_permissions=[permission("a", [RULE]), permission("b", [RULE])],
        deployments=[
            deployment("d", service_account="c"),
            deployment("e", service_account="", serviceAccount="old"),
            deployment("f", service_account="default"),
        ],
    )
    assert names(of_kind(rendered(parts), "ServiceAccount")) == ["a", "b", "c", "old"]
    assert names(of_kind(rendered(parts, "", parity=True), "ServiceAccount")) == ["a", "b"]


def test_a_shipped_account_stays_as_it_is_shipped() -> None:
    shipped = manifest("ServiceAccount", "demo-sa", imagePullSecrets=[{"name": "pull"}])
    account = only(rendered(bundle(others=[shipped])), "ServiceAccount")
    assert account["imagePullSecrets"] == [{"name": "pull"}]
    assert account["metadata"]["namespace"] == "operators"
    assert len(of_kind(rendered(bundle(others=[shipped]), "", parity=True), "ServiceAccount")) == 2
