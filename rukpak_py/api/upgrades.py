"""Upgrades in the API: who decides about them, when they may begin, and what happens when one fails.

An upgrade is a change of content or options of a BundleDeployment that something is installed for. The plan of one
that waits stands in the status in short; its digest is what an approval names.
"""

from enum import StrEnum
from typing import Annotated

from rukpak_py.api.schema import ApiType, doc
from rukpak_py.core.text import counted

WINDOWS_AT_MOST = 16
PLAN_NAMES_AT_MOST = 20  # of objects in the short form of a plan
PLAN_LINES_AT_MOST = 10  # of rights, CRDs and hooks
PLAN_CHARACTERS = 120  # of a line or a name: the content says what stands in them, and all of it must fit into a status
REASON_CHARACTERS = 512  # of what is recorded of a failure
WITHDRAWN = "none"  # an annotation of this value withdraws an approval
NOW_SUFFIX = ",now"  # behind the digest of an approval: no window counts
DURATION = r"^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,6}s)?$"


class Approval(StrEnum):
    """Least decision that an upgrade needs; from left to right it asks for more."""

    AUTOMATIC = "Automatic"
    WHEN_SAFE = "WhenSafe"
    MANUAL = "Manual"


class Verdict(StrEnum):
    SAFE = "Safe"
    NEEDS_REVIEW = "NeedsReview"


class PendingReason(StrEnum):
    """Why an upgrade waits."""

    NOT_APPROVED = "NotApproved"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    OUTSIDE_WINDOW = "OutsideWindow"


class UpgradeWindow(ApiType, frozen=True, kw_only=True):
    """Time in which upgrades may begin."""

    start: Annotated[
        str,
        doc(
            "When it opens, as a cron expression of five fields: minute, hour, day of the month, month, day of the"
            " week.",
            minLength=9,
            maxLength=128,
        ),
    ]
    duration: Annotated[
        str, doc("How long it is open, like `4h` or `1h30m`.", pattern=DURATION, minLength=2, maxLength=16)
    ]
    timezone: Annotated[
        str, doc("Name of a time zone, like `Europe/Paris`. Default: `UTC`.", default="UTC", maxLength=64)
    ] = "UTC"


class FailureAction(StrEnum):
    KEEP = "Keep"
    ROLLBACK = "Rollback"


DEFAULT_FAILURE_TIME = "10m"


class OnFailure(ApiType, frozen=True, kw_only=True):
    """Treatment of an upgrade that does not become healthy in time."""

    after: Annotated[
        str,
        doc(
            "How long an upgrade may take from its first write until it is healthy, like `10m`. Default: `10m`.",
            pattern=DURATION,
            minLength=2,
            maxLength=16,
        ),
    ] = DEFAULT_FAILURE_TIME
    action: Annotated[
        FailureAction,
        doc(
            "`Keep` (default): it stays, and goes on. `Rollback`: the last healthy revision before it is installed"
            " again, once, without an approval or a window, through all other checks; where one of them refuses, it"
            " stays. First installs and upgrades that go back to a former revision always stay."
        ),
    ] = FailureAction.KEEP


class Upgrades(ApiType, frozen=True, kw_only=True):
    """How upgrades are decided. First installs, corrected drift and deletion never wait."""

    approval: Annotated[
        Approval,
        doc(
            "`Automatic` (default): upgrades go on by themselves. `WhenSafe`: those whose plan is safe do, all others"
            " wait for an approval. `Manual`: all wait for one. To change it needs the verb `approve`."
        ),
    ] = Approval.AUTOMATIC
    windows: Annotated[
        tuple[UpgradeWindow, ...],
        doc(
            "When upgrades may begin; default: always. One that has begun goes on after its window.",
            maxItems=WINDOWS_AT_MOST,
        ),
    ] = ()
    on_failure: Annotated[
        OnFailure | None,
        doc("What happens when an upgrade has begun and is not healthy in time. Default: nothing."),
    ] = None


