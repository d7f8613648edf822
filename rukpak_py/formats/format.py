"""What a format is: it judges a Tree, and renders it to Objects.

Both are pure and deterministic: the same Tree and options give the same Objects in the same order. Rendering is
literal (nothing in content is ever taken for a template) and adds no labels and no namespaces; `apply`
does that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object

SMALL = 64 * 1024  # bytes; less work than a call of another process


class Certificates(StrEnum):
    """Who makes the certificates of a bundle's webhooks."""

    OPERATOR = "operator"  # our own signer
    CERT_MANAGER = "cert-manager"
    OPENSHIFT = "openshift"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """What a format has no use for it ignores."""

    install_namespace: str | None = None  # where namespaced objects without a namespace go; None: the bundle decides
    watch_namespaces: tuple[str, ...] | None = None  # ("",) is all of them; None: the bundle decides
    certificates: Certificates = Certificates.OPERATOR
    deployment_config: Mapping[str, Any] | None = field(default=None, hash=False)
    limits: Limits = DEFAULT_LIMITS


class Format(Protocol):
    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """ContentError, in upstream's words, when the Tree is no bundle of this format."""

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]: ...

    def stays_small(self, tree: Tree) -> bool:
        """Whether checking and rendering are quick, and the objects small, whatever the options are.

        Judged by what the content may become, without parsing it. When in doubt it is false.
        """
