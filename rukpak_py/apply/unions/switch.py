"""Switches the unions of an object where an apply alone is refused (422).

An apply removes a member of a union that we sent, with the defaults inside it. It cannot remove a default that we never
sent, a member in which another manager owns a field, or one that another client put there. Those become ours first;
until the apply, nothing has changed but who owns them, and the old content, applied again, gives them back. Nothing is
moved before the server took the outcome in a dry run.
"""

from dataclasses import dataclass

import orjson

from rukpak_py.apply.unions.move import UnionSwitch, union_switch
from rukpak_py.apply.unions.outcome import JsonPatch
from rukpak_py.core.objects import ObjectKey, canonical_json
from rukpak_py.kube.client import JSON_PATCH, Client
from rukpak_py.kube.errors import ErrorAnswer, StaleError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource

ATTEMPTS = 4  # a controller that writes a status between two requests costs one


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedApply:
    """`uid`, `version`: what must still be there; without a version, whichever."""

    client: Client
    resource: Resource
    key: ObjectKey
    uid: str
    version: int | None = None
    body: bytes
    manager: str

    async def try_switched(self) -> bool:
        """Whether unions have to be switched; raises what the server has against the outcome of that."""
        switch = await self._read()
        if switch is None:
            return False
        await self._patch(switch.outcome, dry_run=True)
        return True

    async def switch(self) -> str | None:
        """The resourceVersion to apply on, now that what has to go is ours. None: no union has to be switched."""
        for attempt in range(1, ATTEMPTS + 1):
            switch = await self._read()
            if switch is None:
                return None
            await self._patch(switch.outcome, dry_run=True)
            try:
                return (await self._patch(switch.move)).metadata.resource_version
            except StaleError:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _read(self) -> UnionSwitch | None:
        live = await self.client.get(self.resource, self.key.namespace, self.key.name)
        switch = union_switch(live, orjson.loads(self.body), self.resource.gvk, self.manager)
        if switch is not None and (switch.uid != self.uid or self.version not in {None, switch.version}):
            raise StaleError(ErrorAnswer(subject=str(self.key), status=409, message="it changed since it was read"))
        return switch

    async def _patch(self, patch: JsonPatch, *, dry_run: bool = False) -> LiveObject:
        return await self.client.patch(
            self.resource,
            self.key.namespace,
            self.key.name,
            canonical_json(patch),
            content_type=JSON_PATCH,
            dry_run=dry_run,
        )
