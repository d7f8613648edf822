"""Renderings that may come out differently: made once, used again, and compared with what was installed."""

import dataclasses
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import (
    HISTORY,
    BundleDeployment,
    BundleDeploymentStatus,
    Installation,
    RecordedValues,
)
from rukpak_py.api.install_options import InstallOptions, options_of, recorded
from rukpak_py.api.names import HELM_CLASS
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import HttpSource
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment import state_parts
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings, key_of, keys_in_use
from rukpak_py.controllers.deployment.rendering import MadeContent, NotRendered, Rendered, Renderer
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.keyed_digests import DigestKey, key_id
from rukpak_py.core.objects import Object
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import ChartRenderer, ContentDescription, RenderedContent, Rendering, RenderOptions
from rukpak_py.formats.helm.cluster_view import Lookup
from rukpak_py.formats.helm.request import ValuesDocument
from rukpak_py.formats.stored_rendering import lines_of, read_lines, rendering
from rukpak_py.sources.image.descriptors import CHART
from tests.manifests import config_map
from tests.unit.controllers.deployment.parts import BASKETS, VIEW, FakeCluster, attempt, releases
from tests.unit.controllers.fakes import NOW, Clock, FakeContent, FakeDigestKeys, FakeRenderings, tree
from tests.unit.controllers.values import OTHER_DIGEST, deployment, spec, unpacked
from tests.waiting import until

FILES = tree(f=b"1")
KEY, NEW_KEY = DigestKey(b"o" * 32), DigestKey(b"n" * 32)
LARGE = {"values": "x" * 70_000}  # recorded as a digest


@dataclass
class Charts(FakeContent):
    """Each rendering has another object; `error` is raised instead."""

    options: list[RenderOptions] = field(default_factory=list)
    error: RukPakError | None = None
    secret: bool = False  # among what is rendered

    async def render(self, _classes: Classes, _tree: Tree, options: RenderOptions) -> RenderedContent:
        self.renders += 1
        self.options.append(options)
        if self.error is not None:
            raise self.error
        return made(self.renders, secret=self.secret)


def made(number: int, *, secret: bool = False) -> RenderedContent:
    one = Object.from_manifest(config_map(f"made-{number}"))
    more = [Object.from_manifest({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})] if secret else []
    return rendering([one, *more], frozenset({one.head.key}))


class Bench:
    def __init__(self, renderings: FakeRenderings | None = None, *, key: DigestKey | None = None) -> None:
        self.content = Charts(stored={FILES.digest: FILES})
        self.cluster = FakeCluster()
        self.renderings = renderings or FakeRenderings()
        self.ended: list[str] = []
        self.keys = FakeDigestKeys(key or KEY)
        kinds = self.cluster.as_kinds()
        jobs = Jobs[MadeContent](on_end=self.ended.append)
        self.kept = KeptRenderings(self.content, self.renderings, self.keys, releases=releases(self.cluster))
        self.renderer = Renderer(self.content, kinds, self.kept, jobs=jobs)

    async def rendered(self, one: Attempt) -> Rendered | NotRendered:
        """Rendering after the reconciles that the ends of jobs bring."""
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


def entry(
    digest: str = FILES.digest, *, of: RenderedContent | None = None, rendered_as: str = "", **options: Any
) -> Installation:
    given = recorded(InstallOptions(provisioner_class_name=HELM_CLASS, **options))
    rendered_as = of.digest if of is not None else rendered_as
    return Installation(bundle="b", digest=digest, time=NOW, options=given, rendering_digest=rendered_as)


def values(digest: str = "1") -> tuple[RecordedValues, ...]:
    return (RecordedValues(kind="Secret", name="s", key="k", digest=digest),)


def chart_with_values(*history: Installation, digest: str = "1", is_there: bool = True) -> Attempt:
    """`is_there`: what the values are is known beside their digest."""
    one = chart(*history)
    documents = (ValuesDocument(document=b"a: 1", is_secret=True),) if is_there else ()
    options = replace(one.options, values_from=values(digest))
    return dataclasses.replace(one, options=options, values=documents)


async def test_a_chart_is_rendered_once_also_after_a_restart() -> None:
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
    assert (options.release.cluster, options.release.kube_version, options.release.api_versions) == (VIEW, None, ())


async def test_a_chart_that_a_former_release_installed_is_rendered_again_without_the_cluster() -> None:
    """Else it might differ, and count as lost: it sees the cluster from its next upgrade on."""
    bench = Bench()
    of = chart(entry(rendered_as=made(1).digest))
    await bench.rendered(of)
    (options,) = bench.content.options
    assert options.release is not None
    assert options.release.cluster is None
    assert not options.release.has_settings
    assert (options.release.kube_version, options.release.api_versions) == ("v1.35.0", ("v1", "v1/ConfigMap"))
    edited = chart(entry(rendered_as=made(1).digest), config={"values": "a: 1"})
    await bench.rendered(edited)
    release = bench.content.options[-1].release
    assert release is not None
    assert (release.cluster, release.is_upgrade, release.has_settings) == (VIEW, True, True)


