"""What this process remembers of the hooks of a deployment. The status has what another process needs to know."""

from dataclasses import dataclass, field

from rukpak_py.api.hook_status import RunningHook
from rukpak_py.controllers.deployment.hooks.runner import HookEnd
from rukpak_py.controllers.jobs import Key
from rukpak_py.controllers.result.progress import Fact


@dataclass(slots=True)
class HookJob:
    """The last job that ran a hook."""

    key: Key | None = None
    begun: RunningHook | None = None  # what it has found, or is about to create; its end is not recorded yet
    ended: tuple[Key, HookEnd] | None = None  # not recorded yet

    def start(self, key: Key) -> None:
        self.key = key
        self.recorded()

    def recorded(self) -> None:
        self.begun = self.ended = None

    def stopped(self) -> None:
        self.key = None
        self.recorded()


@dataclass(slots=True)
class SupersededHook:
    """A hook of an installation that was given up: what was done about it."""

    over: tuple[str, ...] = ()  # the hook that is cleared, though an older status still shows it
    deleted: frozenset[str] = frozenset()  # uids of what was deleted and whose records stay


@dataclass(slots=True)
class HookState:
    run: str = ""  # whose first hook was begun
    job: HookJob = field(default_factory=HookJob)
    superseded: SupersededHook = field(default_factory=SupersededHook)
    deleted: set[str] = field(default_factory=set)  # uids of objects whose deletion was asked for
    untold: tuple[Fact, ...] = ()  # notes about hooks that no status has shown yet ...
    untold_of: str = ""  # ... of this rendering
