"""All that an API server refuses of a CustomResourceDefinition of v1 before its schemas."""

from collections.abc import Iterator

from rukpak_py.formats.crds import definitions, parts
from rukpak_py.formats.crds.written import API_VERSION, DEFINITION, WrittenDefinition
from rukpak_py.formats.documents import Document
from rukpak_py.formats.rules import Family, Problem

FAMILIES: tuple[Family[WrittenDefinition], ...] = (definitions.FAMILY, parts.FAMILY)


def problems_of(document: Document) -> Iterator[Problem]:
    """None for any other object."""
    if document.kind == DEFINITION and document.api_version == API_VERSION:
        written = WrittenDefinition.of(document)
        for family in FAMILIES:
            for rule in family.rules:
                yield from rule.check(written)
