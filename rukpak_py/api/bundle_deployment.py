"""The kind BundleDeployment: content that is installed, corrected when it drifts, upgraded and removed."""

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import field

from rukpak_py.api.bundle import Generation, HandledRequest
from rukpak_py.api.conditions import Conditions, Notes
from rukpak_py.api.deployment_spec import (
    VALUES_FROM_AT_MOST,
    BundleDeploymentSpec,
    BundleTemplate,
    Override,
    Patch,
)
from rukpak_py.api.hook_status import HookRecord, RunningHook
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.schema import ApiType, doc
from rukpak_py.api.upgrades import BegunUpgrade, PendingUpgrade, RolledBack
from rukpak_py.core.objects import GroupKind

COMPLETED = 64  # objects that are recorded
HISTORY = 5


class KeptReason(StrEnum):
    """Why an object that is no longer in the bundle is kept until its deletion is allowed."""

    HOLDS_OBJECTS = "HoldsObjects"  # a Namespace: everything in it would go, too
    HOLDS_DATA = "HoldsData"  # a PersistentVolumeClaim or a PersistentVolume
    HAS_INSTANCES = "HasInstances"  # a CRD with instances that the deployment does not own: they would go, too
    HAD_INSTANCES = "HadInstances"  # the same, and they are gone since: it may be deleted now
    INSTANCES_UNKNOWN = "InstancesUnknown"  # a CRD whose instances could not be listed


class InstalledKind(ApiType, frozen=True, kw_only=True):
    """A kind of which the BundleDeployment owns objects."""

    group: Annotated[str, doc("API group; empty for the core group.")] = ""
    version: Annotated[str, doc("API version.")]
    kind: Annotated[str, doc("Kind.")]
    namespaces: Annotated[
        tuple[str, ...],
        doc(
            "Namespaces in which it owns or may own objects of the kind. Only of Secrets, and only where the operator"
            " runs in mode `narrow`, in which it watches them by namespace."
        ),
    ] = ()

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)


class KeptObject(ApiType, frozen=True, kw_only=True):
    """An object that is no longer in the bundle and stays until its deletion is allowed."""

    group: Annotated[str, doc("API group; empty for the core group.")] = ""
    version: Annotated[str, doc("API version.")]
    kind: Annotated[str, doc("Kind.")]
    namespace: Annotated[str, doc("Namespace; empty for a cluster-scoped object.")] = ""
    name: Annotated[str, doc("Name.")]
    reason: Annotated[
        str,
        doc(
            "`HoldsObjects` (a Namespace), `HoldsData` (a claim or a volume), `HasInstances` (a CRD with instances"
            " of others), `HadInstances` (the same, and they are gone) or `InstancesUnknown` (a CRD whose instances"
            " could not be listed)."
        ),
    ]


class CompletedObject(ApiType, frozen=True, kw_only=True):
    """A Job with `ttlSecondsAfterFinished`, or a Pod, that has ended: once it is gone it is not created again."""

    group: Annotated[str, doc("API group; empty for the core group.")] = ""
    kind: Annotated[str, doc("Kind.")]
    namespace: Annotated[str, doc("Namespace.")] = ""
    name: Annotated[str, doc("Name.")]
    applied: Annotated[str, doc("SHA-256 of what was applied. Other content runs again.")]


class RecordedValues(ApiType, frozen=True, kw_only=True):
    """Values that stand in a Secret or a ConfigMap, known by a digest that only the operator can compute."""

    kind: Annotated[str, doc("`Secret` or `ConfigMap`.")]
    name: Annotated[str, doc("Name of the object.")]
    key: Annotated[str, doc("Key in its data.")]
    digest: Annotated[str, doc("HMAC-SHA-256 of the values, with the id of its key in the second field.")]
    current_digest: Annotated[
        str, doc("The same under the key that the operator has now, where it lost the key of `digest`.")
    ] = ""
    namespace: Annotated[str, doc("Namespace of the object; empty for the system namespace.")] = ""


