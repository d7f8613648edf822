"""Decides what becomes of an upgrade that is not healthy in time, by `spec.upgrades.onFailure`.

The time counts from the record of the upgrade, `status.upgrade`, which stands before its first write; so it goes on
over restarts, whether applying, a hook or health fails. The last healthy revision before it is installed again: its
gates are asked first, and `status.rollback` is written, in the place of `status.upgrade`, before its first write. One
write of the status thus decides which of the two contents is brought into the cluster, whatever happens to the process.
Where a gate refuses, the upgrade stays, and `status.upgrade` says why.
"""

from rukpak_py.api.bundle_deployment import BundleDeployment, Installation, InstallOutcome
from rukpak_py.api.install_options import mean_the_same, recorded
from rukpak_py.api.installed import read_history
from rukpak_py.api.upgrade_windows import duration_of
from rukpak_py.api.upgrades import BegunUpgrade, FailureAction, RolledBack
from rukpak_py.controllers.deployment.attempt import HAVE_FAILED, Attempt
from rukpak_py.controllers.result.cause_table import Kind
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclusion import Clock
from rukpak_py.controllers.result.errors import API_ERRORS
from rukpak_py.controllers.result.progress import Fact, Progress, Reached
from rukpak_py.controllers.result.upgrade_details import RollbackRefused, UpgradeRolledBack

TEMPLATE_LOST = "status.history does not have its template and its options"
SHORT_SECONDS = 60.0  # for an upgrade to become healthy, where it was not looked at for longer than it may take
_UNHEALTHY = frozenset({Cause.UNHEALTHY, Cause.STILL_UNHEALTHY, Cause.UNHEALTHY_FAILED})
_PASSING = API_ERRORS.causes - {Cause.API_DENIED} | {
    Cause.UNAVAILABLE,
    Cause.RENDERING_UNAVAILABLE,
    Cause.RENDERING_CONFLICT,
    Cause.RENDERING_FAILED,
    Cause.KINDS_HELD_BACK,
    Cause.KINDS_HIDDEN,
}


def is_healthy(progress: Progress) -> bool:
    """Whether all of it is applied and healthy, pruned or not."""
    return progress.reached >= Reached.APPLIED and not any(fact.cause in _UNHEALTHY for fact in progress.facts)


def seconds_left(attempt: Attempt, progress: Progress, clock: Clock, *, seen_for: float) -> float | None:
    """Seconds until the upgrade is to be undone, unless it is healthy by then. None: it never is.

    `seen_for`: how long this process has looked at it. While nothing is known to have failed, that is a short time at
    least: after a pause nothing of it may have had the time to become healthy.
    """
    on_failure, begun = attempt.deployment.spec.upgrades.on_failure, begun_of(attempt)
    if on_failure is None or on_failure.action is not FailureAction.ROLLBACK or begun is None or is_healthy(progress):
        return None
    if begun.is_rollback or begun.kept_because or not begun.started_at or not begun.revision:
        return None
    try:
        after = duration_of(on_failure.after).total_seconds()
    except ValueError:
        return None  # of a CRD without our rules
    left = max(0.0, after - clock.seconds_since(begun.started_at))
    if refusal_of(progress):
        return left
    return max(left, min(after, SHORT_SECONDS) - seen_for)


def begun_of(attempt: Attempt) -> BegunUpgrade | None:
    """The record of the upgrade, where it is of this content with these options."""
    begun = attempt.deployment.status.upgrade
    is_it = begun is not None and (begun.content, begun.options) == (
        attempt.bundle.status.digest,
        attempt.options.digest,
    )
    return begun if is_it else None


def goes_back(attempt: Attempt) -> bool:
    """Whether content and options are those of a former revision that did not fail, and not of what is installed."""
    history = attempt.deployment.status.history
    if not history or _is_of(history[0], attempt):
        return False
    return any(_is_of(entry, attempt) and entry.outcome not in HAVE_FAILED for entry in history[1:])


def _is_of(entry: Installation, attempt: Attempt) -> bool:
    return entry.digest == attempt.bundle.status.digest and mean_the_same(entry.options, recorded(attempt.options))


def rollback_of(attempt: Attempt, begun: BegunUpgrade, progress: Progress, clock: Clock) -> RolledBack:
    """The record of the rollback, before it begins: to the latest revision that was healthy, if there is any."""
    left = [one for one in read_history(attempt.deployment.status.history) if one.revision <= begun.revision]
    healthy = (one.revision for one in left if one.outcome == InstallOutcome.HEALTHY)
    return RolledBack(
        revision=next(healthy, begun.revision),
        bundle=begun.bundle,
        content=begun.content,
        options=begun.options,
        reason=_why(progress),
        time=clock.timestamp(),
    )


def _why(progress: Progress) -> str:
    """The worst of what is told, in a line."""
    told = [fact for fact in progress.facts if fact.row.kind in {Kind.FAILURE, Kind.WAIT} and fact.brief]
    worst = min(told, key=lambda fact: fact.cause.rank, default=None)
    return worst.brief if worst is not None else "it did not become healthy"


def is_undone(attempt: Attempt) -> RolledBack | None:
    """The record of the rollback, where what the spec asks for is what has failed."""
    record = attempt.deployment.status.rollback
    is_it = record is not None and (record.content, record.options) == (
        attempt.bundle.status.digest,
        attempt.options.digest,
    )
    return record if is_it else None


def entry_of(deployment: BundleDeployment, record: RolledBack) -> Installation | None:
    """The entry to go back to: the recorded revision, or once that is lost, the one that the rollback has made of it.

    None: neither is in the history with its template.
    """
    history = read_history(deployment.status.history)
    former = next((one for one in history if one.revision == record.revision), None)
    if former is not None and former.template is not None:
        return former
    latest = history[0] if history else None
    if latest is None or latest.template is None or latest.revision <= record.revision:
        return None
    # While the record stands, only the rollback makes entries: what has pushed the former one out is its own.
    return latest if former is None or _are_the_same(latest, former) else None


def is_finished(deployment: BundleDeployment, record: RolledBack) -> bool:
    """Whether the rollback has made its entry of the history: all of the former revision was applied."""
    history = read_history(deployment.status.history)
    if not history or history[0].revision <= record.revision:
        return False
    former = next((one for one in history if one.revision == record.revision), None)
    return former is None or _are_the_same(history[0], former)


def _are_the_same(one: Installation, other: Installation) -> bool:
    return one.digest == other.digest and mean_the_same(one.options, other.options)


def refusal_of(progress: Progress) -> str:
    """The failure that is told: the reason why a rollback whose first write was not made is refused. Empty: there is
    none, so far. Requests that fail and servers that are away refuse nothing.
    """
    refusals = [fact for fact in progress.facts if fact.row.kind is Kind.FAILURE and fact.cause not in _PASSING]
    return _why(Progress(facts=tuple(refusals))) if refusals else ""


def undone_fact(record: RolledBack) -> Fact:
    detail = UpgradeRolledBack(bundle=record.bundle, revision=record.revision, reason=record.reason)
    return Fact(cause=Cause.ROLLED_BACK, detail=detail)


def is_told(deployment: BundleDeployment, record: RolledBack) -> bool:
    """Whether the status says already that the upgrade is undone; so the former revision was installed by then."""
    notes = deployment.status.notes
    return any(note.reason == Cause.ROLLED_BACK and note.since >= record.time for note in notes)


def kept_fact(begun: BegunUpgrade) -> Fact:
    return Fact(cause=Cause.ROLLBACK_REFUSED, detail=RollbackRefused(bundle=begun.bundle, reason=begun.kept_because))
