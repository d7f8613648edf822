"""The same charts through the same steps by helm itself and by the operator.

helm has the worker's control plane, the operator the shared one. `bench/charts.py` does it with all charts.
"""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.cluster.control_plane import ControlPlane
from rukpak_py.api.names import DEFAULT_SYSTEM_NAMESPACE
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.kube.client import Client
from tests.helm_oracle.archives import served
from tests.helm_oracle.cases import Case, own_cases
from tests.helm_oracle.cluster import Cluster
from tests.helm_oracle.sides import HelmSide, OperatorSide
from tests.helm_oracle.suite import run_case
from tests.shared_operator import SharedOperator

CHARTS = ("checked-values", "demanded-password", "hooks", "kept-password")


@pytest.fixture(params=CHARTS)
def case(request: pytest.FixtureRequest, helm: HelmProgram, tmp_path: Path) -> Case:
    (made,) = own_cases(tmp_path / "charts", Path(helm.path), {request.param})
    return replace(made, release=f"{made.chart}-{uuid.uuid4().hex[:6]}")


@pytest.fixture
def by_helm(helm: HelmProgram, plane: ControlPlane, admin: Client, tmp_path: Path) -> HelmSide:
    cluster = Cluster(admin, is_shared=True)
    return HelmSide(program=Path(helm.path), kubeconfig=plane.kubeconfig, home=tmp_path, cluster=cluster)


@pytest.fixture
def by_operator(client: Client, shared_operator: SharedOperator, case: Case) -> Iterator[OperatorSide]:
    with served([case]) as archives:
        cluster = Cluster(client, is_shared=True)
        yield OperatorSide(cluster=cluster, archives=archives, system=DEFAULT_SYSTEM_NAMESPACE)


async def test_each_step_has_the_same_answer_and_the_same_objects(
    case: Case, by_helm: HelmSide, by_operator: OperatorSide
) -> None:
    outcomes = await run_case(case, by_helm, by_operator)
    assert outcomes[0].helm.done, outcomes[0].helm.message
    assert [f"{outcome.step}: {one}" for outcome in outcomes for one in outcome.differs] == []