async def test_how_it_was_rendered_is_kept_beside_it() -> None:
    bench = Bench()
    one = chart()
    await bench.rendered(one)
    assert one.facts is not None
    assert one.facts.made == Rendering(renderer=ChartRenderer.CLUSTER, is_upgrade=False)
    assert read_lines(b"".join(lines_of(described(one.facts.made)))).made == one.facts.made


def test_lookups_are_kept_beside_it_and_are_no_part_of_the_digest() -> None:
    asked = frozenset({Lookup("", "v1", "secrets", "shop", "login"), Lookup("apps", "v1", "deployments", "", "")})
    made = rendering([], frozenset(), description=ContentDescription(name="web"), lookups=asked)
    assert read_lines(b"".join(lines_of(made))).lookups == asked
    assert made.digest == rendering([], frozenset()).digest
    without = rendering([], frozenset(), description=ContentDescription(name="web"))
    assert b"lookups" not in b"".join(lines_of(without)), "as former releases write it"


def described(how: Rendering) -> RenderedContent:
    return rendering([], frozenset(), description=ContentDescription(name="web"), made=how)


def of_archive(bundle: Bundle) -> Bundle:
    source = Source(type="http", http=HttpSource(url="https://example.com/web.tgz"))
    return replace(bundle, spec=replace(bundle.spec, source=source))


def of_artifact(bundle: Bundle) -> Bundle:
    return replace(bundle, status=replace(bundle.status, artifact_type=CHART))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (chart(), True),
        (dataclasses.replace(chart(), bundle=of_archive(chart().bundle)), False),
        (dataclasses.replace(chart(), bundle=of_artifact(chart().bundle)), False),
        (chart(entry(of=made(7))), False),  # by a release that knew no .helmignore
        (chart(replace(entry(of=made(7)), renderer="Cluster")), True),
    ],
)
async def test_helmignore_counts_in_directories_and_as_what_is_installed_was_rendered(
    one: Attempt, *, expected: bool
) -> None:
    bench = Bench()
    await bench.rendered(one)
    assert [options.is_directory for options in bench.content.options] == [expected]


async def test_an_object_that_outlives_the_deployment_gets_no_owner_reference() -> None:
    found = await Bench().rendered(chart())
    assert isinstance(found, Rendered)
    assert b"ownerReferences" not in found.desired[0].payload.body


async def test_other_values_are_rendered_anew_and_former_ones_are_remembered() -> None:
    bench = Bench()
    first, second = chart(), chart(config={"values": "a: 1"})
    assert [await bench.names(one) for one in (first, second, first)] == [["made-1"], ["made-2"], ["made-1"]]


async def test_an_option_that_is_not_about_the_rendering_renders_nothing() -> None:
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
    bench, one = Bench(), chart()
    bench.content.error = ContentError("no baskets")
    for _ in range(3):
        with pytest.raises(ContentError):
            await bench.rendered(one)
    assert bench.content.renders == 1
    bench.cluster.resources.append(BASKETS)
    bench.content.error = None
    assert await bench.names(one) == ["made-2"]


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


# Values from Secrets and ConfigMaps


def digest_of(one: Attempt) -> str:
    assert one.facts is not None
    return one.facts.rendering


async def test_values_go_to_the_rendering_and_other_values_are_rendered_anew() -> None:
    bench = Bench()
    first, second = chart_with_values(), chart_with_values(digest="2")
    assert [await bench.names(one) for one in (first, second, first)] == [["made-1"], ["made-2"], ["made-1"]]
    assert [options.values for options in bench.content.options] == [first.values, second.values]


@pytest.mark.parametrize(
    ("one", "secret", "is_keyed"), [(chart(), False, False), (chart(), True, True), (chart_with_values(), False, True)]
)
async def test_the_digest_of_what_is_secret_is_keyed(one: Attempt, *, secret: bool, is_keyed: bool) -> None:
    bench = Bench()
    bench.content.secret = secret
    await bench.rendered(one)
    assert key_id(digest_of(one)) == (KEY.id if is_keyed else "")
    assert bench.keys.asked == int(is_keyed)
    again = Bench(bench.renderings)
    after = dataclasses.replace(one, state=DeploymentState())
    await again.rendered(after)
    assert digest_of(after) == digest_of(one)


async def test_a_rendering_recorded_with_a_plain_digest_is_recognised() -> None:
    bench = Bench()
    bench.content.secret = True
    installed = entry(of=made(1, secret=True))
    for again in (bench, Bench(bench.renderings)):
        assert await again.names(chart(installed)) == ["made-1"]
    assert bench.content.renders == 1


