"""The calls that check and render content, in place or in a worker process, by one decision for both.

A worker process imports this module, so it imports nothing but the formats and what such a process is.
"""

from dataclasses import dataclass, replace

from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import Limits
from rukpak_py.formats.by_class import Classes, format_of_bundle, format_of_deployment
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.workers.child import asker


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    is_directory: bool
    limits: Limits


def check(classes: Classes, tree: Tree, options: CheckOptions) -> Tree | None:
    return format_of_bundle(classes).check(tree, is_directory=options.is_directory, limits=options.limits)


def render(classes: Classes, tree: Tree, options: RenderOptions) -> RenderedContent:
    return format_of_deployment(classes).render(tree, options)


def render_asking(classes: Classes, tree: Tree, options: RenderOptions) -> RenderedContent:
    """Render in a worker process, which asks the operator for what templates look up."""
    return render(classes, tree, replace(options, look_up=asker()))


def is_small(classes: Classes, tree: Tree) -> bool:
    """Whether it is quicker in place than in a worker process, and harmless."""
    return format_of_bundle(classes).stays_small(tree)
