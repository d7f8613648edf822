"""Detection of a Tree's format, where none is given.

A ClusterServiceVersion in manifests/ or an annotation decides for registry+v1; a Chart.yaml, at the root or in the one
directory there, for helm; all else is plain. Annotations are not believed against a ClusterServiceVersion: real bundles
name the wrong media type. Broken files count by what they look like, so that their defects are judged by the right
rules.
"""

import re
from enum import StrEnum
from typing import Any, Final

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.helm.layout import has_chart
from rukpak_py.formats.registry_v1.metadata.annotations import ANNOTATIONS_FILE, MEDIA_TYPE, PREFIX

_CSV: Final = "ClusterServiceVersion"
_CSV_AT_TOP: Final = re.compile(rb"""^(?:\{\s*)?["']?kind["']?\s*:\s*["']?ClusterServiceVersion\b""", re.MULTILINE)


class FormatName(StrEnum):
    """As people write it."""

    PLAIN = "plain"
    REGISTRY = "registry+v1"
    HELM = "helm"


def detect_format(tree: Tree, limits: Limits = DEFAULT_LIMITS) -> FormatName:
    if any(_holds_csv(tree[path], limits) for path in tree if path.startswith("manifests/")):
        return FormatName.REGISTRY
    if has_chart(tree):
        return FormatName.HELM
    annotations = _annotations(tree, limits)
    media_type = str(annotations.get(MEDIA_TYPE, ""))
    is_registry = (
        media_type.startswith("registry") if media_type else any(key.startswith(PREFIX) for key in annotations)
    )
    return FormatName.REGISTRY if is_registry else FormatName.PLAIN


def _holds_csv(data: bytes, limits: Limits) -> bool:
    if _CSV.encode() not in data:
        return False
    if _CSV_AT_TOP.search(data):
        return True
    try:
        return any(_is_csv(found) for found in yaml.load_all(data, limits=limits))
    except ContentError:
        return False


def _is_csv(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    items = document.get("items")
    return document.get("kind") == _CSV or any(map(_is_csv, items if isinstance(items, list) else []))


def _annotations(tree: Tree, limits: Limits) -> dict[str, Any]:
    try:
        documents = yaml.load_all(tree.get(ANNOTATIONS_FILE, b""), limits=limits)
    except ContentError:
        return {PREFIX: ""}  # nothing but a bundle of OLM has such a file
    first = documents[0] if documents else None
    annotations = first.get("annotations") if isinstance(first, dict) else None
    return annotations if isinstance(annotations, dict) else {}
