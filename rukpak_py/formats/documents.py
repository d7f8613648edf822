"""Manifests, each with the place where it stands."""

from dataclasses import dataclass
from typing import Any

from rukpak_py.content.yaml_positions import Path
from rukpak_py.formats.rules import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One manifest, and where it stands. `manifest` is as it was read and is never changed in place."""

    file: str
    index: int  # which document of the file, empty ones counted
    manifest: dict[str, Any]
    inside: Path = ()  # the path to it when it is an item of a list: ("items", 3)

    @property
    def kind(self) -> str:
        return str(self.manifest.get("kind", ""))

    @property
    def api_version(self) -> str:
        return str(self.manifest.get("apiVersion") or "")

    @property
    def name(self) -> str:
        metadata = self.manifest.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return name if isinstance(name, str) else ""

    def place(self, *path: str | int, on_key: bool = False) -> Place:
        return Place(file=self.file, document=self.index, path=(*self.inside, *path), on_key=on_key)


def two_places(first: Document, second: Document) -> str:
    """Where two of them stand: their files, or where those do not tell them apart, their documents."""
    if first.file != second.file:
        return f"in {first.file} and in {second.file}"
    if first.index != second.index:
        return f"in documents {first.index + 1} and {second.index + 1} of {first.file}"
    return f"in two items of document {first.index + 1} of {first.file}"
