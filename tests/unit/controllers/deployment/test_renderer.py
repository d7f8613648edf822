"""Renderings of stored content: made once, kept within a budget, against the kinds as they are now."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.deployment_spec import Override, Patch, PatchTarget, Prune
from rukpak_py.api.names import DELETION_POLICY_ANNOTATION, HELM_CLASS, PLAIN_CLASS
from rukpak_py.apply.kinds import KindState
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.deployment import rendering_cache
from rukpak_py.controllers.deployment import state_parts as failures_module
from rukpak_py.controllers.deployment.kept_renderings import KeptRenderings
from rukpak_py.controllers.deployment.rendering import MadeContent, NotRendered, Rendered, Renderer
from rukpak_py.controllers.deployment.state import DeploymentStates
from rukpak_py.controllers.deployment.state_parts import RenderingFailures
from rukpak_py.controllers.jobs import Jobs
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import RenderedContent, RenderOptions
from rukpak_py.kube.resources import CONFIG_MAPS
from tests.manifests import config_map
from tests.unit.apply.lives import namespace
from tests.unit.controllers.deployment.parts import (
    BASKET,
    BASKETS,
    FakeCluster,
    attempt,
    basket,
    content_key,
    crd,
    crd_facts,
    objects,
    recording,
    releases,
)
from tests.unit.controllers.fakes import FakeContent, FakeDigestKeys, FakeRenderings, tree
from tests.unit.controllers.values import UID, deployment, unpacked
from tests.waiting import until

FILES = tree(f=b"1")


@dataclass
class JobContent(FakeContent):
    """Renders elsewhere, and not before the gate is open."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    error: Exception | None = None

    def renders_in_place(self, _classes: Classes, _tree: Tree) -> bool:
        return False

    async def render(self, classes: Classes, of: Tree, options: RenderOptions) -> RenderedContent:
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return await super().render(classes, of, options)


class Bench:
    def __init__(self, *manifests: dict[str, Any], content: FakeContent | None = None) -> None:
        self.content = content or FakeContent()
        self.content.stored, self.content.objects = {FILES.digest: FILES}, objects(*manifests)
        self.cluster = FakeCluster()
        self.ended: list[str] = []
        kept = KeptRenderings(self.content, FakeRenderings(), FakeDigestKeys(), releases=releases(self.cluster))
        self.jobs, self.states = Jobs[MadeContent](on_end=self.ended.append), DeploymentStates()
        self.renderer = Renderer(self.content, self.cluster.as_kinds(), kept, jobs=self.jobs)
        self.states.attach(self.renderer.ended, self.jobs.drop)

    async def outcome(self, uid: str = UID, **of: Any) -> Rendered | NotRendered:
        one = attempt(bundle=unpacked(digest=FILES.digest), state=self.states.of(uid), uid=uid, **of)
        return await self.renderer.rendered(one)

    async def rendered(self, **of: Any) -> Rendered:
        found = await self.outcome(**of)
        assert isinstance(found, Rendered)
        return found


def names(rendered: Rendered) -> list[str]:
    return [one.key.name for one in rendered.desired]


# Kept


async def test_a_rendering_is_kept() -> None:
    bench = Bench(config_map("a"), config_map("b"))
    rendered = await bench.rendered()
    assert names(rendered) == ["a", "b"]
    assert await bench.rendered() is rendered
    assert (bench.content.renders, bench.cluster.refreshes) == (1, 0)


async def test_facts_of_content_are_known_again_when_its_rendering_is_used_again() -> None:
    bench, one = Bench(config_map("a")), attempt(bundle=unpacked(digest=FILES.digest))
    await bench.renderer.rendered(one)
    facts = one.facts
    assert facts is not None
    one.state.facts.clear()
    await bench.renderer.rendered(one)
    assert one.facts is facts


