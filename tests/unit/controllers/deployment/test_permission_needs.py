"""Permissions that a deployment needs beside those that its objects take: values from elsewhere, and lookups."""

import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.controllers.deployment.permission_review import lookup_permissions, values_permissions
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.formats.helm.cluster_view import Lookup

ACCOUNT = Account("shop", "installer")


@pytest.mark.parametrize(
    ("lookup", "expected"),
    [
        (Lookup("", "v1", "secrets", "shop", "login"), Permission("shop", "get", "", "secrets", "login")),
        (Lookup("", "v1", "secrets", "shop", ""), Permission("shop", "list", "", "secrets")),
        (Lookup("apps", "v1", "deployments", "", ""), Permission("", "list", "apps", "deployments")),
        (Lookup("", "v1", "nodes", "", "a"), Permission("", "get", "", "nodes", "a")),
    ],
)
def test_lookup_needs_get_of_its_name_or_list(lookup: Lookup, expected: Permission) -> None:
    assert list(lookup_permissions([lookup])) == [expected]


def test_values_need_to_be_read_and_watched_by_name_where_the_account_is() -> None:
    found = set(values_permissions([ValuesObject("Secret", "login", ACCOUNT), ValuesObject("ConfigMap", "a", ACCOUNT)]))
    verbs = ("get", "list", "watch")
    assert found == {
        *(Permission("shop", verb, "", "secrets", "login") for verb in verbs),
        *(Permission("shop", verb, "", "configmaps", "a") for verb in verbs),
    }


def test_values_without_an_account_are_read_with_the_rights_of_the_operator() -> None:
    assert list(values_permissions([ValuesObject("Secret", "login")])) == []
