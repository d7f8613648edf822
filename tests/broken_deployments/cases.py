"""All broken deployments: what the operator, `rukpakctl why` and the page must explain.

@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_cause_is_named(case: Case, scene: Scene) -> None:
    broken = await case.bring(scene)
    await broken.until_told()
    ...
    await broken.repair()
    await broken.until_repaired()
"""

from tests.broken_deployments import content_cases, decision_cases, health_cases, installation_cases
from tests.broken_deployments.case import BrokenDeployment, Case, Expected

__all__ = ["CASES", "BrokenDeployment", "Case", "Expected", "case_of"]

CASES: tuple[Case, ...] = (
    *content_cases.CASES,
    *installation_cases.CASES,
    *health_cases.CASES,
    *decision_cases.CASES,
)


def case_of(name: str) -> Case:
    (found,) = (case for case in CASES if case.name == name)
    return found
