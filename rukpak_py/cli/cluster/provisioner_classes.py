"""The provisioner classes of `rukpakctl run` for a directory, when the user names none.

They are plain, as the original has it, unless the content is what class plain cannot install: a chart, or an OLM bundle
with its annotations. Plain manifests may contain a ClusterServiceVersion, for a cluster with OLM, and stay plain; so
does what has manifests/ beside a Chart.yaml.
"""

from typing import NamedTuple

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.manifests import MANIFESTS
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE


class DetectedClass(NamedTuple):
    name: str
    content: str


PLAIN = DetectedClass(PLAIN_CLASS, "plain manifests")
REGISTRY = DetectedClass(REGISTRY_CLASS, "an OLM bundle")
HELM = DetectedClass(HELM_CLASS, "a Helm chart")


def detected_class(tree: Tree, limits: Limits = DEFAULT_LIMITS) -> DetectedClass:
    has_manifests = any(path.startswith(f"{MANIFESTS}/") for path in tree)
    match detect_format(tree, limits):
        case FormatName.HELM if not has_manifests:
            return HELM
        case FormatName.REGISTRY if ANNOTATIONS_FILE in tree:
            return REGISTRY
        case _:
            return PLAIN
