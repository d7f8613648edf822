"""The result of reading a bundle: the bundle, when there is one, and every defect that was met on the way.

The rules that reading itself checks are `RuleOfReading`s; `Defects` is the list that it fills.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rukpak_py.content import yaml
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import Finding, InvalidBundleError, Profile, Severity
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.formats.registry_v1.bundle import RegistryBundle
from rukpak_py.formats.rules import Locator, Place, Problem, RuleOfReading
from rukpak_py.formats.unknown_fields import UnknownField

UNPARSABLE = RuleOfReading(
    id="RV1-901",
    title="A manifest is neither YAML nor JSON",
    hint="Correct the syntax at the place that is named.",
)
NO_OBJECT = RuleOfReading(
    id="RV1-902",
    title="A document of manifests/ is no Kubernetes object",
    hint="A manifest needs `apiVersion`, `kind` and `metadata`; move other files out of manifests/.",
)
WRONG_TYPE = RuleOfReading(
    id="RV1-903",
    title="A field has a value of the wrong type",
    hint="Write the value as its type demands: strings that look like numbers or booleans need quotes.",
)
LAYOUT = RuleOfReading(
    id="RV1-904",
    title="A bundle is a directory manifests/ without sub-directories, and metadata/annotations.yaml",
    hint="Give the directory that holds manifests/ and metadata/.",
)
NO_CSV = RuleOfReading(
    id="RV1-905",
    title="A bundle has a ClusterServiceVersion",
    hint="Add the manifest of kind ClusterServiceVersion that describes the operator to manifests/.",
)
SEVERAL_CSVS = RuleOfReading(
    id="RV1-906",
    title="A bundle has only one ClusterServiceVersion",
    hint="A bundle is one version of one operator: move the other ones to bundles of their own.",
    error_only_in=Profile.DEFAULT,  # `opm` takes the last
)
METADATA = RuleOfReading(
    id="RV1-907",
    title="Metadata can be decoded: annotations.yaml, properties.yaml and the annotation olm.properties",
    hint="Correct the file so that it has the form which the documentation of bundles shows.",
)
DEFECT_KINDS = (UNPARSABLE, NO_OBJECT, WRONG_TYPE, LAYOUT, NO_CSV, SEVERAL_CSVS, METADATA)


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
    unknown: Sequence[UnknownField] = ()  # fields that Go's types of the CSV and the definitions do not have
    limits: Limits = DEFAULT_LIMITS
    categories: frozenset[str] = frozenset()  # of the catalog that it is judged for; empty: those of OperatorHub.io

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


class Defects:
    """Defects that reading has found so far."""

    def __init__(self, tree: Tree, limits: Limits) -> None:
        self._locator = Locator(tree, limits)
        self.found: list[Defect] = []

    def has(self, *rules: RuleOfReading, since: int = 0) -> bool:
        ids = {rule.id for rule in rules}
        return any(defect.finding.rule in ids for defect in self.found[since:])

    def written(self, place: Place, value: object) -> str | None:
        """See Locator."""
        return self._locator.written(place, value)

    def add(self, rule: RuleOfReading, problem: Problem, *, prevents_rendering: bool = True) -> None:
        if not prevents_rendering:
            problem = replace(problem, error_only_in=Profile.OPM)
        finding = self._locator.finding(rule, problem)
        self.found.append(Defect(finding=finding, prevents_rendering=prevents_rendering))
