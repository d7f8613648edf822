"""Rules become single permissions, permissions cover one another, and become rules again."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.permissions.permission import (
    Held,
    Permission,
    permissions_of,
    reduced,
    rule_text,
    rules_of,
    without,
)
from tests.unit.cli.objects import rule

PERMISSIONS = st.builds(
    Permission,
    st.sampled_from(["", "here", "there"]),
    st.sampled_from(["*", "get", "list", "create"]),
    st.sampled_from(["*", "", "apps"]),
    st.sampled_from(["*", "pods", "pods/exec", "*/exec", "secrets"]),
    st.sampled_from(["", "one", "two"]),
    st.just(""),
)


def test_a_rule_is_the_product_of_its_lists() -> None:
    found = set(permissions_of([rule("get list", "pods secrets", names=["a", "b"])], "here"))
    assert found == {
        Permission("here", v, "", r, n) for v, r, n in product(["get", "list"], ["pods", "secrets"], ["a", "b"])
    }


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        (Permission("", "get", "", "pods"), Permission("here", "get", "", "pods"), True),
        (Permission("here", "get", "", "pods"), Permission("", "get", "", "pods"), False),
        (Permission("", "*", "*", "*"), Permission("here", "get", "apps", "deployments/scale", "a"), True),
        (Permission("", "get", "", "*"), Permission("", "get", "", "pods/log"), True),
        (Permission("", "get", "", "*/scale"), Permission("", "get", "", "pods/scale"), True),
        (Permission("", "get", "", "*/scale"), Permission("", "get", "", "pods"), False),
        (Permission("", "get", "", "pods"), Permission("", "get", "", "pods/log"), False),
        (Permission("", "get", "", "pods"), Permission("", "get", "", "pods", "a"), True),
        (Permission("", "get", "", "pods", "a"), Permission("", "get", "", "pods"), False),
        (Permission("", "get", url="/healthz/*"), Permission("", "get", url="/healthz/a"), True),
        (Permission("", "get", url="*"), Permission("", "get", url="/metrics"), True),
        (Permission("", "*", url="/metrics"), Permission("", "get", url="/metrics"), True),
        (Permission("", "get", url="/metrics"), Permission("", "get", url="/metrics/a"), False),
    ],
)
def test_wider_rights_cover_narrower_ones(*, wide: Permission, narrow: Permission, is_covered: bool) -> None:
    assert Held([wide]).covers(narrow) is is_covered


def test_a_role_of_a_namespace_allows_no_urls() -> None:
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert list(permissions_of(rules, "here")) == []
    assert list(permissions_of(rules, "")) == [Permission("", "get", url="/metrics")]


@given(st.lists(PERMISSIONS))
def test_reducing_loses_nothing(permissions: list[Permission]) -> None:
    least = reduced(permissions)
    assert least <= set(permissions)
    assert without(permissions, least) == set()


@given(st.lists(PERMISSIONS))
def test_rules_allow_what_they_were_made_from(permissions: list[Permission]) -> None:
    for scope in {permission.scope for permission in permissions}:
        of_scope = {permission for permission in permissions if permission.scope == scope}
        assert set(permissions_of(rules_of(of_scope), scope)) == of_scope


def test_rules_are_as_few_as_people_would_write() -> None:
    rules = [rule("get list"), rule("list get", "secrets"), rule("get", "configmaps", names=["a"])]
    rules += [rule("get", "configmaps", names=["b"]), rule("get", "deployments", group="apps")]
    assert rules_of(permissions_of(rules, "")) == [
        rule("get", "configmaps", names=["a", "b"]),
        rule("get list", "pods secrets"),
        rule("get", "deployments", group="apps"),
    ]


def test_rule_is_told_as_verbs_and_objects() -> None:
    assert rule_text(rule("get list", "deployments replicasets", group="apps", names=["a"])) == (
        "get list",
        "deployments, replicasets (apps) named a",
    )
    assert rule_text({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}) == ("get", "/metrics")


@pytest.mark.parametrize(
    ("allowed", "text"),
    [
        (rule("*", "*", group="*"), "every verb on every resource"),
        (rule("*", "*"), "every verb on every resource of the core group"),
        (rule("get", "*", group="apps", names=["a"]), "get on every resource (apps) named a"),
        (rule("* get", "pods", group="*"), "every verb on pods (of every group)"),
        ({"nonResourceURLs": ["*"], "verbs": ["*"]}, "every verb on every URL"),
    ],
)
def test_wildcards_are_words(allowed: dict[str, Any], text: str) -> None:
    assert " on ".join(rule_text(allowed)) == text


@pytest.mark.parametrize(
    "rules", [None, "x", {"verbs": ["get"]}, [None, 3], [{"verbs": "get", "apiGroups": {}, "resources": [1, None, []]}]]
)
def test_invalid_rule_allows_nothing(rules: Any) -> None:
    assert list(permissions_of(rules, "")) == []
