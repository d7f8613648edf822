"""Fields of the objects that an upgrade changes, found by dry runs and remembered while nothing changes.

One report asks about a number of objects and holds a number of fields; what is beyond them is not compared. Comparing
has threads of its own: content that is costly to compare does not keep those of the rest of the process.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from rukpak_py.api.accounts import Account
from rukpak_py.api.conditions import brief
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.object_writer import preview
from rukpak_py.apply.plan import Change
from rukpak_py.apply.planned_fields import FieldChanges, changed_fields
from rukpak_py.apply.upgrade_document import FIELDS_AT_MOST, Basis
from rukpak_py.apply.upgrade_plan import ObjectChanges
from rukpak_py.apply.upgrade_report import ComparedObject
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.state_parts import ContentKey
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.keyed_digests import DigestKey
from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.pace import run_bounded

PREVIEWS_AT_MOST = 500  # dry runs of one report
_REMEMBERED = 8  # deployments whose fields are remembered
_THREADS = 2
_TOO_MANY_OBJECTS = f"the fields of more than {PREVIEWS_AT_MOST} objects are not compared"
_TOO_MANY_FIELDS = f"more than {FIELDS_AT_MOST} fields are not listed"

Token: TypeAlias = tuple[Account | None, ContentKey, str, str, int]  # for whom, what is sent, to which object as it is
Compared: TypeAlias = dict[ObjectKey, ComparedObject]


@dataclass(slots=True)
class _Found:
    objects: Compared = field(default_factory=dict)
    room: int = FIELDS_AT_MOST

    def add(self, key: ObjectKey, one: ComparedObject) -> bool:
        """Whether there was room for all of its fields."""
        fields, beyond = one.changes.fields[: self.room], one.changes.fields[self.room :]
        self.room -= len(fields)
        changes = FieldChanges(fields=fields, left_out=one.changes.left_out + len(beyond))
        self.objects[key] = replace(one, changes=changes)
        return not beyond


class PlanFields:
    def __init__(self) -> None:
        self._key = DigestKey.new()  # no digest of a report is compared with that of another process
        self._known = OrderedDict[str, dict[ObjectKey, tuple[Token, FieldChanges]]]()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="plan-fields")

    def ended(self, uid: str) -> None:
        """The deployment is gone."""
        self._known.pop(uid, None)

    async def compared(
        self,
        attempt: Attempt,
        planned: Planned,
        objects: ObjectChanges,
        former: Mapping[ObjectKey, Desired],
        skip: Callable[[Change], bool],
    ) -> Compared:
        """The fields of objects that change, first of those that are listed first."""
        uid = attempt.deployment.metadata.uid
        places = {key: at for at, key in enumerate((*objects.replaced, *objects.taken, *objects.changed))}
        changes = [change for change in planned.plan.changes if change.key in places]
        changes.sort(key=lambda change: places[change.key])
        known, found = self._known.get(uid, {}), _Found()
        remembered = dict[ObjectKey, tuple[Token, FieldChanges]]()

        async def compare(change: Change) -> None:
            key, live = change.key, change.live
            if not found.room:
                found.add(key, ComparedObject(why=_TOO_MANY_FIELDS))
                return
            if live is None or skip(change) or key in objects.replaced:
                found.add(key, await self._by_content(attempt, change, former.get(key)))
                return
            token: Token = (attempt.account, attempt.content, change.payload.digest, live.uid, live.version)
            before = known.get(key)
            if before is None or before[0] != token:
                try:
                    old, new = await preview(planned.target, change)
                except RukPakError as error:
                    by_content = await self._by_content(attempt, change, former.get(key))
                    found.add(key, replace(by_content, why=brief(attempt.state.mask.hide(str(error)))))
                    return
                before = token, await self._fields(attempt, change, old or new, new)
            if found.add(key, ComparedObject(basis=Basis.DRY_RUN, changes=before[1])):
                remembered[key] = before

        await run_bounded(compare, changes[:PREVIEWS_AT_MOST])
        for change in changes[PREVIEWS_AT_MOST:]:
            found.add(change.key, ComparedObject(why=_TOO_MANY_OBJECTS))
        if not attempt.state.has_ended:
            self._known[uid] = remembered
            self._known.move_to_end(uid)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found.objects

    async def _by_content(self, attempt: Attempt, change: Change, former: Desired | None) -> ComparedObject:
        if former is None:
            return ComparedObject(why="the installed content does not have it")
        changes = await self._fields(attempt, change, former.payload.body, change.payload.body)
        return ComparedObject(basis=Basis.CONTENT, changes=changes)

    async def _fields(self, attempt: Attempt, change: Change, old: bytes, new: bytes) -> FieldChanges:
        """Digests of equal values differ from object to object: a Secret of a reader tells nothing of others."""
        owner, name = attempt.deployment.metadata.uid.encode(), str(change.key).encode()
        work = partial(
            changed_fields,
            old,
            new,
            ignored=change.desired.ignored,
            hide=attempt.state.mask.hide,
            digest=partial(self._key.digest, owner, name),
        )
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