async def test_an_installed_chart_is_kept_while_its_values_are_gone_and_its_rendering_is_stored() -> None:
    bench = Bench()
    await bench.rendered(installed := chart_with_values())
    status = entry(rendered_as=digest_of(installed), values_from=values())
    again = Bench(bench.renderings)
    assert await again.names(chart_with_values(status, is_there=False)) == ["made-1"]
    assert again.content.renders == 0


async def test_a_lost_rendering_waits_for_the_values_that_it_was_made_of() -> None:
    bench = Bench()
    status = entry(rendered_as=KEY.digest(b"rendering", made(1).digest.encode()), values_from=values())
    lost = chart_with_values(status, is_there=False)
    assert [await bench.rendered(lost) for _ in range(2)] == [NotRendered.LOST] * 2
    assert bench.renderer.is_lost(lost)
    assert bench.content.renders == 0
    assert await bench.names(chart_with_values(status)) == ["made-1"]


async def test_without_the_key_what_is_stored_counts_and_what_is_rendered_again_does_not() -> None:
    bench = Bench()
    await bench.rendered(installed := chart_with_values())
    status = entry(rendered_as=digest_of(installed), values_from=values())
    assert await Bench(bench.renderings, key=NEW_KEY).names(chart_with_values(status)) == ["made-1"]
    assert await Bench(key=NEW_KEY).rendered(chart_with_values(status)) is NotRendered.LOST


def test_renderings_with_values_stay_while_they_are_in_use() -> None:
    one = chart_with_values(entry(values_from=values()))
    of = one.deployment
    assert key_of(one) in keys_in_use(of, (), default_namespace="ns")
    wanted = chart_with_values(entry(values_from=values()), digest="2")
    assert key_of(wanted) not in keys_in_use(of, [wanted.bundle], default_namespace="ns")
    assert key_of(wanted) in keys_in_use(of, [wanted.bundle], default_namespace="ns", values=values("2"))


# Which renderings are in use


def test_the_key_is_of_the_deployment_the_content_and_what_is_rendered_with() -> None:
    different = [chart(), replace_name(chart(), "x"), chart(config={"values": "a: 1"}), chart(config=LARGE)]
    different.append(attempt(of=different[0].deployment, bundle=unpacked(digest=OTHER_DIGEST)))
    assert len({key_of(one) for one in different}) == len(different)


@pytest.mark.parametrize("config", [None, {"values": "a: 1"}, LARGE])
def test_renderings_of_installed_and_wanted_content_stay(config: dict[str, Any] | None) -> None:
    one = chart(config=config)
    history = (entry(OTHER_DIGEST), entry(config=config))
    installed = replace(one.deployment, status=BundleDeploymentStatus(history=history))
    edited = replace(installed, spec=replace(installed.spec, config={"values": "edited"}))
    for of in (installed, edited):
        assert key_of(one) in keys_in_use(of, (), default_namespace="ns")
    wanted = attempt(of=edited, bundle=one.bundle)
    assert key_of(wanted) not in keys_in_use(edited, (), default_namespace="ns")
    assert key_of(wanted) in keys_in_use(edited, [one.bundle], default_namespace="ns")


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
async def test_templates_hear_the_same_when_they_are_rendered_again(
    history: tuple[Installation, ...], *, expected: bool
) -> None:
    bench = Bench()
    made = await releases(bench.cluster).rendering_of(chart(*history))
    assert made.is_upgrade is expected


def test_options_of_the_spec_are_those_that_are_recorded() -> None:
    one: BundleDeployment = chart(config={"values": "a: 1"}).deployment
    assert recorded(options_of(one.spec)) == entry(config={"values": "a: 1"}).options


# What is not rendered again at once


@pytest.mark.parametrize(("renderer", "comes_back"), [("Cluster", True), ("", False)])
async def test_a_loss_is_judged_again_where_what_was_looked_up_may_come_back(
    renderer: str, monkeypatch: pytest.MonkeyPatch, *, comes_back: bool
) -> None:
    bench = Bench()
    one = chart(replace(entry(of=made(2)), renderer=renderer))
    assert await bench.rendered(one) is NotRendered.LOST  # the first rendering is another one
    assert await bench.rendered(one) is NotRendered.LOST
    assert bench.content.renders == 1
    clock = Clock(monotonic() + state_parts.LOST_SECONDS)
    monkeypatch.setattr(state_parts, "monotonic", clock)
    assert isinstance(await bench.rendered(one), Rendered) is comes_back


async def test_a_chart_that_lacked_an_answer_is_not_rendered_again_by_the_next_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, one = Bench(), chart()
    bench.content.error = UnavailableError("no answer")
    for _ in range(3):
        with pytest.raises(UnavailableError, match="no answer"):
            await bench.rendered(one)
    assert bench.content.renders == 1
    bench.content.error = None
    clock = Clock(monotonic() + state_parts.PAUSE_SECONDS)
    monkeypatch.setattr(state_parts, "monotonic", clock)
    assert isinstance(await bench.rendered(one), Rendered)
