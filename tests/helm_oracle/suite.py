"""One chart after the other through all steps, on both sides at once, and what differs after each step."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

from tests.helm_oracle.cases import Case, Step
from tests.helm_oracle.comparing import (
    Difference,
    Differs,
    KeyState,
    SecretKey,
    by_history,
    differences,
    secret_keys,
    unasked,
)
from tests.helm_oracle.expected import Expected, reason_for
from tests.helm_oracle.sides import Answer, HelmSide, OperatorSide
from tests.helm_oracle.snapshot import Snapshot

AGREE_SECONDS = 3.0  # both sides are looked at until they agree, or differ in the same way for so long
INTERVAL_SECONDS = 0.25


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """After one step of one chart."""

    step: Step
    helm: Answer
    operator: Answer
    objects: int
    keys_of_helm: dict[SecretKey, KeyState]
    keys_of_operator: dict[SecretKey, KeyState]
    differs: Sequence[Difference]  # not on the list
    expected: Sequence[tuple[Difference, Expected]]
    seconds: float
    revision: int


@dataclass(kw_only=True)
class _Histories:
    """Snapshots after each step so far."""

    loses_storage: bool
    helm: list[Snapshot] = field(default_factory=list)
    operator: list[Snapshot] = field(default_factory=list)


async def run_case(
    case: Case, helm: HelmSide, operator: OperatorSide, *, lose_storage: Callable[[], Awaitable[None]] | None = None
) -> list[Outcome]:
    """`lose_storage`: of the operator; done after each step, and may change nothing."""
    await asyncio.gather(*(side.cluster.begin(case.namespace) for side in (helm, operator)))
    outcomes: list[Outcome] = []
    histories = _Histories(loses_storage=lose_storage is not None)
    for step in Step:
        outcome = await _run_step(case, step, helm, operator, histories)
        if lose_storage is not None and step is not Step.DELETE:
            await lose_storage()
            changes = await _changes(case, operator, histories.operator[-1], outcome.revision)
            outcome = replace(outcome, differs=[*outcome.differs, *changes])
        outcomes.append(outcome)
        if step is Step.INSTALL and not (outcome.helm.done and outcome.operator.done):
            await asyncio.gather(helm.act(case, Step.DELETE), operator.act(case, Step.DELETE))
            break
    return outcomes


async def _changes(case: Case, operator: OperatorSide, before: Snapshot, revision: int) -> list[Difference]:
    refused = await operator.apply_again(case)
    found = list(unasked(before, await operator.cluster.snapshot(case.namespace)))
    now = await operator.revision(case)
    if now != revision:
        upgrade = Difference(kind=Differs.UNASKED, helm=f"revision {revision}", operator=f"revision {now}; {refused}")
        found.append(upgrade)
    return found


async def _run_step(case: Case, step: Step, helm: HelmSide, operator: OperatorSide, histories: _Histories) -> Outcome:
    began = monotonic()
    theirs, ours = await asyncio.gather(helm.act(case, step), operator.act(case, step))
    of_helm, of_operator, found = await _compared(case, step, helm, operator, histories)
    histories.helm.append(of_helm)
    histories.operator.append(of_operator)
    if theirs.done != ours.done:
        found = [Difference(kind=Differs.ANSWER, helm=_told(theirs), operator=_told(ours)), *found]
    reasons = [(one, reason_for(case.chart, step, one, storage_is_lost=histories.loses_storage)) for one in found]
    return Outcome(
        step=step,
        helm=theirs,
        operator=ours,
        objects=len(of_helm),
        keys_of_helm=secret_keys(histories.helm),
        keys_of_operator=secret_keys(histories.operator),
        differs=[one for one, reason in reasons if reason is None],
        expected=[(one, reason) for one, reason in reasons if reason is not None],
        seconds=monotonic() - began,
        revision=await operator.revision(case) if step is not Step.DELETE else 0,
    )


async def _compared(
    case: Case, step: Step, helm: HelmSide, operator: OperatorSide, histories: _Histories
) -> tuple[Snapshot, Snapshot, list[Difference]]:
    """Once they agree; what is deleted, and what a controller does, takes its time."""
    random = None
    last: list[Difference] | None = None
    since = monotonic()
    while True:
        theirs, ours = await asyncio.gather(*(side.cluster.snapshot(case.namespace) for side in (helm, operator)))
        found = list(differences(theirs, ours))
        if any(one.kind is Differs.FIELD for one in found):
            random = random if random is not None else await helm.random_paths(case, step)
            found = list(by_history(found, [*histories.helm, theirs], [*histories.operator, ours], random))
        if all(reason_for(case.chart, step, one, storage_is_lost=histories.loses_storage) for one in found):
            return theirs, ours, found
        if found != last:
            last, since = found, monotonic()
        if monotonic() - since >= AGREE_SECONDS:
            return theirs, ours, found
        await asyncio.sleep(INTERVAL_SECONDS)


def _told(answer: Answer) -> str:
    return "did it" if answer.done else f"did not: {answer.message}"
