"""After half an upgrade each object is kept as it was applied last, and the condition counts the new ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

import pytest

from rukpak_py.api.bundle_deployment import CompletedObject
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.half_upgrade import HalfUpgrade
from rukpak_py.controllers.deployment.planning import Planned
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.object_details import HalfUpgraded
from rukpak_py.controllers.result.progress import NO_PROGRESS, Fact, Progress, Reached
from rukpak_py.core.objects import ObjectKey
from tests.manifests import config_map
from tests.unit.apply.lives import desired, key
from tests.unit.controllers.deployment.parts import attempt, found, ours
from tests.unit.controllers.values import OTHER_DIGEST, unpacked

if TYPE_CHECKING:
    from rukpak_py.controllers.deployment.applying import Applier
    from rukpak_py.controllers.deployment.gate_stage import Gates
    from rukpak_py.controllers.deployment.planning import Planner
    from rukpak_py.controllers.deployment.rendering_stage import RenderingStage

REFUSED = Progress(facts=(Fact(cause=Cause.REFUSED),))
WAITING = Progress(facts=(Fact(cause=Cause.OBJECTS_PENDING),))


def of(version: str, *names: str) -> dict[ObjectKey, Desired]:
    found = [desired(config_map(name, "ns", v=version)) for name in names]
    return {one.key: one for one in found}


OLD, NEW = of("1", "both", "dropped", "left"), of("2", "both", "added", "left")


@dataclass
class Parts:
    """Objects that the cluster shows, renderings of each content, and how many objects were to be corrected."""

    lives: dict[ObjectKey, ObservedObject] = field(default_factory=dict)
    contents: dict[str, Mapping[ObjectKey, Desired]] = field(default_factory=dict)  # by Bundle
    refusing: bool = False
    planned: list[Desired] = field(default_factory=list)
    corrected: int = 0

    def owned(self, _: Attempt) -> dict[ObjectKey, ObservedObject]:
        return self.lives

    async def rendered(self, one: Attempt) -> Rendered | Progress:
        content = self.contents.get(one.bundle.metadata.name)
        return rendering(content) if content is not None else NO_PROGRESS

    def target_of(self, *_: object) -> None:
        return None

    async def plan_of(self, _attempt: Attempt, _target: object, wanted: Sequence[Desired]) -> Planned:
        self.planned = list(wanted)
        plan = type("Plan", (), {"writes": tuple(wanted)})
        return cast("Planned", type("Planned", (), {"plan": plan}))

    def candidate(self, *_: object) -> None:
        return None

    def looked_at(self, *_: object) -> None:
        return None

    async def refusals(self, *_: object) -> tuple[object, ...]:
        return ("no",) if self.refusing else ()

    async def correct(self, *_: object) -> tuple[Fact, ...]:
        self.corrected += 1
        return (Fact(cause=Cause.DRIFT_CORRECTED),)

    def half_upgrade(self) -> HalfUpgrade:
        return HalfUpgrade(
            planner=cast("Planner", self),
            rendering=cast("RenderingStage", self),
            gates=cast("Gates", self),
            applier=cast("Applier", self),
        )


def rendering(content: Mapping[ObjectKey, Desired]) -> Rendered:
    empty = Rendered.__new__(Rendered)
    for name, value in {"desired": tuple(content.values()), "resolution": None}.items():
        object.__setattr__(empty, name, value)
    return empty


@dataclass
class Half:
    """An upgrade that has written `both` and `added`; `left` is still to come."""

    parts: Parts
    wanted: Attempt
    installed: Attempt

    def drifts(self, name: str) -> None:
        self.parts.lives[key(name)] = replace(self.parts.lives[key(name)], fields="theirs")

    async def corrects(self) -> list[Desired]:
        await self.parts.half_upgrade().correct_drift(self.wanted, self.installed)
        return self.parts.planned

    def told(self, progress: Progress = REFUSED) -> Progress:
        return self.parts.half_upgrade().told(self.wanted, self.installed, rendering(NEW), progress)


@pytest.fixture
def half() -> Half:
    installed = attempt(bundle=unpacked("former", digest=OTHER_DIGEST))
    wanted = attempt(state=installed.state)
    state, written = wanted.state, frozenset({key("both"), key("added")})
    forms = {**OLD, **{one: NEW[one] for one in written}}
    parts = Parts(contents={installed.bundle.metadata.name: OLD, wanted.bundle.metadata.name: NEW})
    for one, form in forms.items():
        (live,) = ours(one.name).values()
        parts.lives[one] = replace(live, applied=form.payload.digest)
    state.applied.trust(parts.lives.values())
    state.applying(wanted.content)
    state.written = written
    return Half(parts=parts, wanted=wanted, installed=installed)


async def test_nothing_is_rendered_while_nothing_drifts(half: Half) -> None:
    half.parts.contents.clear()
    assert await half.corrects() == []


@pytest.mark.parametrize(("name", "content"), [("both", NEW), ("added", NEW), ("dropped", OLD), ("left", OLD)])
async def test_a_drifted_object_is_put_back_as_it_was_applied_last(
    half: Half, name: str, content: Mapping[ObjectKey, Desired]
) -> None:
    half.drifts(name)
    assert await half.corrects() == [content[key(name)]]
    assert half.parts.corrected == 1


@pytest.mark.parametrize(("name", "content"), [("both", NEW), ("added", NEW), ("dropped", OLD), ("left", OLD)])
async def test_a_deleted_object_is_made_again_as_it_was_applied_last(
    half: Half, name: str, content: Mapping[ObjectKey, Desired]
) -> None:
    del half.parts.lives[key(name)]
    assert await half.corrects() == [content[key(name)]]


async def test_objects_that_are_being_deleted_or_are_of_neither_content_are_left_alone(half: Half) -> None:
    lives = half.parts.lives
    lives[key("both")] = replace(lives[key("both")], fields="theirs", is_deleted=True)
    lives[key("left")] = replace(lives[key("left")], fields="theirs", applied="of an older content")
    assert await half.corrects() == []


async def test_without_the_content_that_is_installed_that_of_the_upgrade_is_kept(half: Half) -> None:
    del half.parts.contents[half.installed.bundle.metadata.name]
    half.drifts("dropped")
    half.drifts("added")
    assert await half.corrects() == [NEW[key("added")]]


async def test_a_deployment_that_is_gone_has_nothing_made_again(half: Half) -> None:
    half.parts.refusing = True
    del half.parts.lives[key("dropped")]
    await half.corrects()
    assert half.parts.corrected == 0


def test_objects_of_the_new_content_are_counted_and_named(half: Half) -> None:
    progress = half.told()
    note = found(Cause.HALF_UPGRADED, progress)
    assert note.detail == HalfUpgraded(
        done=2,
        total=3,
        examples=(str(key("added")), str(key("both"))),
        installed=half.installed.bundle.metadata.name,
        wanted=half.wanted.bundle.metadata.name,
    )
    assert progress.reached is Reached.PARTLY, "whatever process has written it"


@pytest.mark.parametrize("why", ["it goes on", "nothing was written", "it is what is installed"])
def test_there_is_nothing_to_tell(half: Half, why: str) -> None:
    match why:
        case "it goes on":
            assert half.told(WAITING) == WAITING
        case "nothing was written":
            half.installed.state.untouched = half.installed.content
            assert half.told() == REFUSED
        case _:
            half.installed = half.wanted
            assert half.told() == REFUSED


async def test_a_job_that_has_ended_and_is_gone_does_not_run_again(half: Half) -> None:
    gone = half.parts.lives.pop(key("dropped"))
    half.wanted.state.completed = (
        CompletedObject(kind="ConfigMap", namespace="ns", name="dropped", applied=gone.applied),
    )
    assert await half.corrects() == []
