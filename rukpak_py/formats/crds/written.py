"""CustomResourceDefinitions of v1 as they were written, in whatever content they are."""

from dataclasses import dataclass
from typing import Final

from rukpak_py.core.findings import Fix
from rukpak_py.formats.documents import Document
from rukpak_py.formats.json_fields import Json, entries, mapping, text
from rukpak_py.formats.rules import Place, Problem, path_text

DEFINITION: Final = "CustomResourceDefinition"
API_VERSION: Final = "apiextensions.k8s.io/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenDefinition:
    """A CRD as it was written. `versions` are its mappings with their paths."""

    document: Document
    spec: Json
    versions: list[tuple[tuple[str | int, ...], Json]]

    @classmethod
    def of(cls, document: Document) -> "WrittenDefinition":
        versions = list(entries(document.manifest, "spec", "versions"))
        return cls(document=document, spec=mapping(document.manifest, "spec"), versions=versions)

    @property
    def group(self) -> str:
        return text(self.spec, "group")

    def place(self, *path: str | int, on_key: bool = False) -> Place:
        return self.document.place(*path, on_key=on_key)

    def problem(self, reason: str, *path: str | int, on_key: bool = False, fix: Fix | None = None) -> Problem:
        """In the API server's words, which begin with the field."""
        return Problem(message=f"{path_text(path)}: {reason}", place=self.place(*path, on_key=on_key), fix=fix)
