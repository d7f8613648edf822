"""A status that the API server refuses for its size is replaced by one that is as small as it can be."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, BundleTemplate, Installation
from rukpak_py.api.conditions import Summary
from rukpak_py.api.hook_status import HookRecord
from rukpak_py.api.install_options import InstallOptions, config_digest, recorded
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, Reason
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.messages import STATUS_TOO_LARGE
from rukpak_py.controllers.deployment.state import StatusWrites
from rukpak_py.controllers.deployment.status import Report, installed
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter, WriteResult
from rukpak_py.kube.errors import ApiError, Cause, ErrorAnswer, InvalidError, TooLargeError
from rukpak_py.kube.metadata import LiveObject
from rukpak_py.kube.resources import Resource
from tests.unit.controllers.fakes import LATER, NOW, Clock, FakeClient
from tests.unit.controllers.values import DIGEST, conditions, deployment, spec

CONFIG = {"values": "a: 1"}
LIMIT = 8_000
REFUSED = TooLargeError(ErrorAnswer(subject="patch", status=500, message="etcdserver: request is too large"))
TOO_LONG = (Cause(reason="FieldValueTooLong", field="status.conditions[0].message"),)
TEMPLATE = BundleTemplate(spec=spec(), metadata=TemplateMeta(annotations={"large": "x" * LIMIT}))
RECORD = HookRecord(
    revision="r",
    run="m",
    event="pre-install",
    version="v1",
    kind="ConfigMap",
    name="a",
    result="Failed",
    message="line\n" * 1000,
    started_at=NOW,
    finished_at=NOW,
)


@dataclass
class SmallServer(FakeClient):
    """Takes no patch of a status over `limit` bytes."""

    limit: int = LIMIT
    error: ApiError = REFUSED

    async def patch_status(self, resource: Resource, namespace: str, name: str, body: bytes, **_: Any) -> LiveObject:
        if len(body) > self.limit:
            self._called("refused", resource, name)
            raise self.error
        return await super().patch_status(resource, namespace, name, body)


class Desk:
    def __init__(self) -> None:
        self.client, self.clock, self.time, self.writes = SmallServer(), Clock(), NOW, StatusWrites()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.writer = DeploymentStatusWriter(
            client=self.client.as_client(), deployments=self.deployments, now=lambda: self.time, clock=self.clock
        )

    def put(self, one: BundleDeployment) -> BundleDeployment:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        self.deployments.put(stored)
        return stored

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    @property
    def status(self) -> BundleDeploymentStatus:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]).status

    async def write(self, report: Report) -> WriteResult:
        self.clock.now += 1.0
        return (await self.writer.write(self.known, report, self.writes)).result

    @property
    def calls(self) -> list[str]:
        found = [call.partition(" ")[0] for call in self.client.calls]
        self.client.calls.clear()
        return found


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.put(deployment(generation=3))
    return desk


def entry(revision: int) -> Installation:
    options = recorded(InstallOptions(config=CONFIG, install_namespace="ns"))
    return Installation(
        revision=revision,
        bundle=f"b{revision}",
        digest=DIGEST,
        time=NOW,
        outcome="Healthy",
        options=options,
        template=TEMPLATE,
    )


def report(*history: Installation, message: str = "m", **fields: Any) -> Report:
    return Report(
        summary=Summary.READY,
        reason=Reason.SUCCEEDED,
        message=message,
        installed=installed("b2", "x" * 20_000),
        fields={"active_bundle": "b2", "digest": DIGEST, "history": history, **fields},
    )


LARGE = report(entry(2), entry(1))


async def test_what_is_installed_is_written_with_short_texts(desk: Desk) -> None:
    assert await desk.write(LARGE) is WriteResult.WRITTEN
    assert desk.calls == ["refused", "status"]
    found = conditions(desk.status)
    assert found["Ready"] == ("False", "StatusTooLarge", STATUS_TOO_LARGE)
    assert found["Stalled"][:2] == ("True", "StatusTooLarge")
    assert found["Installed"] == ("True", "InstallationSucceeded", "Instantiated bundle b2 successfully")
    assert {one.observed_generation for one in desk.status.conditions} == {3}
    assert (desk.status.observed_generation, desk.status.active_bundle, desk.status.digest) == (3, "b2", DIGEST)
    assert desk.known.status == desk.status


async def test_what_is_installed_keeps_its_options_without_values_and_former_installations_lose_theirs(
    desk: Desk,
) -> None:
    await desk.write(LARGE)
    active, former = desk.status.history
    assert [(one.revision, one.bundle, one.template) for one in (active, former)] == [(2, "b2", None), (1, "b1", None)]
    assert former.options is None
    assert active.options == replace(
        recorded(InstallOptions(install_namespace="ns")), config_digest=config_digest(CONFIG)
    )


async def test_texts_of_hooks_are_cut_and_their_records_stay(desk: Desk) -> None:
    await desk.write(report(entry(1), hooks=(RECORD,)))
    assert desk.status.hooks == (replace(RECORD, message="line"),)


async def test_a_warning_tells_it_once(desk: Desk) -> None:
    desk.clock.now += 1.0
    first = await desk.writer.write(desk.known, LARGE, desk.writes)
    assert [(one.reason, one.message) for one in first.events if one.reason != "Installed"] == [
        ("StatusTooLarge", STATUS_TOO_LARGE)
    ]
    desk.clock.now += 1.0
    second = await desk.writer.write(desk.known, report(entry(3), entry(2)), desk.writes)
    assert "StatusTooLarge" not in [one.reason for one in second.events]


async def test_the_same_status_is_not_tried_again(desk: Desk) -> None:
    await desk.write(LARGE)
    desk.time = LATER
    assert desk.calls == ["refused", "status"]
    assert await desk.write(LARGE) is WriteResult.UNCHANGED
    assert await desk.write(report(entry(2), entry(1), message="other")) is WriteResult.UNCHANGED
    assert desk.calls == []


async def test_another_status_is_tried(desk: Desk) -> None:
    await desk.write(LARGE)
    assert desk.calls == ["refused", "status"]
    assert await desk.write(report(entry(3), entry(2))) is WriteResult.WRITTEN
    assert desk.calls == ["refused", "status"]
    assert [one.revision for one in desk.status.history] == [3, 2]


async def test_the_whole_status_is_written_once_the_object_has_room(desk: Desk) -> None:
    await desk.write(LARGE)
    desk.client.limit = 100_000
    desk.put(replace(desk.known, metadata=replace(desk.known.metadata, annotations={"shorter": "by now"})))
    assert await desk.write(LARGE) is WriteResult.WRITTEN
    assert conditions(desk.status)["Ready"][:2] == ("True", "Succeeded")
    assert desk.status.history == (entry(2), entry(1))
    assert "Stalled" not in conditions(desk.status)


async def test_an_object_that_changed_and_has_no_room_still_costs_one_request(desk: Desk) -> None:
    await desk.write(LARGE)
    desk.put(replace(desk.known, metadata=replace(desk.known.metadata, annotations={"other": "one"})))
    assert desk.calls == ["refused", "status"]
    assert await desk.write(LARGE) is WriteResult.UNCHANGED
    assert await desk.write(LARGE) is WriteResult.UNCHANGED
    assert desk.calls == ["refused"]


async def test_what_must_be_on_record_is_recorded(desk: Desk) -> None:
    written = await desk.writer.record(desk.known, LARGE)
    assert written.status == desk.status
    assert (desk.status.active_bundle, conditions(desk.status)["Ready"][1]) == ("b2", "StatusTooLarge")
    await desk.writer.record_fields(desk.known, hooks=(RECORD,) * 10)
    assert [one.message for one in desk.status.hooks] == ["line"] * 10


async def test_a_string_that_is_too_long_counts_as_too_large(desk: Desk) -> None:
    desk.client.error = InvalidError(ErrorAnswer(subject="patch", status=422, message="no", causes=TOO_LONG))
    assert await desk.write(LARGE) is WriteResult.WRITTEN
    assert conditions(desk.status)["Ready"][1] == "StatusTooLarge"


async def test_any_other_refusal_is_what_it_is(desk: Desk) -> None:
    desk.client.error = InvalidError(ErrorAnswer(subject="patch", status=422, message="no"))
    with pytest.raises(InvalidError):
        await desk.write(LARGE)
    assert desk.calls == ["refused"]


async def test_where_not_even_the_minimal_status_fits_the_refusal_is_told(desk: Desk) -> None:
    desk.client.limit = 10
    with pytest.raises(TooLargeError):
        await desk.write(LARGE)
