"""Stored objects are judged in bounded memory, whatever their number and sizes."""

import asyncio
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rukpak_py.apply.crd_safety.schema import read_schema
from rukpak_py.apply.crd_safety.upgrade import Comparison
from rukpak_py.apply.crd_safety.verdicts import Verdict
from rukpak_py.apply.stored_objects import judge_stored
from rukpak_py.core.limits import MIB
from rukpak_py.kube.client import Client
from tests.integration.crd_safety.kind import Kind, a_kind
from tests.integration.crd_safety.schema_cases import TEXT, WHOLE, Case, Json

MANY = 10_000
AT_A_TIME = 16
MOST = 100 * MIB  # by which the memory may grow
LARGE = MIB  # of one object

OLD: Json = {"size": WHOLE, "text": TEXT}
STORED = Case(name="many objects", old=OLD, new=OLD, verdict=Verdict.WARN)


def comparison() -> Comparison:
    def schema(properties: Json) -> Json:
        spec = {"type": "object", "properties": {"sibling": TEXT, "other": TEXT, **properties}}
        return {"type": "object", "properties": {"spec": spec}}

    narrower = {"size": {**WHOLE, "maximum": MANY - 2}, "text": {**TEXT, "pattern": "^(a+)+$"}}
    return Comparison(version="v1", old=read_schema(schema(OLD)), new=read_schema(schema(narrower)))


async def fill(kind: Kind, number: int, text: str) -> None:
    places = asyncio.Semaphore(AT_A_TIME)

    async def create(index: int) -> None:
        async with places:
            body = kind.thing(f"one-{index}", spec={"size": index, "text": text})
            await kind.client.create(kind.resource, "", body)

    await asyncio.gather(*map(create, range(number)))


@contextmanager
def growth() -> Iterator[list[int]]:
    """The peak of what Python allocates, in bytes; what C code has on its own counts little beside it."""
    found: list[int] = []
    tracemalloc.start()
    try:
        yield found
        found.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(900)  # a busy server takes minutes to store them
async def test_ten_thousand_objects_are_judged_in_bounded_memory(client: Client) -> None:
    async with a_kind(client) as kind:
        await kind.serve(STORED)
        await fill(kind, MANY, "aaaa")
        with growth() as peak:
            (found,) = await judge_stored(client, kind.resource, [comparison()])
        assert peak[0] < MOST
        (statement,) = found.statements(Verdict.WARN)
        most = MANY - 2
        assert statement == f"spec.size: Invalid value: must be at most {most} (version v1, 1 object: one-{MANY - 1})"


async def test_large_objects_are_read_in_smaller_pages(client: Client) -> None:
    async with a_kind(client) as kind:
        await kind.serve(STORED)
        await fill(kind, 40, "b" * LARGE)
        with growth() as peak:
            (found,) = await judge_stored(client, kind.resource, [comparison()])
        assert peak[0] < MOST
        (statement,) = found.statements(Verdict.WARN)
        assert "40 objects: " in statement
        assert "bbb" not in statement
