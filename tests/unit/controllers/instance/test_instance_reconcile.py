"""Reconciles of a BundleInstance with the BundleDeployment of its name, one situation after the other."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.bundle_instance import BundleInstance, BundleInstanceStatus
from rukpak_py.api.conditions import Condition
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_INSTANCE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    PLAIN_CLASS,
)
from rukpak_py.api.reading import read_bundle_deployment, read_bundle_instance, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.existence import Existence
from rukpak_py.controllers.instance.child_deployment import ChildDeployment, ChildSituation, situation
from rukpak_py.controllers.instance.reconcile import InstanceReconciler, awaits_verdict
from rukpak_py.controllers.queue import SETTLED, Schedule, Turn
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.writes import WRITE_INTERVAL_SECONDS, StatusWriter
from rukpak_py.core.repair_backoff import REPAIRS, REST_SECONDS
from rukpak_py.kube.errors import ApiError, ForbiddenError, InvalidError, ServerUnavailableError, StaleError
from rukpak_py.kube.resources import BUNDLE_INSTANCES
from tests.unit.controllers.deployment.parts import identities
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, FakeEvents, Trusting, refusal
from tests.unit.controllers.values import START, deployment

INSTANCE_UID = "uid-of-instance"
LABELS = {OWNER_KIND_LABEL: BUNDLE_INSTANCE_KIND, OWNER_NAME_LABEL: "shop"}
CREATE, READ = "create BundleDeployment shop", "get BundleDeployment shop"
STATUS, ALIVE = "status BundleInstance shop", "get BundleInstance shop"
CHANGE = "patch BundleDeployment shop"
MOMENT = Moment(loop=1000.0, wall=START)  # at which failures are concluded
RETRIED = Schedule(failures=1, attempt_at=MOMENT.loop + 0.25)


def owned_by(uid: str = INSTANCE_UID, *, kind: str = BUNDLE_INSTANCE_KIND, name: str = "shop") -> tuple[OwnerReference]:
    return (OwnerReference(api_version=API_VERSION, kind=kind, name=name, uid=uid, controller=True),)


def instance(*, status: BundleInstanceStatus | None = None, **rest: Any) -> BundleInstance:
    about = {key: rest.pop(key) for key in list(rest) if key in ObjectMeta.__struct_fields__}
    given = {"uid": INSTANCE_UID, "generation": 1, "resource_version": "1", **about}
    spec = deployment(**rest).spec
    return BundleInstance(metadata=ObjectMeta(name="shop", **given), spec=spec, status=status or BundleInstanceStatus())


def ours(**rest: Any) -> BundleDeployment:
    return deployment(labels=LABELS, owner_references=owned_by(), **rest)


def saying(ready: str, *, observed: int = 1) -> BundleDeploymentStatus:
    condition = Condition(type="Ready", status=ready, reason="Any", message="", last_transition_time=NOW)
    return BundleDeploymentStatus(conditions=(condition,), observed_generation=observed, active_bundle="shop-1")


class Bench:
    def __init__(self) -> None:
        self.client, self.clock, self.events = FakeClient(), Clock(), FakeEvents()
        self.instances = Cache[BundleInstance](clock=self.clock)
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.reverted: list[str] = []
        client = self.client.as_client()
        self.reconciler = InstanceReconciler(
            instances=self.instances,
            deployments=self.deployments,
            identities=identities(),
            judging=Trusting(),
            child=ChildDeployment(
                client,
                self.deployments,
                Existence(client, BUNDLE_INSTANCES, self.instances, on_gone=self.drop),
                on_reverted=lambda one: self.reverted.append(one.metadata.name),
                clock=self.clock,
            ),
            writer=StatusWriter(client, BUNDLE_INSTANCES, self.instances, awaits=awaits_verdict, pace=self.clock),
            events=self.events,
            clock=lambda: MOMENT,
            classes={PLAIN_CLASS},
        )

    def drop(self, one: BundleInstance) -> None:
        self.instances.drop(one.metadata.name, one.metadata.uid)

    def has(self, one: BundleInstance) -> None:
        self.instances.put(read_bundle_instance(self.client.put(BUNDLE_INSTANCE_KIND, to_json(one))))

    def has_deployment(self, one: BundleDeployment, *, known: bool = True) -> None:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        if known:
            self.deployments.put(stored)

    async def reconcile(self) -> list[str]:
        """The calls that it took."""
        before = len(self.client.calls)
        self.schedule = await self.reconciler.reconcile("shop", Turn())
        return self.client.calls[before:]

    @property
    def status(self) -> BundleInstanceStatus:
        return read_bundle_instance(self.client.objects[BUNDLE_INSTANCE_KIND, "shop"]).status

    @property
    def ready(self) -> Condition:
        [found] = [one for one in self.status.conditions if one.type == "Ready"]
        return found

    @property
    def mirror(self) -> BundleDeployment:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()
    monkeypatch.setattr("rukpak_py.controllers.existence.monotonic", bench.clock)
    return bench


CASES = {
    "ours": (ours(), ChildSituation.OURS),
    "ours, and going": (ours(deletion_timestamp=NOW), ChildSituation.OURS),
    "of a former instance": (deployment(labels=LABELS, owner_references=owned_by("old")), ChildSituation.LEAVING),
    "left and deleted": (deployment(labels=LABELS, deletion_timestamp=NOW), ChildSituation.LEAVING),
    "left": (deployment(labels=LABELS), ChildSituation.LEFT_BEHIND),
    "left and changed": (deployment(labels=LABELS, suspend=True), ChildSituation.LEFT_AND_CHANGED),
    "nobody's": (deployment(), ChildSituation.OTHER),
    "labelled for another": (deployment(labels={**LABELS, OWNER_NAME_LABEL: "other"}), ChildSituation.OTHER),
    "of another instance": (
        deployment(labels=LABELS, owner_references=owned_by("x", name="other")),
        ChildSituation.OTHER,
    ),
    "of another controller": (
        deployment(labels=LABELS, owner_references=owned_by("x", kind="App")),
        ChildSituation.OTHER,
    ),
    "owned by somebody": (
        deployment(labels=LABELS, owner_references=tuple(replace(one, controller=False) for one in owned_by("x"))),
        ChildSituation.OTHER,
    ),
}


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES.keys())
def test_a_deployment_on_the_name_has_one_situation(found: BundleDeployment, expected: ChildSituation) -> None:
    assert situation(found, instance()) is expected


async def test_a_new_instance_creates_its_deployment_and_waits_for_its_event(bench: Bench) -> None:
    bench.has(
        instance(
            annotations={
                "argocd.argoproj.io/tracking-id": "x",
                "core.rukpak.io/reconcile-at": "1",
                "core.rukpak.io/refresh-at": "2",
            }
        )
    )
    assert await bench.reconcile() == [CREATE]
    assert bench.schedule == SETTLED
    found = bench.mirror.metadata
    assert found.labels == LABELS
    assert found.annotations == {"core.rukpak.io/reconcile-at": "1", "core.rukpak.io/refresh-at": "2"}, (
        "no mark of another tool"
    )
    assert found.controller is not None
    assert (found.controller.uid, found.controller.block_owner_deletion) == (INSTANCE_UID, True)
    assert bench.mirror.spec == instance().spec


async def test_nothing_is_created_for_an_instance_that_went_unseen(bench: Bench) -> None:
    """Its deployment was there: perhaps the collector took it."""
    bench.has(instance(status=BundleInstanceStatus(conditions=saying("True").conditions)))
    del bench.client.objects[BUNDLE_INSTANCE_KIND, "shop"]
    assert await bench.reconcile() == [ALIVE]
    assert "shop" not in bench.instances
    assert await bench.reconcile() == []


async def test_one_whose_event_is_late_is_read_and_found(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(ours(status=saying("True")), known=False)
    assert await bench.reconcile() == [CREATE, READ, STATUS]
    assert bench.status.active_bundle == "shop-1"


async def test_a_conflict_is_reported_once_and_costs_nothing_while_it_lasts(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(deployment())
    assert await bench.reconcile() == [STATUS]
    assert bench.schedule == RETRIED
    assert (bench.ready.status, bench.ready.reason) == ("False", "Conflict")
    assert await bench.reconcile() == []
    assert bench.events.told == [("Warning", "shop", "Conflict")]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ForbiddenError, "AccessDenied"),
        (ServerUnavailableError, "Unavailable"),
        (InvalidError, "Retrying"),
    ],
)
async def test_every_failure_is_told_once(bench: Bench, error: type[ApiError], reason: str) -> None:
    bench.has(instance())
    bench.client.failing["create"] = refusal(error)
    assert await bench.reconcile() == [CREATE, STATUS]
    assert bench.schedule == RETRIED
    assert (bench.ready.status, bench.ready.reason) == ("False", reason)
    bench.clock.now += WRITE_INTERVAL_SECONDS
    assert await bench.reconcile() == [ALIVE, CREATE]
    assert bench.events.told == [("Warning", "shop", reason)]


async def test_a_failure_ends_when_the_deployment_speaks_again(bench: Bench) -> None:
    bench.has(instance())
    bench.client.failing["create"] = refusal(ForbiddenError)
    await bench.reconcile()
    assert [note.reason for note in bench.status.notes] == ["MirrorDenied"]
    bench.has_deployment(ours(status=saying("True")))
    bench.clock.now += WRITE_INTERVAL_SECONDS
    assert await bench.reconcile() == [STATUS]
    assert bench.status.notes == ()


async def test_a_deployment_left_behind_is_taken_only_by_an_instance_that_exists(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(deployment(labels=LABELS))
    assert await bench.reconcile() == [ALIVE, CHANGE]
    assert bench.mirror.metadata.owner_references[0].uid == INSTANCE_UID


async def test_a_deployment_left_behind_is_not_taken_for_an_instance_that_is_gone(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(deployment(labels=LABELS))
    del bench.client.objects[BUNDLE_INSTANCE_KIND, "shop"]
    assert await bench.reconcile() == [ALIVE]


async def test_a_client_that_changes_the_spec_again_and_again_is_not_followed(bench: Bench) -> None:
    """A webhook that rewrites what is sent, for example."""
    bench.has(instance(status=BundleInstanceStatus(conditions=saying("True").conditions, observed_generation=1)))
    for _ in range(REPAIRS):
        bench.has_deployment(ours(suspend=True))
        assert await bench.reconcile() == [CHANGE]
    bench.has_deployment(ours(suspend=True))
    assert await bench.reconcile() == [STATUS]
    assert bench.schedule == RETRIED
    assert "keeps changing the spec" in bench.ready.message
    assert len(bench.reverted) == REPAIRS
    bench.clock.now += REST_SECONDS
    assert await bench.reconcile() == [CHANGE]


async def test_an_edited_instance_is_no_drift(bench: Bench) -> None:
    bench.has(instance(generation=2, status=BundleInstanceStatus(observed_generation=1), suspend=True))
    bench.has_deployment(ours())
    assert await bench.reconcile() == [CHANGE]
    assert bench.reverted == []


async def test_an_edit_that_was_refused_is_no_drift_when_it_succeeds(bench: Bench) -> None:
    bench.has(instance(generation=2, status=BundleInstanceStatus(observed_generation=1), suspend=True))
    bench.has_deployment(ours())
    bench.client.failing["patch"] = refusal(InvalidError)
    assert await bench.reconcile() == [CHANGE, STATUS]
    assert bench.status.observed_generation == 2, "it is about this spec that it says no"
    del bench.client.failing["patch"]
    assert await bench.reconcile() == [CHANGE]
    assert bench.reverted == []
    bench.has_deployment(ours())
    assert await bench.reconcile() == [CHANGE]
    assert bench.reverted == ["shop"]


async def test_a_deployment_that_another_client_changed_meanwhile_is_tried_again_without_a_word(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(ours(suspend=True))
    bench.client.failing["patch"] = refusal(StaleError)
    before = asyncio.get_running_loop().time()
    assert await bench.reconcile() == [CHANGE]
    assert bench.schedule.failures == 1
    assert bench.schedule.attempt_at is not None
    assert bench.schedule.attempt_at >= before + Turn().back_off.delay(1, 0.0)
    assert bench.events.told == []


async def test_a_change_that_the_api_server_undoes_is_told(bench: Bench) -> None:
    bench.has(instance(suspend=True))
    bench.has_deployment(ours())
    bench.client.ignored.add("patch")
    assert await bench.reconcile() == [CHANGE, STATUS]
    assert "a webhook reverts it, or the CRD of BundleDeployments is older" in bench.ready.message
    bench.client.ignored.clear()
    assert await bench.reconcile() == [CHANGE], "the CRD is as new as the operator now"
    assert bench.reverted == []


async def test_a_deployment_that_is_being_deleted_is_not_changed(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(ours(suspend=True, deletion_timestamp=NOW))
    assert await bench.reconcile() == []


@pytest.mark.parametrize("found", [None, deployment(), ours(suspend=True)], ids=["none", "other", "changed"])
async def test_an_instance_that_is_being_deleted_writes_to_no_deployment(
    bench: Bench, found: BundleDeployment | None
) -> None:
    bench.has(instance(deletion_timestamp=NOW))
    if found is not None:
        bench.has_deployment(found)
    assert await bench.reconcile() == []


async def test_an_instance_that_is_being_deleted_still_shows_what_happens(bench: Bench) -> None:
    bench.has(instance(deletion_timestamp=NOW))
    bench.has_deployment(ours(status=saying("False")))
    assert await bench.reconcile() == [STATUS]


async def test_another_class_is_left_alone_unless_it_was_ours(bench: Bench) -> None:
    bench.has(instance(provisioner="elsewhere"))
    assert await bench.reconcile() == []
    assert bench.schedule == SETTLED
    bench.has_deployment(ours())
    assert await bench.reconcile() == [CHANGE]
    assert bench.mirror.spec.provisioner_class_name == "elsewhere"


@pytest.mark.parametrize(
    "found",
    [ours(), ours(status=saying("True", observed=0)), ours(status=saying("True", observed=7))],
    ids=["nothing", "of an older spec", "restored"],
)
async def test_a_status_that_is_not_of_this_spec_is_not_copied(bench: Bench, found: BundleDeployment) -> None:
    bench.has(instance())
    bench.has_deployment(found)
    assert await bench.reconcile() == []


async def test_the_generations_are_those_of_the_instance(bench: Bench) -> None:
    bench.has(instance(generation=3))
    bench.has_deployment(ours(status=saying("True")))
    assert await bench.reconcile() == [STATUS]
    assert bench.status.observed_generation == bench.ready.observed_generation == 3
    assert await bench.reconcile() == []


async def test_progress_is_shown_when_it_lasts_and_a_verdict_at_once(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(ours(status=saying("Unknown")))
    assert await bench.reconcile() == []
    assert bench.schedule == Schedule(report_at=MOMENT.loop + WRITE_INTERVAL_SECONDS)
    bench.clock.now += WRITE_INTERVAL_SECONDS
    assert await bench.reconcile() == [STATUS]
    bench.clock.now += WRITE_INTERVAL_SECONDS
    bench.has_deployment(ours(status=saying("True")))
    assert await bench.reconcile() == [STATUS]


async def test_an_instance_is_written_at_most_once_a_second(bench: Bench) -> None:
    bench.has(instance())
    written = 0
    for number in range(20):
        bench.has_deployment(ours(status=saying(("True", "False")[number % 2])))
        written += len(await bench.reconcile())
        bench.clock.now += 0.1
    assert written == 2


async def test_nothing_is_remembered_of_one_that_is_gone(bench: Bench) -> None:
    bench.has(instance())
    bench.has_deployment(ours(status=saying("Unknown")))
    await bench.reconcile()
    bench.reconciler.gone(instance())
    bench.clock.now += WRITE_INTERVAL_SECONDS
    await bench.reconcile()
    assert bench.schedule == Schedule(report_at=MOMENT.loop + WRITE_INTERVAL_SECONDS)
