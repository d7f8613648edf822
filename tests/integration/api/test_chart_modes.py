"""The chart's modes, as it renders them without a cluster: which rights it gives, to whom, and what it refuses."""

import subprocess
from typing import Any

import pytest

from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.formats.helm.process import HelmProgram
from tests.integration.operator.narrow import rendered
from tests.manifests import Document

TENANTS = [{"namespace": "shop", "serviceAccounts": ["installer"]}, {"namespace": "blog"}]
ROLE_KINDS = ("Role", "ClusterRole")


async def chart(helm: HelmProgram, **values: object) -> list[Document]:
    return await rendered(helm, DEFAULT_SYSTEM_NAMESPACE, **values)


def roles(objects: list[Document]) -> dict[tuple[str, str], list[Any]]:
    """Rules of roles, by namespace and name."""
    found = [one for one in objects if one["kind"] in ROLE_KINDS]
    return {(one["metadata"].get("namespace", ""), one["metadata"]["name"]): one.get("rules", []) for one in found}


def arguments(objects: list[Document]) -> list[str]:
    (manager,) = [one for one in objects if one["kind"] == "Deployment"]
    found: list[str] = manager["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


async def test_classic_gives_the_operator_everything_and_users_no_role_to_write(helm: HelmProgram) -> None:
    objects = await chart(helm)
    assert "--mode=classic" in arguments(objects)
    found = roles(objects)
    assert {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]} in found["", "core-admin"]
    assert not found.keys() & {("", "rukpak-tenant"), ("", "rukpak-approver"), ("", "core-watch")}


@pytest.mark.parametrize(
    ("values", "policies"),
    [
        ({}, []),
        ({"mode": "narrow", "tenants": TENANTS}, ["Always"]),
        ({"mode": "narrow", "tenants": TENANTS, "unpack": {"pullPolicy": "IfNotPresent"}}, ["IfNotPresent"]),
        ({"unpack": {"pullPolicy": "Always"}}, ["Always"]),
    ],
)
async def test_pull_policy_of_unpack_pods_follows_the_mode_unless_a_value_says_otherwise(
    helm: HelmProgram, values: dict[str, object], policies: list[str]
) -> None:
    flag = "--unpack-pull-policy="
    given = [one.removeprefix(flag) for one in arguments(await chart(helm, **values)) if one.startswith(flag)]
    assert given == policies


async def test_narrow_gives_the_operator_no_wildcard_and_no_write_on_objects_of_tenants(helm: HelmProgram) -> None:
    objects = await chart(helm, mode="narrow", tenants=TENANTS)
    assert "--mode=narrow" in arguments(objects)
    found = roles(objects)
    rules = [rule for of_role in found.values() for rule in of_role]
    assert not [rule for rule in rules if any("*" in values for values in rule.values())]
    written = {
        resource
        for rule in found["", "core-admin"]
        for resource in rule["resources"]
        if set(rule["verbs"]) - {"get", "list", "watch"} and rule["apiGroups"] != ["core.rukpak.io"]
    }
    assert written == {
        "customresourcedefinitions",  # ours, by name
        "validatingwebhookconfigurations",  # ours, by name
        "tokenreviews",
        "subjectaccessreviews",
    }
    assert not [rule for rule in found["", "core-admin"] if "secrets" in rule["resources"]]
    assert found["", "core-watch"] == [], "the controller manager fills it"


async def test_narrow_lets_the_operator_impersonate_named_accounts_in_named_namespaces_only(helm: HelmProgram) -> None:
    found = roles(await chart(helm, mode="narrow", tenants=TENANTS))
    may = {place: rule for place, of_role in found.items() for rule in of_role if "impersonate" in rule["verbs"]}
    assert may == {
        ("shop", "rukpak-accounts"): {
            "apiGroups": [""],
            "resources": ["serviceaccounts"],
            "resourceNames": ["installer"],
            "verbs": ["get", "impersonate"],
        },
        ("blog", "rukpak-accounts"): {
            "apiGroups": [""],
            "resources": ["serviceaccounts"],
            "verbs": ["get", "impersonate"],
        },
    }


async def test_roles_for_users_write_no_status_and_join_neither_edit_nor_admin(helm: HelmProgram) -> None:
    for mode in ("classic", "narrow"):
        objects = await chart(helm, mode=mode)
        bound = {one["roleRef"]["name"] for one in objects if one["kind"].endswith("RoleBinding")}
        for one in objects:
            if one["kind"] != "ClusterRole" or one["metadata"]["name"] in bound:
                continue
            resources = {resource for rule in one["rules"] for resource in rule.get("resources", ())}
            assert not [resource for resource in resources if resource.endswith("/status")]
            labels = one["metadata"]["labels"]
            assert not labels.keys() & {f"rbac.authorization.k8s.io/aggregate-to-{role}" for role in ("edit", "admin")}
    found = roles(await chart(helm, mode="narrow"))
    assert "approve" not in {verb for rule in found["", "rukpak-tenant"] for verb in rule["verbs"]}
    assert {verb for rule in found["", "rukpak-approver"] for verb in rule["verbs"]} == {"get", "patch", "approve"}


@pytest.mark.parametrize(
    "values",
    [
        {"mode": "wide"},
        {"tenants": TENANTS},  # they would do nothing
        {"mode": "narrow", "tenants": [{"serviceAccounts": ["installer"]}]},
        {"mode": "narrow", "tenants": [{"namespace": "shop", "accounts": ["installer"]}]},
        {"mode": "narrow", "tenants": [{"namespace": "shop", "serviceAccounts": ["*"]}]},
    ],
)
async def test_values_that_do_not_fit_a_mode_are_refused(helm: HelmProgram, values: dict[str, object]) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        await chart(helm, **values)
