"""Causes of facts, in the order of rank: of those reported at one time, the first has Ready.

Failures therefore come before waits. `table` says what follows from each cause.
"""

from enum import StrEnum


class Cause(StrEnum):
    """Causes in the order of their rank. The values stand in `status.notes` and outlive the process."""

    SUSPENDED = "Suspended"
    CLASS_NOT_SERVED = "ClassNotServed"
    CLASS_UNKNOWN = "ClassUnknown"
    ACCOUNT_REQUIRED = "AccountRequired"
    POLICY_MISSING = "PolicyMissing"
    NOT_JUDGED = "NotJudged"
    STATUS_TOO_LARGE = "StatusTooLarge"
    # the Bundle of the template cannot be made or found; the values of its chart; its rendering
    BUNDLE_CONTENT = "BundleContent"
    BUNDLE_REFUSED = "BundleRefused"
    BUNDLE_DENIED = "BundleDenied"
    BUNDLE_CONFLICT = "BundleConflict"
    BUNDLE_UNAVAILABLE = "BundleUnavailable"
    BUNDLE_FAILED = "BundleFailed"
    VALUES_CONTENT = "ValuesContent"
    VALUES_MISSING = "ValuesMissing"
    VALUES_DENIED = "ValuesDenied"
    VALUES_CONFLICT = "ValuesConflict"
    VALUES_UNAVAILABLE = "ValuesUnavailable"
    VALUES_FAILED = "ValuesFailed"
    RENDERING_CONTENT = "RenderingContent"
    RENDERING_DENIED = "RenderingDenied"
    RENDERING_CONFLICT = "RenderingConflict"
    RENDERING_UNAVAILABLE = "RenderingUnavailable"
    RENDERING_FAILED = "RenderingFailed"
    # the Bundle of the template cannot be unpacked, as its own Ready condition says
    UNPACK_CLASS = "UnpackClass"
    UNPACK_CONTENT = "UnpackContent"
    UNPACK_DENIED = "UnpackDenied"
    UNPACK_CONFLICT = "UnpackConflict"
    UNPACK_UNAVAILABLE = "UnpackUnavailable"
    UNPACK_FAILED = "UnpackFailed"
    UNPACK_CHANGED = "UnpackChanged"
    UNPACK_LOST = "UnpackLost"
    # gates, hooks and writes
    ACCOUNT_MISSING = "AccountMissing"
    DEPENDENCY_CYCLE = "DependencyCycle"
    DEPENDENCY_MISSING = "DependencyMissing"
    NOT_APPLICABLE = "NotApplicable"
    HOOK_FAILED = "HookFailed"
    HOOKS_UNKNOWN = "HooksUnknown"
    GENERATED_VALUES = "GeneratedValues"
    PERMISSIONS_MISSING = "PermissionsMissing"
    KIND_MISSING = "KindMissing"
    NAMESPACE_MISSING = "NamespaceMissing"
    RESOURCE_MISSING = "ResourceMissing"
    REFUSED = "Refused"
    ACCESS = "Access"
    UNAVAILABLE = "Unavailable"
    HOOK_NOT_RUN = "HookNotRun"
    DELETION_FAILED = "DeletionFailed"
    ORPHANING_FAILED = "OrphaningFailed"
    DATA_LOSS = "DataLoss"
    CONFLICT = "Conflict"
    KINDS_HELD_BACK_DENIED = "KindsHeldBackDenied"
    KINDS_HELD_BACK = "KindsHeldBack"
    # the BundleDeployment of a BundleInstance cannot be made, or kept as the instance says
    MIRROR_CONTENT = "MirrorContent"
    MIRROR_DENIED = "MirrorDenied"
    MIRROR_CONTESTED = "MirrorContested"
    MIRROR_CONFLICT = "MirrorConflict"
    MIRROR_UNAVAILABLE = "MirrorUnavailable"
    MIRROR_FAILED = "MirrorFailed"
    # requests fail, at whatever stage
    API_DENIED = "ApiDenied"
    API_CONFLICT = "ApiConflict"
    API_UNAVAILABLE = "ApiUnavailable"
    API_FAILED = "ApiFailed"
    # what the template asks for has failed, and was undone
    ROLLED_BACK = "RolledBack"
    # what is installed runs, and is not kept as it was
    RENDERING_LOST = "RenderingLost"
    OPTIONS_LOST = "OptionsLost"
    NOT_CORRECTED = "NotCorrected"
    PRUNE_FAILED = "PruneFailed"
    PRUNE_BUDGET = "PruneBudget"
    CERTIFICATES_CONTESTED = "CertificatesContested"
    FIELDS_CONTESTED = "FieldsContested"
    KINDS_HIDDEN_DENIED = "KindsHiddenDenied"
    KINDS_HIDDEN = "KindsHidden"
    UNHEALTHY_FAILED = "UnhealthyFailed"
    # a Bundle
    FETCH_CONTENT = "FetchContent"
    FETCH_DENIED = "FetchDenied"
    FETCH_NOT_FOUND = "FetchNotFound"
    FETCH_CONFLICT = "FetchConflict"
    FETCH_UNAVAILABLE = "FetchUnavailable"
    FETCH_FAILED = "FetchFailed"
    CONTENT_CHANGED = "ContentChanged"
    DIGEST_CHANGED = "DigestChanged"
    CONTENT_LOST = "ContentLost"
    SPEC_CHANGED = "SpecChanged"
    # waits of a Bundle
    UPLOAD_PENDING = "UploadPending"
    IMAGE_DENIED = "ImageDenied"  # the registry says no, and a node tries: so do the next two
    IMAGE_NOT_FOUND = "ImageNotFound"
    REGISTRY_UNUSABLE = "RegistryUnusable"  # for the operator
    IMAGE_PENDING = "ImagePending"
    UNPACKING = "Unpacking"
    # waits of a deployment
    BUNDLE_CLASS_NOT_SERVED = "BundleClassNotServed"
    BUNDLE_UNPACKING = "BundleUnpacking"
    REFETCHING = "Refetching"
    RENDERING = "Rendering"
    DEPENDENCY_NOT_READY = "DependencyNotReady"
    APPLYING = "Applying"
    SCHEMA_LAGS = "SchemaLags"
    OBJECT_CHANGED = "ObjectChanged"
    FORMER_HOOK = "FormerHook"
    KINDS_COMING = "KindsComing"
    ANSWERS_SLOWLY = "AnswersSlowly"
    OBJECTS_PENDING = "ObjectsPending"
    HOOK_RUNNING = "HookRunning"
    PRUNING = "Pruning"
    ORPHANING = "Orphaning"
    DELETING = "Deleting"
    STILL_UNHEALTHY = "StillUnhealthy"
    UNHEALTHY = "Unhealthy"
    # upgrades that may not begin yet
    UPGRADE_NOT_APPROVED = "UpgradeNotApproved"
    UPGRADE_DEPENDENCY = "UpgradeDependency"
    UPGRADE_OUTSIDE_WINDOW = "UpgradeOutsideWindow"
    # notes
    ROLLBACK_REFUSED = "RollbackRefused"
    HALF_UPGRADED = "HalfUpgraded"
    OVERRIDE_UNMATCHED = "OverrideUnmatched"
    PATCH_UNMATCHED = "PatchUnmatched"
    DEPENDENCY_UNUSABLE = "DependencyUnusable"
    ORDER_NOT_KEPT = "OrderNotKept"
    HOOKS_SKIPPED = "HooksSkipped"
    HOOKS_BEGIN_AGAIN = "HooksBeginAgain"
    FORMER_HOOK_LEFT = "FormerHookLeft"
    KEPT = "Kept"
    COPIED = "Copied"
    SHARED_UNOWNED = "SharedUnowned"
    SHARED_DIFFERS = "SharedDiffers"
    SHARED = "Shared"
    HISTORY_CUT = "HistoryCut"
    PRUNE_HELD_BACK = "PruneHeldBack"
    CONTENT_MISSING = "ContentMissing"
    # Events
    DRIFT_CORRECTED = "DriftCorrected"
    FIELDS_LEFT_OUT = "FieldsLeftOut"
    CRD_WARNING = "CrdWarning"
    PRUNED = "Pruned"
    RELEASED = "Released"
    REPLACED = "Replaced"
    ADOPTED = "Adopted"
    CERTIFICATES_RENEWED = "CertificatesRenewed"
    ORPHANED = "Orphaned"
    WITHDRAWN = "Withdrawn"
    FORMER_HOOK_ENDED = "FormerHookEnded"
    FORMER_HOOK_FAILED = "FormerHookFailed"
    UNPACK_POD = "UnpackPod"
    # the times of the key
    JOB_RUNNING = "JobRunning"  # an attempt is under way: none is counted, none begins
    IMAGE_COMING = "ImageComing"  # a node pulls it, and nothing bad is known of that
    NOT_DUE = "NotDue"  # no attempt was due, so nothing was found out: the times stay
    REQUEST_OPEN = "RequestOpen"  # the latest request to reconcile is still to be acted on
    LOOK_AGAIN = "LookAgain"

    @property
    def rank(self) -> int:
        """Smaller is worse."""
        return _RANKS[self]


UNPACK_FAILURES = frozenset(  # the content of the Bundle cannot be had, as it says itself
    {
        Cause.UNPACK_CONTENT,
        Cause.UNPACK_DENIED,
        Cause.UNPACK_CONFLICT,
        Cause.UNPACK_UNAVAILABLE,
        Cause.UNPACK_FAILED,
        Cause.UNPACK_CHANGED,
        Cause.UNPACK_LOST,
    }
)
_RANKS = {cause: rank for rank, cause in enumerate(Cause)}
