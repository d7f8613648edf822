"""The words that other programs, manifests and documents rely on: one home for each of them.

Everything here is API: a changed value breaks its users. Reasons are stable too; users match on them in alerts.
"""

from enum import StrEnum

from rukpak_py.core.objects import OWN_GROUP

GROUP = OWN_GROUP
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

BUNDLE_KIND = "Bundle"
BUNDLE_PLURAL = "bundles"
BUNDLE_DEPLOYMENT_KIND = "BundleDeployment"
BUNDLE_DEPLOYMENT_PLURAL = "bundledeployments"
BUNDLE_INSTANCE_KIND = "BundleInstance"  # what BundleDeployment was called at first
BUNDLE_INSTANCE_PLURAL = "bundleinstances"

CATEGORY = "rukpak"  # `kubectl get rukpak` lists everything of ours

BUNDLE_NAME_LENGTH = 52
BUNDLE_DEPLOYMENT_NAME_LENGTH = 45

DEFAULT_SYSTEM_NAMESPACE = "rukpak-system"
CLUSTER_DOMAIN = "cluster.local"  # of Services, where a setting does not name another

# Labels
OWNER_KIND_LABEL = f"{GROUP}/owner-kind"
OWNER_NAME_LABEL = f"{GROUP}/owner-name"
TEMPLATE_HASH_LABEL = f"{GROUP}/bundle-template-hash"
HOOK_LABEL = f"{GROUP}/hook-of"  # on objects of hooks: the uid of the deployment
SERVING_CERTIFICATE_LABEL = f"{GROUP}/serving-certificate-of"  # on Secrets that the signer makes: the deployment's name

# Annotations
APPLIED_ANNOTATION = f"{GROUP}/applied"
OWNER_UID_ANNOTATION = f"{GROUP}/owner-uid"  # who owns what has no owner reference, and so is never collected
DELETION_POLICY_ANNOTATION = f"{GROUP}/deletion-policy"  # beside it: `Delete`, else the object outlives its deployment
RELEASED_ANNOTATION = f"{GROUP}/released"  # on what a deployment has left in the cluster: it may take it again
UNPACK_POD_ANNOTATION = f"{GROUP}/unpack-pod"  # on an unpack pod: the digest of its spec
PRUNE_ANNOTATION = f"{GROUP}/prune"
FORCE_ANNOTATION = f"{GROUP}/force"
RECONCILE_AT_ANNOTATION = f"{GROUP}/reconcile-at"
ALLOW_DATA_LOSS_ANNOTATION = f"{GROUP}/allow-data-loss"  # on a deployment: its deletion may delete what others have
APPROVED_ANNOTATION = f"{GROUP}/approved"  # on a deployment: the digest of the plan that may go on
CONTENT_DIGEST_ANNOTATION = f"{GROUP}/content-digest"  # in a template: the only content that its Bundle may have
REFRESH_AT_ANNOTATION = f"{GROUP}/refresh-at"
OPERATOR_NAMESPACE_ANNOTATION = f"{GROUP}/operator-namespace"  # on a CRD of ours: whose cluster it is
SAFE_CRD_UPGRADE_ANNOTATION = f"{GROUP}/safe-crd-upgrade-validation"  # on a CRD: "false" lets every upgrade of it pass
SKIP_HOOKS_ANNOTATION = f"{GROUP}/skip-hooks"
HOSTS_ANNOTATION = f"{GROUP}/hosts"  # on Secrets of the system namespace: where sources may send them
HOOK_RUN_ANNOTATION = f"{GROUP}/hook-run"  # on objects of hooks: for which event of which installation
SERVING_CERTIFICATE_ANNOTATION = f"{GROUP}/serving-certificate"  # on a Service: the Secret to fill with its certificate
# On a deployment that was installed from a catalog: facts for tools that compare it with one
CATALOG_PACKAGE_ANNOTATION = f"{GROUP}/catalog-package"
CATALOG_CHANNEL_ANNOTATION = f"{GROUP}/catalog-channel"
CATALOG_VERSION_ANNOTATION = f"{GROUP}/catalog-version"
CATALOG_BUNDLE_ANNOTATION = f"{GROUP}/catalog-bundle"
CERTIFICATE_EXPIRY_ANNOTATION = f"{GROUP}/certificate-expires-at"  # on Secrets that the signer makes
TRUSTED_SINCE_ANNOTATION = f"{GROUP}/ca-trusted-since"  # ... during a rotation: when every caller had the next CA
INJECT_CA_ANNOTATION = f"{GROUP}/inject-ca-from"  # on what calls a webhook: namespace/name of the Secret with its CA
# By which others are asked to fill in a caBundle
OTHER_CA_ANNOTATIONS = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle",
)

