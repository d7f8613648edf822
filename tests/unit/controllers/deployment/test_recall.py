"""After a restart: what the status and the first lists prove about what an earlier process applied."""

from dataclasses import dataclass, field
from typing import cast

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import Installation, KeptObject, KeptReason
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.names import HELM_CLASS, PRUNE_ANNOTATION
from rukpak_py.apply.kinds import Resolution
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.controllers.deployment.applied_digest import applied_digest, recall, recall_from_content
from rukpak_py.controllers.deployment.attempt import Attempt
from rukpak_py.controllers.deployment.rendering import NotRendered, Rendered, Renderer
from rukpak_py.controllers.deployment.rendering_stage import RenderingStage
from rukpak_py.controllers.deployment.state import differences
from rukpak_py.controllers.queue import Schedule
from rukpak_py.controllers.result.cause_table import LOOK_AGAIN_SECONDS, WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.deployment_details import REFETCHING, RENDERING, RENDERING_LOST
from rukpak_py.controllers.result.progress import Progress, Reached
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import ObjectKey
from rukpak_py.formats.format import RenderedContent
from rukpak_py.kube.errors import ForbiddenError
from tests.manifests import config_map
from tests.unit.apply.lives import OWNER, desired, key, managed
from tests.unit.controllers.deployment.parts import (
    attempt,
    causes_of,
    concluded,
    counting_from_now,
    found,
    ours,
    with_status,
)
from tests.unit.controllers.fakes import NOW, refusal
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, conditions, unpacked

ENTRY = KeptObject(version="v1", kind="ConfigMap", namespace="ns", name="k", reason=KeptReason.HOLDS_DATA)


def installed(*names: str, kept: tuple[KeptObject, ...] = ()) -> Attempt:
    """Attempt as a new process finds it: the status says that these were applied, and nothing is remembered."""
    fresh = attempt()
    return with_status(
        fresh,
        digest=DIGEST,
        applied_digest=applied_digest(ours(*names).values(), fresh.content),
        kept=kept,
        active_bundle="b",
        history=(Installation(bundle="b", digest=DIGEST, time=NOW, options=recorded(InstallOptions())),),
    )


def changed(name: str) -> dict[ObjectKey, ObservedObject]:
    return ours(name, managedFields=[managed(OWNER, {"f:other": {}})])


# From the first list alone


@pytest.mark.parametrize(
    ("active", "shown", "is_recalled"),
    [
        (installed("a", "b"), ours("a", "b"), True),
        (installed("a", "b"), ours("a"), False),
        (installed("a"), ours("a", "b"), False),
        (installed("a", "b"), ours("a") | changed("b"), False),
        (installed("a", kept=(ENTRY,)), ours("a", "k"), True),
        (installed("a", kept=(ENTRY,)), ours("a"), True),
        (installed("a", kept=(ENTRY,)), ours("a") | ours("k", annotations={PRUNE_ANNOTATION: "true"}), False),
        (with_status(installed("a"), applied_digest=""), ours("a"), False),
        (with_status(installed("a"), digest=OTHER_DIGEST), ours("a"), False),
        (None, ours("a"), False),
    ],
)
def test_the_first_list_proves_that_nothing_drifted(
    active: Attempt | None, shown: dict[ObjectKey, ObservedObject], *, is_recalled: bool
) -> None:
    assert recall(active, shown) is is_recalled
    if active is not None:
        assert active.is_settled is is_recalled
        assert active.state.applied.is_empty is not is_recalled


def test_objects_that_left_and_were_not_pruned_yet_are_told_apart_by_the_content() -> None:
    active, shown = installed("a"), ours("a", "left")
    assert not recall(active, shown)
    assert recall_from_content(active, {key("a"), key("other")}, shown, is_wanted=True)
    assert set(active.state.applied.fields) == {key("a")}
    assert not recall_from_content(installed("a"), {key("a")}, changed("a") | ours("left"), is_wanted=True)


def test_objects_beside_the_installed_content_may_be_half_an_upgrade() -> None:
    active = installed("a")
    assert recall_from_content(active, {key("a")}, ours("a", "new"), is_wanted=False)
    assert not active.is_untouched
    assert recall_from_content(active, {key("a")}, ours("a"), is_wanted=False)
    assert active.is_untouched


def test_a_kept_object_that_may_go_meanwhile_is_told_apart_by_the_content() -> None:
    active = installed("a", kept=(ENTRY,))
    shown = ours("a") | ours("k", annotations={PRUNE_ANNOTATION: "true"})
    assert recall_from_content(active, {key("a")}, shown, is_wanted=True)


# With what was rendered


