"""The media type of a directory of manifests, told from the first document of each of its files, as opm does."""

from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.kinds import CSV

HELM = "helm"
REGISTRY = "registry+v1"
PLAIN = "plain"
CHART = "Chart.yaml"


def media_type(manifests: Tree, *, shown: str) -> str:
    """`shown` is what the directory is called in messages."""
    files = [path for path in manifests if "/" not in path]
    if not files:
        raise ContentError(f"The directory {shown} contains no yaml files")
    chart = first_document(manifests.get(CHART, b""))
    if isinstance(chart, dict) and chart.get("name"):
        return HELM
    return REGISTRY if any(is_csv(first_document(manifests[file])) for file in files) else PLAIN


def first_document(data: bytes) -> Any:
    """None where it cannot be parsed: whether files are sound is a question for validation."""
    try:
        return next(yaml.documents(data), None)
    except ContentError:
        return None


def is_csv(document: Any) -> bool:
    return isinstance(document, dict) and document.get("kind") == CSV
