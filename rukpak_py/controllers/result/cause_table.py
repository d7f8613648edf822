"""The one table of consequences: which condition, reason, retry and Event a cause gets, whichever stage finds it.

The order is the rank (see `Cause`). An Event about a failure has the reason of the condition that has the whole text.
A row says nothing about texts (the detail of a fact makes those), and nothing about whose content it is: the side in
which `conclude` is handed a fact says that.

* A failure is Stalled when nothing brings it back by itself: `Then.NEVER`.
* `is_held`: an attempt has ended in it, and looks begin no other before its time or a wake-up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from rukpak_py.api.names import ConditionStatus, ConditionType, EventReason, Reason
from rukpak_py.controllers.events import EventType
from rukpak_py.controllers.result.causes import Cause

HIDDEN_QUIET_SECONDS = 10.0  # a server that has just started lists and serves everything by then
ERRORS_QUIET_SECONDS = 10.0  # of requests that fail before it is reported: not each restart of the API server
WAIT_QUIET_SECONDS = 1.0  # a wait that usually ends at once is reported only when it lasts longer
LOOK_AGAIN_SECONDS = 30.0  # for what a watch should have ended
SLOW_LOOK_SECONDS = 0.5  # between two looks at what is written bit by bit, because answers are slow
SCHEMA_LAG_SECONDS = 30.0  # how long a server may know the old schema of a kind whose CRD was changed
CHANGING_SECONDS = 30.0  # how long other clients may change what is being applied
LASTING_SECONDS = 120.0  # unhealthy, or refused by a registry, for so long is worth a Warning
IMAGE_SECONDS = 60.0  # between two attempts while a node pulls, or a registry has no such image
HELD_BACK_SECONDS = 600.0  # of waiting for health before the condition names what is not pruned
PERMISSIONS_SECONDS = 30.0  # between two questions for rights of an account, of which no watch tells
DENIED_SECONDS = 300.0  # between two attempts with a login that is missing or refused; its Secret wakes the Bundle


class Kind(Enum):
    PAUSE = auto()  # nothing is wrong or under way: Ready has its reason, without Reconciling or Stalled
    FAILURE = auto()  # Ready is False, a Warning
    WAIT = auto()  # Ready is Unknown and Reconciling
    HOLD = auto()  # an upgrade that may not begin yet: Ready is as the installed content makes it, with its reason
    NOTE = auto()  # lasts beside all that: a line of its aspect, an Event at its start
    EVENT = auto()  # has happened: an Event
    SILENT = auto()  # for the times of the key alone


class Then(Enum):
    NEVER = auto()  # nothing brings it back by itself
    WAKE = auto()  # a watch does, or the end of a job
    BACKOFF = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    kind: Kind
    then: Then | float = Then.WAKE  # seconds: another attempt after them
    is_held: bool = False
    aspect: ConditionType | None = None  # has the whole text; None: Ready alone
    status: ConditionStatus | None = ConditionStatus.FALSE  # of the aspect; TRUE: a line of it. Of Ready for a pause
    reason: Reason | None = None  # of the aspect; None: by whose content it is (Install-, Upgrade-, ReconcileFailed)
    ready: Reason | None = None  # of Ready; None: that of the aspect
    quiet: float = 0.0  # not told before it has lasted so long
    later: tuple[float, Cause] | None = None  # has lasted so long: counts as another cause
    event: EventReason | Reason | None = None  # None: that of the condition for a failure, else no Event
    event_type: EventType = EventType.WARNING

    @property
    def is_line(self) -> bool:
        """A line of its aspect, which says something else: the installation it is about stands."""
        return self.kind is Kind.NOTE or (self.status is ConditionStatus.TRUE and self.kind is not Kind.HOLD)


_U, _V = ConditionType.UNPACKED, ConditionType.HAS_VALID_BUNDLE
_I, _H = ConditionType.INSTALLED, ConditionType.HEALTHY
_TRUE, _UNKNOWN = ConditionStatus.TRUE, ConditionStatus.UNKNOWN


def _failure(  # noqa: PLR0917 - a row of the table, in the order of its columns
    then: Then | float,
    aspect: ConditionType | None = None,
    reason: Reason | None = None,
    ready: Reason | None = None,
    status: ConditionStatus = ConditionStatus.FALSE,
    quiet: float = 0.0,
) -> Row:
    return Row(
        kind=Kind.FAILURE,
        then=then,
        is_held=True,
        aspect=aspect,
        reason=reason,
        ready=ready,
        status=status,
        quiet=quiet,
    )


def _found(aspect: ConditionType | None, reason: Reason) -> Row:
    """A failure that a look at the Bundle finds: nothing was tried, so the first look after a fix is an attempt."""
    return Row(kind=Kind.FAILURE, then=Then.NEVER, aspect=aspect, reason=reason if aspect else None, ready=reason)


def _wait(  # noqa: PLR0917 - the same
    then: Then | float,
    ready: Reason = Reason.PROGRESSING,
    aspect: ConditionType | None = None,
    status: ConditionStatus = ConditionStatus.FALSE,
    quiet: float = WAIT_QUIET_SECONDS,
    later: tuple[float, Cause] | None = None,
    event: EventReason | Reason | None = None,
) -> Row:
    return Row(
        kind=Kind.WAIT,
        then=then,
        aspect=aspect,
        reason=ready if aspect is not None else None,
        ready=ready,
        status=status,
        quiet=quiet,
        later=later,
        event=event,
    )


def _image_wait(later: tuple[float, Cause] | None = None) -> Row:
    return Row(
        kind=Kind.WAIT,
        then=IMAGE_SECONDS,
        is_held=True,
        aspect=_U,
        reason=Reason.UNPACK_PENDING,
        ready=Reason.UNPACK_PENDING,
        later=later,
    )


def _hold(reason: Reason) -> Row:
    return Row(
        kind=Kind.HOLD,
        is_held=True,
        aspect=ConditionType.UPGRADE_PENDING,
        status=_TRUE,
        reason=reason,
        ready=Reason.UPGRADE_PENDING,
        event=EventReason.UPGRADE_PENDING,
        event_type=EventType.NORMAL,
    )


def _note(event: EventReason | None, aspect: ConditionType | None = _I, *, is_warning: bool = True) -> Row:
    type_ = EventType.WARNING if is_warning else EventType.NORMAL
    return Row(kind=Kind.NOTE, aspect=aspect, event=event, event_type=type_)


def _event(event: EventReason, *, is_warning: bool = False) -> Row:
    return Row(kind=Kind.EVENT, event=event, event_type=EventType.WARNING if is_warning else EventType.NORMAL)


BACKOFF, NEVER, WAKE = Then.BACKOFF, Then.NEVER, Then.WAKE

TABLE: Mapping[Cause, Row] = {
    Cause.SUSPENDED: Row(
        kind=Kind.PAUSE,
        status=None,
        ready=Reason.SUSPENDED,
        event=EventReason.SUSPENDED,
        event_type=EventType.NORMAL,
    ),
    Cause.CLASS_NOT_SERVED: Row(
        kind=Kind.PAUSE, status=_UNKNOWN, ready=Reason.CLASS_NOT_SERVED, event=Reason.CLASS_NOT_SERVED
    ),
    Cause.CLASS_UNKNOWN: _found(None, Reason.CLASS_UNKNOWN),
    Cause.ACCOUNT_REQUIRED: _found(None, Reason.ACCOUNT_REQUIRED),
    Cause.POLICY_MISSING: _failure(WAKE, None, None, Reason.POLICY_MISSING),
    Cause.NOT_JUDGED: _found(None, Reason.NOT_JUDGED),
    Cause.STATUS_TOO_LARGE: _failure(NEVER, None, None, Reason.STATUS_TOO_LARGE),
    Cause.BUNDLE_CONTENT: _failure(NEVER, _V, Reason.RECONCILE_FAILED, Reason.CONTENT_ERROR, _UNKNOWN),
    Cause.BUNDLE_REFUSED: _failure(BACKOFF, _V, Reason.RECONCILE_FAILED, None, _UNKNOWN),
    Cause.BUNDLE_DENIED: _failure(
        BACKOFF, _V, Reason.RECONCILE_FAILED, Reason.ACCESS_DENIED, _UNKNOWN, ERRORS_QUIET_SECONDS
    ),
    Cause.BUNDLE_CONFLICT: _failure(BACKOFF, _V, Reason.RECONCILE_FAILED, Reason.CONFLICT, _UNKNOWN),
    Cause.BUNDLE_UNAVAILABLE: _failure(
        BACKOFF, _V, Reason.RECONCILE_FAILED, Reason.UNAVAILABLE, _UNKNOWN, WAIT_QUIET_SECONDS
    ),
    Cause.BUNDLE_FAILED: _failure(
        BACKOFF, _V, Reason.RECONCILE_FAILED, Reason.RETRYING, _UNKNOWN, ERRORS_QUIET_SECONDS
    ),
    Cause.VALUES_CONTENT: _failure(NEVER, _V, Reason.BUNDLE_LOAD_FAILED, Reason.CONTENT_ERROR),
    Cause.VALUES_MISSING: _failure(WAKE, _V, Reason.BUNDLE_LOAD_FAILED, Reason.UNAVAILABLE),
    Cause.VALUES_DENIED: _failure(
        BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.ACCESS_DENIED, quiet=ERRORS_QUIET_SECONDS
    ),
    Cause.VALUES_CONFLICT: _failure(
        BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.CONFLICT, quiet=ERRORS_QUIET_SECONDS
    ),
    Cause.VALUES_UNAVAILABLE: _failure(
        BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.UNAVAILABLE, quiet=ERRORS_QUIET_SECONDS
    ),
    Cause.VALUES_FAILED: _failure(BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.RETRYING, quiet=ERRORS_QUIET_SECONDS),
    Cause.RENDERING_CONTENT: _failure(NEVER, _V, Reason.BUNDLE_LOAD_FAILED, Reason.CONTENT_ERROR),
    Cause.RENDERING_DENIED: _failure(BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.ACCESS_DENIED),
    Cause.RENDERING_CONFLICT: _failure(BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.CONFLICT),
    Cause.RENDERING_UNAVAILABLE: _failure(BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.UNAVAILABLE),
    Cause.RENDERING_FAILED: _failure(BACKOFF, _V, Reason.BUNDLE_LOAD_FAILED, Reason.RETRYING),
    Cause.UNPACK_CLASS: _failure(NEVER, _V, Reason.CLASS_UNKNOWN),
    Cause.UNPACK_CONTENT: _failure(NEVER, _V, Reason.UNPACK_FAILED, Reason.CONTENT_ERROR),
    Cause.UNPACK_DENIED: _failure(WAKE, _V, Reason.UNPACK_FAILED, Reason.ACCESS_DENIED),
    Cause.UNPACK_CONFLICT: _failure(WAKE, _V, Reason.UNPACK_FAILED, Reason.CONFLICT),
    Cause.UNPACK_UNAVAILABLE: _failure(WAKE, _V, Reason.UNPACK_FAILED, Reason.UNAVAILABLE),
    Cause.UNPACK_FAILED: _failure(WAKE, _V, Reason.UNPACK_FAILED, Reason.RETRYING),
    Cause.UNPACK_CHANGED: _failure(WAKE, _V, Reason.UNPACK_FAILED, Reason.CONTENT_CHANGED),
    Cause.UNPACK_LOST: _failure(NEVER, _V, Reason.UNPACK_FAILED, Reason.CONTENT_LOST),
    Cause.ACCOUNT_MISSING: _failure(BACKOFF, _I, None, Reason.ACCOUNT_MISSING),
    Cause.DEPENDENCY_CYCLE: _failure(NEVER, _I, Reason.DEPENDENCY_CYCLE),
    Cause.DEPENDENCY_MISSING: _failure(WAKE, _I, Reason.DEPENDENCY_MISSING, quiet=WAIT_QUIET_SECONDS),
    Cause.NOT_APPLICABLE: _failure(NEVER, _I),
    Cause.HOOK_FAILED: _failure(NEVER, _I),
    Cause.HOOKS_UNKNOWN: _failure(NEVER, _I),
    Cause.GENERATED_VALUES: _failure(NEVER, _I),
    Cause.PERMISSIONS_MISSING: _failure(PERMISSIONS_SECONDS, _I, None, Reason.PERMISSIONS_MISSING),
    Cause.KIND_MISSING: _failure(BACKOFF, _I),
    Cause.NAMESPACE_MISSING: _failure(BACKOFF, _I),
    Cause.RESOURCE_MISSING: _failure(BACKOFF, _I),
    Cause.REFUSED: _failure(BACKOFF, _I),
    Cause.ACCESS: _failure(BACKOFF, _I),
    Cause.UNAVAILABLE: _failure(BACKOFF, _I),
    Cause.HOOK_NOT_RUN: _failure(BACKOFF, _I),
    Cause.DELETION_FAILED: _failure(BACKOFF, _I),
    Cause.ORPHANING_FAILED: _failure(BACKOFF, _I),
    Cause.DATA_LOSS: _failure(BACKOFF, None, None, Reason.DELETING, quiet=HIDDEN_QUIET_SECONDS),
    Cause.CONFLICT: _failure(BACKOFF, _I, None, Reason.CONFLICT),
    Cause.KINDS_HELD_BACK_DENIED: _failure(60.0, _I, None, Reason.ACCESS_DENIED, quiet=HIDDEN_QUIET_SECONDS),
    Cause.KINDS_HELD_BACK: _failure(60.0, _I, None, Reason.UNAVAILABLE, quiet=HIDDEN_QUIET_SECONDS),
    Cause.MIRROR_CONTENT: _failure(NEVER, None, None, Reason.CONTENT_ERROR),
    Cause.MIRROR_DENIED: _failure(BACKOFF, None, None, Reason.ACCESS_DENIED),
    Cause.MIRROR_CONTESTED: _failure(BACKOFF, None, None, Reason.FIELDS_CONTESTED),
    Cause.MIRROR_CONFLICT: _failure(BACKOFF, None, None, Reason.CONFLICT),
    Cause.MIRROR_UNAVAILABLE: _failure(BACKOFF, None, None, Reason.UNAVAILABLE),
    Cause.MIRROR_FAILED: _failure(BACKOFF, None, None, Reason.RETRYING),
    Cause.API_DENIED: _failure(BACKOFF, None, None, Reason.ACCESS_DENIED, quiet=ERRORS_QUIET_SECONDS),
    Cause.API_CONFLICT: _failure(BACKOFF, None, None, Reason.CONFLICT, quiet=ERRORS_QUIET_SECONDS),
    Cause.API_UNAVAILABLE: _failure(BACKOFF, None, None, Reason.UNAVAILABLE, quiet=ERRORS_QUIET_SECONDS),
    Cause.API_FAILED: _failure(BACKOFF, None, None, Reason.RETRYING, quiet=ERRORS_QUIET_SECONDS),
    Cause.ROLLED_BACK: _failure(NEVER, None, None, Reason.ROLLED_BACK),
    Cause.RENDERING_LOST: _failure(NEVER, _I, Reason.RECONCILE_FAILED, None, _TRUE),
    Cause.OPTIONS_LOST: _failure(WAKE, _I, Reason.RECONCILE_FAILED, None, _TRUE),
    Cause.NOT_CORRECTED: _failure(BACKOFF, _I, Reason.RECONCILE_FAILED, None, _TRUE),
    Cause.PRUNE_FAILED: _failure(BACKOFF, _I, Reason.RETRYING, None, _TRUE),
    Cause.PRUNE_BUDGET: _failure(NEVER, _I, Reason.PRUNE_BUDGET_EXCEEDED, None, _TRUE),
    Cause.CERTIFICATES_CONTESTED: _failure(WAKE, None, None, Reason.FIELDS_CONTESTED),
    Cause.FIELDS_CONTESTED: _failure(60.0, None, None, Reason.FIELDS_CONTESTED),
    Cause.KINDS_HIDDEN_DENIED: _failure(60.0, None, None, Reason.ACCESS_DENIED, quiet=HIDDEN_QUIET_SECONDS),
    Cause.KINDS_HIDDEN: _failure(60.0, None, None, Reason.UNAVAILABLE, quiet=HIDDEN_QUIET_SECONDS),
    Cause.UNHEALTHY_FAILED: _failure(WAKE, _H, Reason.UNHEALTHY),
    Cause.FETCH_CONTENT: _failure(NEVER, _U, Reason.UNPACK_FAILED, Reason.CONTENT_ERROR),
    Cause.FETCH_DENIED: _failure(DENIED_SECONDS, _U, Reason.UNPACK_FAILED, Reason.ACCESS_DENIED),
    Cause.FETCH_NOT_FOUND: _failure(IMAGE_SECONDS, _U, Reason.UNPACK_FAILED, Reason.UNAVAILABLE),
    Cause.FETCH_CONFLICT: _failure(BACKOFF, _U, Reason.UNPACK_FAILED, Reason.CONFLICT),
    Cause.FETCH_UNAVAILABLE: _failure(BACKOFF, _U, Reason.UNPACK_FAILED, Reason.UNAVAILABLE),
    Cause.FETCH_FAILED: _failure(BACKOFF, _U, Reason.UNPACK_FAILED, Reason.RETRYING),
    Cause.CONTENT_CHANGED: _failure(BACKOFF, _U, Reason.CONTENT_CHANGED),
    Cause.DIGEST_CHANGED: _found(_U, Reason.CONTENT_CHANGED),
    Cause.CONTENT_LOST: _failure(NEVER, _U, Reason.CONTENT_LOST),
    Cause.SPEC_CHANGED: _found(None, Reason.SPEC_CHANGED),
    Cause.UPLOAD_PENDING: Row(
        kind=Kind.WAIT, is_held=True, aspect=_U, reason=Reason.UNPACK_PENDING, ready=Reason.UNPACK_PENDING
    ),
    Cause.IMAGE_DENIED: _image_wait(later=(LASTING_SECONDS, Cause.FETCH_DENIED)),
    Cause.IMAGE_NOT_FOUND: _image_wait(later=(LASTING_SECONDS, Cause.FETCH_NOT_FOUND)),
    Cause.REGISTRY_UNUSABLE: _image_wait(),
    Cause.IMAGE_PENDING: _image_wait(),
    Cause.UNPACKING: _wait(WAKE, Reason.UNPACKING, _U),
    Cause.BUNDLE_CLASS_NOT_SERVED: _wait(
        WAKE, Reason.BUNDLE_CLASS_NOT_SERVED, _V, _UNKNOWN, event=Reason.BUNDLE_CLASS_NOT_SERVED
    ),
    Cause.BUNDLE_UNPACKING: _wait(WAKE, Reason.UNPACK_PENDING, _V, _UNKNOWN),
    Cause.REFETCHING: _wait(LOOK_AGAIN_SECONDS),
    Cause.RENDERING: _wait(LOOK_AGAIN_SECONDS),
    Cause.DEPENDENCY_NOT_READY: _wait(WAKE, Reason.DEPENDENCY_NOT_READY, _I, _UNKNOWN, quiet=0.0),
    Cause.APPLYING: _wait(WAKE, quiet=0.0),
    Cause.SCHEMA_LAGS: _wait(0.5, later=(SCHEMA_LAG_SECONDS, Cause.UNAVAILABLE)),
    Cause.OBJECT_CHANGED: _wait(0.5, later=(CHANGING_SECONDS, Cause.CONFLICT)),
    Cause.FORMER_HOOK: _wait(5.0, quiet=0.0, event=EventReason.HOOK_GIVEN_UP),
    Cause.KINDS_COMING: _wait(LOOK_AGAIN_SECONDS),
    Cause.ANSWERS_SLOWLY: _wait(SLOW_LOOK_SECONDS, quiet=0.0),
    Cause.OBJECTS_PENDING: _wait(LOOK_AGAIN_SECONDS),
    Cause.HOOK_RUNNING: _wait(LOOK_AGAIN_SECONDS),
    Cause.PRUNING: _wait(LOOK_AGAIN_SECONDS, quiet=0.0),
    Cause.ORPHANING: _wait(5.0, Reason.DELETING, quiet=0.0),
    Cause.DELETING: _wait(5.0, Reason.DELETING, quiet=0.0),
    Cause.STILL_UNHEALTHY: Row(
        kind=Kind.WAIT, aspect=_H, reason=Reason.UNHEALTHY, ready=Reason.STILL_UNHEALTHY, event=Reason.UNHEALTHY
    ),
    Cause.UNHEALTHY: _wait(WAKE, Reason.UNHEALTHY, _H, quiet=0.0, later=(LASTING_SECONDS, Cause.STILL_UNHEALTHY)),
    Cause.UPGRADE_NOT_APPROVED: _hold(Reason.NOT_APPROVED),
    Cause.UPGRADE_DEPENDENCY: _hold(Reason.DEPENDENCY_NOT_READY),
    Cause.UPGRADE_OUTSIDE_WINDOW: _hold(Reason.OUTSIDE_WINDOW),
    Cause.ROLLBACK_REFUSED: _note(EventReason.ROLLBACK_REFUSED),
    Cause.HALF_UPGRADED: _note(None),
    Cause.OVERRIDE_UNMATCHED: _note(EventReason.OVERRIDE_UNMATCHED),
    Cause.PATCH_UNMATCHED: _note(EventReason.PATCH_UNMATCHED),
    Cause.DEPENDENCY_UNUSABLE: _note(EventReason.DEPENDENCY_UNUSABLE),
    Cause.ORDER_NOT_KEPT: _note(EventReason.ORDER_NOT_KEPT, None),
    Cause.HOOKS_SKIPPED: _note(EventReason.HOOKS_SKIPPED, None, is_warning=False),
    Cause.HOOKS_BEGIN_AGAIN: _note(EventReason.HOOKS_BEGIN_AGAIN, None),
    Cause.FORMER_HOOK_LEFT: _note(EventReason.HOOK_ENDED, None),
    Cause.KEPT: _note(EventReason.KEPT, is_warning=False),
    Cause.COPIED: _note(EventReason.COPIED),
    Cause.SHARED_UNOWNED: _note(EventReason.SHARED_UNOWNED),
    Cause.SHARED_DIFFERS: _note(EventReason.SHARED_DIFFERS),
    Cause.SHARED: _note(EventReason.SHARED, is_warning=False),
    Cause.HISTORY_CUT: _note(None),
    Cause.PRUNE_HELD_BACK: Row(kind=Kind.NOTE, aspect=_H, quiet=HELD_BACK_SECONDS),
    Cause.CONTENT_MISSING: Row(kind=Kind.NOTE, aspect=_U, event=Reason.UNPACK_FAILED),
    Cause.DRIFT_CORRECTED: _event(EventReason.DRIFT_CORRECTED),
    Cause.FIELDS_LEFT_OUT: _event(EventReason.FIELDS_LEFT_OUT, is_warning=True),
    Cause.CRD_WARNING: _event(EventReason.CRD_WARNING, is_warning=True),
    Cause.PRUNED: _event(EventReason.PRUNED),
    Cause.RELEASED: _event(EventReason.RELEASED),
    Cause.REPLACED: _event(EventReason.REPLACED),
    Cause.ADOPTED: _event(EventReason.ADOPTED),
    Cause.CERTIFICATES_RENEWED: _event(EventReason.CERTIFICATES_RENEWED),
    Cause.ORPHANED: _event(EventReason.ORPHANED),
    Cause.WITHDRAWN: _event(EventReason.WITHDRAWN, is_warning=True),
    Cause.FORMER_HOOK_ENDED: _event(EventReason.HOOK_ENDED),
    Cause.FORMER_HOOK_FAILED: _event(EventReason.HOOK_ENDED, is_warning=True),
    Cause.UNPACK_POD: _event(EventReason.UNPACK_POD),
    Cause.JOB_RUNNING: Row(kind=Kind.SILENT),
    Cause.IMAGE_COMING: Row(kind=Kind.SILENT, then=IMAGE_SECONDS, is_held=True),
    Cause.NOT_DUE: Row(kind=Kind.SILENT),
    Cause.REQUEST_OPEN: Row(kind=Kind.SILENT),
    Cause.LOOK_AGAIN: Row(kind=Kind.SILENT, then=1.0),
}