HELM_HOOK_ANNOTATION = "helm.sh/hook"  # what makes an object of a chart a hook

# What Helm writes on the objects of a release, and so did the original operator
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
PART_OF_LABEL = "app.kubernetes.io/part-of"
HELM_RELEASE_ANNOTATION = "meta.helm.sh/release-name"
HELM_RELEASE_NAMESPACE_ANNOTATION = "meta.helm.sh/release-namespace"

WATCH_ROLE_LABEL = f"rbac.{GROUP}/aggregate-to-watch"  # on ClusterRoles: parts of the one by which kinds are watched

# Finalizers
ORDERED_DELETION_FINALIZER = f"{GROUP}/ordered-deletion"
UPSTREAM_BUNDLE_FINALIZER = f"{GROUP}/delete-cached-bundle"  # never added, only removed from taken-over Bundles

FIELD_MANAGER_PREFIX = "rukpak/"  # followed by the name of the deployment
CA_FIELD_MANAGER_PREFIX = "rukpak-ca/"  # the same, for the `caBundle` fields that the signer fills
FIELD_MANAGER = "rukpak"  # for our own kinds and bookkeeping
EVENT_COMPONENT = "rukpak"  # the source and reporting component of our Events
CA_KEY = "ca.crt"  # of Secrets that say whom to trust

# Provisioner classes
PLAIN_CLASS = "core-rukpak-io-plain"
REGISTRY_CLASS = "core-rukpak-io-registry"
HELM_CLASS = "core-rukpak-io-helm"
LEGACY_CLASSES = {
    "core.rukpak.io/plain": PLAIN_CLASS,
    "core.rukpak.io/registry": REGISTRY_CLASS,
    "core.rukpak.io/helm": HELM_CLASS,
}


CLASS_FAMILY = "core-rukpak-io-"  # the beginning of our classes; another operator's are called otherwise


def canonical_class(name: str) -> str:
    """The modern spelling of a provisioner class; names that are no alias stay as they are."""
    return LEGACY_CLASSES.get(name, name)


def is_unknown_class(name: str) -> bool:
    """Whether a class, in its modern spelling, is a misspelt one of ours: no other operator serves it."""
    return name.startswith(CLASS_FAMILY) and name not in LEGACY_CLASSES.values()


def field_manager(deployment: str) -> str:
    return FIELD_MANAGER_PREFIX + deployment


def ca_field_manager(deployment: str) -> str:
    return CA_FIELD_MANAGER_PREFIX + deployment


# Admission
WEBHOOK_CONFIGURATION = "rukpak-validating-webhook-configuration"
WEBHOOK_SERVICE = "rukpak-webhook-service"
CONTENT_SERVICE = "core"
OPERATOR_DEPLOYMENT = "core"
OPERATOR_LEASE = GROUP  # its Lease, in the system namespace
OPERATOR_ACCOUNT = "core-admin"  # its service account, in the system namespace
BUNDLE_WEBHOOK = f"vbundles.{GROUP}"
CONFIG_MAP_WEBHOOK = f"vconfigmaps.{GROUP}"
CRD_WEBHOOK = f"vcustomresourcedefinitions.{GROUP}"
BUNDLE_WEBHOOK_PATH = "/validate-core-rukpak-io-v1alpha1-bundle"
CONFIG_MAP_WEBHOOK_PATH = "/validate-core-v1-configmap"
CRD_WEBHOOK_PATH = "/validate-crd"


class SecretName(StrEnum):
    """The Secrets with our own certificates, in the system namespace."""

    CA = "rukpak-ca"  # ca.crt alone, for everybody who verifies us
    SIGNER = "rukpak-ca-signer"  # the key that signs, for the leader only
    SERVING = "rukpak-serving"  # the serving certificate and its key


OPERATOR_PART = "rukpak"  # what the labels of these Secrets say
OPERATOR_MANAGER = "rukpak-operator"
DIGEST_KEY_SECRET = "rukpak-digest-key"  # noqa: S105 - its name; in the system namespace, for digests of what is secret, in statuses


class SourceType(StrEnum):
    IMAGE = "image"
    GIT = "git"
    CONFIG_MAPS = "configMaps"
    UPLOAD = "upload"
    HTTP = "http"


class BundlePhase(StrEnum):
    """The phases of a Bundle; before the first reconcile it has none."""

    PENDING = "Pending"
    UNPACKING = "Unpacking"
    UNPACKED = "Unpacked"
    FAILING = "Failing"


class ConditionType(StrEnum):
    # both kinds; Reconciling and Stalled stand in the list only while they are true
    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    # Bundle
    UNPACKED = "Unpacked"
    # BundleDeployment
    HAS_VALID_BUNDLE = "HasValidBundle"
    INSTALLED = "Installed"
    HEALTHY = "Healthy"
    UPGRADE_PENDING = "UpgradePending"


