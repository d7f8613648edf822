"""Where the chart is in a bundle: at its root, or in the one directory that the root has.

The original decides by the root alone: exactly one entry, and that is a directory, is the chart; everything else is put
below a new directory. So the name of the directory says nothing.
"""

from typing import Final

from rukpak_py.content.tree import Tree

ARCHIVE_ROOT: Final = "chart"
CHART: Final = "Chart.yaml"
_OF_BUNDLES: Final = ("manifests", "metadata")


def chart_root(tree: Tree) -> str:
    """The directory of the chart; empty for the root of the bundle."""
    names = tree.names_in("")
    return names[0] if len(names) == 1 and names[0] in tree.directories else ""


def has_chart(tree: Tree) -> bool:
    root = chart_root(tree)
    return root not in _OF_BUNDLES and (f"{root}/{CHART}" if root else CHART) in tree


def chart_of(tree: Tree) -> Tree:
    """The chart alone: paths begin at its root."""
    root = chart_root(tree)
    if not root:
        return tree
    prefix = f"{root}/"
    files = {path.removeprefix(prefix): tree[path] for path in tree}
    empty = (path.removeprefix(prefix) for path in tree.empty_directories if path != root)
    return Tree(files, frozenset(empty))


def archived(chart: Tree) -> Tree:
    """The chart as helm's archives have it: below one directory."""
    return Tree({f"{ARCHIVE_ROOT}/{path}": chart[path] for path in chart})
