"""The port of a format: it judges a Tree, and renders it to Objects.

The same Tree and options give the same Objects in the same order; charts alone may be random, so what is rendered of
them has a digest and is kept. Nothing in other content is ever taken for a template. Rendering adds no labels; `apply`
does that, and puts objects without a namespace of their own into the install namespace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import GroupVersionKind, Object, ObjectKey
from rukpak_py.formats.hook import Hook

if TYPE_CHECKING:
    from rukpak_py.formats.helm.cluster_view import ClusterView, LookUp, Lookup
    from rukpak_py.formats.helm.request import ValuesDocument

SMALL = 64 * 1024  # bytes; less work than a call of another process


class Certificates(StrEnum):
    """The maker of the certificates of a bundle's webhooks."""

    OPERATOR = "operator"  # our own signer
    CERT_MANAGER = "cert-manager"
    OPENSHIFT = "openshift"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Release:
    """The installation and the cluster as templates see them, beside their values."""

    name: str  # of the BundleDeployment; its configuration may say another one
    is_upgrade: bool = False
    has_settings: bool = True  # False: a release of the operator rendered it that ignored them in the configuration
    cluster: "ClusterView | None" = None  # None: templates see no cluster, and these are its capabilities
    kube_version: str | None = None  # None: the newest that helm knows
    api_versions: tuple[str, ...] = ()  # `apps/v1`, `apps/v1/Deployment`


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """Options of a rendering. A format ignores those that it has no use for."""

    is_directory: bool = False  # how the content came; else as an archive: charts are loaded differently
    install_namespace: str | None = None  # where namespaced objects without a namespace go; None: the bundle decides
    watch_namespaces: tuple[str, ...] | None = None  # ("",) is all of them; None: the bundle decides
    certificates: Certificates = Certificates.OPERATOR
    deployment_config: Mapping[str, Any] | None = field(default=None, hash=False)
    aggregated_roles: bool = False  # roles for the users of an operator's kinds
    config: Mapping[str, Any] | None = field(default=None, hash=False)  # of a BundleDeployment, as it was written
    values: "tuple[ValuesDocument, ...]" = field(default=(), hash=False)  # what `config` refers to; its own win
    release: Release | None = None
    look_up: "LookUp | None" = field(default=None, hash=False)  # where the release names a cluster; not picklable
    helm: str | None = None  # the program; None: the one on PATH
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A kind that the content needs and does not bring."""

    gvk: GroupVersionKind
    file: str  # which says so


@dataclass(frozen=True, kw_only=True)
class OlmIdentity:
    """Names by which OLM would know the content."""

    package: str
    csv: str


@dataclass(frozen=True, kw_only=True)
class ContentDescription:
    """Name, version and package of the content, from the content itself."""

    name: str = ""
    version: str = ""
    app_version: str = ""
    package: str = ""


class ChartRenderer(StrEnum):
    """In which way charts are rendered. What is installed is rendered again in the way in which it was installed."""

    OFFLINE = ""  # of former releases: `lookup` finds nothing, `.helmignore`, `crds` and `releaseName` have no effect
    CLUSTER = "Cluster"  # `lookup` and `.Capabilities` see the cluster


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendering:
    """How a chart was rendered, to render it again. `is_upgrade` None: it is counted by the history."""

    renderer: str = ChartRenderer.OFFLINE
    is_upgrade: bool | None = None


OFFLINE_RENDERING = Rendering()


@dataclass(frozen=True, kw_only=True)
class RenderedContent:
    """The objects, and what has to be known beside them.

    `default_namespace`: the namespace that the content suggests, where the user chose none; it is created when it is
    missing, and shared with others. `lasting`: objects that stay when they leave the content, and when the
    deployment goes. `digest`: of what was rendered, where rendering again may give something else, and `made`: how.
    `lookups`: those of templates. `before_hooks`: of the objects those that are applied before the first
    hook runs. `create_only`: of the lasting those that are created where they are missing, and otherwise left as they
    are, with or without an owner.
    """

    objects: Sequence[Object]
    description: ContentDescription | None = None
    default_namespace: str = ""
    requirements: Sequence[Requirement] = ()
    olm: OlmIdentity | None = None
    lasting: frozenset[ObjectKey] = frozenset()  # as the content has them: without the namespace that it leaves out
    digest: str = ""
    made: Rendering = OFFLINE_RENDERING
    lookups: "frozenset[Lookup]" = frozenset()
    hooks: Sequence[Hook] = ()
    before_hooks: frozenset[ObjectKey] = frozenset()  # as `lasting`
    create_only: frozenset[ObjectKey] = frozenset()  # as `lasting`


class Format(Protocol):
    def check(self, tree: Tree, *, is_directory: bool = False, limits: Limits = DEFAULT_LIMITS) -> Tree | None:
        """ContentError, in upstream's words, when the Tree is not a bundle of this format.

        `is_directory`: as in RenderOptions. The answer is the form that is served to others, where that is not the Tree
        itself.
        """

    def render(self, tree: Tree, options: RenderOptions) -> RenderedContent: ...

    def stays_small(self, tree: Tree) -> bool:
        """Whether checking and rendering are quick, and the objects small, whatever the options are.

        Judged by what the content may become, without parsing it. When in doubt it is false.
        """
