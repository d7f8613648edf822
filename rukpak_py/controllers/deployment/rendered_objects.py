"""Objects of a rendering on their way into a plan: patched, in their namespaces, and marked as those of their owner."""

import asyncio
from typing import Final

from rukpak_py.apply.desired import Desired, desire, scaled
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.order import is_builtin
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import GroupVersionKind, Head, Object, canonical_json
from rukpak_py.formats.format import RenderedContent
from rukpak_py.formats.patches import PatchedObjects, patch_objects
from rukpak_py.kube.resources import NAMESPACES

TURN_BYTES: Final = 64 * 1024  # of manifests, between two chances for the rest of the process


def patched_objects(attempt: Attempt, content: RenderedContent, limits: Limits = DEFAULT_LIMITS) -> PatchedObjects:
    """The objects with the patches of the options; the `crds/` of a chart are left as they are."""
    return patch_objects(
        content.objects,
        attempt.options.patches,
        default_namespace=attempt.install_namespace or content.default_namespace,
        exempt=content.before_hooks,
        limits=limits,
    )


def namespace_object(name: str) -> Object:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    head = Head(gvk=GroupVersionKind("", "v1", NAMESPACES.gvk.kind), namespace="", name=name)
    return Object(head=head, json=canonical_json(manifest))


async def desired_of(content: RenderedContent, resolution: Resolution, attempt: Attempt) -> tuple[Desired, ...]:
    desired: dict[object, Desired] = {}
    turn = 0
    scalers = scaled(content.objects, default_namespace=attempt.namespace)
    for obj in content.objects:
        resource = resolution.resources.get(obj.head.gvk)
        if resource is None:
            continue
        key = obj.head.key
        one = desire(
            obj,
            owner=attempt.owner,
            namespaced=resource.namespaced,
            default_namespace=attempt.namespace,
            custom=not is_builtin(obj.head.gvk.group),
            outlives=attempt.makes(obj),
            lasting=key in content.lasting,
            create_only=key in content.create_only,
            overrides=attempt.options.overrides,
            scaler=scalers.get(key._replace(namespace=key.namespace or attempt.namespace)),
        )
        known = desired.setdefault(one.key, one)
        if known.payload.digest != one.payload.digest:
            raise ContentError(f"the content has two different objects with the same name: {one.key}")
        turn += len(obj.json)
        if turn > TURN_BYTES:
            turn = 0
            await asyncio.sleep(0)
    return tuple(desired.values())
