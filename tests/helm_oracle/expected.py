"""Expected differences between helm and the operator, with reasons. The suite prints them; any other fails it.

Differences in each object (marks, field managers) are left out of the comparison: see `snapshot`.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.helm_oracle.cases import Step
from tests.helm_oracle.comparing import NO_PATH, Difference, Differs
from tests.helm_oracle.snapshot import Path, begins

ALL_STEPS = frozenset(Step)


@dataclass(frozen=True, kw_only=True)
class Expected:
    """`chart`, `name` (of the object) and the parts of `path` may have wildcards."""

    chart: str = "*"
    steps: frozenset[Step] = ALL_STEPS
    kinds: frozenset[Differs]
    object: str = "*"  # kind and name: `ConfigMap settings`
    path: Path = NO_PATH
    when_storage_is_lost: bool = False  # of the operator; else it is no reason
    why: str

    def covers(self, chart: str, step: Step, one: Difference) -> bool:
        name = f"{one.object.kind} {one.object.name}" if one.object is not None else ""
        return (
            step in self.steps
            and one.kind in self.kinds
            and fnmatchcase(chart, self.chart)
            and fnmatchcase(name, self.object)
            and begins(one.path, self.path)
        )


EXPECTED = (
    Expected(
        chart="release-facts",
        kinds=frozenset({Differs.FIELD}),
        object="ConfigMap facts",
        path=("data", "revision"),
        why=".Release.Revision is always 1: a rendering is the same whenever it is made",
    ),
    Expected(
        chart="hooks",
        steps=frozenset({Step.DELETE}),
        kinds=frozenset({Differs.ONLY_HELM}),
        why="helm leaves objects of hooks behind; here they belong to the BundleDeployment, and go with it",
    ),
    Expected(
        chart="random-values",
        steps=frozenset({Step.BACK}),
        kinds=frozenset({Differs.HISTORY}),
        object="Secret random-values",
        when_storage_is_lost=True,
        why="the former rendering is lost, and the chart looks nothing up; helm has it in a Secret",
    ),
    Expected(
        chart="crypt-keys",
        steps=frozenset({Step.BACK}),
        kinds=frozenset({Differs.HISTORY}),
        object="ConfigMap hub",
        path=("metadata", "annotations", "checksum/secret"),
        when_storage_is_lost=True,
        why="the former rendering has a checksum of random keys that are not those of the Secret; a new one has theirs",
    ),
    Expected(
        chart="listed-objects",
        steps=frozenset({Step.BACK}),
        kinds=frozenset({Differs.FIELD}),
        object="ConfigMap seen",
        path=("data",),
        when_storage_is_lost=True,
        why="the former rendering is lost, and a new one lists what is there now",
    ),
    *(
        Expected(
            chart="release-facts",
            steps=frozenset({Step.BACK}),
            kinds=frozenset({Differs.FIELD}),
            object="ConfigMap facts",
            path=("data", fact),
            when_storage_is_lost=True,
            why="the former rendering is lost, and a new one is made as an upgrade",
        )
        for fact in ("install", "upgrade")
    ),
)


def reason_for(chart: str, step: Step, one: Difference, *, storage_is_lost: bool = False) -> Expected | None:
    known = (expected for expected in EXPECTED if storage_is_lost or not expected.when_storage_is_lost)
    return next((expected for expected in known if expected.covers(chart, step, one)), None)