class PlanCounts(ApiType, frozen=True, kw_only=True):
    """Numbers of objects that an upgrade changes."""

    created: Annotated[int, doc("Created.", minimum=0)] = 0
    changed: Annotated[int, doc("Changed.", minimum=0)] = 0
    taken: Annotated[int, doc("Taken over.", minimum=0)] = 0
    pruned: Annotated[int, doc("Deleted, because the content drops them.", minimum=0)] = 0
    kept: Annotated[int, doc("Dropped by the content, and kept.", minimum=0)] = 0
    replaced: Annotated[int, doc("Deleted and created again.", minimum=0)] = 0


def counts_text(counts: PlanCounts) -> str:
    parts = (
        ("created", counts.created),
        ("changed", counts.changed),
        ("taken over", counts.taken),
        ("replaced", counts.replaced),
        ("deleted", counts.pruned),
        ("kept", counts.kept),
    )
    return ", ".join(f"{counted(number)} {how}" for how, number in parts if number) or "no change of objects"


class PendingUpgrade(ApiType, frozen=True, kw_only=True):
    """An upgrade that waits, and the short form of its plan."""

    digest: Annotated[str, doc("Digest of the plan: what an approval names.")]
    bundle: Annotated[str, doc("Name of the Bundle whose content it installs.")]
    content: Annotated[str, doc("SHA-256 identity of that content.")] = ""
    options: Annotated[str, doc("Digest of the options that it installs with; empty: the defaults.")] = ""
    version: Annotated[str, doc("Version of that content; empty where there is none.")] = ""
    reason: Annotated[str, doc("`NotApproved`, `DependencyNotReady` or `OutsideWindow`.")]
    approved: Annotated[
        str, doc("Digest of the plan that was approved, with `,now` where no window counts; empty: none was.")
    ] = ""
    verdict: Annotated[str, doc("`Safe` or `NeedsReview`.")]
    counts: Annotated[PlanCounts, doc("Numbers of objects.")] = PlanCounts()
    rights_gained: Annotated[tuple[str, ...], doc("Rights that the content gains.", maxItems=PLAN_LINES_AT_MOST)] = ()
    crds: Annotated[
        tuple[str, ...], doc("Verdicts on changed CustomResourceDefinitions.", maxItems=PLAN_LINES_AT_MOST)
    ] = ()
    hooks: Annotated[tuple[str, ...], doc("Hooks that will run.", maxItems=PLAN_LINES_AT_MOST)] = ()
    names: Annotated[tuple[str, ...], doc("Objects that change, the first of them.", maxItems=PLAN_NAMES_AT_MOST)] = ()
    wanted_since: Annotated[
        int, doc("Generation in which the content or its options last changed.", format="int64", minimum=0)
    ] = 0
    since: Annotated[str, doc("When it began to wait.", format="date-time")] = ""


class BegunUpgrade(ApiType, frozen=True, kw_only=True):
    """An upgrade that has begun: it goes on without another approval, also after a restart."""

    revision: Annotated[int, doc("Revision that it leaves.")]
    content: Annotated[str, doc("SHA-256 identity of the content that it installs.")]
    options: Annotated[str, doc("Digest of the options that it installs with; empty: the defaults.")] = ""
    bundle: Annotated[str, doc("Name of the Bundle whose content it installs.")]
    started_at: Annotated[str, doc("When its first write was about to be made.", format="date-time")]
    is_rollback: Annotated[
        bool, doc("It goes back to a revision of the history, so `spec.upgrades.onFailure` is not about it.")
    ] = False
    kept_because: Annotated[
        str, doc("It was not healthy in time, and this is why the revision before it was not installed again.")
    ] = ""


class RolledBack(ApiType, frozen=True, kw_only=True):
    """A failed upgrade in whose place a former revision was installed again by `spec.upgrades.onFailure`."""

    revision: Annotated[int, doc("Revision of the history that is installed again.")]
    bundle: Annotated[str, doc("Name of the Bundle whose content failed.")]
    content: Annotated[
        str,
        doc("SHA-256 identity of that content. With the same options it is not tried again until either changes."),
    ]
    options: Annotated[str, doc("Digest of the options that it failed with; empty: the defaults.")] = ""
    reason: Annotated[str, doc("Why it failed.")] = ""
    time: Annotated[str, doc("When the rollback began.", format="date-time")]

    @property
    def key(self) -> tuple[int, str, str]:
        """Identity of the rollback."""
        return self.revision, self.content, self.options
