"""Changes of a ResourceQuota that are reported: those of its limits."""

import asyncio
from typing import Any, cast

import orjson
import pytest

from rukpak_py.controllers.quota_watch import ANYWHERE, QuotaWatch
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import RESOURCE_QUOTAS
from tests.unit.apply.lives import metadata
from tests.waiting import eventually

KEY = RESOURCE_QUOTAS.key("shop", "few")
FEW, MANY = {"pods": "1"}, {"pods": "9"}


def quota(hard: object, used: object = "0") -> LiveObject:
    return seen(orjson.dumps({"status": {"hard": hard, "used": {"pods": used}}}))


def seen(body: bytes) -> LiveObject:
    return LiveObject(key=KEY, metadata=metadata(), json=body)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def watch(told: list[str]) -> QuotaWatch:
    watch = QuotaWatch(cast("Any", None))
    watch.subscribe(told.append)
    return watch


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([quota(FEW)], 1),
        ([quota(FEW), quota(FEW)], 1),
        ([quota(FEW), quota(FEW, used="1")], 1),
        ([quota(FEW), quota(MANY)], 2),
        ([quota(FEW), None], 2),
        ([quota(FEW), None, quota(FEW)], 3),
        ([seen(b"[]"), quota(FEW)], 2),
    ],
)
def test_limits_of_a_quota_wake_deployments_and_its_usage_does_not(
    watch: QuotaWatch, told: list[str], events: list[LiveObject | None], expected: int
) -> None:
    for event in events:
        watch._changed(KEY, None, event)
    assert told == ["shop"] * expected


async def test_a_quota_that_goes_before_the_first_list_counts_too(watch: QuotaWatch, told: list[str]) -> None:
    """A deployment is held up, the watch is started, and the quota goes before it was ever seen."""
    watch.informer.start = lambda: None  # type: ignore[method-assign]  # there is no server
    watch.start()
    await asyncio.sleep(0)
    assert told == []
    watch.informer.synced.set()
    await eventually(lambda: asyncio.sleep(0, told == [ANYWHERE]), what="it is told")
