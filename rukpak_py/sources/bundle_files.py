"""Files of a checkout or an image that make a bundle or a chart; all others may be of any size and state."""

from collections.abc import Callable

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS, canonical_class
from rukpak_py.content.tree import Tree
from rukpak_py.formats.helm.layout import CHART
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.sources.image.layers import Keep, below
from rukpak_py.sources.image.pod_manifest import MOUNT

demanded = below(MANIFESTS, "metadata")
_of_bundles = below(MANIFESTS, "metadata", "tests/scorecard")
_of_charts = below(
    *(CHART, "Chart.lock", "values.yaml", "values.schema.json", "requirements.yaml", ".helmignore"),
    *("templates", "charts", "crds"),
)


def of_bundle(path: str) -> bool:
    return _of_bundles(path) or ("/" not in path and "Dockerfile" in path)


def of_bundle_or_chart(path: str) -> bool:
    return of_bundle(path) or _of_charts(path)


def read_bundle_or_chart(read: Callable[[Keep], Tree]) -> Tree:
    """An image: what formats read of it. A chart is read again, all of it: its templates may read any file."""
    tree = read(of_bundle_or_chart)
    return read(_of_any_chart) if CHART in tree and MANIFESTS not in tree.directories else tree


def kept_of_image(class_name: str) -> Keep:
    """The files of an image that a provisioner class reads in the cluster; a chart may lie anywhere in it."""
    return _kept.get(canonical_class(class_name), of_bundle_or_chart)


def _of_any_chart(path: str) -> bool:
    return not _of_the_system(path)


_of_the_system = below("dev", "etc", "proc", "sys", "bin", MOUNT)
_kept = {
    PLAIN_CLASS: below(MANIFESTS),
    REGISTRY_CLASS: below(MANIFESTS, "metadata", "tests"),
    HELM_CLASS: _of_any_chart,
}
