"""Permissions gained and lost, what is not known among them."""

from typing import Any

import pytest

from rukpak_py.apply.permissions.changes import permission_changes
from rukpak_py.apply.permissions.permission import Permission
from tests.unit.cli.objects import account, binding, role, rule, workload


def gained_references(old: list[Any], new: list[Any]) -> list[str]:
    return [str(one) for change in permission_changes(old, new) for one in change.gained_references]


def test_binding_to_cluster_admin_gains_everything() -> None:
    (change,) = permission_changes([], [binding("b", "cluster-admin")])
    assert Permission("", "*", "*", "*") in change.gained


def test_role_that_widens_to_cluster_admin_gains_everything() -> None:
    old = [role("r", rule("get")), binding("b", "r")]
    (change,) = permission_changes(old, [*old, binding("c", "cluster-admin")])
    assert change.gained == {Permission("", "*", "*", "*"), Permission("", "*", url="*")}


def test_unknown_role_counts_as_gained_and_as_lost() -> None:
    assert gained_references([], [binding("b", "their-role")]) == ["whatever ClusterRole their-role allows"]
    (change,) = permission_changes([binding("b", "their-role")], [])
    assert list(map(str, change.lost_references)) == ["whatever ClusterRole their-role allows"]


def test_unknown_role_that_was_bound_before_is_not_gained() -> None:
    assert permission_changes([binding("a", "their-role")], [binding("b", "their-role")]) == []


@pytest.mark.parametrize(
    ("before", "after", "gained"),
    [
        ("own", "deployer", ["whatever ServiceAccount deployer allows"]),
        ("own", "", ["whatever ServiceAccount default allows"]),
        ("", "deployer", ["whatever ServiceAccount deployer allows"]),
        ("deployer", "deployer", []),
        ("deployer", "own", []),
        ("", "", []),
        (None, "", []),
        (None, "own", []),
        (None, "deployer", ["whatever ServiceAccount deployer allows"]),
    ],
)
def test_workload_that_runs_with_another_account_gains_what_that_allows(
    before: str | None, after: str, gained: list[str]
) -> None:
    """None: the workload is new."""
    old = [account("own"), *([workload("web", account=before)] if before is not None else [])]
    assert gained_references(old, [account("own"), workload("web", account=after)]) == gained