async def test_content_that_is_not_recorded_as_that_of_the_bundle_is_neither_rendered_nor_taken_from_memory() -> None:
    """The digest of stored content, or of what was installed before, was written into the status of the Bundle."""
    bench = Bench(config_map("a"))
    await bench.rendered()
    bench.content.foreign.add(FILES.digest)
    assert await bench.outcome() is NotRendered.CONTENT_MISSING
    assert await bench.outcome(uid="v") is NotRendered.CONTENT_MISSING
    assert bench.content.renders == 1
    bench.content.foreign.clear()
    await bench.rendered()
    assert bench.content.renders == 1


def patch(change: str, **target: Any) -> Patch:
    return Patch(target=PatchTarget(kind="ConfigMap", **target), patch=change)


async def test_objects_are_patched_before_anything_else_is_made_of_them() -> None:
    bench = Bench(config_map("a"), config_map("b"))
    plain = await bench.rendered()
    there, missing = patch("data: {new: value}", name="a", namespace="ns"), patch("data: {}", name="q")
    one = attempt(bundle=unpacked(digest=FILES.digest), patches=(there, missing))
    patched = await bench.renderer.rendered(one)
    assert isinstance(patched, Rendered)
    assert orjson.loads(patched.desired[0].payload.body)["data"] == {"new": "value"}
    assert patched.desired[0].payload.digest != plain.desired[0].payload.digest
    assert patched.desired[1] == plain.desired[1]
    assert one.facts is not None
    assert one.facts.unmatched_patches == (1,)


async def test_patch_that_does_not_fit_is_not_tried_again_for_the_same_options() -> None:
    bench = Bench(config_map("a"))
    for _ in range(2):
        with pytest.raises(ContentError, match="it may not change kind"):
            await bench.rendered(patches=(patch("kind: Secret"),))
    assert bench.content.renders == 1
    await bench.rendered(patches=(patch("data: {}"),))


async def test_every_deployment_has_its_own() -> None:
    bench = Bench(config_map("a"))
    one, other = await bench.rendered(uid="u"), await bench.rendered(uid="v")
    assert one.desired[0].payload.digest != other.desired[0].payload.digest


@pytest.mark.parametrize(
    "change",
    [
        {"overrides": (Override(kind="ConfigMap", name="a", prune=False),)},
        {"config": {"x": 1}},
        {"prune": Prune(enabled=False)},
        {"makes_namespace": True},
    ],
    ids=str,
)
async def test_other_options_are_another_rendering(change: dict[str, Any]) -> None:
    bench = Bench(config_map("a"))
    first = await bench.rendered()
    assert await bench.rendered(**change) is not first
    assert await bench.rendered() is first
    assert bench.content.renders == 2


async def test_a_forgotten_deployment_is_rendered_again() -> None:
    bench = Bench(config_map("a"))
    await bench.rendered(uid="u")
    await bench.rendered(uid="v")
    bench.states.end("u")
    await bench.rendered(uid="v")
    assert bench.content.renders == 2
    await bench.rendered(uid="u")
    assert bench.content.renders == 3


async def test_a_rendering_of_a_deployment_that_went_meanwhile_takes_no_room() -> None:
    bench = Bench(config_map("a"))
    one = attempt(bundle=unpacked(digest=FILES.digest))
    one.state.has_ended = True
    assert isinstance(await bench.renderer.rendered(one), Rendered)
    assert not list(bench.renderer._kept)


async def test_beyond_the_budget_what_was_not_used_longest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(config_map("a"))
    size = (await bench.rendered(uid="a")).size
    monkeypatch.setattr(rendering_cache, "BUDGET_BYTES", 2 * size)
    await bench.rendered(uid="b")
    await bench.rendered(uid="a")
    await bench.rendered(uid="c")  # b goes
    assert bench.content.renders == 3
    await bench.rendered(uid="a")
    await bench.rendered(uid="c")
    assert bench.content.renders == 3
    await bench.rendered(uid="b")
    assert bench.content.renders == 4