class RecordedOptions(ApiType, frozen=True, kw_only=True, dict=True):
    """The options of an installation; what had its default is left out."""

    install_namespace: Annotated[str, doc("`spec.installNamespace` as it was.")] = ""
    create_namespace: Annotated[bool, doc("`spec.createNamespace` as it was.")] = False
    provisioner_class_name: Annotated[str, doc("The class, where it was not `core-rukpak-io-plain`.")] = ""
    watch_namespaces: Annotated[tuple[str, ...], doc("`spec.watchNamespaces` as they were.")] = ()
    overrides: Annotated[tuple[Override, ...], doc("`spec.overrides` as they were.")] = ()
    patches: Annotated[tuple[Patch, ...], doc("`spec.patches` as they were.")] = ()
    config: Annotated[
        dict[str, Any] | None,
        doc(
            "Deprecated, in entries of former releases: `spec.config` as it was, without its nulls.",
            x_kubernetes_preserve_unknown_fields=True,
        ),
    ] = None
    # A merge patch drops each null of an object, and none of a string. `rename` would make it valuesJson.
    values_json: Annotated[str, doc("`spec.config` as it was, as a string of JSON, up to 64 KiB.")] = field(
        default="", name="valuesJSON"
    )
    config_digest: Annotated[str, doc("SHA-256 digest of `spec.config`; all that is recorded of one over 64 KiB.")] = ""
    values_from: Annotated[
        tuple[RecordedValues, ...],
        doc("What `spec.config.valuesFrom` referred to and was there, in its order.", maxItems=VALUES_FROM_AT_MOST),
    ] = ()

    @cached_property
    def inline_config(self) -> dict[str, Any] | None:
        """`spec.config`, read once. None: there was none, or its digest is all that is known."""
        if not self.values_json:
            return self.config
        return msgspec.json.decode(self.values_json, type=dict[str, Any])


class InstalledContent(ApiType, frozen=True, kw_only=True):
    """Name, version and package of installed content, from the content itself; empty where it has none."""

    name: Annotated[str, doc("Name of the chart, or of the ClusterServiceVersion.")] = ""
    version: Annotated[str, doc("Version of the chart, or of the ClusterServiceVersion.")] = ""
    app_version: Annotated[str, doc("`appVersion` of the chart.")] = ""
    package: Annotated[str, doc("The package that the OLM bundle belongs to.")] = ""


class InstallOutcome(StrEnum):
    """How far an installation got."""

    INSTALLED = "Installed"  # everything is applied; it was never healthy so far
    HEALTHY = "Healthy"  # it was healthy at least once
    FAILED = "Failed"  # an object failed before it was ever healthy
    ROLLED_BACK = "RolledBack"  # it was not healthy in time, and the revision before it was installed again


class Installation(ApiType, frozen=True, kw_only=True):
    """One past or present installation. `installed_of` reads it, entries of former releases included."""

    revision: Annotated[
        int,
        doc("Counts the installations. Entries of former releases have none: they are counted from the oldest."),
    ] = 0
    bundle: Annotated[str, doc("Name of the Bundle.")]
    digest: Annotated[str, doc("SHA-256 identity of its content.")]
    version: Annotated[str, doc("Version of its content, as in `status.version`.")] = ""
    generation: Annotated[
        int,
        doc("The generation that asked for it first. Entries of former releases have none.", format="int64", minimum=0),
    ] = 0
    time: Annotated[str, doc("When it was installed.", format="date-time")]
    outcome: Annotated[
        str,
        doc(
            "`Installed` (applied, and not healthy yet), `Healthy` (it was healthy), `Failed` (an object failed"
            " before it was healthy) or `RolledBack` (it was not healthy in time, and was undone). Entries of former"
            " releases have none: they count as `Healthy`."
        ),
    ] = ""
    account: Annotated[
        str, doc("The service account whose rights it was installed with, for information; empty: the operator's own.")
    ] = ""
    config: Annotated[
        dict[str, Any] | None,
        doc(
            "Deprecated, in entries without `options`: the provisioner's settings.",
            x_kubernetes_preserve_unknown_fields=True,
        ),
    ] = None
    options: Annotated[
        RecordedOptions | None,
        doc("The options it was installed with. Old entries lose them where the history is over 512 KiB."),
    ] = None
    renderer: Annotated[
        str,
        doc(
            "In which way a chart was rendered: `Cluster` (`lookup` and `.Capabilities` see the cluster, `.helmignore`"
            " counts); empty: without that, as former releases did. Until the next upgrade it is rendered in the same"
            " way."
        ),
    ] = ""
    is_upgrade: Annotated[bool | None, doc("Of a chart: what `.Release.IsUpgrade` was.")] = None
    rendering_digest: Annotated[
        str,
        doc(
            "Of a chart: digest of the objects that were rendered, SHA-256, or an HMAC where there are Secrets among"
            " them or values from elsewhere. What is rendered again may differ, and is compared."
        ),
    ] = ""
    taken_over: Annotated[bool, doc("The original operator had installed it before.")] = False
    template: Annotated[
        BundleTemplate | None,
        doc(
            "The template, its source replaced by the resolved one: enough to go back to it. Old entries lose it where"
            " the history is over 512 KiB."
        ),
    ] = None


