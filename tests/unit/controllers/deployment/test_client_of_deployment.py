"""The one place that decides with which client a deployment is served."""

import ast
from pathlib import Path
from typing import Any

import pytest

import rukpak_py
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.marks import Owner
from rukpak_py.controllers.deployment.kinds import Kinds
from rukpak_py.controllers.deployment.planning import Planner
from tests.unit.controllers.deployment.parts import FakeCluster, attempt
from tests.unit.controllers.fakes import FakeClient
from tests.unit.controllers.values import deployment

PRODUCT = Path(rukpak_py.__file__).parent


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """A client for the deployment alone."""
    client = FakeClient()
    monkeypatch.setattr(FakeClient, "timed", lambda self, _: self)
    monkeypatch.setattr(Kinds, "client_of", lambda _, of: {deployment().metadata.uid: client}[of.metadata.uid])
    return client


def test_target_has_the_client_of_its_deployment(own: FakeClient) -> None:
    target = FakeCluster().as_kinds().target_of(deployment())
    client: Any = target.client
    assert client is own
    assert target.owner == Owner.of(deployment())


def test_target_of_an_attempt_has_the_client_of_the_deployment_and_its_pace(own: FakeClient) -> None:
    one, inventory = attempt(), None
    planner = Planner(FakeClient().as_client(), inventory, FakeCluster().as_kinds())  # type: ignore[arg-type]
    target = planner.target_of(one, Resolution(states={}, resources={}))
    client: Any = target.client
    assert client is own
    assert target.pace is one.state.pace
    assert target.last_applied is one.state.applied


def test_no_other_module_makes_a_target() -> None:
    made = {
        path.relative_to(PRODUCT).as_posix()
        for path in PRODUCT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Target"
    }
    of_the_command_line = {"cli/cluster/live_diff.py"}  # it has the user's own client
    assert made - of_the_command_line == {"controllers/deployment/kinds.py"}
