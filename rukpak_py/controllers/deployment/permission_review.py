"""Permissions that an attempt needs, compared with those of its account."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.permissions.installer import Needs, PermittedResource, Resources, needs_of
from rukpak_py.apply.permissions.leaving import permissions_to_leave
from rukpak_py.apply.permissions.permission import Permission, without
from rukpak_py.apply.permissions.review import missing_permissions
from rukpak_py.apply.preflight.olm import CSV, SUBSCRIPTION
from rukpak_py.apply.preflight.permissions import MissingPermissions
from rukpak_py.apply.removed_objects import PrunePolicy
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import NAMESPACES, Resource

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

        chosen = rendered.facts.namespace  # it is made when it is missing
        return needs_of(
            applied,
            created_once=created_once,
            hooks=hooks,
            install_namespace=attempt.namespace,
            others=[
                *([Permission("", "create", "", NAMESPACES.plural)] if chosen else ()),
                *permissions_to_leave(*self._leaving(attempt, rendered), self._find),
            ],
            looks_for_olm=rendered.content.olm is not None and any(map(self._find, (SUBSCRIPTION, CSV))),
            resource_of=resource_of,
        )

    async def _new(self, missing: frozenset[Permission], active: Attempt | None) -> frozenset[Permission] | None:
        rendered = await self._rendered_of(active) if active is not None else None
        if active is None or not isinstance(rendered, Rendered):
            return None
        return frozenset(without(missing, self.needs(active, rendered).least))


def _manifest(body: bytes) -> Json:
    manifest: Json = orjson.loads(body)
    return manifest
