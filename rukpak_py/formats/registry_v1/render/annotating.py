"""Annotations added to an object, which is copied as far as it changes."""

from collections.abc import Mapping

from rukpak_py.formats.registry_v1.bundle import Json


def annotated(manifest: Json, annotations: Mapping[str, str]) -> Json:
    """The same object when there is nothing to add; what it says already is replaced."""
    if not annotations:
        return manifest
    metadata = manifest.get("metadata") or {}
    merged = {**(metadata.get("annotations") or {}), **annotations}
    return {**manifest, "metadata": {**metadata, "annotations": merged}}
