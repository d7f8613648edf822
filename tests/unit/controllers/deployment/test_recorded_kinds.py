"""Records before the first write of a rendering: the kinds in the status, and the finalizer where it is needed."""

from types import SimpleNamespace
from typing import Any

import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, InstalledKind
from rukpak_py.api.names import BUNDLE_DEPLOYMENT_KIND, ORDERED_DELETION_FINALIZER
from rukpak_py.api.reading import read_bundle_deployment, to_json
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.kinds import Kinds, needs_order
from rukpak_py.controllers.deployment.status_writer import DeploymentStatusWriter
from rukpak_py.core.objects import Object
from rukpak_py.formats.hook import Hook, HookEvent
from rukpak_py.kube.errors import NotFoundError, StaleError
from rukpak_py.kube.resources import SECRETS
from tests.manifests import config_map, manifest
from tests.unit.apply.lives import desired, namespace
from tests.unit.controllers.deployment.parts import identities
from tests.unit.controllers.fakes import Clock, FakeClient
from tests.unit.controllers.values import conditions, deployment

SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}}
BASKET = {"apiVersion": "shop.example.org/v1", "kind": "Basket", "metadata": {"name": "x"}}
WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "baskets.shop.example.org"},
    "spec": {"group": "shop.example.org", "names": {"kind": "Basket"}},
}


class Bench:
    def __init__(self) -> None:
        self.client = FakeClient()
        self.deployments = Cache[BundleDeployment](clock=Clock())
        client = self.client.as_client()
        writer = DeploymentStatusWriter(client=client, deployments=self.deployments)
        unasked: Any = None
        inventory: Any = SimpleNamespace(by_namespace=frozenset())
        self.inventory = inventory
        self._kinds = Kinds(
            client, unasked, inventory, deployments=self.deployments, writer=writer, identities=identities(client)
        )

    def put(self, **metadata: Any) -> BundleDeployment:
        stored = read_bundle_deployment(self.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(**metadata))))
        self.deployments.put(stored)
        return stored

    async def record(self, *manifests: dict[str, Any], hooks: tuple[Hook, ...] = ()) -> None:
        one = self.deployments.get("shop")
        assert one is not None
        await self._kinds.record(one, tuple(desired(manifest) for manifest in manifests), hooks)

    @property
    def stored(self) -> BundleDeployment:
        return read_bundle_deployment(self.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"])

    @property
    def kinds(self) -> list[str]:
        return [kind.kind for kind in self.stored.status.kinds]


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_kinds_are_recorded_before_they_are_used_and_only_when_they_are_new(bench: Bench) -> None:
    bench.put()
    await bench.record(config_map())
    assert bench.kinds == ["ConfigMap"]
    assert conditions(bench.stored.status)["Ready"][:2] == ("Unknown", "Progressing")
    await bench.record(config_map("b"))
    assert bench.client.calls == ["status BundleDeployment shop"]


async def test_kinds_of_the_old_content_stay_beside_those_of_the_new(bench: Bench) -> None:
    """Objects of the old content are still there, and are found by them."""
    bench.put()
    await bench.record(config_map())
    await bench.record(SERVICE)
    assert bench.kinds == ["ConfigMap", "Service"]


async def test_the_finalizer_comes_before_the_first_object_that_needs_order(bench: Bench) -> None:
    bench.put(finalizers=("x/y",))
    await bench.record(BASKET)
    assert bench.client.calls == ["patch BundleDeployment shop", "status BundleDeployment shop"]
    assert bench.stored.metadata.finalizers == ("x/y", ORDERED_DELETION_FINALIZER)
    await bench.record(BASKET)
    assert len(bench.client.calls) == 2


def hook(event: HookEvent) -> Hook:
    return Hook(object=Object.from_manifest(config_map()), events=frozenset({event}))


async def test_hooks_of_the_deletion_need_the_finalizer_and_are_recorded(bench: Bench) -> None:
    """Also of content that has nothing else."""
    bench.put()
    await bench.record(hooks=(hook(HookEvent.POST_INSTALL),))
    assert bench.client.calls == []
    await bench.record(hooks=(hook(HookEvent.POST_DELETE),))
    assert bench.client.calls == ["patch BundleDeployment shop", "status BundleDeployment shop"]
    assert bench.stored.status.delete_hooks
    await bench.record(hooks=(hook(HookEvent.PRE_DELETE),))
    await bench.record(config_map())
    assert bench.client.calls[2:] == ["status BundleDeployment shop"]
    assert bench.stored.status.delete_hooks, "the old content is still there"


@pytest.mark.parametrize("manifest", [config_map(), BASKET], ids=["kinds", "finalizer"])
@pytest.mark.parametrize(("uid", "error"), [("", NotFoundError), ("another", StaleError)])
async def test_without_its_record_nothing_may_be_written(
    bench: Bench, uid: str, error: type[Exception], manifest: dict[str, Any]
) -> None:
    bench.put()
    del bench.client.objects[BUNDLE_DEPLOYMENT_KIND, "shop"]
    if uid:
        bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(deployment(uid=uid)))
    with pytest.raises(error):
        await bench.record(manifest)
    if uid:
        assert bench.stored.status == BundleDeploymentStatus()
        assert bench.stored.metadata.finalizers == ()


@pytest.mark.parametrize(
    ("manifests", "needed"),
    [
        ([], False),
        ([config_map(), WORKLOAD], False),
        ([namespace()], True),
        ([CRD], True),
        ([CRD, config_map()], True),
        ([CRD, WORKLOAD], True),
        ([BASKET], True),
        ([config_map(), BASKET], True),
    ],
)
def test_when_deletion_needs_order(manifests: list[dict[str, Any]], *, needed: bool) -> None:
    assert needs_order(desired(manifest) for manifest in manifests) is needed


async def test_new_namespace_of_a_kind_that_is_watched_by_namespace_is_recorded_before_its_first_object() -> None:
    bench = Bench()
    bench.inventory.by_namespace = frozenset({SECRETS.group_kind})
    known = InstalledKind(version="v1", kind="Secret", namespaces=("a",))
    bench.put(status=BundleDeploymentStatus(kinds=(known,)))
    await bench.record(manifest("v1", "Secret", "x", "a"))
    assert bench.client.calls == []
    await bench.record(manifest("v1", "Secret", "x", "b"))
    assert [kind.namespaces for kind in bench.stored.status.kinds] == [("a", "b")]
