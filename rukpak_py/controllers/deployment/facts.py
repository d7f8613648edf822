"""Facts from what the engine, the gates and the certificates answer: one for each cause, with all its objects."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.names import RECONCILE_AT_ANNOTATION
from rukpak_py.apply.preflight import AnyRefusal, OwnerIsGone, Refusal, RefusedObjects, Untried
from rukpak_py.apply.results import NO_WAKES, Failure, FailureKind, wakes_of
from rukpak_py.controllers.queue import Turn
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import KeyFacts
from rukpak_py.controllers.result.deployment_details import (
    ChangedObjects,
    MissingResources,
    NewSchema,
    ObjectFailures,
    SlowAnswers,
)
from rukpak_py.controllers.result.errors import API_ERRORS, FAILURE_CAUSES, StageErrors, reason_of_request
from rukpak_py.controllers.result.progress import NO_PROGRESS, Detail, Fact, Progress, Reached, Words
from rukpak_py.core.errors import RukPakError
from rukpak_py.core.findings import advised
from rukpak_py.core.logs import LASTING
from rukpak_py.kube.errors import ApiError
from rukpak_py.kube.pace import Pace
from rukpak_py.kube.resources import NAMESPACES

LOG = logging.getLogger(__name__)
GONE = Progress(reached=Reached.GONE)


def is_open(fact: Fact) -> bool:
    return fact.row.kind in {Kind.FAILURE, Kind.WAIT}


def in_seconds(seconds: float) -> float:
    """Time of the loop, so many seconds from now."""
    return asyncio.get_running_loop().time() + seconds


def look_again(seconds: float) -> Fact:
    return Fact(cause=Cause.LOOK_AGAIN, at=in_seconds(seconds))


def answers_slowly(pace: Pace, left: int) -> Fact:
    """`left`: objects that the next looks go on with."""
    slowest = pace.slowest
    request, seconds = (slowest.request, round(slowest.seconds)) if slowest is not None else ("", 0)
    return Fact(cause=Cause.ANSWERS_SLOWLY, detail=SlowAnswers(request=request, seconds=seconds, left=left))


def error_fact(errors: StageErrors, error: RukPakError, detail: Detail | None = None) -> Fact:
    at = in_seconds(error.retry_after) if error.retry_after else None
    return Fact(cause=errors.cause_of(error), detail=detail or Words(words=advised(error)), at=at)


async def with_failed_request(stages: Coroutine[Any, Any, Progress], done: Progress = NO_PROGRESS) -> Progress:
    """A request that fails ends the stages, and is told when it goes on. `done`: what had happened before them."""
    try:
        return await stages
    except ApiError as error:
        return done + failed_request(error)


def failed_request(error: ApiError) -> Progress:
    LASTING.tell(LOG, logging.WARNING, reason_of_request(error), str(error))
    return Progress(facts=(error_fact(API_ERRORS, error),))


def failure_facts(failures: Sequence[Failure]) -> tuple[Fact, ...]:
    """Facts about failures of single objects. Missing objects are introduced as such where no other failure is."""
    causes = dict.fromkeys(FAILURE_CAUSES[one.kind] for one in failures)
    details: dict[Cause, Callable[[tuple[str, ...]], Detail]] = {
        Cause.SCHEMA_LAGS: lambda answers: NewSchema(answers=answers),
        Cause.OBJECT_CHANGED: lambda answers: ChangedObjects(answers=answers),
    }
    if len(causes) == 1:
        details[Cause.RESOURCE_MISSING] = lambda messages: MissingResources(messages=messages)
    return tuple(
        fact_of(cause, [one for one in failures if FAILURE_CAUSES[one.kind] is cause], details.get(cause))
        for cause in causes
    )


def fact_of(
    cause: Cause, failures: Sequence[Failure], detail: Callable[[tuple[str, ...]], Detail] | None = None
) -> Fact:
    """Fact of one cause. `detail` makes the detail from the statements about the objects; `ObjectFailures` without."""
    messages, longest = tuple(one.message for one in failures), max(one.retry_after for one in failures)
    return Fact(
        cause=cause,
        detail=detail(messages) if detail is not None else ObjectFailures(messages=messages),
        objects=tuple(one.key for one in failures),
        at=in_seconds(longest) if longest else None,
        wakes=NO_WAKES.union(*map(wakes_of, failures)),
    )


def refusal_facts(refusals: Iterable[AnyRefusal]) -> tuple[Fact, ...]:
    """Facts about refusals; the objects that several gates refuse stand together."""
    failures: list[Failure] = []
    facts: list[Fact] = []
    for refusal in refusals:
        match refusal:
            case RefusedObjects():
                failures += refusal.failures
            case Refusal():
                detail = Words(words=refusal.message, line=refusal.brief)
                cause, objects = _cause_of(refusal), refusal.objects
                facts.append(Fact(cause=cause, detail=detail, objects=objects, wakes=refusal.wakes))
            case OwnerIsGone() | Untried():
                pass
    return (*facts, *failure_facts(failures))


def _cause_of(refusal: Refusal) -> Cause:
    if refusal.kind is not FailureKind.MISSING:
        return FAILURE_CAUSES[refusal.kind]
    is_namespace = all((key.group, key.kind) == NAMESPACES.group_kind for key in refusal.wakes)
    return Cause.NAMESPACE_MISSING if is_namespace else Cause.KIND_MISSING


def key_facts(deployment: BundleDeployment, *, bundle: str = "", turn: Turn | None = None) -> KeyFacts:
    """`bundle`: name of the Bundle of the template. `turn`: of the queue."""
    return KeyFacts(
        generation=deployment.metadata.generation,
        bundle=bundle,
        is_deleted=deployment.metadata.is_deleted,
        asked=deployment.metadata.annotations.get(RECONCILE_AT_ANNOTATION, ""),
        turn=turn or Turn(),
    )
