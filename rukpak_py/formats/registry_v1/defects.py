"""Why a bundle cannot be read: the rules that reading checks, and the list of defects that it fills."""

from dataclasses import replace

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import Profile
from rukpak_py.core.limits import Limits
from rukpak_py.formats.registry_v1.reading import Defect
from rukpak_py.formats.rules import Locator, Place, Problem, RuleOfReading

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
