"""Annotations added to an object, which is copied as far as it changes."""

from collections.abc import Collection, Mapping

from rukpak_py.formats.registry_v1.bundle import Json


def annotated(manifest: Json, annotations: Mapping[str, str], *, instead_of: Collection[str] = ()) -> Json:
    """The same object when there is nothing to add; what it says already is replaced. `instead_of`: these go."""
    if not annotations:
        return manifest
    metadata = manifest.get("metadata") or {}
    former = {key: value for key, value in (metadata.get("annotations") or {}).items() if key not in instead_of}
    merged = {**former, **annotations}
    return {**manifest, "metadata": {**metadata, "annotations": merged}}
