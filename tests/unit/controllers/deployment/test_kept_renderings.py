"""Renderings that may come out differently: made once, used again, and compared with what was installed."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import HISTORY, BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.names import HELM_CLASS
from rukpak_py.api.options import InstallOptions, options_of, recorded
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import is_upgrade, key_of, keys_in_use
from rukpak_py.controllers.deployment.rendering import NotRendered, Rendered, Renderer
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import Object
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.formats.stored_rendering import rendering
from tests.unit.apply.lives import config_map
from tests.unit.controllers.deployment.parts import BASKETS, FakeCluster, attempt
from tests.unit.controllers.fakes import NOW, FakeContent, FakeRenderings, tree, until
from tests.unit.controllers.values import OTHER_DIGEST, deployment, spec, unpacked

FILES = tree(f=b"1")
LARGE = {"values": "x" * 70_000}  # recorded as a digest


@dataclass
class Charts(FakeContent):
    """Each rendering has another object; `error` is raised instead."""

    options: list[RenderOptions] = field(default_factory=list)
    error: ContentError | None = None

    async def render(self, _classes: Classes, _tree: Tree, options: RenderOptions) -> RenderedContent:
        self.renders += 1
        self.options.append(options)
        if self.error is not None:
            raise self.error
        return made(self.renders)


def made(number: int) -> RenderedContent:
    one = Object.from_manifest(config_map(f"made-{number}"))
    return rendering([one], frozenset({one.head.key}))


class Bench:
    def __init__(self, renderings: FakeRenderings | None = None) -> None:
        self.content = Charts(stored={FILES.digest: FILES})
        self.cluster = FakeCluster()
        self.renderings = renderings or FakeRenderings()
        self.ended: list[str] = []
        self.renderer = Renderer(self.content, self.cluster.as_kinds(), self.renderings, on_end=self.ended.append)

    async def rendered(self, one: Attempt) -> Rendered | NotRendered:
        """As the reconciles that the ends of jobs bring come to it."""
        while (found := await self.renderer.rendered(one)) is NotRendered.RUNNING:
            before = len(self.ended)
            await until(lambda before=before: len(self.ended) > before)  # type: ignore[misc]  # bound now
        return found

    async def names(self, one: Attempt) -> list[str]:
        found = await self.rendered(one)
        assert isinstance(found, Rendered)
        return [each.key.name for each in found.desired]


def chart(*history: Installation, bundle: str = "b", **given: Any) -> Attempt:
    of = deployment(provisioner=HELM_CLASS, status=BundleDeploymentStatus(history=history), **given)
    found = unpacked(bundle, digest=FILES.digest)
    return attempt(of=of, bundle=replace(found, spec=spec(provisioner=HELM_CLASS)))


def entry(digest: str = FILES.digest, *, of: RenderedContent | None = None, **options: Any) -> Installation:
    given = recorded(InstallOptions(provisioner_class_name=HELM_CLASS, **options))
    return Installation(
        bundle="b", digest=digest, time=NOW, options=given, rendering_digest=of.digest if of is not None else ""
    )


async def test_it_is_rendered_once_also_after_a_restart() -> None:
    bench = Bench()
    assert await bench.names(chart()) == ["made-1"]
    assert await bench.names(chart()) == ["made-1"]
    again = Bench(bench.renderings)
    assert await again.names(chart(entry(of=made(1)))) == ["made-1"]
    assert again.content.renders == 0


async def test_templates_see_the_release_and_the_cluster() -> None:
    bench = Bench()
    await bench.rendered(chart(config={"values": "a: 1"}))
    (options,) = bench.content.options
    assert (options.config, options.install_namespace) == ({"values": "a: 1"}, "ns")
    assert options.release is not None
    assert (options.release.name, options.release.is_upgrade) == ("shop", False)
    assert (options.release.kube_version, options.release.api_versions) == ("v1.35.0", ("v1", "v1/ConfigMap"))


async def test_what_lasts_gets_no_owner_reference() -> None:
    found = await Bench().rendered(chart())
    assert isinstance(found, Rendered)
    assert b"ownerReferences" not in found.desired[0].form.body


async def test_other_values_are_rendered_anew_and_former_ones_are_remembered() -> None:
    bench = Bench()
    first, second = chart(), chart(config={"values": "a: 1"})
    assert [await bench.names(one) for one in (first, second, first)] == [["made-1"], ["made-2"], ["made-1"]]


async def test_what_is_not_about_the_rendering_renders_nothing() -> None:
    bench = Bench()
    await bench.rendered(chart())
    assert await bench.names(chart(create_namespace=True, install_namespace="")) == ["made-1"]
    assert bench.content.renders == 1


async def test_a_lost_rendering_that_differs_is_told_and_not_stored() -> None:
    bench = Bench()
    lost = chart(entry(of=made(7)))
    assert [await bench.rendered(lost) for _ in range(3)] == [NotRendered.LOST] * 3
    assert (bench.content.renders, bench.renderings.stored) == (1, {})
    assert bench.renderer.is_lost(lost)


async def test_a_lost_rendering_that_comes_out_the_same_is_kept_again() -> None:
    bench = Bench()
    assert await bench.names(chart(entry(of=made(1)))) == ["made-1"]
    assert len(bench.renderings.stored) == 1


@pytest.mark.parametrize("change", [{"bundle": "another"}, {"config": {"values": "a: 1"}}])
async def test_any_change_of_template_or_values_installs_anew_what_was_lost(change: dict[str, Any]) -> None:
    bench = Bench()
    installed = entry(of=made(7))
    assert await bench.rendered(chart(installed)) is NotRendered.LOST
    assert await bench.names(chart(installed, **change)) == ["made-2"]
    assert await bench.rendered(chart(installed)) is NotRendered.LOST  # back again: it is still what is installed


async def test_a_chart_that_fails_is_asked_again_when_the_cluster_serves_something_else() -> None:
    bench = Bench()
    bench.content.error = ContentError("no baskets")
    for _ in range(3):
        with pytest.raises(ContentError):
            await bench.rendered(chart())
    assert bench.content.renders == 1
    bench.cluster.resources.append(BASKETS)
    bench.content.error = None
    assert await bench.names(chart()) == ["made-2"]


async def test_a_kind_that_comes_while_a_chart_fails_for_want_of_it_is_not_missed() -> None:
    bench = Bench()
    bench.content.error = ContentError("no baskets")
    assert await bench.renderer.rendered(chart()) is NotRendered.RUNNING
    await until(lambda: bench.ended)
    bench.cluster.resources.append(BASKETS)
    with pytest.raises(ContentError):
        await bench.renderer.rendered(chart())
    bench.content.error = None
    assert await bench.names(chart()) == ["made-2"]


async def test_one_chart_is_rendered_at_a_time() -> None:
    bench = Bench()
    gate: list[str] = []

    async def render(_classes: Classes, _tree: Tree, options: RenderOptions) -> RenderedContent:
        assert options.release is not None
        gate.append(options.release.name)
        assert len(gate) == 1
        await until(lambda: True)
        gate.clear()
        return made(1)

    bench.content.render = render  # type: ignore[method-assign]
    charts = [replace_name(chart(), f"shop-{number}") for number in range(3)]
    for one in charts:
        assert await bench.renderer.rendered(one) is NotRendered.RUNNING
    await until(lambda: len(bench.ended) == len(charts))


def replace_name(one: Attempt, name: str) -> Attempt:
    metadata = replace(one.deployment.metadata, name=name, uid=name)
    return attempt(of=replace(one.deployment, metadata=metadata), bundle=one.bundle)


# Which renderings are in use


def test_the_key_is_of_the_deployment_the_content_and_what_is_rendered_with() -> None:
    different = [chart(), replace_name(chart(), "x"), chart(config={"values": "a: 1"}), chart(config=LARGE)]
    different.append(attempt(of=different[0].deployment, bundle=unpacked(digest=OTHER_DIGEST)))
    assert len({key_of(one) for one in different}) == len(different)


@pytest.mark.parametrize("config", [None, {"values": "a: 1"}, LARGE])
def test_what_is_installed_and_what_is_wanted_stay(config: dict[str, Any] | None) -> None:
    one = chart(config=config)
    history = (entry(OTHER_DIGEST), entry(config=config))
    installed = replace(one.deployment, status=BundleDeploymentStatus(history=history))
    edited = replace(installed, spec=replace(installed.spec, config={"values": "edited"}))
    for of in (installed, edited):
        assert key_of(one) in keys_in_use(of, (), system_namespace="ns")
    wanted = attempt(of=edited, bundle=one.bundle)
    assert key_of(wanted) not in keys_in_use(edited, (), system_namespace="ns")
    assert key_of(wanted) in keys_in_use(edited, [one.bundle], system_namespace="ns")


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ((), False),
        ((entry(),), False),  # rendered again: it was the first
        ((entry(OTHER_DIGEST),), True),
        ((entry(), entry(OTHER_DIGEST)), True),
        ((entry(), entry(OTHER_DIGEST), entry()), False),  # a return to the first
        ((entry(config={"values": "a: 1"}),), True),
        ((entry(),) * HISTORY, True),  # what came before is forgotten
    ],
)
def test_templates_hear_the_same_when_they_are_rendered_again(
    history: tuple[Installation, ...], *, expected: bool
) -> None:
    assert is_upgrade(chart(*history)) is expected


def test_options_of_the_spec_are_those_that_are_recorded() -> None:
    one: BundleDeployment = chart(config={"values": "a: 1"}).deployment
    assert recorded(options_of(one.spec)) == entry(config={"values": "a: 1"}).options
