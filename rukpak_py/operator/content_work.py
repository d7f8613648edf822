"""What is done with content in place or in a worker process, by the same decision for checking and for rendering.

A worker process imports this module, so it imports nothing but the formats.
"""

from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import Object
from rukpak_py.formats import Format, RenderOptions, format_of_class


def check(provisioner_class: str, tree: Tree, limits: Limits) -> None:
    _format(provisioner_class).check(tree, limits=limits)


def render(provisioner_class: str, tree: Tree, options: RenderOptions) -> list[Object]:
    return _format(provisioner_class).render(tree, options)


def is_small(provisioner_class: str, tree: Tree) -> bool:
    """Whether it is quicker in place than in a worker process, and harmless."""
    found = format_of_class(provisioner_class)
    return found is None or found.stays_small(tree)


def _format(provisioner_class: str) -> Format:
    found = format_of_class(provisioner_class)
    if found is None:
        raise ContentError(f"no format for the provisioner class {provisioner_class!r}")
    return found
