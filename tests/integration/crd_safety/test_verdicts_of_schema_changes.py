"""Each verdict about a change of a schema is what an API server makes of an object that is stored before it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from rukpak_py.apply.crd_safety.definition import read_definition
from rukpak_py.apply.crd_safety.judging import judge
from rukpak_py.apply.crd_safety.upgrade import compare_definitions
from rukpak_py.apply.crd_safety.verdicts import Rule, Verdict
from rukpak_py.kube.client import Client
from rukpak_py.kube.resources import CRDS
from tests.integration.crd_safety.kind import Kind, a_kind, definition
from tests.integration.crd_safety.schema_cases import BATCHES, NOT_CHECKED, Case


def has_all_of(now: Any, before: Any) -> bool:
    """Whether no field and no null got lost."""
    if isinstance(before, dict):
        return isinstance(now, dict) and all(
            name in now and has_all_of(now[name], value) for name, value in before.items()
        )
    if isinstance(before, list):
        return isinstance(now, list) and all(map(has_all_of, now, before)) and len(now) == len(before)
    return bool(now == before)


async def seen(kind: Kind, case: Case, stored: bytes) -> Verdict:
    """The verdict as the server gives it, by all that clients may do with the object."""
    before, now = orjson.loads(stored), orjson.loads(await kind.read())
    if not all(has_all_of(now.get(part), before[part]) for part in ("spec", "status") if part in before):
        return Verdict.LOSES
    edits = [
        await kind.takes({"metadata": {"labels": {"a": "b"}}}),
        await kind.takes({"spec": {"other": "edited"}}),
        await kind.takes({"spec": case.edit}),
        await kind.takes_apply(),
    ]
    if case.status_edit:
        edits.append(await kind.takes({"status": case.status_edit}, subresource="status"))
    if not all(edits):
        return Verdict.BREAKS
    return Verdict.NOTE if await kind.takes_new(stored) else Verdict.WARN


@dataclass(frozen=True, kw_only=True)
class Found:
    judged: Verdict
    seen: Verdict
    foreseen: Verdict  # without a look at the object
    not_checked: tuple[str, ...]


async def upgraded(client: Client, case: Case) -> Found:
    async with a_kind(client) as kind:
        await kind.define(definition(kind.group, case, new=False))
        stored = await kind.store(case)
        live = await client.get(CRDS, "", f"things.{kind.group}")
        new = definition(kind.group, case, new=True)
        upgrade = compare_definitions(read_definition(live), read_definition(new))
        comparisons = [one for listed in upgrade.lists.values() for one in listed]
        offences = [offence for one in comparisons for offence in judge(stored, one)]
        await kind.define(new)
        await kind.until_updated()
        return Found(
            judged=max([Verdict.NOTE, *(one.verdict for one in offences)]),
            seen=await seen(kind, case, stored),
            foreseen=max([Verdict.NOTE, *(one.verdict for one in upgrade.changes)]),
            not_checked=tuple(one.path for one in upgrade.changes if one.rule is Rule.CEL),
        )


async def all_upgraded(client: Client, cases: Sequence[Case]) -> dict[str, Found]:
    found = await asyncio.gather(*(upgraded(client, case) for case in cases))
    return {case.name: one for case, one in zip(cases, found, strict=True)}


@pytest.mark.parametrize("cases", BATCHES, ids=lambda cases: cases[0].name)
async def test_the_verdict_is_what_the_server_does(client: Client, cases: Sequence[Case]) -> None:
    found = await all_upgraded(client, cases)
    expected = {case.name: case.verdict for case in cases}
    assert {name: one.judged for name, one in found.items()} == expected
    assert {name: one.seen for name, one in found.items()} == expected
    assert [name for name, one in found.items() if one.foreseen < one.judged] == []


async def test_rules_of_cel_are_named_as_not_checked(client: Client) -> None:
    for name, one in (await all_upgraded(client, NOT_CHECKED)).items():
        assert one.not_checked == ("spec.value",), name
        assert one.seen > one.judged == Verdict.NOTE, name
