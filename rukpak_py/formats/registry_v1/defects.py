"""Why a bundle cannot be read: the kinds of defects, and the list that reading fills.

A defect says the same thing twice: as a Finding for people, and as the whole error text of the reference renderer.
They are kept in the order in which that renderer would meet them; it stops at the first, we tell all.
"""

from dataclasses import dataclass

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Finding, Severity
from rukpak_py.core.limits import Limits
from rukpak_py.formats.registry_v1.reading import Defect
from rukpak_py.formats.rules import Locator, Place, path_text


@dataclass(frozen=True, kw_only=True, slots=True)
class DefectKind:
    """A row of the table of rules; `hint` is for defects that know nothing better."""

    id: str
    title: str
    hint: str
    severity: Severity = Severity.ERROR


UNPARSABLE = DefectKind(
    id="RV1-901",
    title="A manifest is neither YAML nor JSON",
    hint="Correct the syntax at the place that is named.",
)
NO_OBJECT = DefectKind(
    id="RV1-902",
    title="A document of manifests/ is no Kubernetes object",
    hint="A manifest needs `apiVersion`, `kind` and `metadata`; move other files out of manifests/.",
)
WRONG_TYPE = DefectKind(
    id="RV1-903",
    title="A field has a value of the wrong type",
    hint="Write the value as its type demands: strings that look like numbers or booleans need quotes.",
)
LAYOUT = DefectKind(
    id="RV1-904",
    title="A bundle is a directory manifests/ without sub-directories, and metadata/annotations.yaml",
    hint="Give the directory that holds manifests/ and metadata/.",
)
NO_CSV = DefectKind(
    id="RV1-905",
    title="A bundle has a ClusterServiceVersion",
    hint="Add the manifest of kind ClusterServiceVersion that describes the operator to manifests/.",
)
SEVERAL_CSVS = DefectKind(
    id="RV1-906",
    title="A bundle has only one ClusterServiceVersion",
    hint="A bundle is one version of one operator: move the other ones to bundles of their own.",
)
METADATA = DefectKind(
    id="RV1-907",
    title="Metadata can be decoded: annotations.yaml, properties.yaml and the annotation olm.properties",
    hint="Correct the file so that it has the form which the documentation of bundles shows.",
)

DEFECT_KINDS = (UNPARSABLE, NO_OBJECT, WRONG_TYPE, LAYOUT, NO_CSV, SEVERAL_CSVS, METADATA)


class Defects:
    """What reading has found so far."""

    def __init__(self, tree: Tree, limits: Limits) -> None:
        self._locator = Locator(tree, limits)
        self.found: list[Defect] = []

    def has(self, *kinds: DefectKind, since: int = 0) -> bool:
        ids = {kind.id for kind in kinds}
        return any(defect.finding.rule in ids for defect in self.found[since:])

    def written(self, place: Place, value: object) -> str | None:
        """See Locator."""
        return self._locator.written(place, value)

    def add(
        self,
        kind: DefectKind,
        message: str,
        *,
        upstream: str,
        place: Place | None = None,
        at: tuple[int, int] | None = None,
        hint: str | None = None,
        prevents_rendering: bool = True,
    ) -> None:
        """`at` is the line and column where they are known; otherwise they are looked up by the place."""
        line, column = at or (self._locator.line_and_column(place) if place is not None else (0, 0))
        finding = Finding(
            rule=kind.id,
            severity=kind.severity,
            message=message,
            hint=kind.hint if hint is None else hint,
            file=place.file if place is not None else "",
            line=line,
            column=column,
            path=path_text(place.path) if place is not None else "",
            document=place.document if place is not None else 0,
        )
        self.found.append(Defect(finding=finding, upstream=upstream, prevents_rendering=prevents_rendering))
