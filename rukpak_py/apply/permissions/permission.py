"""Permissions: what RBAC rules allow, one by one, so that they can be compared, reduced and written down again.

A Permission is one verb on one resource (or URL) of one scope. `*` keeps its meaning: a permission covers whatever RBAC
would allow by it. Rules come from manifests of bundles, so every field may be of any type; what is not a string
allows nothing. A rule is a product of its lists, so code that expands rules counts: see MAX_PERMISSIONS.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

Json = dict[str, Any]

ALL = "*"
MAX_PERMISSIONS = 200_000  # of one bundle; the largest that we know has some thousand
_VERBS = ("*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class Permission(NamedTuple):
    scope: str  # a namespace; "" is the whole cluster
    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""  # "" is every name
    url: str = ""  # instead of group and resource

    @property
    def has_wildcard(self) -> bool:
        return ALL in {self.verb, self.group, self.resource} or self.url == ALL


def permissions_of(rules: object, scope: str) -> Iterator[Permission]:
    for rule in rules if isinstance(rules, list) else []:
        if not isinstance(rule, Mapping):
            continue
        verbs = _texts(rule.get("verbs"))
        names = _texts(rule.get("resourceNames")) or [""]
        for verb, group, resource, name in product(
            verbs, _texts(rule.get("apiGroups")), _texts(rule.get("resources")), names
        ):
            yield Permission(scope, verb, group, resource, name)
        if not scope:  # a Role cannot allow URLs
            for verb, url in product(verbs, _texts(rule.get("nonResourceURLs"))):
                yield Permission(scope, verb, url=url)


class Held:
    """A set of permissions that can be asked whether it covers another one."""

    def __init__(self, permissions: Iterable[Permission]) -> None:
        self._permissions = frozenset(permissions)
        self._urls = [permission for permission in self._permissions if permission.url.endswith(ALL)]

    def covers(self, permission: Permission) -> bool:
        return permission in self._permissions or self.covers_otherwise(permission)

    def covers_otherwise(self, permission: Permission) -> bool:
        """Whether a wider permission of these covers it: that it is one of them does not count."""
        if permission.url:
            return any(
                wider != permission
                and wider.verb in {ALL, permission.verb}
                and permission.url.startswith(wider.url[:-1])
                for wider in (*self._urls, permission._replace(verb=ALL))
                if wider in self._permissions
            )
        _, slash, below = permission.resource.partition("/")
        resources = {permission.resource, ALL, *([f"{ALL}/{below}"] if slash else [])}
        wider_ones = product(
            {permission.scope, ""}, {permission.verb, ALL}, {permission.group, ALL}, resources, {permission.name, ""}
        )
        return any(
            wider != permission and wider in self._permissions
            for wider in map(Permission._make, ((*permission, "") for permission in wider_ones))
        )


def reduced(permissions: Iterable[Permission]) -> set[Permission]:
    """The permissions without those that others of them cover."""
    permissions = set(permissions)
    held = Held(permissions)
    return {permission for permission in permissions if not held.covers_otherwise(permission)}


def without(permissions: Iterable[Permission], held: Iterable[Permission]) -> set[Permission]:
    covering = Held(held)
    return {permission for permission in permissions if not covering.covers(permission)}


def rules_of(permissions: Iterable[Permission]) -> list[Json]:
    """The fewest rules that allow exactly these (of one scope), in a fixed order."""
    urls: defaultdict[str, set[str]] = defaultdict(set)
    verbs: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for permission in permissions:
        if permission.url:
            urls[permission.url].add(permission.verb)
        else:
            verbs[permission.group, permission.resource, permission.name].add(permission.verb)
    return [*_resource_rules(verbs), *_url_rules(urls)]


def _resource_rules(verbs: Mapping[tuple[str, str, str], set[str]]) -> list[Json]:
    names: defaultdict[tuple[str, str, bool, tuple[str, ...]], set[str]] = defaultdict(set)
    for (group, resource, name), of_name in verbs.items():
        names[group, resource, bool(name), in_order(of_name)].add(name)
    resources: defaultdict[tuple[str, tuple[str, ...], tuple[str, ...]], set[str]] = defaultdict(set)
    for (group, resource, is_named, of_rule), found in names.items():
        resources[group, tuple(sorted(found)) if is_named else (), of_rule].add(resource)
    rules: list[Json] = [
        {
            "apiGroups": [group],
            "resources": sorted(found),
            **({"resourceNames": list(only)} if only else {}),
            "verbs": list(of_rule),
        }
        for (group, only, of_rule), found in resources.items()
    ]
    return sorted(
        rules, key=lambda rule: (rule["apiGroups"], rule["resources"], rule.get("resourceNames", []), rule["verbs"])
    )


def _url_rules(urls: Mapping[str, set[str]]) -> list[Json]:
    merged: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for url in sorted(urls):
        merged[in_order(urls[url])].append(url)
    return [{"nonResourceURLs": found, "verbs": list(verbs)} for verbs, found in sorted(merged.items())]


def in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    """Reading before writing, as people list them; others behind."""
    return tuple(sorted(set(verbs), key=lambda verb: (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)))


def rule_text(rule: Mapping[str, Any]) -> tuple[str, str]:
    """The text of a rule made by `rules_of`: `get list`, and on what: `deployments, replicasets (apps) named web`."""
    verbs = "every verb" if ALL in rule["verbs"] else " ".join(rule["verbs"])
    if urls := rule.get("nonResourceURLs"):
        return verbs, "every URL" if ALL in urls else ", ".join(urls)
    (group,) = rule["apiGroups"]
    about = _resources_text(rule["resources"], group)
    if names := rule.get("resourceNames"):
        about += f" named {', '.join(names)}"
    return verbs, about


def _resources_text(resources: list[str], group: str) -> str:
    match ALL in resources, group:
        case True, "*":
            return "every resource"
        case True, "":
            return "every resource of the core group"
        case True, _:
            return f"every resource ({group})"
        case False, "*":
            return f"{', '.join(resources)} (of every group)"
        case _:
            return ", ".join(resources) + (f" ({group})" if group else "")


def scope_text(scope: str) -> str:
    return f"in namespace {scope}" if scope else "in the whole cluster"


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
