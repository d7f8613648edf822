"""Gate: no upgrade of a CRD loses what its stored objects have, or freezes them.

It is asked of CRDs that an upgrade changes. A first install, a correction of drift and a deletion change none.
"""

from collections.abc import Iterable

from rukpak_py.api.deployment_spec import CrdSafety
from rukpak_py.api.names import SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.apply.crd_review import NAMED_STATEMENTS, OBJECTS_DO_NOT_FIT, CrdReview
from rukpak_py.apply.crd_safety.definition import UnreadableDefinitionError
from rukpak_py.apply.order import CRD_KIND
from rukpak_py.apply.plan import TAKES, Action, Change, Plan
from rukpak_py.apply.preflight.gate import Candidate, PassedWithWarnings, RefusedObjects
from rukpak_py.apply.results import Failure, FailureKind, failure_kind
from rukpak_py.core.objects import ObjectKey

_UPGRADES = frozenset({Action.UPDATE, *TAKES})


async def unsafe_crds(candidate: Candidate) -> RefusedObjects | PassedWithWarnings | None:
    if not candidate.is_upgrade:
        return None
    failures: list[Failure] = []
    warnings: dict[ObjectKey, str] = {}
    for change in upgraded_crds(candidate.plan):
        try:
            review = await candidate.review_crd(change)
        except UnreadableDefinitionError as error:
            text = f"{change.key}: it cannot be compared with what is in the cluster: {error}"
            failures.append(Failure(key=change.key, kind=FailureKind.REFUSED, message=text))
            continue
        if (failure := refusal(change.key, review, candidate.crd_safety)) is not None:
            failures.append(failure)
        elif text := warning(change.key, review):
            warnings[change.key] = text
    if failures:
        return RefusedObjects(failures=tuple(failures))
    return PassedWithWarnings(warnings=warnings) if warnings else None


def upgraded_crds(plan: Plan) -> list[Change]:
    return [
        change
        for change in plan.changes
        if change.action in _UPGRADES and change.desired.head.gvk.group_kind == CRD_KIND and change.live is not None
    ]


def refusal(key: ObjectKey, review: CrdReview, safety: CrdSafety) -> Failure | None:
    if review.unlisted is not None:
        text = f"{key}: its objects could not be listed, so it is not upgraded: {review.unlisted}"
        return Failure(key=key, kind=failure_kind(key, review.unlisted), message=text)
    breaks = review.breaks if safety is CrdSafety.ENFORCE else ()
    if not review.loses and not breaks:
        return None
    off = f'the annotation {SAFE_CRD_UPGRADE_ANNOTATION}: "false" on the CRD switches this check off'
    advice = off if review.loses else "repair these objects, or set spec.crdSafety: Warn"
    text = f"{key}: {refusal_text(review, breaks)}; {advice}"
    return Failure(key=key, kind=FailureKind.REFUSED, message=text)


def refusal_text(review: CrdReview, breaks: tuple[str, ...]) -> str:
    """Text in the words of the original, which clients look for. A change that is refused for itself stands alone."""
    if review.refused_for_itself:
        return listed(review.loses)
    return f'{OBJECTS_DO_NOT_FIT} for "{review.name}": {listed((*review.loses, *breaks, *review.not_checked))}'


def warning(key: ObjectKey, review: CrdReview) -> str:
    """Statements about an upgrade that passes; empty: there is nothing to say."""
    statements = (*review.loses, *review.breaks, *review.warns, *review.not_checked)
    return f"{key}: {listed(statements)}" if statements else ""


def listed(statements: Iterable[str]) -> str:
    found = list(statements)
    more = [f"and {len(found) - NAMED_STATEMENTS} more"] if len(found) > NAMED_STATEMENTS else []
    return "; ".join([*found[:NAMED_STATEMENTS], *more])
