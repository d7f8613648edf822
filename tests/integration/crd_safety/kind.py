"""A kind of one's own on a real API server: its definition, an object that is stored, and what the server takes."""

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson

from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.client import MERGE_PATCH, Client
from rukpak_py.kube.errors import ApiError, KindNotServedError
from rukpak_py.kube.resources import CRDS, Resource
from tests.integration.crd_safety.schema_cases import TEXT, Case, Json
from tests.waiting import eventually

UPDATED = {"updated": {"type": "string", "default": "yes"}}  # seen as soon as the server reads with the new schema
NAME = "stored"


def definition(group: str, case: Case, *, new: bool) -> Json:
    spec = {
        "type": "object",
        "properties": {"sibling": TEXT, "other": TEXT, **(case.new if new else case.old)},
        **(case.new_spec if new else {}),
    }
    root = case.new_root if new else {}
    properties = {"spec": spec, **(UPDATED if new else {}), **root.get("properties", {})}
    if case.status is not None:
        properties["status"] = case.status[1 if new else 0]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", **root, "properties": properties}},
                    **({"subresources": {"status": {}}} if case.status is not None else {}),
                }
            ],
        },
    }


class Kind:
    """A kind of one's own on a real API server."""

    def __init__(self, client: Client, group: str) -> None:
        self.client = client
        self.group = group
        self.resource = Resource(gvk=GroupVersionKind(group, "v1", "Thing"), plural="things", namespaced=False)

    async def define(self, crd: Json) -> None:
        await self.client.apply(CRDS, "", crd["metadata"]["name"], orjson.dumps(crd), field_manager="test", force=True)

    def thing(self, name: str, **fields: Any) -> bytes:
        return orjson.dumps({"apiVersion": f"{self.group}/v1", "kind": "Thing", "metadata": {"name": name}, **fields})

    async def store(self, case: Case) -> bytes:
        body = self.thing(NAME, spec={"other": "a", **case.stored})

        async def is_stored() -> bool:
            try:
                await self.client.create(self.resource, "", body)
            except KindNotServedError:
                return False
            return True

        await eventually(is_stored, what="the kind is served")
        if case.status is not None:
            await self.client.patch_status(self.resource, "", NAME, orjson.dumps({"status": case.status[2]}))
        return await self.read()

    async def serve(self, case: Case) -> None:
        """Define it, and wait until it is served."""
        await self.define(definition(self.group, case, new=False))

        async def is_served() -> bool:
            try:
                await self.client.list_metadata(self.resource)
            except ApiError:
                return False
            return True

        await eventually(is_served, what="the kind is served")

    async def read(self) -> bytes:
        return await self.client.get(self.resource, "", NAME)

    async def until_updated(self) -> None:
        async def is_updated() -> bool:
            return b'"updated":"yes"' in await self.read()

        await eventually(is_updated, what="the server reads with the new schema")

    async def takes(self, patch: Json, *, subresource: str = "") -> bool:
        try:
            await self.client.patch(
                self.resource,
                "",
                NAME,
                orjson.dumps(patch),
                content_type=MERGE_PATCH,
                subresource=subresource,
                dry_run=True,
            )
        except ApiError:
            return False
        return True

    async def takes_apply(self) -> bool:
        body = {"apiVersion": f"{self.group}/v1", "kind": "Thing", "metadata": {"name": NAME, "labels": {"a": "b"}}}
        try:
            await self.client.apply(
                self.resource, "", NAME, orjson.dumps(body), field_manager="other", force=False, dry_run=True
            )
        except ApiError:
            return False
        return True

    async def takes_new(self, stored: bytes) -> bool:
        fields = {name: value for name, value in orjson.loads(stored).items() if name not in {"metadata", "status"}}
        try:
            await self.client.create(self.resource, "", self.thing("another", **fields), dry_run=True)
        except ApiError:
            return False
        return True


@asynccontextmanager
async def a_kind(client: Client) -> AsyncIterator[Kind]:
    group = f"g{uuid.uuid4().hex[:8]}.schemas.test"
    yield Kind(client, group)
    await client.delete(CRDS, "", f"things.{group}")
