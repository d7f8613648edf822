"""Rules for the metadata of every object, in the API server's words."""

from collections.abc import Iterator
from typing import Final

from rukpak_py.formats import dns
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import at, entries, mapping, text, texts
from rukpak_py.formats.rules import Problem

_ANNOTATION_BYTES: Final = 256 * 1024


def problems(document: Document) -> Iterator[Problem]:
    """About names, labels and annotations; a namespace is asked for apart."""
    if not document.name:
        yield Problem(
            message="metadata.name: Required value: name or generateName is required",
            place=document.place("metadata", "name"),
        )
    for key, value in mapping(document.manifest, "metadata", "labels").items():
        reasons = [*dns.qualified_name(key), *(dns.label_value(value) if isinstance(value, str) else [])]
        for reason in reasons:
            shown = key if reason in dns.qualified_name(key) else value
            message = f'metadata.labels: Invalid value: "{shown}": {reason}'
            yield Problem(message=message, place=document.place("metadata", "labels", key, on_key=True))
    annotations = mapping(document.manifest, "metadata", "annotations")
    for key in annotations:
        for reason in dns.qualified_name(key.lower()):
            message = f'metadata.annotations: Invalid value: "{key}": {reason}'
            yield Problem(message=message, place=document.place("metadata", "annotations", key, on_key=True))
    yield from _bookkeeping_problems(document)
    size = sum(len(f"{key}{value}".encode(errors="surrogatepass")) for key, value in annotations.items())
    if size > _ANNOTATION_BYTES:
        message = f"metadata.annotations: Too long: may not be more than {_ANNOTATION_BYTES} bytes"
        yield Problem(message=message, place=document.place("metadata", "annotations", on_key=True))


def _bookkeeping_problems(document: Document) -> Iterator[Problem]:
    """About what a server writes, and no manifest should hold."""
    for index, finalizer in enumerate(texts(document.manifest, "metadata", "finalizers")):
        for reason in dns.qualified_name(finalizer):
            message = f'metadata.finalizers: Invalid value: "{finalizer}": {reason}'
            yield Problem(message=message, place=document.place("metadata", "finalizers", index))
    for path, owner in entries(document.manifest, "metadata", "ownerReferences"):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not text(owner, field):
                message = f'metadata.ownerReferences.{field}: Invalid value: "": must not be empty'
                yield Problem(message=message, place=document.place(*path))
    generation = at(document.manifest, "metadata", "generation")
    if isinstance(generation, int) and generation < 0:
        message = f"metadata.generation: Invalid value: {generation}: must be greater than or equal to 0"
        yield Problem(message=message, place=document.place("metadata", "generation"))
