"""From rendered objects to what a deployment wants of them: owned, normalised, in the install namespace, each once."""

import asyncio
from collections.abc import Mapping
from typing import Final

from rukpak_py.apply.desired import Desired, desire, scaled
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.order import is_builtin
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import RenderedContent

TURN_BYTES: Final = 64 * 1024  # of manifests, between two chances for the rest of the process


async def desired_of(content: RenderedContent, resolution: Resolution, attempt: Attempt) -> tuple[Desired, ...]:
    desired: dict[object, Desired] = {}
    turn = 0
    scalers = scaled(content.objects, default_namespace=attempt.namespace)
    for obj in content.objects:
        resource = resolution.resources.get(obj.head.gvk)
        if resource is None:
            continue
        lasting = obj.head.key in content.lasting
        one = _desire(
            obj,
            namespaced=resource.namespaced,
            lasting=lasting,
            create_only=obj.head.key in content.create_only,
            scalers=scalers,
            attempt=attempt,
        )
        known = desired.setdefault(one.key, one)
        if known.payload.digest != one.payload.digest:
            raise ContentError(f"the content has two different objects with the same name: {one.key}")
        turn += len(obj.json)
        if turn > TURN_BYTES:
            turn = 0
            await asyncio.sleep(0)
    return tuple(desired.values())


def _desire(
    obj: Object,
    *,
    namespaced: bool,
    lasting: bool,
    create_only: bool,
    scalers: Mapping[ObjectKey, ObjectKey],
    attempt: Attempt,
) -> Desired:
    key = obj.head.key
    return desire(
        obj,
        owner=attempt.owner,
        namespaced=namespaced,
        default_namespace=attempt.namespace,
        custom=not is_builtin(obj.head.gvk.group),
        outlives=attempt.makes(obj),
        lasting=lasting,
        create_only=create_only,
        overrides=attempt.options.overrides,
        scaler=scalers.get(key._replace(namespace=key.namespace or attempt.namespace)),
    )
