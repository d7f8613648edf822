"""Our table of the API server's own types, compared with what a server publishes and with what it takes."""

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from rukpak_py.formats.builtin_types import checked
from rukpak_py.formats.go_types import shapes
from rukpak_py.formats.go_types.shapes import List, Map, Own, Pointer, Shape, Struct
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import SchemaError
from rukpak_py.kube.resources import SERVICES
from tests.integration.kube.objects import DEPLOYMENTS, deployment

Json = dict[str, Any]
KINDS = sorted(name for name in shapes._table() if "/" in name)
# Types with JSON code of their own that the server describes by fields.
OPAQUE = {"JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray", "FieldsV1"}
REMOVED = {"workloadRef"}  # of pods: alpha in Kubernetes 1.35, gone in 1.36
NEWER = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}  # not yet v1 in 1.35


def published_path(api_version: str) -> str:
    return f"/openapi/v3/{'apis' if '/' in api_version else 'api'}/{api_version}"


class Published:
    """The OpenAPI document of one API version."""

    def __init__(self, document: Json) -> None:
        self._schemas: Json = document["components"]["schemas"]

    def kinds(self) -> Iterator[tuple[str, Json]]:
        for schema in self._schemas.values():
            for gvk in schema.get("x-kubernetes-group-version-kind", ()):
                yield gvk["kind"], schema

    def missing(self, schema: Json, shape: Shape, path: str, seen: set[tuple[str, str]]) -> Iterator[str]:
        """Fields that the server knows, and our type does not."""
        schema = self._resolved(schema)
        match shape:
            case Pointer(to):
                yield from self.missing(schema, to, path, seen)
            case List(item):
                yield from self.missing(schema["items"], item, f"{path}[]", seen)
            case Map(item) if isinstance(schema.get("additionalProperties"), dict):
                yield from self.missing(schema["additionalProperties"], item, f"{path}{{}}", seen)
            case Own(name):
                if "properties" in schema and name not in OPAQUE:
                    yield f"{path}: {name} has fields"
            case Struct(name) if (name, str(id(schema))) not in seen:
                seen.add((name, str(id(schema))))
                ours = {field.name: field.shape for field in shapes.fields(name)}
                for key, member in schema.get("properties", {}).items():
                    if key in ours:
                        yield from self.missing(member, ours[key], f"{path}.{key}", seen)
                    elif (path or key != "status") and key not in REMOVED:
                        yield f"{path}.{key}"

    def _resolved(self, schema: Json) -> Json:
        while "$ref" in schema or "allOf" in schema:
            reference = schema.get("$ref") or schema["allOf"][0]["$ref"]
            schema = self._schemas[reference.removeprefix("#/components/schemas/")]
        return schema


@pytest.mark.parametrize("api_version", sorted({kind.rpartition("/")[0] for kind in KINDS}))
async def test_every_field_that_the_server_knows_is_in_the_table(client: Client, api_version: str) -> None:
    answer = await client.raw_get(published_path(api_version))
    published = Published(orjson.loads(answer.body))
    compared = set()
    for kind, schema in published.kinds():
        shape = shapes.kind(api_version, kind)
        if shape is not None:
            compared.add(f"{api_version}/{kind}")
            assert list(published.missing(schema, shape, "", set())) == [], kind
    expected = {kind for kind in KINDS if kind.rpartition("/")[0] == api_version}
    assert {kind.rpartition("/")[2] for kind in expected - compared} <= NEWER


async def test_remaining_fields_are_those_that_the_server_accepts(client: Client, namespace: str) -> None:
    body = orjson.loads(deployment("d"))
    body["nonsense"] = body["metadata"]["nonsense"] = body["spec"]["nonsense"] = None
    pod = body["spec"]["template"]
    pod["metadata"]["nonsense"] = pod["spec"]["runAsNonRoot"] = pod["spec"]["containers"][0]["Image"] = True

    with pytest.raises(SchemaError) as refused:
        await client.apply(DEPLOYMENTS, namespace, "d", orjson.dumps(body), field_manager="us", force=False)
    found = checked(body)
    await client.apply(DEPLOYMENTS, namespace, "d", orjson.dumps(found.manifest), field_manager="us", force=False)

    told = {re.sub(r"\[.*?\]", "", field) for field in refused.value.unknown_fields}
    ours = {"".join(f".{part}" for part in path if isinstance(part, str)) for path in found.undeclared}
    assert told <= ours
    assert len(ours) == 6


async def test_the_server_makes_another_integer_of_one_that_does_not_fit(client: Client, namespace: str) -> None:
    """Should this fail because the server refuses it, our refusal has no reason any more."""
    ports = [{"port": 80 + (1 << 32), "protocol": "TCP"}]
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}}

    await client.apply(SERVICES, namespace, "s", orjson.dumps(body), field_manager="us", force=False)

    live = orjson.loads(await client.get(SERVICES, namespace, "s"))
    assert [port["port"] for port in live["spec"]["ports"]] == [80]
    assert [overflow.got for overflow in checked(body).overflows] == [80 + (1 << 32)]
