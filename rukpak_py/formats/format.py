"""What a format is: it judges a Tree, and renders it to Objects.

Both are pure and deterministic: the same Tree and options give the same Objects in the same order. Rendering is
literal (nothing in content is ever taken for a template) and adds no labels and no namespaces; that is the apply
room's part.
"""

from dataclasses import dataclass
from typing import Protocol

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.core.objects import Object


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    install_namespace: str  # where namespaced objects without a namespace will go
    limits: Limits = DEFAULT_LIMITS


class Format(Protocol):
    def check(self, tree: Tree, *, limits: Limits = DEFAULT_LIMITS) -> None:
        """ContentError, in upstream's words, when the Tree is no bundle of this format."""

    def render(self, tree: Tree, options: RenderOptions) -> list[Object]: ...
