"""Events of our kinds that concern us, for Kopf's thread and for our loop, and the keys that each wakes."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.conditions import Condition
from rukpak_py.api.deployment_spec import Dependency
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_INSTANCE_KIND,
    BUNDLE_KIND,
    HELM_CLASS,
    ORDERED_DELETION_FINALIZER,
    PLAIN_CLASS,
    RECONCILE_AT_ANNOTATION,
)
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import Authorization, GitRef, GitSource, HttpSource, ImageSource, SecretReference
from rukpak_py.apply.results import kind_wakes, namespace_wake
from rukpak_py.controllers.deployment.dependencies import key_of
from rukpak_py.controllers.event_router import EventRouter, Listeners, WatchedKind
from rukpak_py.controllers.queue import Queue, Schedule
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.resources import SECRETS
from rukpak_py.operator.kopf_shell import HandOver
from tests.unit.apply.lives import key, live_object
from tests.unit.controllers.values import bundle, deployment, owner_of, unpacked

FOREIGN = "example-com-other"
LOGIN = Authorization(secret=SecretReference(name="login"))
BASKET, CRATE = GroupKind("shop.example.org", "Basket"), GroupKind("shop.example.org", "Crate")


def body(
    version: int, provisioner_class: str = PLAIN_CLASS, *, status: object = None, **metadata: Any
) -> dict[str, Any]:
    source = {"type": "configMaps", "configMaps": [{"configMap": {"name": "m"}}]}
    return {
        "apiVersion": "core.rukpak.io/v1alpha1",
        "kind": BUNDLE_DEPLOYMENT_KIND,
        "metadata": {"name": "a", "uid": "u", "resourceVersion": str(version), "generation": version, **metadata},
        "spec": {
            "provisionerClassName": provisioner_class,
            "template": {"spec": {"provisionerClassName": provisioner_class, "source": source}},
        },
        **({"status": status} if status else {}),
    }


def bundle_body(provisioner_class: str) -> dict[str, Any]:
    sent = body(1, provisioner_class)
    return {**sent, "kind": BUNDLE_KIND, "spec": sent["spec"]["template"]["spec"]}


@dataclass
class Heard:
    """Calls of the listeners of one kind, in order: what happened, to which uid."""

    events: list[tuple[str, str]] = field(default_factory=list)
    relists: int = 0

    def listeners(self) -> Listeners[Any]:
        return Listeners(
            seen=lambda one, listed: self._note("listed" if listed else "seen", one),
            changed=lambda one: self._note("changed", one),
            gone=lambda one: self._note("gone", one),
            relisted=self._relisted,
            deleted=lambda one: self._note("deleted", one),
        )

    def take(self) -> list[tuple[str, str]]:
        taken, self.events = self.events, []
        return taken

    def _note(self, what: str, one: Any) -> None:
        self.events.append((what, one.metadata.uid))

    def _relisted(self) -> None:
        self.relists += 1


class World:
    """Kopf's side and ours; what is handed over waits until our loop has its turn."""

    def __init__(self) -> None:
        self.router, self.heard, self.heard_of_bundles = EventRouter(), Heard(), Heard()
        self.router.deployments.attach(self.heard.listeners())
        self.router.bundles.attach(self.heard_of_bundles.listeners())
        self.on_their_way: list[tuple[Any, ...]] = []
        self.done: list[tuple[str, int]] = []  # the names, and how many events were on their way by then
        _, deployments, _ = self.router.handlers()
        self._hand_over = HandOver(deployments, lambda *call: self.on_their_way.append(call), self._note_done)

    def _note_done(self, name: str) -> None:
        self.done.append((name, len(self.on_their_way)))

    def event(self, sent: dict[str, Any], event: str | None = "MODIFIED") -> bool:
        """Whether it was handed over."""
        if not self._hand_over.wants(sent):
            return False
        self._hand_over.take(event, sent)
        return True

    def our_turn(self) -> None:
        while self.on_their_way:
            seen, *arguments = self.on_their_way.pop(0)
            seen(*arguments)

    def happened(self, sent: dict[str, Any], event: str | None = "MODIFIED") -> list[tuple[str, str]]:
        """Send an event, and return what the listeners hear of it."""
        assert self.event(sent, event)
        self.our_turn()
        return self.heard.take()

    @property
    def known(self) -> str | None:
        found = self.router.deployments.cache.get("a")
        return found.spec.provisioner_class if found else None


@pytest.fixture
def world() -> World:
    return World()