@dataclass
class FakeRenderer:
    """A renderer with the names of objects by the digest of the Bundle, or why there are none."""

    contents: dict[str, tuple[str, ...] | NotRendered | RukPakError] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    lost: bool = False

    def is_lost(self, _: Attempt) -> bool:
        return self.lost

    async def rendered(self, one: Attempt) -> Rendered | NotRendered:
        self.asked.append(one.bundle.status.digest)
        match self.contents[one.bundle.status.digest]:
            case RukPakError() as error:
                raise error
            case NotRendered() as why:
                return why
            case names:
                wanted = tuple(desired(config_map(name)) for name in names)
                return Rendered(
                    desired=wanted, resolution=Resolution(states={}, resources={}), content=RenderedContent(objects=())
                )


@dataclass
class Bench:
    renderer: FakeRenderer = field(default_factory=FakeRenderer)
    former: list[Bundle] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    @property
    def stage(self) -> RenderingStage:
        return RenderingStage(
            cast("Renderer", self.renderer),
            former=lambda _deployment, _but: self.former,
            request_content=lambda bundle: self.fetched.append(bundle.metadata.name),
        )


def upgrade_of(active: Attempt) -> Attempt:
    return active.of_bundle(unpacked("new", digest=OTHER_DIGEST))


async def test_where_the_first_list_proves_it_nothing_is_rendered() -> None:
    bench, active = Bench(), installed("a")
    assert await bench.stage.recall(active, active, ours("a")) is None
    assert bench.renderer.asked == []
    assert active.is_settled


async def test_an_upgrade_after_a_restart_knows_what_is_unchanged() -> None:
    bench, active = Bench(), installed("a", "b")
    wanted = upgrade_of(active)
    assert await bench.stage.recall(wanted, active, ours("a", "b")) is None
    assert bench.renderer.asked == []
    assert not wanted.is_settled
    assert not differences(wanted.state.applied, ours("a", "b")), "so only what the content changes is applied"


async def test_after_unseen_drift_the_names_of_the_content_are_known_and_nothing_is_trusted() -> None:
    bench, active = Bench(), installed("a", "b")
    bench.renderer.contents[DIGEST] = ("a", "b")
    assert await bench.stage.recall(active, active, ours("a")) is None
    assert active.state.applied.is_empty
    assert active.state.former.keys == {key("a"), key("b")}


async def test_half_an_upgrade_that_was_not_pruned_trusts_what_the_active_content_has() -> None:
    bench, active = Bench(), installed("a")
    bench.renderer.contents[DIGEST] = ("a",)
    wanted = upgrade_of(active)
    assert await bench.stage.recall(wanted, active, ours("a", "new")) is None
    assert set(wanted.state.applied.fields) == {key("a")}


async def test_names_of_other_former_bundles_are_known_too_and_the_active_one_is_rendered_once() -> None:
    bench, active = Bench(), installed("a")
    bench.former = [active.bundle, unpacked("older", digest="sha256:older")]
    bench.renderer.contents = {DIGEST: ("a",), "sha256:older": ("x",)}
    await bench.stage.recall(upgrade_of(active), active, {})
    assert bench.renderer.asked == [DIGEST, "sha256:older"]
    assert active.state.former.keys == {key("a"), key("x")}


async def test_a_former_content_that_is_still_rendered_is_awaited() -> None:
    bench, active = Bench(), installed("a")
    bench.renderer.contents[DIGEST] = NotRendered.RUNNING
    progress = await bench.stage.recall(active, active, {})
    assert progress is not None
    assert (causes_of(progress), progress.reached) == ([Cause.RENDERING, Cause.JOB_RUNNING], Reached.NOTHING)
    assert concluded(active, installed=progress).status == active.deployment.status, "nothing is told yet"
    assert not active.state.former.is_complete
    bench.renderer.contents[DIGEST] = ("a",)
    assert await bench.stage.recall(active, active, {}) is None
    assert active.state.former.is_complete


@pytest.mark.parametrize("why", [NotRendered.CONTENT_MISSING, ContentError("wrong")])
async def test_a_former_content_that_cannot_be_had_is_done_without(why: NotRendered | RukPakError) -> None:
    bench, active = Bench(), installed("a")
    bench.renderer.contents[DIGEST] = why
    bench.former, upgrade = [active.bundle], upgrade_of(active)
    assert await bench.stage.recall(upgrade, None, {}) is None
    assert upgrade.state.former.is_complete
    assert bench.fetched == []


async def test_after_a_restart_without_its_bundle_what_was_applied_is_recalled_when_that_is_made_again() -> None:
    bench, active = Bench(), installed("a")
    upgrade = upgrade_of(active)
    assert await bench.stage.recall(upgrade, None, {}) is None
    assert not upgrade.state.former.is_complete
    bench.renderer.contents[DIGEST], bench.former = ("a",), [active.bundle]
    assert await bench.stage.recall(upgrade, active, ours("a")) is None
    assert active.is_untouched


async def test_active_content_that_is_missing_is_fetched_again_and_recalled_then() -> None:
    """Its store was lost with the pod: what drifted meanwhile is corrected though its successor is refused."""
    bench, active = Bench(), installed("a")
    bench.renderer.contents[DIGEST] = NotRendered.CONTENT_MISSING
    assert await bench.stage.recall(upgrade_of(active), active, {}) is None
    assert not active.state.former.is_complete
    assert bench.fetched == [active.bundle.metadata.name]


