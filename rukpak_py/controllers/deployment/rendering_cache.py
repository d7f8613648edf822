"""Renderings that are kept in memory: the ones used last, within one budget for all deployments.

A deployment keeps a few: of what is wanted, of what is installed, and of what a rollback would install. Once what is
wanted is installed, it keeps that one alone.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from rukpak_py.controllers.deployment.state_parts import ContentKey

BUDGET_BYTES = 64 * 1024 * 1024
KEPT_OF_A_DEPLOYMENT = 3


class _Sized(Protocol):
    @property
    def size(self) -> int: ...


T = TypeVar("T", bound=_Sized)


class RenderingCache(Generic[T]):
    def __init__(self) -> None:
        self._kept: OrderedDict[ContentKey, T] = OrderedDict()  # the one used last is the last
        self._has_several: set[str] = set()  # deployments with more than one: a search for them goes through all
        self.size = 0

    def __iter__(self) -> Iterator[T]:
        return iter(self._kept.values())

    def get(self, key: ContentKey) -> T | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def keep(self, key: ContentKey, rendered: T) -> None:
        self._drop(key)
        self._kept[key] = rendered
        self.size += rendered.size
        of_deployment = self._keys_of(key.deployment)
        for superseded in of_deployment[:-KEPT_OF_A_DEPLOYMENT]:
            self._drop(superseded)
        if len(of_deployment) > 1:
            self._has_several.add(key.deployment)
        while self.size > BUDGET_BYTES and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def installed(self, key: ContentKey) -> None:
        """Drop the others of the deployment: its wanted content is installed, so nothing asks for them."""
        if key.deployment in self._has_several:
            self._has_several.remove(key.deployment)
            for other in self._keys_of(key.deployment):
                if other != key:
                    self._drop(other)

    def ended(self, uid: str) -> None:
        """Free the room of the deployment's renderings for others."""
        self._has_several.discard(uid)
        for key in self._keys_of(uid):
            self._drop(key)

    def _keys_of(self, uid: str) -> list[ContentKey]:
        return [key for key in self._kept if key.deployment == uid]

    def _drop(self, key: ContentKey) -> None:
        former = self._kept.pop(key, None)
        self.size -= former.size if former is not None else 0