class Judged(ApiType, frozen=True, kw_only=True):
    """The state of the BundleDeployment that the admission policies are known to have judged."""

    generation: Annotated[int, doc("Its generation.", format="int64", minimum=0)]
    metadata: Annotated[
        str,
        doc(
            "SHA-256 digest of its labels, annotations, owner references and finalizers: the generation stands still"
            " when they change."
        ),
    ]
    policies: Annotated[
        str,
        doc(
            "Identity of the policies that were in force then: a digest of their uids and generations. What is written"
            " while it stays the same is judged. Empty: they were not in force at some time since."
        ),
    ] = ""
    proof: Annotated[
        str,
        doc(
            "HMAC of this record and the uid of the object, with the key of the installation. A record without it"
            " proves nothing."
        ),
    ] = ""


class BundleDeploymentStatus(ApiType, frozen=True, kw_only=True):
    """Observed state of the installation."""

    conditions: Annotated[
        Conditions,
        doc(
            "`HasValidBundle`, `Installed`, `Healthy`, `UpgradePending` and `Ready`; `Reconciling` and `Stalled` only"
            " while true.",
        ),
    ] = ()
    active_bundle: Annotated[str, doc("Name of the Bundle whose content is installed.")] = ""
    observed_generation: Generation = -1
    digest: Annotated[str, doc("SHA-256 identity of the content that is installed.")] = ""
    version: Annotated[
        str,
        doc(
            "Version of what is installed: of the chart or of the ClusterServiceVersion; of plain content the tag of"
            " its image, its git tag or the first digits of its commit. Empty where there is none.",
        ),
    ] = ""
    content: Annotated[InstalledContent | None, doc("What the content that is installed says about itself.")] = None
    install_namespace: Annotated[
        str, doc("The namespace that the bundle chose, because `spec.installNamespace` is not set.")
    ] = ""
    kinds: Annotated[
        tuple[InstalledKind, ...],
        doc("The kinds of objects that may be installed; written before the first object is."),
    ] = ()
    kept: Annotated[
        tuple[KeptObject, ...],
        doc(
            "Objects that are no longer in the bundle and are kept. To delete one, set its annotation"
            ' `core.rukpak.io/prune: "true"`, or `prune` in `spec.overrides`.'
        ),
    ] = ()
    completed: Annotated[
        tuple[CompletedObject, ...],
        doc(
            "Jobs with `ttlSecondsAfterFinished` and Pods that have ended. Those that are gone count as done for"
            " unchanged content; beyond sixty-four they are created again.",
            maxItems=COMPLETED,
        ),
    ] = ()
    applied_digest: Annotated[
        str,
        doc(
            "One hash over all installed objects, with the version of its form in front; used to detect drift after a"
            " restart.",
        ),
    ] = ""
    history: Annotated[
        tuple[Installation, ...], doc("The last five installations, newest first.", maxItems=HISTORY)
    ] = ()
    hooks: Annotated[
        tuple[HookRecord, ...],
        doc("The hooks of the chart that were run for one installation, in this order; an upgrade replaces them."),
    ] = ()
    running_hook: Annotated[
        RunningHook | None,
        doc("The hook that is waited for; also of an installation that was given up."),
    ] = None
    delete_hooks: Annotated[
        bool,
        doc("The chart has hooks for its deletion; written before the first object is."),
    ] = False
    pending_upgrade: Annotated[
        PendingUpgrade | None,
        doc("The upgrade that waits: for an approval, a window, or another BundleDeployment."),
    ] = None
    upgrade: Annotated[
        BegunUpgrade | None,
        doc("The upgrade that has begun and was not healthy yet, where `spec.upgrades` decides about upgrades."),
    ] = None
    rollback: Annotated[
        RolledBack | None,
        doc("The upgrade that the spec asks for, has failed, and was undone. It is not tried again."),
    ] = None
    judged: Annotated[
        Judged | None,
        doc(
            "The state that was written while the admission policies of identities stood guard. With an account,"
            " nothing is done for another state until it is written again."
        ),
    ] = None
    last_handled_reconcile_at: HandledRequest = ""
    last_handled_refresh_at: Annotated[
        str,
        doc(
            "The last value of the annotation `core.rukpak.io/refresh-at` that was acted on. The name of the Bundle"
            " depends on it."
        ),
    ] = ""
    notes: Notes = ()


class BundleDeployment(ApiType, frozen=True, kw_only=True):
    """Content that should be installed, corrected when it drifts, upgraded and removed."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[BundleDeploymentSpec, doc("Which content to install and how.")]
    status: Annotated[BundleDeploymentStatus, doc("Observed state of the installation.")] = BundleDeploymentStatus()
