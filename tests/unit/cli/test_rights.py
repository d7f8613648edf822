"""Rules become single rights, rights cover one another, and become rules again."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.cli.rbac.rights import Held, Right, reduced, rights_of, rule_text, rules_of, without
from tests.unit.cli.objects import rule

RIGHTS = st.builds(
    Right,
    st.sampled_from(["", "here", "there"]),
    st.sampled_from(["*", "get", "list", "create"]),
    st.sampled_from(["*", "", "apps"]),
    st.sampled_from(["*", "pods", "pods/exec", "*/exec", "secrets"]),
    st.sampled_from(["", "one", "two"]),
    st.just(""),
)


def test_a_rule_is_the_product_of_its_lists() -> None:
    found = set(rights_of([rule("get list", "pods secrets", names=["a", "b"])], "here"))
    assert found == {
        Right("here", v, "", r, n) for v, r, n in product(["get", "list"], ["pods", "secrets"], ["a", "b"])
    }


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        (Right("", "get", "", "pods"), Right("here", "get", "", "pods"), True),
        (Right("here", "get", "", "pods"), Right("", "get", "", "pods"), False),
        (Right("", "*", "*", "*"), Right("here", "get", "apps", "deployments/scale", "a"), True),
        (Right("", "get", "", "*"), Right("", "get", "", "pods/log"), True),
        (Right("", "get", "", "*/scale"), Right("", "get", "", "pods/scale"), True),
        (Right("", "get", "", "*/scale"), Right("", "get", "", "pods"), False),
        (Right("", "get", "", "pods"), Right("", "get", "", "pods/log"), False),
        (Right("", "get", "", "pods"), Right("", "get", "", "pods", "a"), True),
        (Right("", "get", "", "pods", "a"), Right("", "get", "", "pods"), False),
        (Right("", "get", url="/healthz/*"), Right("", "get", url="/healthz/a"), True),
        (Right("", "get", url="*"), Right("", "get", url="/metrics"), True),
        (Right("", "*", url="/metrics"), Right("", "get", url="/metrics"), True),
        (Right("", "get", url="/metrics"), Right("", "get", url="/metrics/a"), False),
    ],
)
def test_wider_rights_cover_narrower_ones(*, wide: Right, narrow: Right, is_covered: bool) -> None:
    assert Held([wide]).covers(narrow) is is_covered


def test_a_role_of_a_namespace_allows_no_urls() -> None:
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert list(rights_of(rules, "here")) == []
    assert list(rights_of(rules, "")) == [Right("", "get", url="/metrics")]


@given(st.lists(RIGHTS))
def test_reducing_loses_nothing(rights: list[Right]) -> None:
    least = reduced(rights)
    assert least <= set(rights)
    assert without(rights, least) == set()


@given(st.lists(RIGHTS))
def test_rules_allow_what_they_were_made_from(rights: list[Right]) -> None:
    for scope in {right.scope for right in rights}:
        of_scope = {right for right in rights if right.scope == scope}
        assert set(rights_of(rules_of(of_scope), scope)) == of_scope


def test_rules_are_as_few_as_people_would_write() -> None:
    rules = [rule("get list"), rule("list get", "secrets"), rule("get", "configmaps", names=["a"])]
    rules += [rule("get", "configmaps", names=["b"]), rule("get", "deployments", group="apps")]
    assert rules_of(rights_of(rules, "")) == [
        rule("get", "configmaps", names=["a", "b"]),
        rule("get list", "pods secrets"),
        rule("get", "deployments", group="apps"),
    ]


def test_texts_of_rules() -> None:
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
def test_what_is_no_rule_allows_nothing(rules: Any) -> None:
    assert list(rights_of(rules, "")) == []
