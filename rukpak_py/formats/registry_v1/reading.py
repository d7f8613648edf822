"""The result of reading a bundle: the bundle, when there is one, and every defect that was met on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, InvalidBundleError, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.rules import Place


@dataclass(frozen=True, kw_only=True, slots=True)
class Defect:
    finding: Finding
    prevents_rendering: bool = True  # False: a field of a wrong type that no object is made from


@dataclass(frozen=True, kw_only=True, slots=True)
class ManifestFile:
    """A file of manifests/, whatever its name. `documents` is None when it could not be parsed."""

    path: str
    documents: Sequence[Any] | None


@dataclass(frozen=True, kw_only=True)
class Reading:
    tree: Tree
    parity: bool
    files: Sequence[ManifestFile]
    bundle: RegistryBundle | None  # None when what is missing or broken leaves nothing to judge
    defects: Sequence[Defect]
    unknown: Sequence[Place] = ()  # fields that Go's types of the CSV and the definitions do not have
    limits: Limits = DEFAULT_LIMITS

    @cached_property
    def metadata_documents(self) -> Mapping[str, Any]:
        """The first document of each file directly in metadata/; None where it cannot be parsed."""
        paths = [f"metadata/{name}" for name in self.tree.names_in("metadata")]
        return {path: self._first_document(path) for path in paths}

    def _first_document(self, path: str) -> Any:
        try:
            return yaml.load(self.tree[path], limits=self.limits) if path in self.tree else None
        except ContentError:  # told when the bundle is read, where it matters
            return None

    def complete(self) -> RegistryBundle:
        """The bundle, or the error that says why it cannot be rendered; the reference refuses every defect."""
        refused = [defect.finding for defect in self.defects if defect.prevents_rendering or self.parity]
        fatal = [replace(finding, severity=Severity.ERROR) for finding in refused]
        if fatal or self.bundle is None:
            raise InvalidBundleError(fatal)
        return self.bundle
