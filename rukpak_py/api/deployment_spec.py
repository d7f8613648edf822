"""The spec of a BundleDeployment: which content to install and how."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from rukpak_py.api.bundle import CLASS_PATTERN, BundleSpec
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_NAME_LENGTH, LEGACY_CLASSES, REGISTRY_CLASS, canonical_class
from rukpak_py.api.schema import ApiType, CelRule, doc
from rukpak_py.api.upgrade_windows import duration_of
from rukpak_py.api.upgrades import DURATION, Upgrades

DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
NAMESPACE_OR_ALL = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
WATCH_NAMESPACES_AT_MOST = 64
VALUES_FROM_AT_MOST = 16
IGNORED_AT_MOST = 32
DEPENDENCIES_AT_MOST = 16
PATCHES_AT_MOST = 32
PATCH_CHARACTERS = 4096
_REGISTRY_CLASSES = [REGISTRY_CLASS, *(old for old, new in LEGACY_CLASSES.items() if new == REGISTRY_CLASS)]

WatchedNamespace = Annotated[
    str, doc("Name of a namespace, or an empty string for all.", pattern=NAMESPACE_OR_ALL, maxLength=63)
]


class PruneWhen(StrEnum):
    AFTER_HEALTHY = "AfterHealthy"
    AFTER_APPLY = "AfterApply"


class Adopt(StrEnum):
    NEVER = "Never"
    IF_UNOWNED = "IfUnowned"
    FORCE = "Force"


class CrdSafety(StrEnum):
    ENFORCE = "Enforce"
    WARN = "Warn"


class BundleTemplate(ApiType, frozen=True, kw_only=True):
    """The Bundle to make. A change makes a new Bundle, and a pivot to it once it is unpacked."""

    metadata: Annotated[TemplateMeta, doc("Metadata of the Bundle: labels and annotations are used.")] = TemplateMeta()
    spec: Annotated[BundleSpec, doc("The Bundle's spec. Its class selects the provisioner that unpacks the content.")]


class Prune(ApiType, frozen=True, kw_only=True):
    """Treatment of objects that are no longer in the bundle."""

    enabled: Annotated[bool, doc("Delete objects that are no longer in the content. Default: true.")] = True
    max_objects: Annotated[
        int | None,
        doc(
            "Delete nothing, and report it, when more objects than this would be deleted. Default: no limit.", minimum=0
        ),
    ] = None
    when: Annotated[
        PruneWhen,
        doc("`AfterHealthy` (default): once the new content is healthy. `AfterApply`: once it is applied."),
    ] = PruneWhen.AFTER_HEALTHY


class LabelOperator(StrEnum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelExpression(ApiType, frozen=True, kw_only=True):
    """A condition on one label."""

    key: Annotated[str, doc("Name of the label.", minLength=1, maxLength=317)]
    operator: Annotated[LabelOperator, doc("What must be true of its value.")]
    values: Annotated[tuple[str, ...], doc("Values, for `In` and `NotIn`.", maxItems=16)] = ()


class LabelSelector(ApiType, frozen=True, kw_only=True):
    """Labels that an object has; all of it must be true."""

    match_labels: Annotated[dict[str, str], doc("Labels and their values.", maxProperties=16)] = {}  # noqa: RUF012 - it is copied
    match_expressions: Annotated[tuple[LabelExpression, ...], doc("Conditions.", maxItems=16)] = ()


class PatchTarget(ApiType, frozen=True, kw_only=True):
    """Objects of one kind."""

    group: Annotated[str, doc("API group; empty for the core group.", maxLength=253)] = ""
    kind: Annotated[str, doc("Kind.", minLength=1, maxLength=63)]
    namespace: Annotated[
        str,
        doc("Namespace; that of an object which names none is the install namespace. Empty: any.", maxLength=63),
    ] = ""
    name: Annotated[str, doc("Name. Empty: any.", maxLength=253)] = ""
    label_selector: Annotated[LabelSelector | None, doc("Labels of the object as the content has them.")] = None


class Patch(ApiType, frozen=True, kw_only=True):
    """A change of objects of the content."""

    target: Annotated[PatchTarget, doc("The objects that it is applied to.")]
    patch: Annotated[
        str,
        doc(
            "YAML or JSON: a mapping is a JSON merge patch (RFC 7386), a list has the operations of a JSON patch"
            " (RFC 6902).",
            minLength=1,
            maxLength=PATCH_CHARACTERS,
        ),
    ]


class Dependency(ApiType, frozen=True, kw_only=True):
    """A BundleDeployment that has to be Ready first."""

    name: Annotated[str, doc("Its name.", pattern=DNS_SUBDOMAIN, maxLength=BUNDLE_DEPLOYMENT_NAME_LENGTH)]


class Wait(ApiType, frozen=True, kw_only=True):
    """How long objects may take to become healthy."""

    timeout: Annotated[
        str,
        doc(
            "How long unhealthy objects count as progress, like `10m`. Then `Ready` has the reason `StillUnhealthy`,"
            " and a Warning names them. Nothing else depends on it: an object that fails is reported at once. Default:"
            " `2m`.",
            pattern=DURATION,
            minLength=2,
            maxLength=16,
        ),
    ] = ""

    rules: ClassVar[tuple[CelRule, ...]] = (
        CelRule(
            "!has(self.timeout) || duration(self.timeout) > duration('0s')",
            "spec.wait.timeout must be a time above zero",
        ),
    )

    @property
    def seconds(self) -> float | None:
        """None: the default."""
        try:
            return duration_of(self.timeout).total_seconds()
        except ValueError:
            return None


JsonPointer = Annotated[str, doc("A JSON pointer.", pattern=r"^(/([^~/]|~[01])*)+$", maxLength=512)]


class Override(ApiType, frozen=True, kw_only=True):
    """How one object is treated, whatever its annotations in the bundle say."""

    group: Annotated[str, doc("API group of the object; empty for the core group.", default="", maxLength=253)] = ""
    kind: Annotated[str, doc("Kind of the object.", minLength=1, maxLength=63)]
    namespace: Annotated[
        str,
        doc(
            "Namespace of the object. Empty: it is cluster-scoped, or in the install namespace.",
            default="",
            maxLength=63,
        ),
    ] = ""
    name: Annotated[str, doc("Name of the object.", minLength=1, maxLength=253)]
    prune: Annotated[
        bool | None,
        doc(
            "`true`: delete it when it is no longer in the bundle, also a Namespace, a claim, a volume or a CRD with"
            " instances. `false`: never delete it, not with the BundleDeployment either. It wins over the annotation"
            " `core.rukpak.io/prune`."
        ),
    ] = None
    force: Annotated[
        bool | None,
        doc(
            "Delete and re-create it when an immutable field changed. It wins over the annotation"
            " `core.rukpak.io/force`, and alone counts for a Namespace, a claim, a volume or a CRD: what is in it, or"
            " all its instances, are lost with it."
        ),
    ] = None

    ignore: Annotated[
        tuple[JsonPointer, ...],
        doc(
            "Fields that are left out of what is applied, as JSON pointers into the object as the bundle has it: other"
            " clients set them, and it is no drift. An index means the element that the bundle has there. Not below a"
            " list that the API server owns as a whole, nor `apiVersion`, `kind`, `status`, and of `metadata` only"
            " labels and annotations without `core.rukpak.io`.",
            maxItems=IGNORED_AT_MOST,
        ),
    ] = ()

    rules: ClassVar[tuple[CelRule, ...]] = (
        CelRule(
            "has(self.prune) || has(self.force) || has(self.ignore) && size(self.ignore) > 0",
            "an entry of spec.overrides needs prune, force or ignore",
        ),
    )


class BundleDeploymentSpec(ApiType, frozen=True, kw_only=True):
    """Which content to install and how."""

    provisioner_class_name: Annotated[
        str,
        doc(
            "Which provisioner installs the content: `core-rukpak-io-plain`, `core-rukpak-io-registry` or"
            " `core-rukpak-io-helm`.",
            pattern=CLASS_PATTERN,
        ),
    ]
    template: Annotated[BundleTemplate, doc("The Bundle whose content is installed.")]
    config: Annotated[
        dict[str, Any] | None,
        doc(
            "Settings for the provisioner, in its own form. For the class `core-rukpak-io-helm`: `values`, a string of"
            " YAML or an object, and `valuesFrom`, a list of `kind` (`Secret` or `ConfigMap`), `name`, `key` (default:"
            " `values.yaml`) and `optional`, in the system namespace, or with an account in `installNamespace`. Later"
            " entries win, and `values` over all."
            " `releaseName` is the name of the release that templates see (at most 53 bytes; default: the name of the"
            " BundleDeployment). `crds` says what becomes of the chart's `crds/`: `CreateReplace` (default) applies and"
            " corrects them, `Create` only creates what is missing, `Skip` leaves them out. `acceptNewSecrets` lists"
            " generated values that an upgrade may replace, as `SECRET/KEY`; it is no part of the installation.",
            x_kubernetes_preserve_unknown_fields=True,
        ),
    ] = None
    install_namespace: Annotated[
        str,
        doc(
            "Namespace of objects that name none. Default: the system namespace, which is the operator's own; for the"
            " class `core-rukpak-io-registry` the namespace that the bundle suggests, else `<package>-system`, which is"
            " created when it is missing and is never deleted.",
            pattern=DNS_LABEL,
            maxLength=63,
        ),
    ] = ""
    create_namespace: Annotated[
        bool, doc("Create `installNamespace` when it is missing. It outlives the BundleDeployment.")
    ] = False
    service_account_name: Annotated[
        str,
        doc(
            "Name of a service account in `installNamespace`. Everything that is read, written and deleted in the"
            " cluster for this BundleDeployment is requested with its rights, by impersonation, and with no others. Who"
            " names it, or changes a BundleDeployment that names it, needs the verb `impersonate` on it. A change takes"
            " effect at once and is no upgrade. Default: the operator's own rights.",
            pattern=DNS_SUBDOMAIN,
            maxLength=253,
        ),
    ] = ""
    watch_namespaces: Annotated[
        tuple[WatchedNamespace, ...],
        doc(
            "For the class `core-rukpak-io-registry`: the namespaces that the operator watches, an empty string for all"
            " of them. Its install modes must allow it. Default: all namespaces, else the install namespace.",
            maxItems=WATCH_NAMESPACES_AT_MOST,
            x_kubernetes_list_type="set",
        ),
    ] = ()
    suspend: Annotated[bool, doc("While true nothing is applied, corrected or pruned. Deletion still works.")] = False
    prune: Annotated[Prune, doc("What happens to objects that are no longer in the bundle.")] = Prune()
    adopt: Annotated[
        Adopt,
        doc(
            "What to do with an object that exists already. `Never` (default): refuse it."
            " `IfUnowned`: take it over when nobody manages it, or when the BundleDeployment that it is labelled for"
            " does not exist. `Force`: also when it has the marks of another tool (Helm, Flux, Argo CD,"
            " `app.kubernetes.io/managed-by`). Objects of other BundleDeployments and controllers are always refused."
            " The fields that the content has become those of this BundleDeployment; fields that others set and the"
            " content does not have stay."
        ),
    ] = Adopt.NEVER
    crd_safety: Annotated[
        CrdSafety,
        doc(
            "Upgrades of CRDs that stored objects do not fit. `Enforce` (default): refuse them, and name the objects."
            " `Warn`: report them in an Event. What drops values or removes a stored version is refused in either case;"
            ' the annotation `core.rukpak.io/safe-crd-upgrade-validation: "false"` on the CRD lets that pass, too.'
        ),
    ] = CrdSafety.ENFORCE
    overrides: Annotated[
        tuple[Override, ...],
        doc(
            "How single objects are treated, for bundles that cannot be edited. One entry per object.",
            maxItems=128,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["group", "kind", "namespace", "name"],
        ),
    ] = ()
    patches: Annotated[
        tuple[Patch, ...],
        doc(
            "Changes of objects of the content, applied in this order to what is rendered, before anything else sees"
            " it. A change of them is an upgrade. They cannot change `apiVersion`, `kind`, name, namespace, owner"
            " references, finalizers, or labels and annotations of `core.rukpak.io`, and are not applied to hooks or to"
            " the `crds/` of a chart.",
            maxItems=PATCHES_AT_MOST,
        ),
    ] = ()
    upgrades: Annotated[
        Upgrades, doc("How upgrades are decided. First installs, corrected drift and deletion never wait.")
    ] = Upgrades()
    depends_on: Annotated[
        tuple[Dependency, ...],
        doc(
            "BundleDeployments that have to be Ready before the content is applied for the first time, and before an"
            " upgrade begins. Where both are being deleted, this one goes first. One that is not Ready any more changes"
            " nothing of what is installed.",
            maxItems=DEPENDENCIES_AT_MOST,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = ()
    wait: Annotated[Wait, doc("How long objects may take to become healthy.")] = Wait()

    rules: ClassVar[tuple[CelRule, ...]] = (
        CelRule(
            "!has(self.createNamespace) || !self.createNamespace || has(self.installNamespace)",
            "spec.createNamespace needs spec.installNamespace",
        ),
        CelRule(
            "!has(self.serviceAccountName) || has(self.installNamespace)",
            "spec.serviceAccountName needs spec.installNamespace",
        ),
        CelRule(
            "!has(self.serviceAccountName) || !has(self.createNamespace) || !self.createNamespace",
            "spec.serviceAccountName and spec.createNamespace exclude each other: the account has to exist before the"
            " first install, in a namespace that exists",
        ),
        CelRule(
            f"!has(self.watchNamespaces) || self.provisionerClassName in {_REGISTRY_CLASSES}",
            f"spec.watchNamespaces needs the class {REGISTRY_CLASS}",
        ),
    )

    @property
    def provisioner_class(self) -> str:
        """The class in its modern spelling."""
        return canonical_class(self.provisioner_class_name)
