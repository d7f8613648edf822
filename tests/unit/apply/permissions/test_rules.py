"""Rules allow what the API server would allow by them; two ways to decide it agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.apply.permissions.permission import Held, Permission, permissions_of, reduced, rules_of, without
from rukpak_py.apply.permissions.rules import Rules

VERBS = st.sampled_from(["*", "get", "create"])
GROUPS = st.sampled_from(["*", "", "apps"])
RESOURCES = st.sampled_from(["*", "pods", "pods/log", "*/log", "deployments"])
NAMES = st.sampled_from(["a", "b"])
URLS = st.sampled_from(["*", "/metrics", "/api/*", "/api/v1"])


def lists(of: st.SearchStrategy[str], *, least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(of, min_size=least, max_size=2)


RULE = st.one_of(
    st.fixed_dictionaries(
        {
            "verbs": lists(VERBS),
            "apiGroups": lists(GROUPS),
            "resources": lists(RESOURCES),
            "resourceNames": lists(NAMES, least=0),
        }
    ),
    st.fixed_dictionaries({"verbs": lists(VERBS), "nonResourceURLs": lists(URLS)}),
)
ASKED = st.one_of(
    st.builds(Permission, st.just(""), VERBS, GROUPS, RESOURCES, st.sampled_from(["", "a", "b"])),
    st.builds(lambda verb, url: Permission("", verb, url=url), VERBS, URLS),
)


@given(st.lists(RULE, max_size=3), ASKED)
def test_rules_allow_what_their_single_permissions_cover(rules: list[dict[str, Any]], asked: Permission) -> None:
    assert Rules(rules).allow(asked) is Held(permissions_of(rules, "")).covers(asked)


@given(st.lists(RULE, max_size=3), st.lists(RULE, max_size=3))
def test_missing_permissions_complete_rules(rules: list[dict[str, Any]], needed: list[dict[str, Any]]) -> None:
    wanted = set(permissions_of(needed, ""))
    missing = {one for one in wanted if not Rules(rules).allow(one)}
    assert missing == without(wanted, permissions_of(rules, ""))
    completed = Rules([*rules, *rules_of(reduced(missing))])
    assert all(map(completed.allow, wanted))


@pytest.mark.parametrize(
    ("rule", "asked", "is_allowed"),
    [
        ({"resources": ["pods"]}, Permission("", "get", "", "pods", "web"), True),
        ({"resources": ["pods"], "resourceNames": ["web"]}, Permission("", "get", "", "pods", "web"), True),
        ({"resources": ["pods"], "resourceNames": ["web"]}, Permission("", "get", "", "pods", "db"), False),
        ({"resources": ["pods"], "resourceNames": ["web"]}, Permission("", "get", "", "pods"), False),
        ({"resources": ["pods"]}, Permission("", "get", "", "pods/log"), False),
        ({"resources": ["*/log"]}, Permission("", "get", "", "pods/log"), True),
        ({"resources": ["*/log"]}, Permission("", "get", "", "pods"), False),
        ({"resources": ["*"]}, Permission("", "get", "", "pods/log"), True),
        ({"resources": ["pods"]}, Permission("", "get", "", "*"), False),
        ({"resources": ["pods"]}, Permission("", "*", "", "pods"), False),
        ({"resources": ["pods"], "apiGroups": ["*"]}, Permission("", "get", "apps", "pods"), True),
        ({"resources": ["pods"], "apiGroups": ["apps"]}, Permission("", "get", "", "pods"), False),
        ({"nonResourceURLs": ["/api/*"]}, Permission("", "get", url="/api/v1"), True),
        ({"nonResourceURLs": ["/api"]}, Permission("", "get", url="/api/v1"), False),
        ({"nonResourceURLs": ["*"]}, Permission("", "get", url="/metrics"), True),
        ({"nonResourceURLs": ["*"]}, Permission("", "get", "", "pods"), False),
    ],
)
def test_rule_allows_as_the_server_does(rule: dict[str, Any], asked: Permission, is_allowed: bool) -> None:  # noqa: FBT001
    assert Rules([{"verbs": ["get"], "apiGroups": [""], **rule}]).allow(asked) is is_allowed


def test_rule_without_lists_allows_nothing() -> None:
    """The server leaves fields out that are empty."""
    assert not Rules([{}, {"verbs": ["*"]}]).allow(Permission("", "get", "", "pods"))
