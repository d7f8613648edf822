"""The other objects of the bundle, as they are; those of namespaced kinds go where the operator lives."""

from collections.abc import Iterator

from rukpak_py.formats.registry_v1.bundle import Document, Json
from rukpak_py.formats.registry_v1.kinds import AUTOSCALER, SUPPORTED
from rukpak_py.formats.registry_v1.render.installation import Installation


def other_objects(installation: Installation) -> Iterator[Json]:
    """In reading order, one for each document."""
    for document in installation.bundle.others:
        yield _placed(installation, document)


def _placed(installation: Installation, document: Document) -> Json:
    metadata = document.manifest.get("metadata", {})
    if metadata is None:
        return document.manifest  # upstream cannot set a field of null, and goes on
    is_placed = SUPPORTED[document.kind]
    if document.kind == AUTOSCALER and not installation.bundle.parity:
        is_placed = not metadata.get("namespace")
    if not is_placed:
        return document.manifest
    return {**document.manifest, "metadata": {**metadata, "namespace": installation.namespace}}