async def woken(queue: Queue[str]) -> list[str]:
    """The keys that wait for a worker, in order; they are taken."""
    names = []
    while len(queue):
        names.append(await queue.get())
        queue.done(names[-1])
    return names


class TestObjectsThatAreOurs:
    def test_a_foreign_class_is_not_handed_over(self, world: World) -> None:
        assert not world.event(body(1, FOREIGN))

    def test_a_misspelt_class_of_ours_is_handed_over(self, world: World) -> None:
        assert world.event(body(1, "core-rukpak-io-plian"))
        world.our_turn()
        assert world.known == "core-rukpak-io-plian"

    def test_a_class_that_changes_away_before_our_loop_had_its_turn_is_noticed(self, world: World) -> None:
        assert world.event(body(1))
        assert world.event(body(2, FOREIGN))
        world.our_turn()
        assert world.known == FOREIGN

    def test_a_foreign_object_on_the_name_of_a_deleted_one_is_not_handed_over(self, world: World) -> None:
        world.event(body(1))
        assert world.event(body(2, FOREIGN), "DELETED")
        world.our_turn()
        assert world.known is None
        assert not world.event(body(3, FOREIGN, uid="another"))

    def test_an_object_with_our_finalizer_is_ours_whatever_its_class(self, world: World) -> None:
        assert world.event(body(1, FOREIGN, finalizers=[ORDERED_DELETION_FINALIZER]))
        world.our_turn()
        assert world.known == FOREIGN

    @pytest.mark.parametrize(("reason", "is_ours"), [("Succeeded", True), ("ClassNotServed", False)])
    def test_an_object_that_we_called_ready_is_ours_until_we_took_it_back(
        self, world: World, reason: str, *, is_ours: bool
    ) -> None:
        """Its class may have changed while no operator ran."""
        status = {"conditions": [{"type": "Ready", "status": "True", "reason": reason}]}
        assert world.event(body(1, FOREIGN, status=status)) is is_ours

    def test_each_event_is_done_when_it_is_on_its_way_or_is_left_out(self, world: World) -> None:
        assert not world.event(body(1, FOREIGN))
        assert world.event(body(2))
        assert world.event(body(3), "DELETED")
        assert world.done == [("a", 0), ("a", 1), ("a", 2)]

    def test_a_bundle_of_any_class_is_handed_over_and_one_of_a_foreign_class_is_left_to_the_webhook(
        self, world: World
    ) -> None:
        handler, *_ = world.router.handlers()
        sent = bundle_body(FOREIGN)
        assert handler.may_be_ours(sent)
        handler.seen("ADDED", sent)
        assert world.router.config_map_users.using("m") == ["a"]
        assert len(world.router.bundles.cache) == 0
        assert world.heard_of_bundles.take() == []
        handler.seen("DELETED", sent)
        assert world.router.config_map_users.using("m") == []

    def test_a_bundle_that_a_controller_has_to_know_is_known_to_the_webhook_too(self, world: World) -> None:
        handler, *_ = world.router.handlers()
        handler.seen(None, bundle_body(PLAIN_CLASS))
        assert "a" in world.router.bundles.cache
        assert world.router.config_map_users.using("m") == ["a"]

    def test_an_object_that_cannot_be_read_is_left_out_and_logged(
        self, world: World, caplog: pytest.LogCaptureFixture
    ) -> None:
        assert world.happened(body(1) | {"spec": {"provisionerClassName": PLAIN_CLASS, "template": 7}}) == []
        assert world.known is None
        assert "ignored: " in caplog.text


