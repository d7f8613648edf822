"""A deployment's status is written at most once a second, and never over what another client wrote."""

from collections import defaultdict

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation, InstalledKind
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, RECONCILE_AT_ANNOTATION
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.facts import key_facts
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter, awaits_first_health, is_outdated
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.conclude import conclude
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.result.object_details import Unhealthy
from rukpak_py.controllers.result.progress import NO_PROGRESS, Progress, Reached, StatusChange
from rukpak_py.controllers.writes import StatusWriteResult, StatusWrites, WriteResult
from rukpak_py.kube.errors import NotFoundError, ServerUnavailableError, StaleError
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.result.concluding import fact, installed, progress
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, START, UID, conditions, deployment, hook_record

KINDS = (InstalledKind(version="v1", kind="ConfigMap"),)
RECORD = hook_record()
WRITE = ["status BundleDeployment shop"]


class Desk:
    def __init__(self) -> None:
        self.client, self.clock = FakeClient(), Clock()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.writer = DeploymentStatusWriter(
            client=self.client.as_client(), deployments=self.deployments, clock=self.moment, pace=self.clock
        )
        self.writes = defaultdict[str, StatusWrites](StatusWrites)

    def moment(self) -> Moment:
        return Moment(loop=self.clock.now, wall=START)

    async def write(self, what: Progress, *, on: BundleDeployment | None = None) -> StatusWriteResult:
        """Write the conclusion for the deployment as it is known."""
        on = on or self.known
        after = conclude(on.status, what, NO_PROGRESS, key_facts(on, bundle="b"), self.moment()).status
        return await self.writer.write(on, after, self.writes[on.metadata.uid])

    def put(self, one: BundleDeployment) -> BundleDeployment:
        stored = self.put_unseen(one)
        self.deployments.put(stored)
        return stored

    def put_unseen(self, one: BundleDeployment) -> BundleDeployment:
        """Write as another client, before the watch shows it."""
        return read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))

    @property
    def known(self) -> BundleDeployment:
        found = self.deployments.get("shop")
        assert found is not None
        return found

    @property
    def status(self) -> BundleDeploymentStatus:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]).status


@pytest.fixture
def desk() -> Desk:
    return Desk()


def report(message: str = "m") -> Progress:
    return progress(fact(Cause.APPLYING, message))


def result(*lines: str, failed: bool = False, bundle: str = "b") -> Progress:
    """Content was applied, and these objects are not healthy."""
    unhealthy = Unhealthy(lines=lines, total=9, example=lines[0]) if lines else None
    cause = Cause.UNHEALTHY_FAILED if failed else Cause.UNHEALTHY
    facts = [fact(cause, unhealthy)] if unhealthy is not None else []
    reached = Reached.APPLIED if facts else Reached.FINISHED
    return progress(*facts, reached=reached, installed=installed(bundle, DIGEST, kinds=KINDS))


async def test_an_unknown_deployment_has_no_latest_version(desk: Desk) -> None:
    one = desk.put(deployment())
    newer = desk.put(deployment(generation=2))
    assert desk.writer.latest(one) == newer
    desk.deployments.drop("shop", UID)
    assert desk.writer.latest(one) is None
    desk.put(deployment(uid="another"))
    assert desk.writer.latest(one) is None


async def test_the_first_change_is_written_at_once_and_the_next_at_the_end_of_the_second(desk: Desk) -> None:
    desk.put(deployment())
    written = await desk.write(report("first"))
    assert (written.result, written.pause, desk.known.status) == (WriteResult.WRITTEN, None, desk.status)
    assert conditions(desk.status)["Ready"][2] == "first"
    desk.clock.now += 0.25
    written = await desk.write(report("second"))
    assert written.result is WriteResult.POSTPONED
    assert written.pause == pytest.approx(0.75)
    assert desk.client.calls == WRITE
    desk.clock.now += 0.75
    written = await desk.write(report("third"))
    assert written.result is WriteResult.WRITTEN
    assert conditions(desk.status)["Ready"][2] == "third", "what is true by now, not what was postponed"


async def test_an_unchanged_status_costs_nothing_and_starts_no_pause(desk: Desk) -> None:
    desk.put(deployment())
    await desk.write(report())
    desk.clock.now += 0.9
    assert (await desk.write(report())).result is WriteResult.UNCHANGED
    desk.clock.now += 0.1
    assert (await desk.write(report("other"))).result is WriteResult.WRITTEN
    assert desk.client.calls == WRITE * 2


