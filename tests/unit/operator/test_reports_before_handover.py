"""A leader that does not know the BundleDeployments yet says so, and not that there is none of this name."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from rukpak_py.api.accounts import Account
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from rukpak_py.operator.leader import Leader


async def anybody(_: Account) -> bool:
    return True


async def no_report(_name: str, _may: object) -> None:
    return None


@pytest.mark.parametrize("report", ["permissions_of", "plan_of"])
async def test_deployments_that_are_not_handed_over_are_not_known_yet(report: str) -> None:
    handed_over = asyncio.Event()
    reports = SimpleNamespace(of=no_report)
    leader: Any = object.__new__(Leader)
    leader._handed_over = {BUNDLE_DEPLOYMENTS.plural: handed_over}
    leader._parts = SimpleNamespace(deployments=SimpleNamespace(permission_reports=reports, plan_reports=reports))
    with pytest.raises(UnavailableError, match="not known to this replica, or not yet"):
        await getattr(leader, report)("shop", anybody)
    handed_over.set()
    assert await getattr(leader, report)("shop", anybody) is None
