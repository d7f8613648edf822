"""The kind Bundle: content that is fetched, checked and made available."""

from typing import Annotated

from msgspec import field

from rukpak_py.api.conditions import Conditions, Notes
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.names import BundlePhase, canonical_class
from rukpak_py.api.schema import ApiType, doc
from rukpak_py.api.source import Source

CLASS_PATTERN = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?|core\.rukpak\.io/(plain|registry|helm))$"

HandledRequest = Annotated[
    str, doc("The last value of the annotation `core.rukpak.io/reconcile-at` that was acted on.")
]
Generation = Annotated[
    int,
    doc("The generation of the object that this status describes; -1 before the first reconciliation.", format="int64"),
]


class BundleSpec(ApiType, frozen=True, kw_only=True):
    """Which content to fetch and what it is. It cannot be changed once the Bundle exists."""

    provisioner_class_name: Annotated[
        str,
        doc(
            "Which provisioner unpacks the content: `core-rukpak-io-plain`, `core-rukpak-io-registry` or"
            " `core-rukpak-io-helm`. When no operator serves the class, the status stays empty.",
            pattern=CLASS_PATTERN,
        ),
    ]
    source: Annotated[Source, doc("Where the content comes from.")]

    @property
    def provisioner_class(self) -> str:
        """The class in its modern spelling."""
        return canonical_class(self.provisioner_class_name)


class BundleStatus(ApiType, frozen=True, kw_only=True):
    """Observed state of the Bundle."""

    phase: Annotated[str, doc("`Pending`, `Unpacking`, `Unpacked` or `Failing`.")] = ""
    resolved_source: Annotated[
        Source | None,
        doc(
            "The source as it was unpacked, pinned: an image by digest, git by commit; without `caBundle`."
            " Only set once unpacked."
        ),
    ] = None
    artifact_type: Annotated[
        str,
        doc(
            "What the image is, where it is an OCI artifact and not a file system:"
            " `application/vnd.cncf.helm.config.v1+json` for a chart of `helm push`."
        ),
    ] = ""
    # Spelt like upstream's field; `rename` would make it contentUrl.
    content_url: Annotated[str, doc("Where the content can be downloaded. Only set once unpacked.")] = field(
        default="", name="contentURL"
    )
    observed_generation: Generation = -1
    conditions: Annotated[Conditions, doc("`Unpacked` and `Ready`; `Reconciling` and `Stalled` only while true.")] = ()
    digest: Annotated[str, doc("SHA-256 identity of the content. Once set, other content is never accepted.")] = ""
    spec_digest: Annotated[
        str,
        doc(
            "SHA-256 of the spec that was unpacked; used to detect a spec that was changed"
            " while the webhook was not running."
        ),
    ] = ""
    notes: Notes = ()

    @property
    def is_unpacked(self) -> bool:
        return self.phase == BundlePhase.UNPACKED


class Bundle(ApiType, frozen=True, kw_only=True):
    """Content that should be fetched, checked and made available. A Bundle installs nothing by itself."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: Annotated[BundleSpec, doc("Which content to fetch. Immutable.")]
    status: Annotated[BundleStatus, doc("Observed state of the Bundle.")] = BundleStatus()


def pinned_source(bundle: Bundle, recorded: Source | None = None, *, installed: Source | None = None) -> Source:
    """The source that brings a Bundle's content back. How to reach an image's registry is always taken from the spec.

    `recorded`: the source as it was unpacked, as the operator wrote it down. Without it there is `resolvedSource` of
    the status, or `installed`: the same of the Bundle that had its name before, in the history of its deployment.
    Others may have written those. Of them only the pin counts, the digest of an image or a commit, and only where the
    spec has none: never which server is asked, and with whose credentials.
    """
    spec = bundle.spec.source
    if recorded is not None:
        return recorded.accessed_as(spec)
    return spec.pinned_as(bundle.status.resolved_source or installed)