async def test_many_changes_make_few_writes_and_the_last_state_is_exact(desk: Desk) -> None:
    """600 changes within 30 s, one look each; who is postponed comes back after its pause."""
    desk.put(deployment())
    due = 0.0
    for number in range(600):
        written = await desk.write(report(str(number)))
        due = desk.clock.now + (written.pause or 0.0)
        desk.clock.now += 0.05
    desk.clock.now = max(desk.clock.now, due)
    await desk.write(report("599"))
    assert len(desk.client.calls) <= 32
    assert conditions(desk.status)["Ready"][2] == "599"


async def test_each_deployment_has_a_second_of_its_own(desk: Desk) -> None:
    for number in range(3):
        name = f"shop-{number}"
        one = desk.put(deployment(name, uid=name))
        assert (await desk.write(report(), on=one)).result is WriteResult.WRITTEN


async def test_an_install_that_is_healthy_at_once_is_two_writes_without_a_pause(desk: Desk) -> None:
    one = desk.put(deployment())
    recorded = await desk.writer.record(one, StatusChange(kinds=KINDS), ready="Applying 1 object")
    assert recorded.status.kinds == KINDS
    assert conditions(recorded.status)["Ready"] == ("Unknown", "Progressing", "Applying 1 object")
    assert desk.deployments.get("shop") == recorded
    assert (await desk.write(result())).result is WriteResult.WRITTEN
    assert conditions(desk.status)["Ready"][:2] == ("True", "Succeeded")
    assert desk.client.calls == WRITE * 2


async def test_a_result_waits_up_to_a_second_for_its_first_health(desk: Desk) -> None:
    desk.put(deployment())
    assert (await desk.write(result("a"))).pause == 1.0
    desk.clock.now += 0.4
    assert (await desk.write(result("b"))).pause == pytest.approx(0.6)
    assert desk.client.calls == []
    desk.clock.now += 0.1
    assert (await desk.write(result())).result is WriteResult.WRITTEN
    assert desk.client.calls == WRITE


async def test_a_result_whose_health_takes_longer_is_told_after_a_second(desk: Desk) -> None:
    desk.put(deployment())
    await desk.write(result("a"))
    desk.clock.now += 1.0
    assert (await desk.write(result("b"))).result is WriteResult.WRITTEN
    assert conditions(desk.status)["Healthy"] == ("False", "Unhealthy", "b")


async def test_a_result_that_has_failed_is_told_at_once(desk: Desk) -> None:
    desk.put(deployment())
    assert (await desk.write(result("a", failed=True))).result is WriteResult.WRITTEN


async def test_the_next_content_waits_for_its_own_health(desk: Desk) -> None:
    desk.put(deployment())
    await desk.write(result("a"))
    desk.clock.now += 0.9
    assert (await desk.write(result("a", bundle="c"))).pause == 1.0


async def test_content_that_is_installed_already_waits_for_no_health(desk: Desk) -> None:
    desk.put(deployment())
    await desk.write(result())
    before = desk.status
    desk.clock.now += 1.0
    assert (await desk.write(result("a"))).result is WriteResult.WRITTEN
    assert not awaits_first_health(before, desk.status)


async def test_kinds_that_another_client_recorded_are_not_lost(desk: Desk) -> None:
    """A list in a merge patch replaces the list: without a precondition the other process's kinds were gone."""
    one = desk.put(deployment())
    more = (*KINDS, InstalledKind(version="v1", kind="Secret"))
    theirs = desk.put_unseen(replace(one, status=BundleDeploymentStatus(kinds=more)))
    written = await desk.write(result())
    assert (written.result, written.pause) == (WriteResult.STALE, 1.0)
    assert desk.status.kinds == more
    desk.deployments.put(theirs)
    assert (await desk.write(report())).result is WriteResult.WRITTEN
    assert desk.status.kinds == more


def entry(bundle: str) -> Installation:
    return Installation(revision=1, bundle=bundle, digest=DIGEST, time=NOW, outcome="Healthy")


INSTALLED, HOOKS = StatusChange(installed=installed()), StatusChange(hooks=())


