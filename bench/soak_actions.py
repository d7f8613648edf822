"""The actions of the soak: what users and colleagues do to a fleet of deployments, chosen by a seed.

Every deployment has one content at a time, a ConfigMap of its own named by version. An action picks a deployment: it
edits or deletes one of its objects, upgrades it, or deletes it; a deleted one is created again when it is picked next.
While the API server is away an action is tried until the server takes it, as a user would.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

import orjson

from bench.workload import INGRESSES, NAMESPACE, SERVICES, SYSTEM, WORKLOADS, Manifest, application, content
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ForbiddenError, NotFoundError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS, CONFIG_MAPS, Resource
from tests import manifests

T = TypeVar("T")

USER = "user"
RETRY_SECONDS = 0.5
KEPT_CONTENTS = 2  # the newest, and the one that is active until an upgrade in hand is over


class Action(StrEnum):
    EDIT = "edit"
    DELETE_OBJECT = "delete object"
    UPGRADE = "upgrade"
    DELETE = "delete deployment"
    CREATE = "create again"
    RESTART = "restart API server"


WEIGHTS = {Action.EDIT: 45, Action.DELETE_OBJECT: 15, Action.UPGRADE: 30, Action.DELETE: 10}
# Each of them is a field that the content sets.
EDITS: tuple[tuple[Resource, Manifest], ...] = (
    (SERVICES, {"spec": {"selector": {"app": "edited"}}}),
    (WORKLOADS, {"spec": {"replicas": 1}}),
    (WORKLOADS, {"metadata": {"labels": {"app.kubernetes.io/name": "edited"}}}),
    (INGRESSES, {"metadata": {"labels": {"app.kubernetes.io/name": "edited"}}}),
)


def objects(name: str, version: int) -> list[tuple[Resource, Manifest]]:
    """The content of a version; one of odd number has one object more, which the next version prunes."""
    made = application(name)
    for _, manifest in made:
        manifest["metadata"]["annotations"] = {"example.com/version": str(version)}
    if version % 2:
        extra = manifests.config_map(f"{name}-extra", NAMESPACE, v=str(version))
        made.append((CONFIG_MAPS, extra))
    return made


@dataclass(kw_only=True)
class Fleet:
    client: Client
    names: list[str]
    seed: int
    done: Counter[Action] = field(default_factory=Counter)
    versions: dict[str, int] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._former: list[tuple[str, int]] = []
        self._random = random.Random(self.seed)  # noqa: S311 - a load that can be repeated, no secret

    async def create_all(self) -> None:
        await asyncio.gather(*(self._upgrade(name) for name in self.names))

    async def act(self) -> None:
        """One action on one deployment."""
        name = self._random.choice(self.names)
        [action] = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))
        edited, edit = self._random.choice(EDITS)
        deleted = self._random.choice(objects(name, 0))[0]
        if name in self.absent:
            action = Action.CREATE
        match action:
            case Action.EDIT:
                body = orjson.dumps(edit)
                await persist(lambda: self.client.patch(edited, NAMESPACE, name, body, field_manager="another-tool"))
            case Action.DELETE_OBJECT:
                await self._delete(deleted, NAMESPACE, name)
            case Action.UPGRADE:
                await self._upgrade(name)
            case Action.DELETE:
                await self._delete(BUNDLE_DEPLOYMENTS, "", name)
                self.absent.add(name)
            case _:
                if not await self._create_again(name):
                    return
        self.done[action] += 1

    async def complete(self) -> None:
        """Create again those that are deleted at the moment."""
        while self.absent:
            for name in sorted(self.absent):
                await self._create_again(name)
            await asyncio.sleep(RETRY_SECONDS)

    async def _create_again(self, name: str) -> bool:
        """Once the deletion has come to its end."""
        if await persist(lambda: self.client.get_metadata(BUNDLE_DEPLOYMENTS, "", name)) is not None:
            return False
        await self._upgrade(name)
        self.absent.discard(name)
        return True

    async def _upgrade(self, name: str) -> None:
        """To a content that did not exist before."""
        version = self.versions[name] = self.versions.get(name, -1) + 1
        source = f"{name}-{version}"
        published = content(source, [manifest for _, manifest in objects(name, version)])
        deployment = orjson.dumps(manifests.deployment(name, manifests.source(source)))
        await self._apply(CONFIG_MAPS, SYSTEM, source, published)
        await self._apply(BUNDLE_DEPLOYMENTS, "", name, deployment)
        if version:
            self._former.append((name, version - 1))
        await self._tidy_up()

    async def _tidy_up(self) -> None:
        """Delete former contents; one that a Bundle still needs, which the webhook denies, is tried again later."""
        former, self._former = self._former, []
        for name, version in former:
            if version > self.versions[name] - KEPT_CONTENTS:
                self._former.append((name, version))
                continue
            try:
                await self._delete(CONFIG_MAPS, SYSTEM, f"{name}-{version}")
            except ForbiddenError:
                self._former.append((name, version))

    async def _apply(self, resource: Resource, namespace: str, name: str, body: bytes) -> None:
        await persist(lambda: self.client.apply(resource, namespace, name, body, field_manager=USER, force=True))

    async def _delete(self, resource: Resource, namespace: str, name: str) -> None:
        await persist(lambda: self.client.delete(resource, namespace, name))


async def persist(send: Callable[[], Awaitable[T]]) -> T | None:
    """The answer once the server gives one; None when there is no such object."""
    while True:
        with suppress(UnavailableError):
            try:
                return await send()
            except NotFoundError:
                return None
        await asyncio.sleep(RETRY_SECONDS)
