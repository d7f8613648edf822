"""Messages about the hooks of a chart. The first object of the fact is the hook."""

from rukpak_py.controllers.result.progress import Detail, Objects, Words
from rukpak_py.core.text import joined
from rukpak_py.formats.hook import DELETE_EVENTS, HookEvent

HOOKS_SKIPPED = Words(words='the annotation core.rukpak.io/skip-hooks is "true": hooks of the chart are not run')
HOOKS_BEGIN_AGAIN = Words(
    words="the rendering whose hooks had run is lost, and rendering the chart again gives different objects: the "
    "installation begins again, with the hooks of the new rendering"
)
HOOKS_UNKNOWN = (
    "the hooks that the chart has for its deletion cannot be found out; set the annotation core.rukpak.io/skip-hooks "
    'to "true" to delete without them'
)
SKIP_DELETE_HOOKS = 'set core.rukpak.io/skip-hooks to "true" to delete without hooks'


class RunningHook(Detail, frozen=True, kw_only=True):
    """`begins_again`: its rendering is another one than that of the hooks that have run."""

    event: HookEvent
    begins_again: bool = False

    def text(self, objects: Objects, /) -> str:
        again = f"; {HOOKS_BEGIN_AGAIN.words}" if self.begins_again else ""
        return f"the {self.event} hook {objects[0]} is running{again}"


class HookNotRun(Detail, frozen=True, kw_only=True):
    event: HookEvent
    why: str

    def text(self, _: Objects, /) -> str:
        return f"{self.event} hook: {self.why}{f'; {SKIP_DELETE_HOOKS}' if self.event in DELETE_EVENTS else ''}"


class FailedHook(Detail, frozen=True, kw_only=True):
    """It is not run again by itself, so the text says what to do. `is_lost`: its rendering cannot be had any more."""

    event: HookEvent
    why: str = ""
    is_lost: bool = False

    def text(self, objects: Objects, /) -> str:
        failed = f"the {self.event} hook {objects[0]} failed{f': {self.why}' if self.why else ''}"
        if self.is_lost:
            return (
                f"{failed}, and the rendering that it is of is lost: rendering the chart again gives different "
                "objects. Look at the logs of its pods; to begin the installation again, with the hooks of the new "
                "rendering, set the annotation core.rukpak.io/reconcile-at to a new value, or change spec.template or "
                "spec.config"
            )
        instead = SKIP_DELETE_HOOKS if self.event in DELETE_EVENTS else "change spec.template or spec.config"
        return (
            f"{failed}. Look at the logs of its pods; to run it again, set the annotation core.rukpak.io/reconcile-at "
            f"to a new value, or {instead}"
        )


class SupersededHook(Detail, frozen=True, kw_only=True, tag="FormerHook"):
    """A hook of a superseded installation, which is not stopped. The tags are those of former releases: they are part
    of the identity of a note.
    """

    event: str

    def text(self, objects: Objects, /) -> str:
        return (
            f"the {self.event} hook {objects[0]} of an installation that was given up is still running. The operator "
            "waits for it to end, because it may be half a migration. To go on at once, look at its logs, then delete "
            "it"
        )


class SupersededHookStays(Detail, frozen=True, kw_only=True, tag="FormerHookStays"):
    event: str
    why: str

    def text(self, objects: Objects, /) -> str:
        hook = f"{objects[0]}, a {self.event} hook of an installation that was given up,"
        return f"{hook} has ended and cannot be deleted: {self.why}"


class SupersededHookEnd(Detail, frozen=True, kw_only=True, tag="FormerHookEnd"):
    """`why`: it failed; empty: it succeeded."""

    event: str
    why: str = ""

    def text(self, objects: Objects, /) -> str:
        result = f"failed: {self.why}" if self.why else "succeeded"
        return f"the {self.event} hook {objects[0]} of an installation that was given up has {result}"


class UnknownHooks(Detail, frozen=True, kw_only=True):
    why: str = ""

    def text(self, _: Objects, /) -> str:
        return f"{HOOKS_UNKNOWN}{f': {self.why}' if self.why else ''}"


class HooksLeft(Detail, frozen=True, kw_only=True):
    """Hooks that the collector does not delete when the deployment goes; `why`: one reason for each."""

    why: tuple[str, ...]

    def text(self, objects: Objects, /) -> str:
        return joined(f"could not delete the hook {key}: {why}" for key, why in zip(objects, self.why, strict=True))
