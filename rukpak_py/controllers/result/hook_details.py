"""Messages about the hooks of a chart. The first object of the fact is the hook."""

from rukpak_py.controllers.deployment import messages
from rukpak_py.controllers.result.progress import Detail, Objects, Words
from rukpak_py.core.text import joined
from rukpak_py.formats.hook import HookEvent

HOOKS_SKIPPED = Words(words=messages.HOOKS_SKIPPED)
HOOKS_BEGIN_AGAIN = Words(words=messages.HOOKS_BEGIN_AGAIN)


class RunningHook(Detail, frozen=True, kw_only=True):
    """`begins_again`: its rendering is another one than that of the hooks that have run."""

    event: HookEvent
    begins_again: bool = False

    def text(self, objects: Objects, /) -> str:
        again = f"; {messages.HOOKS_BEGIN_AGAIN}" if self.begins_again else ""
        return f"{messages.hook_running(self.event, objects[0])}{again}"


class HookNotRun(Detail, frozen=True, kw_only=True):
    event: HookEvent
    why: str

    def text(self, _: Objects, /) -> str:
        return messages.hook_not_run(self.event, self.why)


class FailedHook(Detail, frozen=True, kw_only=True):
    """`is_lost`: the rendering that it is of cannot be had any more."""

    event: HookEvent
    why: str = ""
    is_lost: bool = False

    def text(self, objects: Objects, /) -> str:
        say = messages.hook_failed_and_lost if self.is_lost else messages.hook_failed
        return say(self.event, objects[0], self.why)


class SupersededHook(Detail, frozen=True, kw_only=True, tag="FormerHook"):
    """A hook of a superseded installation, which is not stopped. The tags are those of former releases: they are part
    of the identity of a note.
    """

    event: str

    def text(self, objects: Objects, /) -> str:
        return messages.superseded_hook_runs(self.event, objects[0])


class SupersededHookStays(Detail, frozen=True, kw_only=True, tag="FormerHookStays"):
    event: str
    why: str

    def text(self, objects: Objects, /) -> str:
        return messages.superseded_hook_stays(self.event, objects[0], self.why)


class SupersededHookEnd(Detail, frozen=True, kw_only=True, tag="FormerHookEnd"):
    """`why`: it failed; empty: it succeeded."""

    event: str
    why: str = ""

    def text(self, objects: Objects, /) -> str:
        return messages.superseded_hook_ended(self.event, objects[0], self.why)


class UnknownHooks(Detail, frozen=True, kw_only=True):
    why: str = ""

    def text(self, _: Objects, /) -> str:
        return f"{messages.HOOKS_UNKNOWN}{f': {self.why}' if self.why else ''}"


class HooksLeft(Detail, frozen=True, kw_only=True):
    """Hooks that the collector does not delete when the deployment goes; `why`: one reason for each."""

    why: tuple[str, ...]

    def text(self, objects: Objects, /) -> str:
        return joined(f"could not delete the hook {key}: {why}" for key, why in zip(objects, self.why, strict=True))
