"""Which permissions a client lacks, as the API server answers.

The rules of the client in a namespace are one question (SelfSubjectRulesReview). Its answer mixes RoleBindings of the
namespace with rules for the whole cluster, so it proves what is missing in the whole cluster, and not what is there:
that is asked one by one (SelfSubjectAccessReview), and so is everything where the server cannot list all rules. Nothing
is remembered longer than one look.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from rukpak_py.apply.permissions.installer import GrantNeed, Needs
from rukpak_py.apply.permissions.permission import ALL, Permission, permissions_of
from rukpak_py.apply.permissions.rules import Rules
from rukpak_py.core.objects import GroupVersionKind, canonical_json
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError, NotFoundError
from rukpak_py.kube.pace import run_bounded
from rukpak_py.kube.resources import CLUSTER_ROLES, ROLES, SELF_ACCESS_REVIEWS, SELF_RULES_REVIEWS, Resource

_EVERYTHING = (Permission("", ALL, ALL, ALL), Permission("", ALL, url=ALL))


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = msgspec.field(default_factory=_AccessStatus)


class _RulesStatus(msgspec.Struct, frozen=True, rename="camel"):
    resource_rules: list[dict[str, Any]] | None = None
    non_resource_rules: list[dict[str, Any]] | None = None
    incomplete: bool = False


class _RulesReview(msgspec.Struct, frozen=True):
    status: _RulesStatus = msgspec.field(default_factory=_RulesStatus)


@dataclass(frozen=True, kw_only=True, slots=True)
class _NamespaceRules:
    rules: Rules
    is_complete: bool


async def missing_permissions(client: Client, needs: Needs, *, namespace: str) -> frozenset[Permission]:
    """`namespace`: one that exists, or may exist; the rules in it tell what is missing in the whole cluster, too."""
    review = _Review(client, namespace)
    if all([await review.allows(one) for one in _EVERYTHING]):
        return frozenset()
    return frozenset({*await review.lacking(needs.permissions), *await review.lacking_for_grants(needs.grants)})


class _Review:
    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._rules: dict[str, _NamespaceRules] = {}
        self._answers: dict[Permission, bool] = {}

    async def lacking(self, permissions: Iterable[Permission]) -> set[Permission]:
        permissions = frozenset(permissions)
        for namespace in {self._namespace, *(one.scope for one in permissions)} - {""}:
            await self._rules_in(namespace)
        missing: set[Permission] = set()

        async def ask(permission: Permission) -> None:
            if not await self.allows(permission):
                missing.add(permission)

        await run_bounded(ask, sorted(permissions))
        return missing

    async def lacking_for_grants(self, needs: Iterable[GrantNeed]) -> set[Permission]:
        missing: set[Permission] = set()
        for need in needs:
            if await self.allows(need.instead):
                continue
            held = need.held if need.held is not None else await self._live_permissions(need.instead)
            missing |= {need.instead} if held is None else await self.lacking(held)
        return missing

    async def allows(self, permission: Permission) -> bool:
        known = self._answers.get(permission)
        if known is None:
            known = self._answers[permission] = await self._ask(permission)
        return known

    async def _ask(self, permission: Permission) -> bool:
        found = await self._rules_in(permission.scope or self._namespace)
        is_listed = found.rules.allow(permission)
        if found.is_complete and (permission.scope or not is_listed):
            return is_listed
        return await self._access(permission)

    async def _rules_in(self, namespace: str) -> _NamespaceRules:
        found = self._rules.get(namespace)
        if found is None:
            spec = {"namespace": namespace}
            answer = await self._client.review(SELF_RULES_REVIEWS, _body(SELF_RULES_REVIEWS, spec))
            status = msgspec.json.decode(answer, type=_RulesReview).status
            listed = [*(status.resource_rules or ()), *(status.non_resource_rules or ())]
            found = self._rules[namespace] = _NamespaceRules(rules=Rules(listed), is_complete=not status.incomplete)
        return found

    async def _access(self, asked: Permission) -> bool:
        answer = await self._client.review(SELF_ACCESS_REVIEWS, _body(SELF_ACCESS_REVIEWS, access_attributes(asked)))
        return msgspec.json.decode(answer, type=_AccessReview).status.allowed

    async def _live_permissions(self, bind: Permission) -> frozenset[Permission] | None:
        """Permissions of the role that the cluster has. None: it has none, or the client may not read it."""
        if bind.verb != "bind":
            return None
        resource = CLUSTER_ROLES if bind.resource == CLUSTER_ROLES.plural else ROLES
        place = bind.scope if resource.namespaced else ""
        if not await self.allows(Permission(place, "get", bind.group, bind.resource, bind.name)):
            return None
        try:
            role = orjson.loads(await self._client.get(resource, place, bind.name))
        except (NotFoundError, ForbiddenError):
            return None
        return frozenset(permissions_of(role.get("rules"), bind.scope))


def access_attributes(asked: Permission) -> dict[str, Any]:
    """Part of the spec of an access review that says what is asked for."""
    if asked.url:
        return {"nonResourceAttributes": {"path": asked.url, "verb": asked.verb}}
    resource, _, below = asked.resource.partition("/")
    attributes = {
        "namespace": asked.scope,
        "verb": asked.verb,
        "group": asked.group,
        "resource": resource,
        "subresource": below,
        "name": asked.name,
    }
    return {"resourceAttributes": {key: value for key, value in attributes.items() if value}}


def _body(resource: Resource, spec: dict[str, Any]) -> bytes:
    gvk: GroupVersionKind = resource.gvk
    return canonical_json({"apiVersion": gvk.api_version, "kind": gvk.kind, "spec": spec})
