"""The kind BundleDeployment: content that is installed, kept as it should be, upgraded and removed."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from rukpak_py.api.bundle import CLASS_PATTERN, BundleSpec, Generation
from rukpak_py.api.conditions import Conditions
from rukpak_py.api.metadata import ObjectMeta, TemplateMeta
from rukpak_py.api.names import canonical_class
from rukpak_py.api.schema import ApiType, Rule, doc

DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class PruneWhen(StrEnum):
    AFTER_HEALTHY = "AfterHealthy"
    AFTER_APPLY = "AfterApply"


class Adopt(StrEnum):
    NEVER = "Never"
    IF_UNOWNED = "IfUnowned"


class BundleTemplate(ApiType, frozen=True, kw_only=True):
    """The Bundle to make. A change makes a new Bundle, and a pivot to it once it is unpacked."""

    metadata: Annotated[TemplateMeta, doc("Metadata of the Bundle: labels and annotations are used.")] = TemplateMeta()
    spec: Annotated[BundleSpec, doc("The Bundle's spec. Its class says who unpacks the content.")]


class Prune(ApiType, frozen=True, kw_only=True):
    """What happens to objects that left the content."""

    enabled: Annotated[bool, doc("Delete objects that are no longer in the content. Default: true.")] = True
    max_objects: Annotated[
        int | None,
        doc("Delete nothing, and say so, when more objects than this would go. Default: no bound.", minimum=0),
    ] = None
    when: Annotated[
        PruneWhen,
        doc("`AfterHealthy` (default): once the new content is healthy. `AfterApply`: once it is applied."),
    ] = PruneWhen.AFTER_HEALTHY


class BundleDeploymentSpec(ApiType, frozen=True, kw_only=True):
    """Which content to install and how."""

    provisioner_class_name: Annotated[
        str,
        doc(
            "Which provisioner installs the content: `core-rukpak-io-plain` or `core-rukpak-io-helm`.",
            pattern=CLASS_PATTERN,
        ),
    ]
    template: Annotated[BundleTemplate, doc("The Bundle whose content is installed.")]
    config: Annotated[
        dict[str, Any] | None,
        doc("Settings for the provisioner, in its own form.", x_kubernetes_preserve_unknown_fields=True),
    ] = None
    install_namespace: Annotated[
        str,
        doc(
            "Where objects go that have no namespace of their own. Default: the system namespace.",
            pattern=DNS_LABEL,
            maxLength=63,
        ),
    ] = ""
    create_namespace: Annotated[
        bool, doc("Create `installNamespace` when it is missing. It outlives the BundleDeployment.")
    ] = False
    suspend: Annotated[bool, doc("While true nothing is applied, corrected or pruned. Deletion still works.")] = False
    prune: Annotated[Prune, doc("What happens to objects that left the content.")] = Prune()
    adopt: Annotated[
        Adopt,
        doc(
            "What to do with an object that exists already and belongs to nobody. `Never` (default): refuse."
            " `IfUnowned`: take it over. Objects of other owners are always refused."
        ),
    ] = Adopt.NEVER

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!has(self.createNamespace) || !self.createNamespace || has(self.installNamespace)",
            "spec.createNamespace needs spec.installNamespace",
        ),
    )

    @property
    def provisioner_class(self) -> str:
        """The class in its modern spelling."""
        return canonical_class(self.provisioner_class_name)


class InstalledKind(ApiType, frozen=True, kw_only=True):
    """A kind of which the BundleDeployment owns objects."""

    group: Annotated[str, doc("API group; empty for the core group.")] = ""
    version: Annotated[str, doc("API version.")]
    kind: Annotated[str, doc("Kind.")]


class Installation(ApiType, frozen=True, kw_only=True):
    """One past or present installation."""

    bundle: Annotated[str, doc("Name of the Bundle.")]
    digest: Annotated[str, doc("SHA-256 identity of its content.")]
    time: Annotated[str, doc("When it was installed.", format="date-time")]
    config: Annotated[
        dict[str, Any] | None,
        doc("The provisioner's settings it was installed with.", x_kubernetes_preserve_unknown_fields=True),
    ] = None
    template: Annotated[
        BundleTemplate | None, doc("The template, its source replaced by the resolved one: enough to go back to it.")
    ] = None


class BundleDeploymentStatus(ApiType, frozen=True, kw_only=True):
    """What is installed and how it is."""

    conditions: Annotated[
        Conditions,
        doc(
            "`HasValidBundle`, `Installed`, `Healthy` and `Ready`; `Reconciling` and `Stalled` only while true.",
        ),
    ] = ()
    active_bundle: Annotated[str, doc("Name of the Bundle whose content is installed.")] = ""
    observed_generation: Generation = -1
    digest: Annotated[str, doc("SHA-256 identity of the content that is installed.")] = ""
    kinds: Annotated[
        tuple[InstalledKind, ...],
        doc("The kinds of which objects may be installed, written before the first of them is."),
    ] = ()
    applied_digest: Annotated[str, doc("One hash over all installed objects; it tells drift after a restart.")] = ""
    history: Annotated[tuple[Installation, ...], doc("The last five installations, newest first.", maxItems=5)] = ()
    last_handled_reconcile_at: Annotated[
        str, doc("The last value of the annotation `core.rukpak.io/reconcile-at` that was acted on.")
    ] = ""


class BundleDeployment(ApiType, frozen=True, kw_only=True):
    """Content that should be installed, kept as it should be, upgraded and removed."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[BundleDeploymentSpec, doc("Which content to install and how.")]
    status: Annotated[BundleDeploymentStatus, doc("What is installed and how it is.")] = BundleDeploymentStatus()
