"""Text of a refusal for missing permissions: whose, how many, the first as roles, and the command that prints all."""

import yaml

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.apply.preflight.permissions import LONGEST_RULE, SHOWN_RULES, MissingPermissions

ROBOT = Account("apps", "robot")
LONGEST_TEXT = 32_000


def missing(*permissions: Permission, new: frozenset[Permission] | None = None) -> MissingPermissions:
    return MissingPermissions(account=ROBOT, deployment="shop", missing=frozenset(permissions), new=new)


CREATE = Permission("apps", "create", "", "configmaps")
PATCH = Permission("", "patch", "apiextensions.k8s.io", "customresourcedefinitions", "things.example.com")


def test_text_has_what_is_missing_as_manifests() -> None:
    text = missing(CREATE, PATCH).text
    head, *documents = text.split("\n---\n")
    assert head.splitlines() == [
        "ServiceAccount apps/robot lacks 2 permissions that the bundle needs.",
        "All that it needs: rukpakctl permissions shop -o yaml. Review it, then pipe it to kubectl apply -f -",
        "What is missing, as roles to review and apply:",
    ]
    made = [yaml.safe_load(one) for one in documents]
    assert [one["kind"] for one in made] == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    (name,) = {one["metadata"]["name"] for one in made}
    assert name.startswith("shop-")
    assert made[0]["rules"] == [
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": ["things.example.com"],
            "verbs": ["patch"],
        }
    ]
    assert made[3]["subjects"] == [{"kind": "ServiceAccount", "name": "robot", "namespace": "apps"}]


def test_roles_for_other_permissions_have_another_name() -> None:
    """To apply them takes nothing away that was granted so before."""

    def name_of(found: MissingPermissions) -> str:
        name: str = yaml.safe_load(found.text.split("\n---\n")[1])["metadata"]["name"]
        return name

    assert name_of(missing(CREATE)) == name_of(missing(CREATE)) != name_of(missing(PATCH))


def test_brief_is_one_line_with_the_first_rule() -> None:
    assert missing(CREATE, PATCH).brief == (
        "ServiceAccount apps/robot lacks 2 permissions that the bundle needs: patch customresourcedefinitions "
        "(apiextensions.k8s.io) named things.example.com in the whole cluster, and 1 more rule; "
        "see rukpakctl permissions shop -o yaml"
    )


def test_growth_is_told_on_an_upgrade() -> None:
    assert "1 of them are new with this version: create configmaps in namespace apps." in (
        missing(CREATE, PATCH, new=frozenset({CREATE})).text
    )
    assert "All of them are new with this version" in missing(CREATE, new=frozenset({CREATE})).text
    assert "The installed version needs all of them, too." in missing(CREATE, new=frozenset()).text


def test_text_of_many_permissions_is_cut_at_a_rule() -> None:
    resources = [Permission("apps", "create", f"g{number}", "things") for number in range(200)]
    text = missing(*resources, new=frozenset(resources)).text
    assert "Some of what is missing:" in text
    assert text.endswith("# and 180 more rules")
    assert text.count('"apiGroups"') == SHOWN_RULES
    assert len(text) < LONGEST_TEXT


def test_rule_with_thousands_of_names_is_left_to_the_command() -> None:
    names = [Permission("apps", "get", "", "configmaps", f"settings-{number}") for number in range(LONGEST_RULE)]
    found = missing(*names, new=frozenset(names))
    assert found.text.endswith("# and 1 more rule")
    assert len(found.text) < LONGEST_TEXT
    assert len(found.brief) < 500