async def test_of_a_deployment_the_renderings_that_were_used_last_are_kept() -> None:
    """Each upgrade and each change of values makes another, and nothing asks for the former ones."""
    bench = Bench(config_map("a"))
    other = await bench.rendered(uid="other", prune=Prune(enabled=False))
    made = [await bench.rendered(config={"x": number}) for number in range(10)]
    kept = [one for one in bench.renderer._kept if one is not other]
    assert kept == made[-rendering_cache.KEPT_OF_A_DEPLOYMENT :]
    assert bench.renderer._kept.size == sum(one.size for one in (other, *kept))
    assert await bench.rendered(uid="other", prune=Prune(enabled=False)) is other


async def test_once_the_wanted_content_is_installed_its_rendering_alone_is_kept() -> None:
    bench = Bench(config_map("a"))
    other = await bench.rendered(uid="other")
    former, wanted = [await bench.rendered(config={"x": number}) for number in range(2)]
    one = attempt(bundle=unpacked(digest=FILES.digest), state=bench.states.of(UID), is_wanted=True, config={"x": 1})
    assert await bench.renderer.rendered(one) is wanted  # not installed yet
    assert list(bench.renderer._kept) == [other, former, wanted]
    one.state.content = one.content
    assert await bench.renderer.rendered(one) is wanted
    assert list(bench.renderer._kept) == [other, wanted]
    assert bench.renderer._kept.size == other.size + wanted.size


async def test_a_rendering_larger_than_the_budget_is_still_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering_cache, "BUDGET_BYTES", 1)
    bench = Bench(config_map("a"))
    await bench.rendered()
    await bench.rendered()
    assert bench.content.renders == 1


async def test_the_budget_counts_what_is_kept_for_missing_kinds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = await Bench(config_map("a")).rendered()
    waiting = await Bench(config_map("a"), basket()).rendered()
    assert waiting.size > complete.size
    bench = Bench(config_map("a"), basket())
    monkeypatch.setattr(rendering_cache, "BUDGET_BYTES", 2 * waiting.size)
    for _ in range(5):  # the same content against changing kinds is not counted again and again
        bench.cluster.hides(CONFIG_MAPS)
        await bench.rendered(uid="u")
        bench.cluster.resources.append(CONFIG_MAPS)
        await bench.rendered(uid="u")
    await bench.rendered(uid="v")
    await bench.rendered(uid="u")
    assert bench.content.renders == 2


# Content that is not there, or wrong


async def test_content_that_is_not_stored_is_asked_for_elsewhere() -> None:
    bench = Bench(config_map("a"))
    bench.content.stored.clear()
    assert await bench.outcome() is NotRendered.CONTENT_MISSING


async def test_content_that_is_wrong_stays_wrong_and_is_not_rendered_again() -> None:
    bench = Bench(config_map("a", x="1"), config_map("a", x="2"))
    for _ in range(3):
        with pytest.raises(ContentError, match="two different objects with the same name: ConfigMap ns/a"):
            await bench.rendered()
    assert bench.content.renders == 1
    bench.states = DeploymentStates()
    with pytest.raises(ContentError):
        await bench.rendered()
    assert bench.content.renders == 2


async def test_an_error_that_is_kept_does_not_grow_with_every_look() -> None:
    """Its traceback would hold the frames of all who asked."""
    bench = Bench(config_map("a", x="1"), config_map("a", x="2"))

    async def depth() -> int:
        with pytest.raises(ContentError) as caught:
            await bench.rendered()
        return len(caught.traceback)

    await depth()
    assert await depth() == await depth()


def test_errors_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures_module, "REMEMBERED_ERRORS", 2)
    failures, error = RenderingFailures(), ContentError("no")
    for digest in "abac":
        failures.add_error(content_key(digest), error, None)
    assert [failures.error_of(content_key(digest), None) for digest in "abc"] == [error, None, error]


async def test_the_same_object_twice_is_one() -> None:
    explicit = config_map("a", x="1")
    explicit["metadata"]["namespace"] = "ns"
    assert len((await Bench(config_map("a", x="1"), explicit).rendered()).desired) == 1


