"""A deployment's status is written at most once a second, and never over what somebody else wrote."""

from collections import defaultdict
from dataclasses import replace as with_fields
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.conditions import Summary
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, Reason
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.healthy_condition import UnhealthyObject, judge_health
from rukpak_py.controllers.deployment.state import StatusWrites
from rukpak_py.controllers.deployment.status import Report, installed
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter, StatusWriteResult, WriteResult
from rukpak_py.kube.errors import NotFoundError, ServerUnavailableError, StaleError
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.values import DIGEST, UID, conditions, deployment

KINDS = (InstalledKind(version="v1", kind="ConfigMap"),)
RECORD = HookRecord(
    revision="r",
    run="m",
    event="pre-install",
    version="v1",
    kind="ConfigMap",
    name="a",
    result="Succeeded",
    started_at=NOW,
    finished_at=NOW,
)
WRITE = ["status BundleDeployment shop"]


class Desk:
    def __init__(self) -> None:
        self.client, self.clock = FakeClient(), Clock()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.writer = DeploymentStatusWriter(
            client=self.client.as_client(), deployments=self.deployments, now=lambda: NOW, clock=self.clock
        )
        self.writes = defaultdict[str, StatusWrites](StatusWrites)

    async def write(self, one: BundleDeployment, what: Report) -> StatusWriteResult:
        return await self.writer.write(one, what, self.writes[one.metadata.uid])

    def put(self, one: BundleDeployment) -> BundleDeployment:
        stored = self.put_unseen(one)
        self.deployments.put(stored)
        return stored

    def put_unseen(self, one: BundleDeployment) -> BundleDeployment:
        """As somebody else writes it, before the watch shows it."""
        return read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))

    @property
    def status(self) -> BundleDeploymentStatus:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]).status


@pytest.fixture
def desk() -> Desk:
    return Desk()


def report(message: str = "m", summary: Summary = Summary.PROGRESSING, **fields: Any) -> Report:
    return Report(summary=summary, reason=Reason.PROGRESSING, message=message, fields=fields)


def result(*lines: str, failed: bool = False) -> Report:
    """Content was applied, and these objects are not healthy."""
    objects = [UnhealthyObject(line=line, has_failed=failed) for line in lines]
    verdict = judge_health(BundleDeploymentStatus(), bundle="b", unhealthy=objects, total=9, now=NOW)
    return Report(
        summary=verdict.summary,
        reason=verdict.reason,
        message=verdict.message,
        installed=installed("b"),
        healthy=verdict.healthy,
        fields={"active_bundle": "b", "digest": DIGEST},
    )


async def test_the_first_change_is_written_at_once_and_the_next_at_the_end_of_the_second(desk: Desk) -> None:
    one = desk.put(deployment())
    written = await desk.write(one, report("first"))
    assert (written.result, written.pause, written.status) == (WriteResult.WRITTEN, None, desk.status)
    desk.clock.now += 0.25
    written = await desk.write(one, report("second"))
    assert written.result is WriteResult.POSTPONED
    assert written.pause == pytest.approx(0.75)
    assert desk.client.calls == WRITE
    desk.clock.now += 0.75
    written = await desk.write(one, report("third"))
    assert written.result is WriteResult.WRITTEN
    assert conditions(desk.status)["Ready"][2] == "third", "what is true by now, not what was postponed"


async def test_what_is_said_already_costs_nothing_and_starts_no_pause(desk: Desk) -> None:
    one = desk.put(deployment())
    await desk.write(one, report())
    desk.clock.now += 0.9
    assert (await desk.write(one, report())).result is WriteResult.UNCHANGED
    desk.clock.now += 0.1
    assert (await desk.write(one, report("other"))).result is WriteResult.WRITTEN
    assert desk.client.calls == WRITE * 2


async def test_many_changes_make_few_writes_and_the_last_state_is_exact(desk: Desk) -> None:
    """600 changes within 30 s, one look each; who is postponed comes back after its pause."""
    one, due = desk.put(deployment()), 0.0
    for number in range(600):
        written = await desk.write(one, report(str(number)))
        due = desk.clock.now + (written.pause or 0.0)
        desk.clock.now += 0.05
    desk.clock.now = max(desk.clock.now, due)
    await desk.write(one, report("599"))
    assert len(desk.client.calls) <= 32
    assert conditions(desk.status)["Ready"][2] == "599"


async def test_each_deployment_has_a_second_of_its_own(desk: Desk) -> None:
    for number in range(3):
        name = f"shop-{number}"
        one = desk.put(deployment(name, uid=name))
        assert (await desk.write(one, report())).result is WriteResult.WRITTEN


async def test_an_install_that_is_healthy_at_once_is_two_writes_without_a_pause(desk: Desk) -> None:
    one = desk.put(deployment())
    recorded = await desk.writer.record(one, report("Applying 1 object", kinds=KINDS))
    assert recorded.status.kinds == KINDS
    assert desk.deployments.get("shop") == recorded
    written = await desk.write(one, result())
    assert [note.reason for note in written.events] == ["Installed"]
    assert desk.status.kinds == KINDS, "the report about an older version of the object says nothing about its kinds"
    assert desk.client.calls == WRITE * 2


