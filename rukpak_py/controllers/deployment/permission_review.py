"""Permissions that an attempt needs, compared with those of its account."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

import orjson

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.permissions.installer import WATCH_VERBS, Needs, PermittedResource, Resources, needs_of
from rukpak_py.apply.permissions.leaving import permissions_to_leave
from rukpak_py.apply.permissions.permission import Permission, without
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.apply.preflight.olm import CSV, SUBSCRIPTION
from rukpak_py.apply.preflight.permissions import MissingPermissions
from rukpak_py.apply.removed_objects import PrunePolicy
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.formats.helm.cluster_view import Lookup
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS, Resource

Json = dict[str, Any]
FindResource = Callable[[GroupVersionKind], Resource | None]
LeavingObjects = Callable[[Attempt, Rendered], tuple[list[ObservedObject], PrunePolicy]]


class PermissionReview:
    def __init__(
        self,
        find: FindResource,
        *,
        leaving: LeavingObjects,
        rendered_of: Callable[[Attempt], Awaitable[Rendered | Progress]],
    ) -> None:
        """`find`: the resource of a kind, where the cluster serves it. `leaving`: objects that content drops.

        `rendered_of`: the content of an attempt.
        """
        self._find = find
        self._leaving = leaving
        self._rendered_of = rendered_of

    async def missing(
        self, attempt: Attempt, rendered: Rendered, active: Attempt | None, client: Client
    ) -> MissingPermissions | None:
        """None: nothing is missing, or the attempt has the rights of the operator, which are not asked for."""
        if attempt.account is None:
            return None
        needs = self.needs(attempt, rendered)
        missing = await missing_permissions(client, needs, namespace=attempt.account.namespace)
        if not missing:
            return None
        return MissingPermissions(
            account=attempt.account,
            deployment=attempt.deployment.metadata.name,
            missing=missing,
            new=await self._new(missing, active),
        )

    def needs(self, attempt: Attempt, rendered: Rendered) -> Needs:
        applied = [_manifest(one.payload.body) for one in rendered.desired if not one.create_only]
        created_once = [_manifest(one.payload.body) for one in rendered.desired if one.create_only]
        hooks = [_manifest(hook.object.json) for hook in rendered.hooks]
        resources = Resources([*applied, *created_once, *hooks])

        def resource_of(manifest: Json) -> PermittedResource:
            gvk = GroupVersionKind.parse(manifest["apiVersion"], manifest["kind"])
            found = rendered.resolution.resources.get(gvk) or self._find(gvk)
            if found is None:  # of a hook, whose kind another hook brings
                return resources.of(manifest)
            return PermittedResource(gvk.group, found.plural, found.namespaced)

        others = set(lookup_permissions(rendered.content.lookups))
        if rendered.facts.namespace:  # the content suggests it, and it is made when it is missing
            others.add(Permission("", "create", "", NAMESPACES.plural))
        others.update(permissions_to_leave(*self._leaving(attempt, rendered), self._find))
        return needs_of(
            applied,
            created_once=created_once,
            hooks=hooks,
            install_namespace=attempt.namespace,
            others=others,
            looks_for_olm=rendered.content.olm is not None and any(map(self._find, (SUBSCRIPTION, CSV))),
            resource_of=resource_of,
        )

    async def _new(self, missing: frozenset[Permission], active: Attempt | None) -> frozenset[Permission] | None:
        rendered = await self._rendered_of(active) if active is not None else None
        if active is None or not isinstance(rendered, Rendered):
            return None
        return frozenset(without(missing, self.needs(active, rendered).least))


def lookup_permissions(lookups: Iterable[Lookup]) -> Iterator[Permission]:
    """Permissions by which templates see what they look up: another answer would give another rendering."""
    for one in lookups:
        yield Permission(one.namespace, "get" if one.name else "list", one.group, one.plural, one.name)


def values_permissions(objects: Iterable[ValuesObject]) -> Iterator[Permission]:
    """Permissions to read values, and to see that they change. Without an account they are the operator's own."""
    for one in objects:
        if one.account is not None:
            plural = SECRETS.plural if one.kind == SECRETS.gvk.kind else CONFIG_MAPS.plural
            for verb in WATCH_VERBS:
                yield Permission(one.account.namespace, verb, "", plural, one.name)


def _manifest(body: bytes) -> Json:
    manifest: Json = orjson.loads(body)
    return manifest