# The namespace that is made


async def test_the_namespace_that_is_made_comes_first_and_outlives() -> None:
    first, second = (await Bench(config_map("a")).rendered(makes_namespace=True)).desired
    assert (first.key.kind, first.key.name, second.key.name) == ("Namespace", "ns", "a")
    assert b"ownerReferences" not in first.payload.body
    assert b"ownerReferences" in second.payload.body


async def test_the_namespace_that_is_made_is_as_content_ships_it() -> None:
    shipped = namespace("ns")
    shipped["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "restricted"}
    bench = Bench(config_map("a"), shipped, namespace("another"))
    by_name = {(one.key.kind, one.key.name): one for one in (await bench.rendered(makes_namespace=True)).desired}
    assert len(by_name) == 3
    assert b"restricted" in by_name["Namespace", "ns"].payload.body
    assert b"ownerReferences" not in by_name["Namespace", "ns"].payload.body
    assert DELETION_POLICY_ANNOTATION.encode() in by_name["Namespace", "another"].payload.body


# Kinds that come, go and are missing


async def test_missing_kinds_are_kept_like_any_other_and_not_rendered_again() -> None:
    bench = Bench(basket("x"), basket("y"), config_map("a"))
    rendered = await bench.rendered()
    assert [head.name for head in rendered.resolution.missing] == ["x", "y"]
    assert names(rendered) == ["a"]
    assert await bench.rendered() is rendered, "woken for nothing"
    assert bench.content.renders == 1


async def test_a_kind_that_comes_is_found_without_rendering_again() -> None:
    bench = Bench(basket("x"), config_map("a"))
    await bench.rendered()
    bench.cluster.coming = [BASKETS]
    complete = await bench.rendered()
    assert names(complete) == ["x", "a"]
    assert complete.content.objects == (), "nothing is found anew from now on"
    assert await bench.rendered() is complete
    assert bench.content.renders == 1


async def test_a_kind_that_the_content_brings_is_new_until_it_is_served() -> None:
    bench = Bench(crd(), basket())
    assert (await bench.rendered()).resolution.states[BASKET] is KindState.NEW
    bench.cluster.crds = crd_facts(BASKETS)
    assert (await bench.rendered()).resolution.states[BASKET] is KindState.UNSERVED
    bench.cluster.resources.append(BASKETS)
    assert (await bench.rendered()).resolution.states[BASKET] is KindState.SERVED
    assert bench.content.renders == 1


async def test_a_kind_that_discovery_does_not_show_for_a_moment_is_unserved_for_that_moment() -> None:
    bench = Bench(basket(), config_map("a"))
    bench.cluster.resources.append(BASKETS)
    bench.cluster.crds = crd_facts(BASKETS)
    of = recording(BASKET)
    before = await bench.rendered(of=of)
    bench.cluster.hides(BASKETS)
    meanwhile = await bench.rendered(of=of)
    assert meanwhile.resolution.states[BASKET] is KindState.UNSERVED
    assert meanwhile.resolution.missing == ()
    assert names(meanwhile) == names(before)
    bench.cluster.resources.append(BASKETS)
    assert await bench.rendered(of=of) is before


async def test_a_kind_whose_crd_went_is_gone_and_missing() -> None:
    bench = Bench(basket(), config_map("a"))
    bench.cluster.resources.append(BASKETS)
    await bench.rendered(of=recording(BASKET))
    bench.cluster.hides(BASKETS)
    gone = await bench.rendered(of=recording(BASKET))
    assert gone.resolution.states[BASKET] is KindState.GONE
    assert [head.name for head in gone.resolution.missing] == ["x"]
    assert bench.content.renders == 1


# As a job


def of_number(number: int, provisioner: str = PLAIN_CLASS) -> BundleDeployment:
    return deployment(provisioner=provisioner, config={"number": str(number)})


async def ended(bench: Bench, content: JobContent) -> None:
    content.gate.set()
    await until(lambda: bench.ended)


async def test_a_rendering_elsewhere_is_a_job_whose_end_brings_the_key_back() -> None:
    content = JobContent()
    bench = Bench(config_map("a"), content=content)
    assert await bench.outcome() is NotRendered.RUNNING
    assert await bench.outcome() is NotRendered.RUNNING
    assert bench.ended == []
    await ended(bench, content)
    assert bench.ended == ["shop"]
    assert names(await bench.rendered()) == ["a"]
    assert await bench.rendered() is await bench.rendered()
    assert content.renders == 1
    await bench.jobs.close()


@pytest.mark.parametrize(
    ("error", "renders_again"), [(ContentError("wrong"), False), (UnavailableError("the worker died"), True)]
)
async def test_only_an_error_of_the_content_is_final(error: Exception, *, renders_again: bool) -> None:
    content = JobContent(error=error)
    bench = Bench(config_map("a"), content=content)
    assert await bench.outcome() is NotRendered.RUNNING
    await ended(bench, content)
    with pytest.raises(type(error)):
        await bench.outcome()
    if renders_again:
        assert await bench.outcome() is NotRendered.RUNNING
    else:
        with pytest.raises(ContentError):
            await bench.outcome()
    await bench.jobs.close()


@pytest.mark.parametrize("provisioner", [PLAIN_CLASS, HELM_CLASS])
async def test_of_what_is_wanted_only_the_latest_is_rendered(provisioner: str) -> None:
    """A chart whose values change faster than it is rendered; what is installed is rendered beside it."""
    content = JobContent()
    bench = Bench(config_map("a"), content=content)
    installed = attempt(bundle=unpacked(digest=FILES.digest), provisioner=provisioner)
    assert await bench.renderer.rendered(installed) is NotRendered.RUNNING
    for number in range(30):
        wanted = attempt(of=of_number(number, provisioner), bundle=installed.bundle, is_wanted=True)
        assert await bench.renderer.rendered(wanted) is NotRendered.RUNNING
        bench.renderer.drop_superseded(wanted.deployment.metadata.uid, wanted.content)
        assert len(bench.jobs) == 2
    content.gate.set()
    await until(lambda: not any(bench.jobs.is_running(one.content.job) for one in (installed, wanted)))
    assert content.renders == 2
    assert isinstance(await bench.renderer.rendered(wanted), Rendered)
    assert isinstance(await bench.renderer.rendered(installed), Rendered)
    assert not bench.jobs
    await bench.jobs.close()


async def test_a_rendering_that_is_not_wanted_any_more_is_ended_though_no_other_is_needed() -> None:
    content = JobContent()
    bench = Bench(config_map("a"), content=content)
    content.gate.set()
    first, second = (attempt(of=of_number(one), bundle=unpacked(digest=FILES.digest), is_wanted=True) for one in (1, 2))
    await bench.renderer.rendered(first)
    await until(lambda: bench.ended)
    assert isinstance(await bench.renderer.rendered(first), Rendered)
    content.gate.clear()
    assert await bench.renderer.rendered(second) is NotRendered.RUNNING
    assert isinstance(await bench.renderer.rendered(first), Rendered), "somebody has put the old values back"
    bench.renderer.drop_superseded(first.deployment.metadata.uid, first.content)
    assert not bench.jobs


async def test_a_job_ends_with_its_deployment() -> None:
    bench = Bench(config_map("a"), content=JobContent())
    assert await bench.outcome() is NotRendered.RUNNING
    bench.states.end(UID)
    assert not bench.jobs


async def test_nothing_is_started_for_a_deployment_that_went_while_its_content_was_read() -> None:
    bench = Bench(config_map("a"), content=JobContent())
    one = attempt(bundle=unpacked(digest=FILES.digest))
    one.state.has_ended = True
    assert await bench.renderer.rendered(one) is NotRendered.RUNNING
    assert not bench.jobs.is_running(one.content.job)
