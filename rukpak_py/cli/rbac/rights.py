"""Rights: what RBAC rules allow, one by one, so that they can be compared, reduced and written down again.

A Right is one verb on one resource (or URL) of one scope. `*` keeps its meaning: a right covers whatever RBAC would
allow by it. Rules come from manifests of bundles, so every field may be of any type; what is no text allows nothing.
A rule is a product of its lists, so whoever expands rules counts: see MOST_RIGHTS.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

Json = dict[str, Any]

ALL = "*"
MOST_RIGHTS = 200_000  # of one bundle; the largest that we know has some thousand
_VERBS = ("*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class Right(NamedTuple):
    scope: str  # a namespace; "" is the whole cluster
    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""  # "" is every name
    url: str = ""  # instead of group and resource

    @property
    def has_wildcard(self) -> bool:
        return ALL in {self.verb, self.group, self.resource} or self.url == ALL


def rights_of(rules: object, scope: str) -> Iterator[Right]:
    for rule in rules if isinstance(rules, list) else []:
        if isinstance(rule, Mapping):
            yield from _rights_of_rule(rule, scope)


def _rights_of_rule(rule: Mapping[str, Any], scope: str) -> Iterator[Right]:
    verbs = _texts(rule.get("verbs"))
    names = _texts(rule.get("resourceNames")) or [""]
    for verb, group, resource, name in product(
        verbs, _texts(rule.get("apiGroups")), _texts(rule.get("resources")), names
    ):
        yield Right(scope, verb, group, resource, name)
    if not scope:  # a Role cannot allow URLs
        for verb, url in product(verbs, _texts(rule.get("nonResourceURLs"))):
            yield Right(scope, verb, url=url)


class Held:
    """A set of rights that can be asked whether it covers another one."""

    def __init__(self, rights: Iterable[Right]) -> None:
        self._rights = frozenset(rights)
        self._urls = [right for right in self._rights if right.url.endswith(ALL)]

    def covers(self, right: Right) -> bool:
        return right in self._rights or self.covers_otherwise(right)

    def covers_otherwise(self, right: Right) -> bool:
        """Whether a wider right of these covers it: that it is one of them does not count."""
        if right.url:
            return any(
                wider != right and wider.verb in {ALL, right.verb} and right.url.startswith(wider.url[:-1])
                for wider in (*self._urls, right._replace(verb=ALL))
                if wider in self._rights
            )
        _, slash, below = right.resource.partition("/")
        resources = {right.resource, ALL, *([f"{ALL}/{below}"] if slash else [])}
        wider_ones = product({right.scope, ""}, {right.verb, ALL}, {right.group, ALL}, resources, {right.name, ""})
        return any(wider != right and wider in self._rights for wider in map(Right._make, _with_url(wider_ones)))


def _with_url(rights: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    return ((*right, "") for right in rights)


def reduced(rights: Iterable[Right]) -> set[Right]:
    """Without those that others of them cover."""
    rights = set(rights)
    held = Held(rights)
    return {right for right in rights if not held.covers_otherwise(right)}


def without(rights: Iterable[Right], held: Iterable[Right]) -> set[Right]:
    covering = Held(held)
    return {right for right in rights if not covering.covers(right)}


def rules_of(rights: Iterable[Right]) -> list[Json]:
    """The fewest rules that allow exactly these (of one scope), in a fixed order."""
    urls: defaultdict[str, set[str]] = defaultdict(set)
    verbs: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for right in rights:
        if right.url:
            urls[right.url].add(right.verb)
        else:
            verbs[right.group, right.resource, right.name].add(right.verb)
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
    """What a rule made by `rules_of` allows, and on what: `get list`, `deployments, replicasets (apps) named web`."""
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


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