async def test_a_result_waits_up_to_a_second_for_its_first_health(desk: Desk) -> None:
    one = desk.put(deployment())
    assert (await desk.write(one, result("a"))).pause == 1.0
    desk.clock.now += 0.4
    assert (await desk.write(one, result("b"))).pause == pytest.approx(0.6)
    assert desk.client.calls == []
    desk.clock.now += 0.1
    assert (await desk.write(one, result())).result is WriteResult.WRITTEN
    assert desk.client.calls == WRITE


async def test_a_result_whose_health_takes_longer_is_told_after_a_second(desk: Desk) -> None:
    one = desk.put(deployment())
    await desk.write(one, result("a"))
    desk.clock.now += 1.0
    assert (await desk.write(one, result("b"))).result is WriteResult.WRITTEN
    assert conditions(desk.status)["Healthy"] == ("False", "Unhealthy", "b")


async def test_a_result_that_has_failed_is_told_at_once(desk: Desk) -> None:
    one = desk.put(deployment())
    assert (await desk.write(one, result("a", failed=True))).result is WriteResult.WRITTEN


async def test_the_next_content_waits_for_its_own_health(desk: Desk) -> None:
    one = desk.put(deployment())
    await desk.write(one, result("a"))
    desk.clock.now += 0.9
    other = with_fields(result("a"), fields={"active_bundle": "c"})
    assert (await desk.write(one, other)).pause == 1.0


async def test_kinds_that_somebody_else_recorded_are_not_lost(desk: Desk) -> None:
    """A list in a merge patch replaces the list: without a precondition the other process's kinds were gone."""
    one = desk.put(deployment())
    more = (*KINDS, InstalledKind(version="v1", kind="Secret"))
    theirs = desk.put_unseen(replace(one, status=BundleDeploymentStatus(kinds=more)))
    written = await desk.write(one, report(kinds=KINDS))
    assert (written.result, written.pause, written.events) == (WriteResult.STALE, 1.0, ())
    assert desk.status.kinds == more
    desk.deployments.put(theirs)
    assert (await desk.write(theirs, report())).result is WriteResult.WRITTEN
    assert desk.status.kinds == more


async def test_records_that_somebody_else_wrote_while_the_report_was_made_are_not_lost(desk: Desk) -> None:
    """The watch has shown them, so the server would take the write."""
    one = desk.put(deployment())
    desk.put(replace(one, status=BundleDeploymentStatus(hooks=(RECORD,))))
    written = await desk.write(one, report(hooks=()))
    assert (written.result, written.pause, desk.client.calls) == (WriteResult.STALE, 1.0, [])
    known = desk.deployments.get("shop")
    assert known is not None
    assert (await desk.write(known, report(hooks=()))).result is WriteResult.WRITTEN


async def test_a_write_is_based_on_the_newest_version_and_speaks_of_the_spec_that_was_looked_at(desk: Desk) -> None:
    one = desk.put(deployment())
    desk.put(deployment(generation=2, status=BundleDeploymentStatus(kinds=KINDS)))
    written = await desk.write(one, report())
    assert written.result is WriteResult.WRITTEN
    assert (desk.status.observed_generation, desk.status.kinds) == (1, KINDS)
    known = desk.deployments.get("shop")
    assert known is not None
    assert (known.metadata.generation, known.status) == (2, desk.status)


@pytest.mark.parametrize("uid", ["", "another"])
async def test_a_deployment_that_is_gone_is_not_reported_on(desk: Desk, uid: str) -> None:
    one = desk.put(deployment())
    desk.deployments.drop("shop", UID)
    if uid:
        desk.put(deployment(uid=uid))
    assert (await desk.write(one, report())).result is WriteResult.GONE
    assert desk.client.calls == []


async def test_a_deployment_that_is_gone_unseen_is_not_reported_on_either(desk: Desk) -> None:
    one = desk.put(deployment())
    del desk.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    assert (await desk.write(one, report())).result is WriteResult.GONE


async def test_what_must_be_on_record_is_or_the_next_step_may_not_be(desk: Desk) -> None:
    one = desk.put(deployment())
    desk.put_unseen(one)
    with pytest.raises(StaleError):
        await desk.writer.record(one, report(kinds=KINDS))
    del desk.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    with pytest.raises(NotFoundError):
        await desk.writer.record(one, report(kinds=KINDS))


async def test_what_is_on_record_already_is_not_written_again(desk: Desk) -> None:
    one = desk.put(deployment())
    recorded = await desk.writer.record(one, report(kinds=KINDS))
    assert await desk.writer.record(recorded, report(kinds=KINDS)) == recorded
    assert desk.client.calls == WRITE


async def test_a_write_that_failed_starts_no_pause(desk: Desk) -> None:
    one = desk.put(deployment())
    desk.client.failing["status"] = refusal(ServerUnavailableError)
    with pytest.raises(ServerUnavailableError):
        await desk.write(one, report())
    desk.client.failing.clear()
    assert (await desk.write(one, report())).result is WriteResult.WRITTEN
