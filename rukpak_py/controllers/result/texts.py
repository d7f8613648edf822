"""Texts of facts for users: the texts of their details, joined, put in front of what they concern, and masked."""

from collections.abc import Sequence
from dataclasses import dataclass

from rukpak_py.api.conditions import BRIEF_CHARACTERS, brief
from rukpak_py.api.names import ConditionStatus, ConditionType
from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock
from rukpak_py.controllers.result.progress import Reached
from rukpak_py.controllers.result.reported_facts import Hide, JudgedFact, Side
from rukpak_py.core.text import joined

PAUSE_TOLD_SECONDS = 30.0  # a longer pause before the next attempt is told, in Ready
_ORPHANS = frozenset({Cause.ORPHANING, Cause.ORPHANING_FAILED})
_HOOKS_AT_WORK = frozenset({Cause.HOOK_RUNNING, Cause.FORMER_HOOK})


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """`installed`, `wanted`: names of the Bundles, as the status and the template have them."""

    hide: Hide
    installed: str
    wanted: str
    wanted_reached: Reached
    is_deleted: bool

    def whole(self, facts: Sequence[JudgedFact]) -> str:
        """Text for the condition that the facts concern."""
        return self.hide(f"{self._upgrade(facts[0])}{joined(one.fact.text for one in facts)}")

    def line(self, facts: Sequence[JudgedFact]) -> str:
        """Text for an Event, and for Ready."""
        return self.hide(
            f"{self._deletion(facts[0])}{self._upgrade(facts[0])}{joined(one.fact.brief for one in facts)}"
        )

    def of_ready(self, facts: Sequence[JudgedFact]) -> str:
        waiting = "Waiting: " if facts[0].cause in _HOOKS_AT_WORK and not self.is_deleted else ""
        return f"{waiting}{self.line(facts)}"

    def _deletion(self, one: JudgedFact) -> str:
        if not self.is_deleted:
            return ""
        return "Orphaning: " if one.cause in _ORPHANS else "Deleting: "

    def _upgrade(self, one: JudgedFact) -> str:
        """Say what became of the installed content when its successor failed."""
        is_about_it = one.row.aspect is ConditionType.INSTALLED and one.row.status is ConditionStatus.FALSE
        if not self.installed or not is_about_it or one.side is Side.INSTALLED or self.is_deleted:
            return ""
        upgrade = "upgrade" if self.wanted == self.installed else f"upgrade to {self.wanted}"
        if self.wanted_reached is Reached.NOTHING:
            return f"{upgrade} refused; {self.installed} stays installed: "
        if self.wanted_reached >= Reached.APPLIED:
            return ""  # it is what is installed by now
        return f"{upgrade} is half done: "


def with_next_attempt(text: str, schedule: Schedule, clock: Clock) -> str:
    """Text with the time of the next attempt where that is far away, whatever has to be cut for it."""
    pause = schedule.attempt_at - clock.loop if schedule.attempt_at is not None else 0.0
    if pause <= PAUSE_TOLD_SECONDS:
        return text
    at = clock.timestamp(-pause).partition("T")[2]
    when = f"; attempt {schedule.failures}, next at {at}"
    return f"{brief(text, BRIEF_CHARACTERS - len(when))}{when}"
