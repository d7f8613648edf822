"""metadata/annotations.yaml: package and channels as the renderer reads them, and all annotations as catalogs do.

The renderer knows one file and decodes three annotations of it. The tools that build catalogs take the first file of
metadata/ that has annotations, whatever its name, and decode all of them.
"""

from collections.abc import Iterable
from typing import Any

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.registry_v1.bundle import BundleMetadata
from rukpak_py.formats.registry_v1.metadata.go_fields import fields, text_of
from rukpak_py.formats.type_defects import TypeDefect, Wanted

ANNOTATIONS_FILE = "metadata/annotations.yaml"
PREFIX = "operators.operatorframework.io.bundle."
MEDIA_TYPE = f"{PREFIX}mediatype.v1"
PACKAGE = f"{PREFIX}package.v1"
CHANNELS = f"{PREFIX}channels.v1"
DEFAULT_CHANNEL = f"{PREFIX}channel.default.v1"
OPENSHIFT_VERSIONS = "com.redhat.openshift.versions"  # the versions of OpenShift whose catalogs get the bundle

_ANNOTATIONS = "annotations"


def decode_metadata(document: Any) -> tuple[BundleMetadata, list[TypeDefect]]:
    """Metadata from the annotations file, and every value of a wrong type."""
    defects: list[TypeDefect] = []
    found: dict[str, str] = {}
    if isinstance(document, dict):
        for key, _ in fields(document, [_ANNOTATIONS]):
            annotations = document[key]
            if isinstance(annotations, dict):
                found.update(_decoded(annotations, (key,), defects))
            elif annotations is not None:
                defects.append(TypeDefect(path=(key,), wanted=Wanted.OBJECT, got=annotations))
    elif document is not None:
        defects.append(TypeDefect(path=(), wanted=Wanted.OBJECT, got=document))
    metadata = BundleMetadata(
        package=found.get(PACKAGE, ""),
        channels=found.get(CHANNELS, ""),
        default_channel=found.get(DEFAULT_CHANNEL, ""),
    )
    return metadata, defects


def catalog_annotations(document: Any) -> dict[str, str] | None:
    """All annotations as texts; None where one is none, or where the document has no annotations."""
    if not isinstance(document, dict):
        return None
    found: dict[str, str] | None = None
    for key, _ in fields(document, [_ANNOTATIONS]):
        annotations = document[key]
        if isinstance(annotations, dict):
            texts = {name: "" if value is None else text_of(value) for name, value in annotations.items()}
            if None in texts.values():
                return None
            found = {**(found or {}), **{name: text for name, text in texts.items() if text is not None}}
        elif annotations is None:
            found = None
        else:
            return None
    return found


def catalog_annotations_file(files: Iterable[tuple[str, Any]]) -> tuple[str, dict[str, str]] | None:
    """The first of the files (path, first document) that counts as annotations file, in the order of names."""
    for path, document in sorted(files, key=lambda file: file[0].encode()):
        annotations = catalog_annotations(document)
        if annotations is not None:
            return path, annotations
    return None


def _decoded(annotations: dict[str, Any], path: Path, defects: list[TypeDefect]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, name in fields(annotations, [PACKAGE, CHANNELS, DEFAULT_CHANNEL]):
        value = annotations[key]
        text = text_of(value)
        if text is not None:
            found[name] = text
        elif value is not None:
            defects.append(TypeDefect(path=(*path, key), wanted=Wanted.STRING, got=value))
    return found
