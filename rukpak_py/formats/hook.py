"""Hooks: objects that are created at an event of an installation, and waited for; they are not what it installs.

Hooks of one event run one after the other, by weight, then by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rukpak_py.core.objects import Object

MOST_HOOKS: Final = 100  # of one content: the status records each of them


class HookEvent(StrEnum):
    PRE_INSTALL = "pre-install"
    POST_INSTALL = "post-install"
    PRE_UPGRADE = "pre-upgrade"
    POST_UPGRADE = "post-upgrade"
    PRE_ROLLBACK = "pre-rollback"
    POST_ROLLBACK = "post-rollback"
    PRE_DELETE = "pre-delete"
    POST_DELETE = "post-delete"


DELETE_EVENTS: Final = frozenset({HookEvent.PRE_DELETE, HookEvent.POST_DELETE})


class DeletePolicy(StrEnum):
    BEFORE_HOOK_CREATION = "before-hook-creation"
    HOOK_SUCCEEDED = "hook-succeeded"
    HOOK_FAILED = "hook-failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Hook:
    object: Object
    events: frozenset[HookEvent]
    weight: int = 0
    delete_policies: frozenset[DeletePolicy] = frozenset({DeletePolicy.BEFORE_HOOK_CREATION})
    outlives: bool = False  # it stays when its deployment goes

    @property
    def order(self) -> tuple[int, str]:
        return self.weight, self.object.head.name


def has_delete_hooks(hooks: Iterable[Hook]) -> bool:
    return any(not DELETE_EVENTS.isdisjoint(hook.events) for hook in hooks)
