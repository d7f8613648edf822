"""From stored content to what is wanted: resolved against the server or the content itself, kept within a budget."""

from typing import Any

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.controllers import rendering as module
from rukpak_py.controllers.rendering import Rendering, Request, Wanted
from rukpak_py.controllers.resolution import resolve
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupKind, GroupVersionKind, Object
from rukpak_py.kube.resources import CONFIG_MAPS, CRDS, NAMESPACES, Resource
from tests.unit.apply.lives import config_map, namespace
from tests.unit.controllers.fakes import FakeContent, FakeDiscovery, tree
from tests.unit.controllers.values import deployment, unpacked

FILES = tree(f=b"1")
BASKET = GroupVersionKind("shop.example.org", "v1", "Basket")
BASKETS = Resource(gvk=BASKET, plural="baskets", namespaced=True)


def crd(**spec: Any) -> dict[str, Any]:
    full = {
        "group": BASKET.group,
        "names": {"plural": "baskets", "kind": BASKET.kind},
        "scope": "Namespaced",
        "versions": [{"name": "v1"}],
        **spec,
    }
    return {
        "apiVersion": CRDS.gvk.api_version,
        "kind": CRDS.gvk.kind,
        "metadata": {"name": "baskets.shop.example.org"},
        "spec": full,
    }


def basket(name: str = "x") -> dict[str, Any]:
    return {"apiVersion": BASKET.api_version, "kind": BASKET.kind, "metadata": {"name": name}}


class Bench:
    def __init__(self, *manifests: dict[str, Any], coming: list[Resource] | None = None) -> None:
        self.content = FakeContent(stored={FILES.digest: FILES}, objects=objects(*manifests))
        self.discovery = FakeDiscovery(resources=[CONFIG_MAPS, NAMESPACES, CRDS], coming=coming or [])
        self.rendering = Rendering(self.content, self.discovery.as_discovery())

    async def wanted(self, *, uid: str = "u", make_namespace: bool = False, **rest: Any) -> Wanted:
        found = await self.rendering.wanted(request(uid=uid, make_namespace=make_namespace, **rest))
        assert found is not None
        return found


def objects(*manifests: dict[str, Any]) -> list[Object]:
    return [Object.from_manifest(manifest) for manifest in manifests]


def request(*, uid: str = "u", make_namespace: bool = False, bundle: Bundle | None = None, **spec: Any) -> Request:
    return Request(
        deployment=deployment(uid=uid, **spec),
        bundle=bundle or unpacked(digest=FILES.digest),
        install_namespace="ns",
        make_namespace=make_namespace,
    )


async def test_what_is_wanted_is_kept() -> None:
    bench = Bench(config_map("a"), config_map("b"))
    wanted = await bench.wanted()
    assert [one.key.name for one in wanted.desired] == ["a", "b"]
    assert await bench.wanted() is wanted
    assert bench.content.renders == 1
    assert bench.discovery.refreshes == 0


async def test_every_deployment_has_its_own() -> None:
    bench = Bench(config_map("a"))
    one, other = await bench.wanted(uid="u"), await bench.wanted(uid="v")
    assert one.desired[0].form.digest != other.desired[0].form.digest


async def test_content_that_is_not_stored_is_asked_for_elsewhere() -> None:
    bench = Bench(config_map("a"))
    bench.content.stored.clear()
    assert await bench.rendering.wanted(request()) is None


async def test_a_forgotten_deployment_is_rendered_again() -> None:
    bench = Bench(config_map("a"))
    await bench.wanted(uid="u")
    await bench.wanted(uid="v")
    bench.rendering.forget("u")
    await bench.wanted(uid="v")
    assert bench.content.renders == 2
    await bench.wanted(uid="u")
    assert bench.content.renders == 3


async def test_beyond_the_budget_what_was_not_used_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(config_map("a"))
    size = (await bench.wanted(uid="a")).size
    monkeypatch.setattr(module, "BUDGET", 2 * size)
    await bench.wanted(uid="b")
    await bench.wanted(uid="a")
    await bench.wanted(uid="c")  # b goes
    assert bench.content.renders == 3
    await bench.wanted(uid="a")
    await bench.wanted(uid="c")
    assert bench.content.renders == 3
    await bench.wanted(uid="b")
    assert bench.content.renders == 4