class TestEffectsOfAnEvent:
    async def test_news_is_put_into_the_cache_and_its_key_on_the_queue(self, world: World) -> None:
        assert world.happened(body(1), "ADDED") == [("seen", "u"), ("changed", "u")]
        assert world.known == PLAIN_CLASS
        assert await woken(world.router.deployments.queue) == ["a"]

    @pytest.mark.parametrize("version", [1, 2])
    async def test_a_known_version_is_seen_and_wakes_no_key(self, world: World, version: int) -> None:
        world.happened(body(2))
        await woken(world.router.deployments.queue)
        assert world.happened(body(version)) == [("seen", "u")]
        assert await woken(world.router.deployments.queue) == []

    @pytest.mark.parametrize(
        ("change", "is_attempt"),
        [
            ({"generation": 2}, True),
            ({"annotations": {RECONCILE_AT_ANNOTATION: "now"}}, True),
            ({"annotations": {"a": "b"}}, True),
            ({"annotations": {RECONCILE_AT_ANNOTATION: "once", "a": "c"}}, False),
            ({"labels": {"a": "b"}}, False),
            ({"status": {"conditions": []}}, False),
        ],
    )
    async def test_another_spec_or_a_request_brings_an_attempt_and_any_other_change_a_look(
        self, world: World, change: dict[str, Any], *, is_attempt: bool
    ) -> None:
        known: dict[str, Any] = {"generation": 1, "annotations": {RECONCILE_AT_ANNOTATION: "once", "a": "b"}}
        queue = world.router.deployments.queue
        world.happened(body(1, **known))
        queue.turn(key := await queue.get())
        queue.done(key)
        queue.schedule(key, Schedule(failures=1))
        world.happened(body(2, **{**known, **change}))
        async with asyncio.timeout(5):
            assert queue.turn(await queue.get()).is_attempt is is_attempt

    async def test_a_deletion_is_told_and_brings_the_key_back(self, world: World) -> None:
        world.happened(body(1))
        await woken(world.router.deployments.queue)
        assert world.happened(body(2), "DELETED") == [("deleted", "u"), ("gone", "u")]
        assert world.known is None
        assert await woken(world.router.deployments.queue) == ["a"]

    def test_an_event_after_the_deletion_brings_nothing_back(self, world: World) -> None:
        world.happened(body(1))
        world.happened(body(3), "DELETED")
        assert world.happened(body(2)) == [("seen", "u")]
        assert world.known is None

    def test_the_first_list_is_no_relist(self, world: World) -> None:
        assert world.happened(body(1), None) == [("listed", "u"), ("changed", "u")]
        assert world.heard.relists == 0

    def test_a_list_of_what_is_known_is_a_relist(self, world: World) -> None:
        world.happened(body(1), "ADDED")
        assert world.happened(body(1), None) == [("listed", "u")]
        assert world.heard.relists == 1

    def test_a_list_that_shows_another_object_of_the_name_is_a_relist_too(self, world: World) -> None:
        world.happened(body(1), "ADDED")
        world.happened(body(5, uid="new"), None)
        assert world.heard.relists == 1

    async def test_an_object_that_no_watch_saw_going_is_told_like_any_other_that_is_gone(self, world: World) -> None:
        world.happened(body(1))
        await woken(world.router.deployments.queue)
        known = world.router.deployments.cache.get("a")
        assert known is not None
        world.router.deployments.forget(known)
        assert world.heard.take() == [("gone", "u")]
        assert world.known is None
        assert await woken(world.router.deployments.queue) == ["a"]

    def test_an_event_before_anybody_listens_is_a_bug(self) -> None:
        with pytest.raises(RuntimeError, match="before the listeners"):
            EventRouter().deployments.event("ADDED", body(1))


class TestAnotherObjectOfTheName:
    def test_the_first_event_of_a_successor_reports_the_former_object_gone(self, world: World) -> None:
        world.happened(body(1, uid="old"))
        assert world.happened(body(5, uid="new"), "ADDED") == [("gone", "old"), ("seen", "new"), ("changed", "new")]

    @pytest.mark.parametrize("event", ["MODIFIED", "DELETED", None])
    def test_a_late_event_of_the_former_one_says_nothing_about_the_new_one(
        self, world: World, event: str | None
    ) -> None:
        """Kopf handles the events of each uid by themselves: they may come in any order."""
        world.happened(body(1, uid="old"))
        world.happened(body(5, uid="new"), "ADDED")
        late = world.happened(body(3, uid="old"), event)
        assert {uid for _, uid in late} == {"old"}
        found = world.router.deployments.cache.get("a")
        assert found is not None
        assert found.metadata.uid == "new"

    def test_the_deletion_of_an_unseen_successor_reports_both_gone(self, world: World) -> None:
        world.happened(body(1, uid="old"))
        heard = world.happened(body(5, uid="new"), "DELETED")
        assert heard == [("gone", "old"), ("deleted", "new"), ("gone", "new")]
        assert world.known is None

    def test_the_former_one_never_comes_back(self, world: World) -> None:
        world.happened(body(1, uid="old"))
        world.happened(body(5, uid="new"), "DELETED")
        world.happened(body(4, uid="old"))
        assert world.known is None


SHOP, OTHER = deployment(), deployment("other", uid="uid-of-other")


@pytest.fixture
def router() -> EventRouter:
    """Two deployments are known."""
    router = World().router
    for one in (SHOP, OTHER):
        router.deployments.cache.put(one)
    return router