class ConditionStatus(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Reason(StrEnum):
    # Unpacked, HasValidBundle
    UNPACK_PENDING = "UnpackPending"
    UNPACKING = "Unpacking"
    UNPACK_SUCCESSFUL = "UnpackSuccessful"
    UNPACK_FAILED = "UnpackFailed"
    CONTENT_CHANGED = "ContentChanged"
    CONTENT_LOST = "ContentLost"
    SPEC_CHANGED = "SpecChanged"
    BUNDLE_CLASS_NOT_SERVED = "BundleClassNotServed"
    BUNDLE_LOAD_FAILED = "BundleLoadFailed"
    # Installed
    RECONCILE_FAILED = "ReconcileFailed"
    INSTALL_FAILED = "InstallFailed"
    UPGRADE_FAILED = "UpgradeFailed"
    INSTALLATION_SUCCEEDED = "InstallationSucceeded"
    DEPENDENCY_NOT_READY = "DependencyNotReady"  # of UpgradePending, too
    DEPENDENCY_MISSING = "DependencyMissing"
    DEPENDENCY_CYCLE = "DependencyCycle"
    # Healthy
    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    INSTALLATION_STATUS_FALSE = "InstallationStatusFalse"
    # UpgradePending
    UPGRADE_PENDING = "UpgradePending"  # of Ready
    ROLLED_BACK = "RolledBack"
    NOT_APPROVED = "NotApproved"
    OUTSIDE_WINDOW = "OutsideWindow"
    NO_UPGRADE = "NoUpgrade"
    # a condition whose stage has not started yet
    PENDING = "Pending"
    # Ready, Reconciling, Stalled
    SUCCEEDED = "Succeeded"
    PROGRESSING = "Progressing"
    RETRYING = "Retrying"
    CONTENT_ERROR = "ContentError"
    ACCESS_DENIED = "AccessDenied"
    PERMISSIONS_MISSING = "PermissionsMissing"
    CONFLICT = "Conflict"
    FIELDS_CONTESTED = "FieldsContested"
    UNAVAILABLE = "Unavailable"
    PRUNE_BUDGET_EXCEEDED = "PruneBudgetExceeded"
    STILL_UNHEALTHY = "StillUnhealthy"
    SUSPENDED = "Suspended"
    CLASS_NOT_SERVED = "ClassNotServed"
    CLASS_UNKNOWN = "ClassUnknown"
    ACCOUNT_REQUIRED = "AccountRequired"
    ACCOUNT_MISSING = "AccountMissing"
    POLICY_MISSING = "PolicyMissing"
    NOT_JUDGED = "NotJudged"
    STATUS_TOO_LARGE = "StatusTooLarge"
    DELETING = "Deleting"


class EventReason(StrEnum):
    """Reasons of Events that report a success, or something that no condition has a reason for."""

    UNPACKED = "Unpacked"
    INSTALLED = "Installed"
    UPGRADED = "Upgraded"
    REFRESHED = "Refreshed"
    UPGRADE_PENDING = "UpgradePending"
    ROLLBACK_REFUSED = "RollbackRefused"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    KEPT = "Kept"
    COPIED = "Copied"
    SHARED = "Shared"
    SHARED_DIFFERS = "SharedDiffers"
    SHARED_UNOWNED = "SharedUnowned"
    PRUNED = "Pruned"
    RELEASED = "Released"
    REPLACED = "Replaced"
    ADOPTED = "Adopted"
    CERTIFICATES_RENEWED = "CertificatesRenewed"
    DRIFT_CORRECTED = "DriftCorrected"
    FIELDS_LEFT_OUT = "FieldsLeftOut"
    CRD_WARNING = "CRDWarning"
    OVERRIDE_UNMATCHED = "OverrideUnmatched"
    PATCH_UNMATCHED = "PatchUnmatched"
    DEPENDENCY_UNUSABLE = "DependencyUnusable"
    WITHDRAWN = "Withdrawn"
    ORPHANED = "Orphaned"
    DELETION_HELD = "DeletionHeld"
    ORDER_NOT_KEPT = "OrderNotKept"
    HOOKS_SKIPPED = "HooksSkipped"
    HOOKS_BEGIN_AGAIN = "HooksBeginAgain"
    HOOK_GIVEN_UP = "HookGivenUp"
    HOOK_ENDED = "HookEnded"
    UNPACK_POD = "UnpackPod"
    ANOTHER_OPERATOR = "AnotherOperator"
    SECRET_NOT_BOUND = "SecretNotBound"  # noqa: S105 - a reason