@pytest.mark.parametrize(
    ("change", "latest", "is_so"),
    [
        (HOOKS, BundleDeploymentStatus(hooks=(RECORD,)), True),
        (HOOKS, BundleDeploymentStatus(history=(entry("b"),)), False),
        (INSTALLED, BundleDeploymentStatus(history=(entry("b"),)), True),
        (INSTALLED, BundleDeploymentStatus(hooks=(RECORD,)), False),
        (INSTALLED + HOOKS, BundleDeploymentStatus(hooks=(RECORD,)), True),
        (INSTALLED + HOOKS, BundleDeploymentStatus(active_bundle="b", kinds=KINDS), False),
        (StatusChange(valid="b"), BundleDeploymentStatus(hooks=(RECORD,), history=(entry("b"),)), False),
    ],
)
def test_a_change_made_from_an_older_list_is_outdated(
    change: StatusChange, latest: BundleDeploymentStatus, *, is_so: bool
) -> None:
    assert is_outdated(change, BundleDeploymentStatus(), latest) is is_so
    assert not is_outdated(change, latest, latest)


async def test_a_written_status_is_cached_with_the_known_spec(desk: Desk) -> None:
    """The answer has the version after the write, and no spec."""
    one = desk.put(deployment(generation=2, suspend=True))
    await desk.write(report())
    assert (desk.known.spec, desk.known.metadata.generation, desk.known.status) == (one.spec, 2, desk.status)
    assert desk.known.metadata.resource_version != one.metadata.resource_version


async def test_a_deployment_that_is_gone_unseen_is_not_reported_on(desk: Desk) -> None:
    desk.put(deployment())
    del desk.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    assert (await desk.write(report())).result is WriteResult.GONE


async def test_a_step_is_not_taken_where_its_record_cannot_be_written(desk: Desk) -> None:
    one = desk.put(deployment())
    desk.put_unseen(one)
    for record in (
        lambda: desk.writer.record(one, StatusChange(kinds=KINDS), ready="m"),
        lambda: desk.writer.record_fields(one, StatusChange(kinds=KINDS)),
    ):
        with pytest.raises(StaleError):
            await record()
    del desk.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    with pytest.raises(NotFoundError):
        await desk.writer.record(one, StatusChange(kinds=KINDS), ready="m")
    desk.deployments.drop("shop", UID)
    with pytest.raises(NotFoundError):
        await desk.writer.record(one, StatusChange(kinds=KINDS), ready="m")


async def test_a_change_that_is_recorded_already_is_not_written_again(desk: Desk) -> None:
    one = desk.put(deployment())
    recorded = await desk.writer.record(one, StatusChange(kinds=KINDS), ready="m")
    assert await desk.writer.record(recorded, StatusChange(kinds=KINDS), ready="m") == recorded
    await desk.writer.record_fields(recorded, StatusChange(kinds=KINDS))
    assert desk.client.calls == WRITE


async def test_fields_are_recorded_without_a_word(desk: Desk) -> None:
    one = desk.put(deployment())
    await desk.write(report("first"))
    before = conditions(desk.status)
    await desk.writer.record_fields(one, StatusChange(hooks=(RECORD,)))
    assert (conditions(desk.status), desk.status.hooks) == (before, (RECORD,))


@pytest.mark.parametrize(("is_open", "handled"), [(True, ""), (False, "now")])
async def test_a_record_handles_the_latest_request_unless_that_is_still_open(
    desk: Desk, handled: str, *, is_open: bool
) -> None:
    one = desk.put(deployment(annotations={RECONCILE_AT_ANNOTATION: "now"}))
    await desk.writer.record(one, StatusChange(kinds=KINDS), ready="m", is_request_open=is_open)
    assert desk.status.last_handled_reconcile_at == handled


async def test_a_record_is_based_on_the_newest_version_and_speaks_of_the_spec_that_was_looked_at(desk: Desk) -> None:
    one = desk.put(deployment())
    desk.put(deployment(generation=2, status=BundleDeploymentStatus(digest=OTHER_DIGEST)))
    await desk.writer.record(one, StatusChange(kinds=KINDS), ready="m")
    assert (desk.status.observed_generation, desk.status.digest, desk.status.kinds) == (1, OTHER_DIGEST, KINDS)
    assert desk.known.metadata.generation == 2


async def test_a_write_that_failed_starts_no_pause(desk: Desk) -> None:
    desk.put(deployment())
    desk.client.failing["status"] = refusal(ServerUnavailableError)
    with pytest.raises(ServerUnavailableError):
        await desk.write(report())
    desk.client.failing.clear()
    assert (await desk.write(report())).result is WriteResult.WRITTEN
