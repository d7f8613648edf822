"""Kinds that are watched by namespace: what is recorded of them, where they are watched, and what is held back."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest

from rukpak_py.api.accounts import Mode
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.apply.inventory import Watched
from rukpak_py.apply.kinds import KindState, Resolution
from rukpak_py.controllers.deployment.kinds import HiddenKinds, Kinds
from rukpak_py.controllers.deployment.recorded_kinds import (
    BY_NAMESPACE,
    are_recorded,
    kinds_of,
    union,
    watches_of,
)
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.result.cause_table import WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.progress import Progress
from rukpak_py.core.objects import GroupKind
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError
from rukpak_py.kube.resources import CONFIG_MAPS, SECRETS, Resource
from rukpak_py.kube.watching import WatchTracker
from tests.manifests import config_map, manifest
from tests.unit.apply.lives import desired, key
from tests.unit.apply.watches import Watches
from tests.unit.apply.watches import watches_of as fake_watches
from tests.unit.controllers.deployment.parts import FakeCluster, controlled_clock, counting_from_now
from tests.unit.controllers.fakes import Clock
from tests.unit.controllers.values import deployment

NARROW, CLASSIC = BY_NAMESPACE[Mode.NARROW], BY_NAMESPACE[Mode.CLASSIC]
SECRET, CONFIG_MAP = SECRETS.group_kind, CONFIG_MAPS.group_kind


def secrets(*namespaces: str) -> InstalledKind:
    return InstalledKind(version="v1", kind="Secret", namespaces=namespaces)


def maps() -> InstalledKind:
    return InstalledKind(version="v1", kind="ConfigMap")


@pytest.mark.parametrize(
    ("by_namespace", "expected"),
    [(CLASSIC, (maps(), secrets())), (NARROW, (maps(), secrets("a", "b")))],
)
def test_namespaces_are_recorded_of_kinds_that_are_watched_so(
    by_namespace: frozenset[GroupKind], expected: tuple[InstalledKind, ...]
) -> None:
    places = [(SECRETS.gvk, "b"), (CONFIG_MAPS.gvk, "c"), (SECRETS.gvk, "a"), (SECRETS.gvk, "b")]
    assert kinds_of(places, by_namespace) == expected


def test_union_has_the_namespaces_of_both_and_the_version_of_the_latter() -> None:
    former = [secrets("a", "b"), InstalledKind(group="apps", version="v1beta1", kind="Deployment")]
    latter = [InstalledKind(group="apps", version="v1", kind="Deployment"), secrets("c", "b"), maps()]
    assert union(former, latter) == (
        maps(),
        secrets("a", "b", "c"),
        InstalledKind(group="apps", version="v1", kind="Deployment"),
    )


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [((), False), ((secrets(),), False), ((secrets("a"),), False), ((secrets("a", "b", "c"),), True)],
)
def test_kind_is_recorded_with_all_its_namespaces(recorded: Sequence[InstalledKind], *, expected: bool) -> None:
    assert are_recorded([secrets("a", "b")], recorded) is expected


@pytest.mark.parametrize(
    ("by_namespace", "expected"),
    [
        (CLASSIC, {Watched(CONFIG_MAP), Watched(SECRET)}),
        (NARROW, {Watched(CONFIG_MAP), Watched(SECRET, "a"), Watched(SECRET, "b")}),
    ],
)
def test_kind_is_watched_where_its_record_says(by_namespace: frozenset[GroupKind], expected: set[Watched]) -> None:
    assert set(watches_of([maps(), secrets("a", "b")], by_namespace)) == expected


def test_record_of_another_mode_says_nothing_of_where_to_watch() -> None:
    assert list(watches_of([secrets()], NARROW)) == []


# What is hidden


@dataclass
class Bench:
    watches: Watches
    clock: Clock
    kinds: Kinds
    state: DeploymentState

    async def hidden(self, *kinds: InstalledKind) -> HiddenKinds:
        """After the wait for first lists."""
        of = recording(*kinds)
        await self.kinds.hidden_of_owned(of, self.state)
        self.clock.now += WAIT_QUIET_SECONDS
        found = await self.kinds.hidden_of_owned(of, self.state)
        assert isinstance(found, HiddenKinds)
        return found

    def denies(self, namespace: str, resource: Resource = SECRETS) -> None:
        tracker = WatchTracker(resource, reader="test")
        message = f"{resource.plural} forbidden in {namespace or 'all'}"
        answer = ErrorAnswer(subject="watch", status=403, message=message)
        tracker.refused(ForbiddenError(answer))
        self.watches.informer(resource, namespace).status = tracker.status

    def lists(self, namespace: str, resource: Resource = SECRETS) -> None:
        informer = self.watches.informer(resource, namespace)
        informer.synced.set()
        informer.status = None


def recording(*kinds: InstalledKind) -> BundleDeployment:
    return deployment(status=BundleDeploymentStatus(kinds=kinds))


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    watches = fake_watches(monkeypatch, by_namespace=NARROW)
    clock = controlled_clock(monkeypatch)
    counting_from_now(monkeypatch)
    cluster = FakeCluster(resources=[CONFIG_MAPS, SECRETS], namespaces={"a", "b"})
    yield Bench(watches=watches, clock=clock, kinds=cluster.as_kinds(watches.inventory), state=DeploymentState())
    await watches.inventory.close()


async def test_denied_namespace_holds_back_its_own_secrets_and_nothing_else(bench: Bench) -> None:
    await bench.kinds.watch_owned(recording(maps(), secrets("a", "b")))
    bench.lists("", CONFIG_MAPS)
    bench.lists("a")
    bench.denies("b")
    hidden = await bench.hidden(maps(), secrets("a", "b"))
    assert hidden.unlisted == {Watched(SECRET, "b")}
    assert key("x", gvk=SECRETS.gvk, namespace="b") in hidden
    assert key("x", gvk=SECRETS.gvk, namespace="a") not in hidden
    assert key("x", namespace="b") not in hidden
    fact = hidden.fact(Cause.KINDS_HIDDEN)
    assert fact.cause is Cause.KINDS_HIDDEN_DENIED
    assert fact.text == (
        "a right is missing: watch: secrets forbidden in b; bind a Role of the namespace b with the rule "
        '{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]} to the operator\'s service account && '
        "objects of the kinds Secret in namespace b are left as they are until then"
    )


async def test_denied_kind_of_all_namespaces_names_the_label_of_a_cluster_role(bench: Bench) -> None:
    await bench.kinds.watch_owned(recording(maps(), secrets("a")))
    bench.lists("a")
    bench.denies("", CONFIG_MAPS)
    text = (await bench.hidden(maps(), secrets("a"))).fact(Cause.KINDS_HELD_BACK).text
    assert 'create a ClusterRole with the label rbac.core.rukpak.io/aggregate-to-watch: "true"' in text
    assert 'apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]' in text
    assert "Secret" not in text


async def test_right_that_is_lost_hides_what_was_listed_until_it_is_back(bench: Bench) -> None:
    await bench.kinds.watch_owned(recording(secrets("a")))
    bench.lists("a")
    assert await bench.kinds.hidden_of_owned(recording(secrets("a")), bench.state) == HiddenKinds()
    bench.denies("a")
    assert (await bench.hidden(secrets("a"))).unlisted == {Watched(SECRET, "a")}
    bench.lists("a")
    assert await bench.kinds.hidden_of_owned(recording(secrets("a")), bench.state) == HiddenKinds()


async def test_namespace_that_does_not_exist_is_not_watched_and_hides_nothing(bench: Bench) -> None:
    assert await bench.kinds.watch_owned(recording(secrets("gone"))) == HiddenKinds()
    assert bench.watches.inventory.informers() == {}


async def test_denied_secrets_are_explained_where_a_deletion_waits_for_them(bench: Bench) -> None:
    await bench.kinds.watch_owned(recording(secrets("a")))
    bench.denies("a")
    fact = (await bench.kinds.watch_owned(recording(secrets("a")))).fact(Cause.DELETING)
    assert fact.cause is Cause.DELETING
    assert "bind a Role of the namespace a" in fact.text


async def test_secrets_of_the_content_are_watched_where_the_content_has_them(bench: Bench) -> None:
    content = [desired(manifest("v1", "Secret", name, name)) for name in ("a", "gone")]
    content.append(desired(config_map("c", "b")))
    gvks = {one.gvk: one for one in (SECRETS, CONFIG_MAPS)}
    resolution = Resolution(states=dict.fromkeys(gvks, KindState.SERVED), resources=gvks)
    waits = bench.kinds.hidden_of_content(bench.state, resolution, content, HiddenKinds())
    assert isinstance(waits, Progress)
    assert set(bench.watches.inventory.informers()) == {Watched(CONFIG_MAP), Watched(SECRET, "a")}
