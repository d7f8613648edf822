"""What the controller of deployments decides by itself; installing is the room's next door, faked here."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import Summary
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, BUNDLE_KIND, HELM_CLASS, ORDERED_DELETION_FINALIZER, Reason
from rukpak_py.api.reading import read_bundle, read_bundle_deployment, to_json
from rukpak_py.controllers import bundle_status
from rukpak_py.controllers.books import SILENCE, Books
from rukpak_py.controllers.bundle_deployment import BundleDeploymentController
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment_status import Report
from rukpak_py.controllers.outcome import DONE, WAIT, Outcome, retry
from rukpak_py.controllers.rendering import Wanted
from rukpak_py.controllers.resolution import Resolution
from rukpak_py.controllers.step import Step
from rukpak_py.controllers.templates import Templates
from rukpak_py.controllers.uninstall import needs_order
from rukpak_py.core.errors import ContentError
from rukpak_py.kube.errors import NotFoundError, StaleError
from tests.unit.apply.lives import config_map, desired, key
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, FakeEvents
from tests.unit.controllers.values import DIGEST, bundle, bundle_of, conditions, deployment, source, spec

INSTALLED = Report(
    summary=Summary.READY,
    reason=Reason.SUCCEEDED,
    message="Instantiated",
    fields={"active_bundle": "", "digest": DIGEST},
)


@dataclass
class FakeInstallation:
    """Says `steps` by the name of the Bundle; all is well with those that are not named."""

    steps: dict[str, Step] = field(default_factory=dict)
    brought: list[str] = field(default_factory=list)

    async def bring(self, _deployment: BundleDeployment, one: Bundle, _session: object) -> Step:
        name = one.metadata.name
        self.brought.append(name)
        fields = {"active_bundle": name, "digest": one.status.digest}
        done = Report(summary=INSTALLED.summary, reason=INSTALLED.reason, message=INSTALLED.message, fields=fields)
        return self.steps.get(name, Step(outcome=DONE, report=done, is_finished=True))

    keep = bring


@dataclass
class FakeUninstall:
    asked: int = 0

    async def carry_on(self, _deployment: BundleDeployment) -> Step:
        self.asked += 1
        return Step(outcome=DONE)

    def seen(self, _deployment: BundleDeployment) -> None:
        """Not spoken of here."""

    def gone(self, _deployment: BundleDeployment) -> None:
        """Not spoken of here."""


class Bench:
    def __init__(self) -> None:
        self.client = FakeClient()
        self.clock = Clock()
        self.deployments = Cache[BundleDeployment](clock=self.clock)
        self.bundles = Cache[Bundle](clock=self.clock)
        installation: Any = FakeInstallation()
        uninstall: Any = FakeUninstall()
        self.installation: FakeInstallation = installation
        self.uninstall: FakeUninstall = uninstall
        self.events = FakeEvents()
        self.forgotten: list[str] = []
        self.books = Books(
            client=self.client.as_client(),
            deployments=self.deployments,
            want_content=lambda _bundle: None,
            forget=lambda one: self.forgotten.append(one.metadata.name),
            now=lambda: NOW,
        )
        self.controller = BundleDeploymentController(
            deployments=self.deployments,
            templates=Templates(self.client.as_client(), self.bundles, on_new=lambda _name: None),
            installation=installation,
            uninstall=uninstall,
            books=self.books,
            events=self.events,
            classes={deployment().spec.provisioner_class},
        )

    def put(self, one: BundleDeployment) -> BundleDeployment:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(one)))
        self.deployments.put(stored)
        return stored

    def put_bundle(self, one: Bundle) -> Bundle:
        stored = read_bundle(self.client.put(BUNDLE_KIND, to_json(one)))
        self.bundles.put(stored)
        return stored

    async def reconcile(self) -> Outcome:
        return await self.controller.reconcile("shop")

    @property
    def status(self) -> BundleDeploymentStatus:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]).status

    @property
    def writes(self) -> list[str]:
        return [call for call in self.client.calls if not call.startswith("get")]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()
    monkeypatch.setattr("rukpak_py.controllers.books.monotonic", bench.clock)
    monkeypatch.setattr("rukpak_py.controllers.bundle_deployment.monotonic", bench.clock)
    return bench


def unpacked_bundle_of(one: BundleDeployment) -> Bundle:
    fresh = bundle_of(one)
    return replace(fresh, status=bundle_status.unpacked(fresh, DIGEST, source(), NOW))


def failed_bundle_of(one: BundleDeployment) -> Bundle:
    fresh = bundle_of(one)
    return replace(fresh, status=bundle_status.failing(fresh, "empty", ContentError("empty"), NOW))


async def test_the_first_look_makes_a_bundle_and_says_nothing_yet(bench: Bench) -> None:
    one = bench.put(deployment())
    outcome = await bench.reconcile()
    assert bench.writes == [f"create Bundle {bundle_of(one).metadata.name}"]
    assert outcome.after is not None, "a wait that usually ends at once is told only when it lasts"
    bench.clock.now += 5
    await bench.reconcile()
    assert conditions(bench.status)["HasValidBundle"][:2] == ("Unknown", "UnpackPending")


async def test_what_is_unpacked_is_installed_and_told(bench: Bench) -> None:
    one = bench.put(deployment())
    active = bench.put_bundle(unpacked_bundle_of(one))
    assert await bench.reconcile() == DONE
    assert bench.writes == ["status BundleDeployment shop"]
    assert bench.status.active_bundle == active.metadata.name
    assert ("Normal", "shop", "Installed") in bench.events.told
    bench.events.told.clear()
    assert await bench.reconcile() == DONE
    assert (bench.writes, bench.events.told) == (["status BundleDeployment shop"], []), "and not told again"


async def test_a_stale_read_does_nothing(bench: Bench) -> None:
    bench.put(deployment(status=BundleDeploymentStatus(observed_generation=2)))
    assert await bench.reconcile() == WAIT
    assert (bench.client.calls, bench.installation.brought) == ([], [])


async def test_a_suspended_deployment_is_left_alone_and_says_so(bench: Bench) -> None:
    one = bench.put(deployment(suspend=True))
    bench.put_bundle(unpacked_bundle_of(one))
    assert await bench.reconcile() == DONE
    assert bench.installation.brought == []
    assert bench.writes == ["status BundleDeployment shop"]
    assert conditions(bench.status)["Ready"][:2] == ("Unknown", "Suspended")
    await bench.reconcile()
    assert len(bench.writes) == 1


async def test_a_suspended_deployment_can_be_deleted(bench: Bench) -> None:
    bench.put(deployment(suspend=True, deletion_timestamp=NOW, finalizers=(ORDERED_DELETION_FINALIZER,)))
    await bench.reconcile()
    assert bench.uninstall.asked == 1


async def test_a_class_of_others_is_none_of_our_business(bench: Bench) -> None:
    bench.put(deployment(provisioner=HELM_CLASS))
    assert await bench.reconcile() == DONE
    assert bench.client.calls == []


async def test_what_our_finalizer_holds_is_ours_whatever_its_class_says(bench: Bench) -> None:
    going: dict[str, Any] = {"deletion_timestamp": NOW, "finalizers": (ORDERED_DELETION_FINALIZER,)}
    bench.put(deployment(provisioner=HELM_CLASS, **going))
    await bench.reconcile()
    assert bench.uninstall.asked == 1


async def test_a_failing_bundle_does_not_stop_the_active_one_from_being_kept(bench: Bench) -> None:
    former = deployment(template=spec("former"))
    active = bench.put_bundle(unpacked_bundle_of(former))
    one = bench.put(deployment(status=BundleDeploymentStatus(active_bundle=active.metadata.name, digest=DIGEST)))
    wanted = bench.put_bundle(failed_bundle_of(one))
    await bench.reconcile()
    assert bench.installation.brought == [active.metadata.name]
    assert conditions(bench.status)["HasValidBundle"] == (
        "False",
        "UnpackFailed",
        f"Failed to unpack the {wanted.metadata.name} Bundle: empty",
    )
    assert bench.status.active_bundle == active.metadata.name


async def test_a_refused_upgrade_leaves_the_active_one_kept(bench: Bench) -> None:
    active = bench.put_bundle(unpacked_bundle_of(deployment(template=spec("former"))))
    one = bench.put(deployment(status=BundleDeploymentStatus(active_bundle=active.metadata.name, digest=DIGEST)))
    wanted = bench.put_bundle(unpacked_bundle_of(one))
    refused = Report(summary=Summary.RETRYING, reason=Reason.CONFLICT, message="taken")
    bench.installation.steps[wanted.metadata.name] = Step(
        outcome=retry(), report=refused, wrote_nothing=True, contested=frozenset({key("a")})
    )
    assert await bench.reconcile() == retry()
    assert bench.installation.brought == [wanted.metadata.name, active.metadata.name]
    assert bench.controller.waiting_for(key("a")) == ["shop"]
    assert active.metadata.name in {name for _, name in bench.client.objects}, "it is still needed"
    bench.installation.steps.clear()
    await bench.reconcile()
    assert bench.controller.waiting_for(key("a")) == []
    assert active.metadata.name not in {name for _, name in bench.client.objects}, "its successor is healthy"


async def test_what_is_kept_beside_a_refused_upgrade_comes_back_when_it_needs_to(bench: Bench) -> None:
    active = bench.put_bundle(unpacked_bundle_of(deployment(template=spec("former"))))
    one = bench.put(deployment(status=BundleDeploymentStatus(active_bundle=active.metadata.name, digest=DIGEST)))
    wanted = bench.put_bundle(unpacked_bundle_of(one))
    bench.installation.steps[wanted.metadata.name] = Step(outcome=WAIT, wrote_nothing=True)
    bench.installation.steps[active.metadata.name] = Step(
        outcome=retry(), is_blocked=True, contested=frozenset({key("b")})
    )
    assert (await bench.reconcile()).retry
    assert bench.controller.blocked == {"shop"}
    assert bench.controller.waiting_for(key("b")) == ["shop"]


async def test_who_is_blocked_is_known_until_it_is_not_or_gone(bench: Bench) -> None:
    one = bench.put(deployment())
    wanted = bench.put_bundle(unpacked_bundle_of(one))
    bench.installation.steps[wanted.metadata.name] = Step(outcome=retry(), is_blocked=True)
    await bench.reconcile()
    assert bench.controller.blocked == {"shop"}
    bench.controller.gone(one)
    assert bench.controller.blocked == set()


async def test_somebody_elses_bundle_on_the_name_is_told_and_tried_again(bench: Bench) -> None:
    one = bench.put(deployment())
    bench.client.put(BUNDLE_KIND, to_json(bundle(bundle_of(one).metadata.name)))
    outcome = await bench.reconcile()
    assert outcome.retry
    status, reason, message = conditions(bench.status)["HasValidBundle"]
    assert (status, reason) == ("Unknown", "ReconcileFailed")
    assert "does not belong to this BundleDeployment" in message
    assert "Reconciling" in conditions(bench.status)


@pytest.mark.parametrize("uid", ["", "another"])
async def test_nothing_is_made_for_a_deployment_that_is_gone_without_a_word(bench: Bench, uid: str) -> None:
    bench.put(deployment())
    if uid:
        bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(uid=uid)))
    else:
        del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    bench.clock.now += SILENCE
    assert await bench.reconcile() == WAIT
    assert bench.client.calls == ["get BundleDeployment shop"]
    assert bench.forgotten == ["shop"]


async def test_a_deployment_that_was_quiet_for_long_is_asked_for_once(bench: Bench) -> None:
    one = bench.put(deployment())
    bench.clock.now += SILENCE
    assert await bench.books.still_exists(one, is_suspicious=False)
    assert await bench.books.still_exists(one, is_suspicious=False)
    assert bench.client.calls == ["get BundleDeployment shop"]
    assert await bench.books.still_exists(one, is_suspicious=True)
    assert len(bench.client.calls) == 2


async def test_a_deployment_that_is_being_deleted_gets_nothing_new(bench: Bench) -> None:
    one = bench.put(deployment())
    bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(deletion_timestamp=NOW)))
    assert not await bench.books.still_exists(one, is_suspicious=True)
    assert bench.forgotten == [], "its event is on the way"


def wanted(*manifests: dict[str, Any]) -> Wanted:
    return Wanted(
        desired=tuple(desired(manifest) for manifest in manifests),
        resolution=Resolution(resources={}, missing=(), new_kinds=frozenset()),
        size=0,
    )


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}}
BASKET = {"apiVersion": "shop.example.org/v1", "kind": "Basket", "metadata": {"name": "x"}}


async def test_kinds_are_recorded_before_they_are_used_and_only_when_they_are_new(bench: Bench) -> None:
    one = bench.put(deployment())
    after = await bench.books.record_kinds(one, wanted(config_map()))
    assert [kind.kind for kind in after.status.kinds] == ["ConfigMap"]
    assert conditions(bench.status)["Ready"][:2] == ("Unknown", "Progressing")
    assert await bench.books.record_kinds(after, wanted(config_map("b"))) is after
    assert [kind.kind for kind in (await bench.books.record_kinds(after, wanted(SERVICE))).status.kinds] == [
        "ConfigMap",
        "Service",
    ], "old and new: what the old content has is still there"
    assert bench.client.calls == ["status BundleDeployment shop"] * 2


async def test_the_finalizer_comes_before_the_first_object_that_needs_order(bench: Bench) -> None:
    one = bench.put(deployment(finalizers=("x/y",)))
    after = await bench.books.record_kinds(one, wanted(BASKET))
    assert bench.client.calls == ["patch BundleDeployment shop", "status BundleDeployment shop"]
    assert after.metadata.finalizers == ("x/y", ORDERED_DELETION_FINALIZER)
    await bench.books.record_kinds(after, wanted(BASKET))
    assert len(bench.client.calls) == 2


@pytest.mark.parametrize(("uid", "error"), [("", NotFoundError), ("another", StaleError)])
async def test_without_its_kinds_on_record_nothing_may_be_written(
    bench: Bench, uid: str, error: type[Exception]
) -> None:
    one = bench.put(deployment())
    del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    if uid:
        bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(uid=uid)))
    with pytest.raises(error):
        await bench.books.record_kinds(one, wanted(config_map()))


async def test_a_last_word_about_a_deployment_that_is_gone_is_swallowed(bench: Bench) -> None:
    one = bench.put(deployment())
    del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    assert await bench.books.write(one, INSTALLED) is None


async def test_a_status_of_an_older_spec_does_not_hide_the_newer_one(bench: Bench) -> None:
    """Between our read and our write somebody edited the spec: the cache waits for that event."""
    one = bench.put(deployment())
    bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(generation=2, suspend=True)))
    status = await bench.books.write(one, INSTALLED)
    assert status is not None
    assert status.observed_generation == 1
    assert bench.deployments.get("shop") == one


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "baskets.shop.example.org"},
    "spec": {"group": "shop.example.org", "names": {"kind": "Basket"}},
}
WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}


@pytest.mark.parametrize(
    ("manifests", "needed"),
    [
        ([], False),
        ([config_map(), WORKLOAD], False),
        ([CRD], False),
        ([CRD, config_map()], False),
        ([CRD, WORKLOAD], True),
        ([BASKET], True),
        ([config_map(), BASKET], True),
    ],
)
def test_when_deletion_needs_order(manifests: list[dict[str, Any]], *, needed: bool) -> None:
    assert needs_order(desired(manifest) for manifest in manifests) is needed