async def test_a_process_that_applied_something_itself_recalls_nothing() -> None:
    bench, active = Bench(), installed("a")
    active.state.applied.trust(changed("a").values())
    assert await bench.stage.recall(active, active, ours("a")) is None
    assert bench.renderer.asked == []
    assert not active.is_settled


async def test_without_the_options_of_the_active_content_only_names_are_recalled() -> None:
    bench, active = Bench(), installed("a")
    bench.former, bench.renderer.contents[DIGEST] = [active.bundle], ("a",)
    assert await bench.stage.recall(upgrade_of(active), None, ours("a")) is None
    assert active.state.former.keys == {key("a")}
    assert active.state.applied.is_empty


# The stage that renders


async def test_rendered_content_goes_on() -> None:
    bench = Bench(renderer=FakeRenderer(contents={DIGEST: ("a",)}))
    rendered = await bench.stage.rendered(attempt())
    assert isinstance(rendered, Rendered)


@pytest.mark.parametrize(
    ("why", "fetched", "text", "schedule"),
    [
        (NotRendered.CONTENT_MISSING, ["b"], REFETCHING.words, Schedule(attempt_at=LOOK_AGAIN_SECONDS)),
        (NotRendered.RUNNING, [], RENDERING.words, Schedule(report_at=LOOK_AGAIN_SECONDS, is_under_way=True)),
    ],
)
async def test_content_that_is_on_its_way_is_told_when_that_lasts(
    why: NotRendered, fetched: list[str], text: str, schedule: Schedule
) -> None:
    bench, one = Bench(), attempt()
    bench.renderer.contents[DIGEST] = why
    progress = await bench.stage.rendered(one)
    assert isinstance(progress, Progress)
    assert (progress.reached, bench.fetched) == (Reached.NOTHING, fetched)
    at_first = concluded(one, wanted=progress)
    assert (at_first.status, at_first.schedule.report_at) == (one.deployment.status, WAIT_QUIET_SECONDS)
    lasting = concluded(one, wanted=progress, lasted=WAIT_QUIET_SECONDS)
    assert conditions(lasting.status)["Ready"] == ("Unknown", "Progressing", text)
    assert lasting.schedule == schedule


@pytest.mark.parametrize(
    ("error", "cause", "attempt_at"),
    [
        (ContentError("wrong"), Cause.RENDERING_CONTENT, None),
        (UnavailableError("died", retry_after=7.0), Cause.RENDERING_UNAVAILABLE, 7.0),
    ],
)
async def test_content_that_cannot_be_rendered_is_told_and_only_tried_again_where_that_helps(
    error: RukPakError, cause: Cause, attempt_at: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting_from_now(monkeypatch)
    bench, one = Bench(renderer=FakeRenderer(contents={DIGEST: error})), attempt()
    progress = await bench.stage.rendered(one)
    assert isinstance(progress, Progress)
    assert (causes_of(progress), progress.reached) == ([cause], Reached.NOTHING), "what is installed is kept meanwhile"
    assert found(cause, progress).text == str(error)
    conclusion = concluded(one, wanted=progress)
    assert conditions(conclusion.status)["HasValidBundle"] == ("False", "BundleLoadFailed", str(error))
    assert conditions(conclusion.status)["Ready"][2] == str(error)
    assert conclusion.schedule.attempt_at == attempt_at


async def test_content_that_asks_the_cluster_is_looked_at_again_though_it_cannot_be_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The objects that it asked for may come."""
    counting_from_now(monkeypatch)
    bench = Bench(renderer=FakeRenderer(contents={DIGEST: ContentError("wrong")}))
    progress = await bench.stage.rendered(attempt(provisioner=HELM_CLASS))
    assert isinstance(progress, Progress)
    assert found(Cause.LOOK_AGAIN, progress).at == LOOK_AGAIN_SECONDS


async def test_content_whose_rendering_is_lost_is_told_as_that() -> None:
    bench = Bench(renderer=FakeRenderer(contents={DIGEST: NotRendered.LOST}))
    progress = await bench.stage.rendered(attempt())
    assert isinstance(progress, Progress)
    assert causes_of(progress) == [Cause.RENDERING_LOST]
    assert progress.facts[0].text == RENDERING_LOST.words


@pytest.mark.parametrize("is_lost", [True, False])
async def test_a_lost_rendering_of_the_installed_content_is_reported(*, is_lost: bool) -> None:
    bench = Bench(renderer=FakeRenderer(lost=is_lost))
    progress = bench.stage.lost(attempt())
    assert causes_of(progress) == ([Cause.RENDERING_LOST] if is_lost else [])


async def test_a_server_that_cannot_be_asked_says_nothing_about_the_content() -> None:
    bench = Bench(renderer=FakeRenderer(contents={DIGEST: refusal(ForbiddenError)}))
    with pytest.raises(ForbiddenError):
        await bench.stage.rendered(attempt())
