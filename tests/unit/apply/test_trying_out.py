"""Which changes of a plan the server can judge before it is carried out."""

from typing import Any

import pytest

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.apply.plan import Plan, make_plan
from rukpak_py.apply.trying_out import instances_wait, not_checkable
from tests.manifests import crd, manifest, service_account, thing
from tests.unit.apply.lives import OWNER, desired, key, live, owned

GROUP = "things.example.org"
CRD, INSTANCE = crd(GROUP), thing(GROUP, "one", "ns")


def plan_of(*manifests: dict[str, Any], existing: bool = False) -> Plan:
    """`existing`: the first object is ours and current as another content had it."""
    wanted = [desired(one) for one in manifests]
    lives = {}
    if existing:
        first = wanted[0]
        lives[first.key] = live(**owned(first.key.name), gvk=first.head.gvk, namespace=first.key.namespace)
    return make_plan(wanted, live=lives, owned={}, fields={}, owner=OWNER, adopt=Adopt.NEVER)


def pod(**spec: Any) -> dict[str, Any]:
    return manifest("v1", "Pod", "agent", "ns", spec=spec)


PRIORITY = manifest("scheduling.k8s.io/v1", "PriorityClass", "high", value=1)
RUNTIME = manifest("node.k8s.io/v1", "RuntimeClass", "wasm", handler="w")


@pytest.mark.parametrize(
    ("named", "spec"),
    [
        (service_account("robot", "ns"), {"serviceAccountName": "robot"}),
        (PRIORITY, {"priorityClassName": "high"}),
        (RUNTIME, {"runtimeClassName": "wasm"}),
    ],
)
def test_pod_waits_for_what_it_names_where_the_plan_creates_it(named: dict[str, Any], spec: dict[str, Any]) -> None:
    pods = key("agent")._replace(kind="Pod")

    def waits(plan: Plan) -> bool:
        skip = not_checkable(plan)
        return next(skip(change) for change in plan.changes if change.key == pods)

    assert waits(plan_of(named, pod(**spec)))
    assert not waits(plan_of(named, pod(**spec), existing=True))
    assert not waits(plan_of(named, pod()))


def test_account_of_another_namespace_is_not_the_one_that_a_pod_names() -> None:
    plan = plan_of(service_account("robot", "other"), pod(serviceAccountName="robot"))
    assert not any(map(not_checkable(plan), plan.changes))


def test_instance_can_be_tried_out_once_its_crd_is_written() -> None:
    plan = plan_of(CRD, INSTANCE)
    written = plan.without({change.key for change in plan.changes if change.desired.defines})
    assert [not_checkable(each)(plan.changes[-1]) for each in (plan, written)] == [True, False]


def test_instances_wait_for_a_crd_that_is_written_and_for_no_other() -> None:
    whole, definition = plan_of(CRD, INSTANCE), plan_of(CRD)
    assert instances_wait(whole, whole)
    assert instances_wait(definition, whole), "they come later"
    assert not instances_wait(definition, definition)
    assert not instances_wait(plan_of(INSTANCE), whole)


@pytest.mark.parametrize(
    "odd",
    [
        pod(serviceAccountName=["robot"], priorityClassName={}),
        manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "b", "ns", roleRef="admin"),
        manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "b", "ns", roleRef={"kind": [1], "name": {}}),
    ],
)
def test_odd_content_is_left_to_the_server_to_refuse(odd: dict[str, Any]) -> None:
    plan = plan_of(service_account("robot", "ns"), odd)
    assert not any(map(not_checkable(plan, has_account=True), plan.changes))