class TestWakeUps:
    async def test_a_bundle_wakes_the_deployment_that_controls_it(self, router: EventRouter) -> None:
        router.bundle_changed(bundle(owner_references=(owner_of(SHOP),)))
        assert await woken(router.deployments.queue) == ["shop"]

    @pytest.mark.parametrize(
        "one",
        [bundle(), bundle(owner_references=(owner_of(deployment(uid="a former one")),))],
        ids=["nobody's", "past"],
    )
    async def test_a_bundle_without_a_current_deployment_wakes_none(self, router: EventRouter, one: Any) -> None:
        router.bundle_changed(one)
        assert await woken(router.deployments.queue) == []

    async def test_an_object_wakes_the_deployment_whose_uid_it_carries(self, router: EventRouter) -> None:
        router.object_changed("uid-of-other")
        router.object_changed("uid-of-nobody")
        assert await woken(router.deployments.queue) == ["other"]

    async def test_a_namespace_wakes_those_who_wait_for_it(self, router: EventRouter) -> None:
        """Every namespace that came or went woke every blocked deployment, and each was rendered again."""
        router.waiting.note("uid of shop", "shop", frozenset({namespace_wake("one")}))
        router.waiting.note("uid of other", "other", frozenset({namespace_wake("two")}))
        router.namespace_changed("three")
        assert await woken(router.deployments.queue) == []
        router.namespace_changed("two")
        assert await woken(router.deployments.queue) == ["other"]

    async def test_kinds_wake_those_who_wait_for_one_of_them(self, router: EventRouter) -> None:
        router.waiting.note("uid of shop", "shop", kind_wakes({BASKET}))
        router.waiting.note("uid of other", "other", frozenset({namespace_wake("two")}))
        router.kinds_changed(frozenset({CRATE}))
        assert await woken(router.deployments.queue) == []
        router.kinds_changed(frozenset({BASKET, CRATE}))
        assert await woken(router.deployments.queue) == ["shop"]

    async def test_an_object_that_goes_wakes_those_who_were_refused_its_name_in_a_moment(
        self, router: EventRouter, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A client that deletes an object to create it again is done with it by then."""
        paused: list[tuple[str, bool]] = []
        queue = router.deployments.queue
        monkeypatch.setattr(queue, "wake", lambda name, after=0.0: paused.append((name, after > 0)))
        router.waiting.note("uid of shop", "shop", frozenset({key("a")}))
        router.object_gone(key("b"))
        assert paused == []
        router.object_gone(key("a"))
        assert paused == [("shop", True)]

    async def test_a_config_map_wakes_the_bundles_that_are_made_of_it_and_not_unpacked(
        self, router: EventRouter
    ) -> None:
        for one in (bundle("waiting"), unpacked("unpacked")):
            router.bundles.cache.put(one)
        (source,) = bundle().spec.source.config_maps
        router.map_changed(key("another"), None, live_object("another"))
        assert await woken(router.bundles.queue) == []
        router.map_changed(key(source.config_map.name), None, live_object())
        assert await woken(router.bundles.queue) == ["waiting"]

    async def test_a_config_map_that_goes_wakes_no_bundle(self, router: EventRouter) -> None:
        router.bundles.cache.put(bundle())
        (source,) = bundle().spec.source.config_maps
        router.map_changed(key(source.config_map.name), live_object(), None)
        assert await woken(router.bundles.queue) == []

    @pytest.mark.parametrize(
        "source",
        [
            Source(type="http", http=HttpSource(url="https://a", auth=LOGIN)),
            Source(type="git", git=GitSource(repository="https://a", ref=GitRef(branch="b"), auth=LOGIN)),
            Source(type="image", image=ImageSource(ref="a", pull_secret="login")),
        ],
    )
    async def test_a_secret_wakes_the_bundles_that_name_it_and_are_not_unpacked(
        self, router: EventRouter, source: Source
    ) -> None:
        for one in (bundle("waiting"), unpacked("unpacked")):
            router.bundles.cache.put(replace(one, spec=replace(one.spec, source=source)))
        router.bundles.cache.put(bundle("other"))
        router.secret_changed(key("another"), None, live_object("another"))
        router.secret_changed(key("login"), live_object("login"), None)
        assert await woken(router.bundles.queue) == []
        router.secret_changed(key("login"), None, live_object("login"))
        assert await woken(router.bundles.queue) == ["waiting"]

    async def test_values_that_come_change_or_go_wake_the_charts_that_refer_to_them(self, router: EventRouter) -> None:
        entries = [{"kind": "Secret", "name": "shop"}, {"kind": "ConfigMap", "name": "base"}]
        config = {"valuesFrom": entries}
        router.deployments.cache.put(deployment("chart", provisioner=HELM_CLASS, config=config, uid="a"))
        router.deployments.cache.put(deployment("plain", config=config, uid="b"))
        router.deployments.cache.put(deployment("other", provisioner=HELM_CLASS, config={"valuesFrom": 1}, uid="c"))
        secret, shown = key("shop", SECRETS.gvk), live_object("shop")
        for old, new in ((None, shown), (shown, shown), (shown, None)):
            router.secret_changed(secret, old, new)
            assert await woken(router.deployments.queue) == ["chart"]
        router.map_changed(key("base"), None, shown)
        assert await woken(router.deployments.queue) == ["chart"]
        router.map_changed(key("shop"), None, shown)  # of the other kind
        assert await woken(router.deployments.queue) == []

    async def test_pull_secrets_of_the_account_wake_all_images(self, router: EventRouter) -> None:
        image = Source(type="image", image=ImageSource(ref="example.com/a:1"))
        for one in (bundle("waiting"), unpacked("unpacked")):
            router.bundles.cache.put(replace(one, spec=replace(one.spec, source=image)))
        router.bundles.cache.put(bundle("other"))
        router.account_changed(key("default"), live_object("default"), None)
        assert await woken(router.bundles.queue) == []
        router.account_changed(key("default"), live_object("default"), live_object("default"))
        assert await woken(router.bundles.queue) == ["waiting"]

    async def test_a_closed_router_wakes_no_key(self, router: EventRouter) -> None:
        router.close()
        router.object_changed(SHOP.metadata.uid)
        assert await woken(router.deployments.queue) == []


def told(name: str, *depends_on: str, ready: str = "True", **metadata: Any) -> BundleDeployment:
    ready_condition = Condition(type="Ready", status=ready, reason="Any", message="", last_transition_time="")
    status = BundleDeploymentStatus(conditions=(ready_condition,), observed_generation=1)
    dependencies = tuple(Dependency(name=one) for one in depends_on)
    return deployment(name, uid=f"uid of {name}", status=status, depends_on=dependencies, **metadata)


class TestDependencies:
    @pytest.fixture
    def router(self) -> EventRouter:
        router = EventRouter()
        for one in (told("base", ready="False"), told("shop", "base"), told("other", "base")):
            router.deployments.cache.put(one)
            router.dependencies_changed(one)
        router.waiting.note("uid of shop", "shop", frozenset({key_of("base")}))
        return router

    async def test_dependency_is_looked_at_for_its_finalizer(self, router: EventRouter) -> None:
        assert await woken(router.deployments.queue) == ["base"]
        router.dependencies_changed(told("third", "base", "missing"))
        assert await woken(router.deployments.queue) == ["base"]

    async def test_dependents_that_wait_are_woken_once_it_is_ready_has_another_spec_or_is_gone(
        self, router: EventRouter
    ) -> None:
        await woken(router.deployments.queue)
        router.deployment_changed(told("base", ready="Unknown"))
        assert await woken(router.deployments.queue) == []
        router.deployment_changed(told("base"))
        assert await woken(router.deployments.queue) == ["shop"]
        router.deployment_changed(told("base", ready="False", generation=2))
        assert await woken(router.deployments.queue) == ["shop"]
        router.deployment_gone(told("base"))
        assert sorted(await woken(router.deployments.queue)) == ["other", "shop"], "the other says so, too"

    async def test_one_in_hand_is_woken_whatever_is_noted_of_it(self, router: EventRouter) -> None:
        await woken(router.deployments.queue)
        router.deployments.queue.add("other")
        await router.deployments.queue.get()
        router.deployment_changed(told("base"))
        router.deployments.queue.done("other")
        assert await woken(router.deployments.queue) == ["shop", "other"]


def test_each_of_our_kinds_has_a_handler() -> None:
    router = EventRouter()
    kinds: dict[str, WatchedKind[Any]] = {BUNDLE_KIND: router.bundles, BUNDLE_DEPLOYMENT_KIND: router.deployments}
    kinds[BUNDLE_INSTANCE_KIND] = router.instances
    assert [handler.plural for handler in router.handlers()] == [kind.plural for kind in kinds.values()]