async def test_what_is_larger_than_the_budget_is_still_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUDGET", 1)
    bench = Bench(config_map("a"))
    await bench.wanted()
    await bench.wanted()
    assert bench.content.renders == 1


async def test_the_namespace_that_is_made_comes_first_and_outlives() -> None:
    bench = Bench(config_map("a"))
    first, second = (await bench.wanted(make_namespace=True)).desired
    assert (first.key.kind, first.key.name, second.key.name) == ("Namespace", "ns", "a")
    assert b"ownerReferences" not in first.form.body
    assert b"ownerReferences" in second.form.body


async def test_the_namespace_that_is_made_is_as_content_ships_it() -> None:
    shipped = namespace("ns")
    shipped["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "restricted"}
    bench = Bench(config_map("a"), shipped, namespace("another"))
    by_name = {(one.key.kind, one.key.name): one for one in (await bench.wanted(make_namespace=True)).desired}
    assert len(by_name) == 3
    assert b"restricted" in by_name["Namespace", "ns"].form.body
    assert b"ownerReferences" not in by_name["Namespace", "ns"].form.body
    assert b"ownerReferences" in by_name["Namespace", "another"].form.body


async def test_the_same_object_twice_is_one_and_two_different_ones_are_wrong() -> None:
    explicit = config_map("a", x="1")
    explicit["metadata"]["namespace"] = "ns"
    assert len((await Bench(config_map("a", x="1"), explicit).wanted()).desired) == 1
    with pytest.raises(ContentError, match="two different objects of the same name: ConfigMap ns/a"):
        await Bench(config_map("a", x="1"), config_map("a", x="2")).wanted()


async def test_a_kind_that_nobody_knows_is_missing_and_looked_up_again() -> None:
    bench = Bench(basket("x"), basket("y"), config_map("a"))
    wanted = await bench.wanted()
    assert [head.name for head in wanted.resolution.missing] == ["x", "y"]
    assert [one.key.name for one in wanted.desired] == ["a"]
    bench.discovery.coming = [BASKETS]
    assert [one.key.name for one in (await bench.wanted()).desired] == ["x", "y", "a"]
    renders = bench.content.renders
    await bench.wanted()
    assert bench.content.renders == renders, "complete, and so kept"


async def test_a_kind_that_the_server_learnt_meanwhile_is_found_at_once() -> None:
    bench = Bench(basket(), coming=[BASKETS])
    assert not (await bench.wanted()).resolution.missing
    assert bench.discovery.refreshes == 1


async def test_a_kind_that_the_content_brings_is_new() -> None:
    wanted = await Bench(crd(), basket()).wanted()
    assert wanted.resolution.new_kinds == {GroupKind("shop.example.org", "Basket")}
    assert wanted.resolution.missing == ()
    assert wanted.resolution.resources[BASKET] == BASKETS
    assert next(one for one in wanted.desired if one.key.kind == "Basket").key.namespace == "ns"


async def test_a_cluster_scoped_kind_that_the_content_brings_has_no_namespace() -> None:
    wanted = await Bench(crd(scope="Cluster"), basket()).wanted()
    assert next(one for one in wanted.desired if one.key.kind == "Basket").key.namespace == ""


@pytest.mark.parametrize(
    "spec", [{"versions": None}, {"names": []}, {"group": None}, {"versions": [{}]}, {"versions": "v1"}, {"names": {}}]
)
async def test_a_definition_that_is_not_usable_brings_nothing(spec: dict[str, Any]) -> None:
    discovery = FakeDiscovery(resources=[CRDS])
    found = await resolve(objects(crd(**spec), basket()), discovery.as_discovery())
    assert [head.name for head in found.missing] == ["x"]


async def test_what_the_server_serves_counts_more_than_what_the_content_says() -> None:
    served = Resource(gvk=BASKET, plural="baskets", namespaced=False)
    discovery = FakeDiscovery(resources=[CRDS, served])
    found = await resolve(objects(crd(), basket()), discovery.as_discovery())
    assert found.resources[BASKET] == served
    assert not found.new_kinds


async def test_a_version_that_is_not_served_is_missing() -> None:
    discovery = FakeDiscovery(resources=[CRDS, BASKETS])
    old = {**basket(), "apiVersion": "shop.example.org/v1alpha1"}
    found = await resolve(objects(old), discovery.as_discovery())
    assert len(found.missing) == 1
