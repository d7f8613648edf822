"""Conditions as values: every change makes a new tuple.

Invariants: each type stands once; `lastTransitionTime` moves only when the status changes; every condition carries
the generation it speaks of; a message never exceeds the limit. `Ready` follows kstatus: it is there from the first
write, `Reconciling` and `Stalled` stand in the list only while they are true, and never both. A long text stands in the
condition that failed; those three have its first line.
"""

from enum import Enum
from typing import Annotated

from msgspec.structs import replace

from rukpak_py.api.names import ConditionStatus, ConditionType, Reason
from rukpak_py.api.schema import ApiType, doc
from rukpak_py.core.limits import DEFAULT_LIMITS

BRIEF_CHARACTERS = 300  # of Ready, Reconciling and Stalled
_CUT_MARK = " … (cut)"
_WORD_CHARACTERS = 60  # a longer word is cut, not left out


class Condition(ApiType, frozen=True, kw_only=True, omit_defaults=False):
    """One aspect of the state of the object."""

    type: Annotated[
        str,
        doc(
            "Type of the condition, in CamelCase.",
            maxLength=316,
            pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
            r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        ),
    ]
    status: Annotated[str, doc("`True`, `False` or `Unknown`.", enum=["True", "False", "Unknown"])]
    reason: Annotated[
        str,
        doc(
            "Why, in one CamelCase word that programs can match.",
            minLength=1,
            maxLength=1024,
            pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        ),
    ]
    message: Annotated[str, doc("Why, for people.", maxLength=32768)]
    last_transition_time: Annotated[str, doc("When the status last changed.", format="date-time")]
    observed_generation: Annotated[
        int, doc("The generation of the object that this condition describes.", format="int64", minimum=0)
    ] = 0


Conditions = tuple[Condition, ...]


class Summary(Enum):
    """Where an object stands as a whole. The value: status of Ready, then the type that is true beside it.

    SUSPENDED keeps the last verdict (None): what was ready before stays so.
    """

    READY = (ConditionStatus.TRUE, None)
    PROGRESSING = (ConditionStatus.UNKNOWN, ConditionType.RECONCILING)
    RETRYING = (ConditionStatus.FALSE, ConditionType.RECONCILING)
    STALLED = (ConditionStatus.FALSE, ConditionType.STALLED)
    SUSPENDED = (None, None)
    NOT_SERVED = (ConditionStatus.UNKNOWN, None)


def set_condition(
    conditions: Conditions,
    *,
    type: ConditionType,  # noqa: A002 - the field's name in the API
    status: ConditionStatus,
    reason: Reason,
    message: str,
    generation: int,
    now: str,
    limit: int = DEFAULT_LIMITS.message_characters,
) -> Conditions:
    """The conditions with this one added, or in the place of the one of its type."""
    former = find_condition(conditions, type)
    transition = former.last_transition_time if former and former.status == status else now
    condition = Condition(
        type=type.value,
        status=status.value,
        reason=reason.value,
        message=cut(message, limit),
        last_transition_time=transition,
        observed_generation=generation,
    )
    if former is None:
        return (*conditions, condition)
    return tuple(condition if other.type == type else other for other in conditions)


def find_condition(conditions: Conditions, kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == kind), None)


def without(conditions: Conditions, *kinds: ConditionType) -> Conditions:
    return tuple(condition for condition in conditions if condition.type not in kinds)


def summarise(
    conditions: Conditions,
    summary: Summary,
    *,
    reason: Reason,
    message: str,
    generation: int,
    now: str,
) -> Conditions:
    """The conditions with Ready, Reconciling and Stalled as the summary says, and the first line of the message."""
    ready, beside = summary.value
    if ready is None:
        former = find_condition(conditions, ConditionType.READY)
        ready = ConditionStatus(former.status) if former is not None else ConditionStatus.UNKNOWN
    gone = [kind for kind in (ConditionType.RECONCILING, ConditionType.STALLED) if kind != beside]
    conditions = without(conditions, *gone)
    pairs = [(ConditionType.READY, ready)]
    if beside:
        pairs.append((beside, ConditionStatus.TRUE))
    for kind, status in pairs:
        conditions = set_condition(
            conditions,
            type=kind,
            status=status,
            reason=reason,
            message=brief(message),
            generation=generation,
            now=now,
        )
    return conditions


def complete(conditions: Conditions, kinds: tuple[ConditionType, ...], *, generation: int, now: str) -> Conditions:
    """The conditions with every type present: what has not started is Unknown, and all are of this generation."""
    for kind in kinds:
        if find_condition(conditions, kind) is None:
            conditions = set_condition(
                conditions,
                type=kind,
                status=ConditionStatus.UNKNOWN,
                reason=Reason.PENDING,
                message="",
                generation=generation,
                now=now,
            )
    return tuple(replace(condition, observed_generation=generation) for condition in conditions)


BUNDLE_CONDITIONS = (ConditionType.UNPACKED, ConditionType.READY)
BUNDLE_DEPLOYMENT_CONDITIONS = (
    ConditionType.HAS_VALID_BUNDLE,
    ConditionType.INSTALLED,
    ConditionType.HEALTHY,
    ConditionType.UPGRADE_PENDING,
    ConditionType.READY,
)


def cut(message: str, limit: int = DEFAULT_LIMITS.message_characters) -> str:
    """The message within the limit; a mark shows that something is missing."""
    if len(message) <= limit:
        return message
    return message[: max(0, limit - len(_CUT_MARK))] + _CUT_MARK


def brief(message: str, limit: int = BRIEF_CHARACTERS) -> str:
    """The first line of the message, within the limit and cut between two words where that costs little."""
    line = first_line(message)
    if len(line) <= limit:
        return line
    room = max(0, limit - len(_CUT_MARK))
    end = line.rfind(" ", max(0, room - _WORD_CHARACTERS), room + 1)
    return line[: end if end > 0 else room] + _CUT_MARK


def is_cut(message: str) -> bool:
    """Whether something is missing at the end, as `cut` and `brief` mark it."""
    return _CUT_MARK.strip() in message


def first_line(message: str) -> str:
    return message.strip().partition("\n")[0].rstrip()


NOTES_AT_MOST = 16


class Note(ApiType, frozen=True, kw_only=True):
    """One thing that the conditions tell, and that an Event has told if it is one of those that Events tell."""

    reason: Annotated[str, doc("The cause, in one CamelCase word. While an object is unhealthy: the worst one.")]
    object: Annotated[str, doc("The first object that it is about; empty when it is about none.")] = ""
    since: Annotated[str, doc("When it began.", format="date-time")]
    id: Annotated[
        str,
        doc("Identity of what is told. An Event is emitted for a new one, so a restart of the operator repeats none."),
    ]


Notes = Annotated[
    tuple[Note, ...],
    doc("What the conditions tell at the moment; beyond sixteen, only the most important.", maxItems=NOTES_AT_MOST),
]
