"""An inventory whose watches say what a test tells them to say."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from rukpak_py.apply import inventory as module
from rukpak_py.apply.inventory import Inventory
from rukpak_py.core.objects import GroupKind, ObjectKey
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import CONFIG_MAPS, Resource
from tests.unit.apply.lives import OWNER, key, live_object, owned

if TYPE_CHECKING:
    from rukpak_py.kube.watching import WatchStatus

OnChange = Callable[[ObjectKey, LiveObject | None, LiveObject | None], None]


class FakeInformer:
    """Says what a test tells it to say, and remembers whether it was stopped."""

    def __init__(self, _client: object, resource: Resource, **options: Any) -> None:
        self.resource = resource
        self.namespace: str = options["namespace"]
        self.full: bool = options["full"]
        self.selector: str = options["label_selector"]
        self.say: OnChange = options["on_change"]
        self.synced = asyncio.Event()
        self.status: WatchStatus | None = None
        self.started = False
        self.served = True
        self.nudges = 0
        self.before_stop: Callable[[], None] = lambda: None

    def start(self) -> None:
        self.started = True

    def nudge(self) -> None:
        self.nudges += 1

    async def stop(self) -> None:
        self.before_stop()
        self.started = False


@dataclass
class Watches:
    inventory: Inventory
    woken: list[str] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    told: list[frozenset[GroupKind]] = field(default_factory=list)  # kinds whose first list is complete
    known: dict[ObjectKey, LiveObject] = field(default_factory=dict)

    def informer(self, resource: Resource = CONFIG_MAPS, namespace: str = "") -> FakeInformer:
        found: object = self.inventory.informer_of(resource.group_kind, namespace)
        assert isinstance(found, FakeInformer)
        return found

    def shows(self, *news: LiveObject, resource: Resource = CONFIG_MAPS) -> None:
        for new in news:
            self.informer(resource).say(new.key, self.known.get(new.key), new)
            self.known[new.key] = new

    def deletes(self, name: str = "a") -> None:
        self.informer().say(key(name), self.known.pop(key(name), None), None)

    def listed(self, *resources: Resource) -> None:
        """The first list of these is complete."""
        for resource in resources or (CONFIG_MAPS,):
            self.informer(resource).synced.set()

    @property
    def owned(self) -> list[str]:
        return sorted(key.name for key in self.inventory.owned_by(OWNER.uid))


def watches_of(
    monkeypatch: pytest.MonkeyPatch, *resources: Resource, by_namespace: frozenset[GroupKind] = frozenset()
) -> Watches:
    """Needs a running loop, as an inventory does."""
    monkeypatch.setattr(module, "Informer", FakeInformer)
    woken: list[str] = []
    gone: list[ObjectKey] = []
    told: list[frozenset[GroupKind]] = []
    unasked: Any = None
    inventory = Inventory(
        unasked, on_change=woken.append, on_gone=gone.append, on_listed=told.append, by_namespace=by_namespace
    )
    inventory.watch(resources)
    return Watches(inventory=inventory, woken=woken, gone=gone, told=told)


def ours(version: int = 1, uid: str = "u", name: str = "a", **fields: Any) -> LiveObject:
    """A ConfigMap of ours as a watch shows it."""
    return live_object(**owned(name, **fields), version=version, uid=uid)
