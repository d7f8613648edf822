"""Whether RBAC rules allow a permission, as the API server decides it.

Rules are not expanded: those of an account may be many, and what is asked for is little.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from rukpak_py.apply.permissions.permission import ALL, Permission

Rule = Mapping[str, Any]


class Rules:
    """Rules that hold together in one scope; the scope of a permission is not looked at."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)

    def allow(self, permission: Permission) -> bool:
        return any(_allows(rule, permission) for rule in self._rules)


def _allows(rule: Rule, asked: Permission) -> bool:
    if not _has(rule, "verbs", asked.verb):
        return False
    if asked.url:
        return any(_allows_url(url, asked.url) for url in rule.get("nonResourceURLs") or ())
    return _has(rule, "apiGroups", asked.group) and _has_resource(rule, asked.resource) and _has_name(rule, asked.name)


def _has(rule: Rule, field: str, value: str) -> bool:
    listed = rule.get(field) or ()
    return ALL in listed or value in listed


def _has_resource(rule: Rule, resource: str) -> bool:
    _, slash, below = resource.partition("/")
    return _has(rule, "resources", resource) or (bool(slash) and f"{ALL}/{below}" in (rule.get("resources") or ()))


def _has_name(rule: Rule, name: str) -> bool:
    listed = rule.get("resourceNames") or ()
    return not listed or name in listed


def _allows_url(allowed: str, url: str) -> bool:
    return allowed in {ALL, url} or (allowed.endswith(ALL) and url.startswith(allowed.rstrip(ALL)))
