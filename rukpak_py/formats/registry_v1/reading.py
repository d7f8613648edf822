"""What reading a bundle gave: the bundle, when there is one, and every defect that was met on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, InvalidBundleError
from rukpak_py.formats.registry_v1.bundle import Bundle
from rukpak_py.formats.rules import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Defect:
    finding: Finding
    upstream: str  # the whole error text of the reference renderer
    prevents_rendering: bool = True  # False: a field of a wrong type that no object is made from


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestFile:
    """A file of manifests/, whatever its name. `documents` is None when it could not be parsed."""

    path: str
    documents: Sequence[Any] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    tree: Tree
    parity: bool
    files: Sequence[ManifestFile]
    bundle: Bundle | None  # None when what is missing or broken leaves nothing to judge
    defects: Sequence[Defect]  # in the order in which the reference renderer would meet them
    unknown: Sequence[Place] = ()  # fields that Go's types of the CSV and the definitions do not have

    def complete(self) -> Bundle:
        """The bundle, or the error that says why it cannot be rendered (in parity the first defect, in its words)."""
        if self.parity and self.defects:
            first = self.defects[0]
            raise InvalidBundleError([first.finding], text=first.upstream)
        fatal = [defect.finding for defect in self.defects if defect.prevents_rendering]
        if fatal or self.bundle is None:
            raise InvalidBundleError(fatal)
        return self.bundle
