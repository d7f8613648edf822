"""Each Secret and ConfigMap that holds values is read once for each change that its watch shows."""

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from rukpak_py.controllers.ports import ValuesObject
from rukpak_py.controllers.system_objects import SystemObjects
from rukpak_py.controllers.values_objects import SystemValuesObjects
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.errors import ServerUnavailableError
from rukpak_py.kube.metadata import LiveObject, Metadata
from tests.unit.controllers.fakes import FakeClient, refusal


@dataclass
class FakeWatch:
    shown: dict[str, LiveObject] = field(default_factory=dict)
    synced: asyncio.Event = field(default_factory=asyncio.Event)

    def get(self, key: ObjectKey) -> LiveObject | None:
        return self.shown.get(key.name)


class World:
    """The watch shows what was stored before `delivered`."""

    def __init__(self) -> None:
        self.client, self.secrets, self.maps = FakeClient(), FakeWatch(), FakeWatch()
        self.secrets.synced.set()
        reader = SystemObjects(self.client.as_client(), "system")
        self.objects = SystemValuesObjects(
            reader, secrets=cast("Any", self.secrets), config_maps=cast("Any", self.maps)
        )

    def put(self, text: str = "a: 1", kind: str = "Secret") -> None:
        data = {"k": base64.b64encode(text.encode()).decode() if kind == "Secret" else text}
        self.client.put(kind, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "o"}, "data": data})

    def delivered(self) -> None:
        self.secrets.shown.clear()
        if ("Secret", "o") in self.client.objects:
            metadata = self.client.objects["Secret", "o"]["metadata"]
            live = Metadata(name="o", uid=metadata["uid"], resource_version=metadata["resourceVersion"])
            self.secrets.shown["o"] = LiveObject(key=ObjectKey("", "Secret", "system", "o"), metadata=live)

    async def read(self, kind: str = "Secret") -> str | None:
        data = await self.objects.read(ValuesObject(kind, "o"))
        return data["k"].decode() if data is not None else None

    @property
    def calls(self) -> int:
        return len(self.client.calls)


async def test_one_request_for_each_change_however_often_it_is_asked_for() -> None:
    world = World()
    world.put()
    world.delivered()
    assert await asyncio.gather(*(world.read() for _ in range(3))) == ["a: 1"] * 3
    assert world.calls == 1
    world.put("a: 2")
    assert await world.read() == "a: 1"
    world.delivered()
    assert [await world.read() for _ in range(2)] == ["a: 2"] * 2
    assert world.calls == 2


async def test_a_missing_object_is_asked_for_once_and_read_when_it_is_there() -> None:
    world = World()
    assert [await world.read() for _ in range(3)] == [None] * 3
    assert world.calls == 1
    world.put()
    world.delivered()
    assert await world.read() == "a: 1"
    del world.client.objects["Secret", "o"]
    world.delivered()
    assert [await world.read() for _ in range(3)] == [None] * 3
    assert world.calls == 3


async def test_an_object_that_the_watch_does_not_show_yet_is_read_all_the_same() -> None:
    world = World()
    world.put()
    assert await world.read() == "a: 1"
    world.delivered()
    assert await world.read() == "a: 1"
    assert world.calls == 1


async def test_before_the_watch_has_listed_anything_it_is_asked_once() -> None:
    world = World()
    world.put(kind="ConfigMap")
    assert [await world.read("ConfigMap") for _ in range(3)] == ["a: 1"] * 3
    assert world.calls == 1


async def test_an_object_made_again_is_another_one() -> None:
    world = World()
    world.put()
    world.delivered()
    await world.read()
    metadata = world.client.objects["Secret", "o"]["metadata"]
    world.put("a: 2")
    world.client.objects["Secret", "o"]["metadata"] = {**metadata, "uid": "new"}  # with the same version
    world.delivered()
    assert await world.read() == "a: 2"


async def test_a_server_that_does_not_answer_is_asked_again() -> None:
    world = World()
    world.put()
    world.client.failing["get"] = refusal(ServerUnavailableError)
    for _ in range(2):
        with pytest.raises(ServerUnavailableError):
            await world.read()
    world.client.failing.clear()
    assert await world.read() == "a: 1"


async def test_an_object_without_references_is_forgotten() -> None:
    world = World()
    world.put()
    world.delivered()
    await world.read()
    world.objects.retain({ValuesObject("Secret", "o")})
    await world.read()
    assert world.calls == 1
    world.objects.retain(set())
    await world.read()
    assert world.calls == 2


async def test_a_secret_of_the_operator_is_refused_and_asked_for_once_for_each_change() -> None:
    world = World()
    world.put()
    labels = {"app.kubernetes.io/part-of": "rukpak", "app.kubernetes.io/managed-by": "rukpak-operator"}
    world.client.objects["Secret", "o"]["metadata"]["labels"] = labels
    world.delivered()
    for _ in range(3):
        with pytest.raises(ContentError, match="Secret o holds keys or certificates of the operator"):
            await world.read()
    assert world.calls == 1
    world.put("a: 2")
    world.delivered()
    assert await world.read() == "a: 2"
