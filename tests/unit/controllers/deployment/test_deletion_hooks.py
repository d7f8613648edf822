"""The hooks of a deletion are those of the content that is installed, or of half a first install."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.install_options import InstallOptions, recorded
from rukpak_py.api.names import HELM_CLASS, SKIP_HOOKS_ANNOTATION
from rukpak_py.apply.inventory import Inventory
from rukpak_py.apply.kinds import Resolution
from rukpak_py.controllers.deployment.attempt import Attempt, AttemptFactory, installed_rendering
from rukpak_py.controllers.deployment.external_values import ExternalValues
from rukpak_py.controllers.deployment.hooks.facts import HOOKS_SKIPPED, HooksOver
from rukpak_py.controllers.deployment.hooks.release_hooks import DeletedContent, DeletionHooks
from rukpak_py.controllers.deployment.rendering import Rendered
from rukpak_py.controllers.deployment.state import DeploymentState, DeploymentStates
from rukpak_py.controllers.deployment.state_parts import ContentKey
from rukpak_py.controllers.result import deployment_details as details
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.controllers.result.hook_details import HOOKS_UNKNOWN
from rukpak_py.controllers.result.progress import Fact, Progress, Words
from rukpak_py.core.errors import ContentError, RukPakError, UnavailableError
from rukpak_py.core.objects import Object, ObjectKey
from rukpak_py.formats.format import RenderedContent
from rukpak_py.formats.hook import Hook, HookEvent
from tests.manifests import config_map
from tests.unit.apply.watches import watches_of
from tests.unit.controllers.deployment.parts import identities
from tests.unit.controllers.fakes import NOW, FakeDigestKeys, FakeValuesObjects
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, bundle, deployment, spec, unpacked

ADVICE = HOOKS_UNKNOWN
HOOK = Hook(object=Object.from_manifest(config_map()), events=frozenset({HookEvent.PRE_DELETE}))
OPTIONS = InstallOptions(provisioner_class_name=HELM_CLASS, config={"values": "a: 1"})
ENTRY = Installation(
    bundle="old",
    digest=DIGEST,
    time=NOW,
    options=recorded(OPTIONS),
    template=BundleTemplate(spec=spec(provisioner=HELM_CLASS)),
    rendering_digest="sha256:lost",
)
NO_KINDS = Resolution(states={}, resources={})
INSTALLED: dict[str, Any] = {"active_bundle": "old", "digest": DIGEST, "history": (ENTRY,)}


@dataclass
class Bundles:
    """The Bundles that are left."""

    installed: Bundle | None = None
    wanted: Bundle | None = None

    def active(self, _: BundleDeployment) -> Bundle | None:
        return self.installed

    def find(self, _: BundleDeployment, _wanted: str) -> Bundle | None:
        return self.wanted


@dataclass
class Renderings:
    """`progress`: why nothing is rendered."""

    progress: Progress | None = None
    asked: list[Attempt] = field(default_factory=list)
    wanted: list[ContentKey] = field(default_factory=list)

    def drop_superseded(self, _uid: str, wanted: ContentKey) -> None:
        self.wanted.append(wanted)

    async def rendered(self, attempt: Attempt) -> Rendered | Progress:
        self.asked.append(attempt)
        return self.progress or Rendered(
            desired=(), resolution=NO_KINDS, content=RenderedContent(objects=(), hooks=(HOOK,))
        )


@dataclass
class Superseded:
    """`left`: hooks that cannot be deleted, and why."""

    left: list[tuple[ObjectKey, RukPakError]] = field(default_factory=list)

    async def delete_uncollected(self, *_: Any) -> list[tuple[ObjectKey, RukPakError]]:
        return self.left


@dataclass
class Bench:
    inventory: Inventory
    values: FakeValuesObjects = field(default_factory=FakeValuesObjects)
    bundles: Bundles = field(default_factory=Bundles)
    renderings: Renderings = field(default_factory=Renderings)
    superseded: Superseded = field(default_factory=Superseded)

    @property
    def hooks(self) -> DeletionHooks:
        parts: dict[str, Any] = {
            "stage": None,
            "superseded": self.superseded,
            "templates": self.bundles,
            "rendering": self.renderings,
        }
        attempts = AttemptFactory(self.inventory, lambda _: True, identities())
        values = ExternalValues(self.values, FakeDigestKeys(), DeploymentStates(), identities=identities())
        return DeletionHooks(values=values, attempts=attempts, **parts)

    async def content(self, of: BundleDeployment) -> DeletedContent | Progress:
        return await self.hooks.content(of, DeploymentState())

    async def unknown(self, of: BundleDeployment) -> Progress:
        """The result for a deployment whose hooks are not known (yet)."""
        found = await self.content(of)
        assert isinstance(found, Progress)
        return found


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(inventory=watches_of(monkeypatch).inventory)


def deleted(*, delete_hooks: bool = True, config: Any = None, **status: Any) -> BundleDeployment:
    annotations = status.pop("annotations", {})
    found = BundleDeploymentStatus(delete_hooks=delete_hooks, **status)
    return deployment(
        status=found, provisioner=HELM_CLASS, deletion_timestamp=NOW, annotations=annotations, config=config
    )


@pytest.mark.parametrize(
    ("failing", "cause", "text"),
    [
        (UnavailableError("the server is down", retry_after=20.0), Cause.VALUES_UNAVAILABLE, "the server is down"),
        (ContentError("it is no YAML"), Cause.HOOKS_UNKNOWN, "it is no YAML"),
        (None, Cause.HOOKS_UNKNOWN, "Secret rukpak-system/passwords does not exist"),
    ],
)
async def test_values_that_cannot_be_read_are_named_and_read_again_where_the_server_is_silent(
    bench: Bench, failing: Exception | None, cause: Cause, text: str
) -> None:
    bench.values.failing, bench.bundles.wanted = failing, unpacked("new")
    of = deleted(config={"valuesFrom": [{"kind": "Secret", "name": "passwords"}]})
    (fact,) = (await bench.unknown(of)).facts
    assert (fact.cause, fact.at is not None) == (cause, cause is Cause.VALUES_UNAVAILABLE)
    assert fact.text.startswith(ADVICE)
    assert text in fact.text


async def test_content_without_hooks_or_with_hooks_skipped_is_not_rendered(bench: Bench) -> None:
    assert await bench.content(deleted(delete_hooks=False, **INSTALLED)) == DeletedContent()
    skipping = {SKIP_HOOKS_ANNOTATION: "true"}
    assert await bench.content(deleted(annotations=skipping, delete_hooks=False, **INSTALLED)) == DeletedContent()
    found = await bench.content(deleted(annotations=skipping, **INSTALLED))
    assert found == DeletedContent(facts=(HOOKS_SKIPPED,))
    assert await bench.hooks.run(found, HookEvent.PRE_DELETE) == HooksOver()
    assert bench.renderings.asked == []


@pytest.mark.parametrize("there", [True, False])
async def test_deleted_content_is_the_installed_one_with_its_options_however_it_is_rendered(
    bench: Bench, *, there: bool
) -> None:
    """Its Bundle may have been collected, and another may have been made of its name."""
    bench.bundles = Bundles(installed=unpacked("old", digest=OTHER_DIGEST) if there else None, wanted=unpacked("new"))
    found = await bench.content(deleted(**INSTALLED))
    assert isinstance(found, DeletedContent)
    assert found.has(HookEvent.PRE_DELETE)
    assert not found.has(HookEvent.POST_DELETE)
    (asked,) = bench.renderings.asked
    assert (asked.bundle.metadata.name, asked.bundle.status.digest) == ("old", DIGEST)
    assert asked.options == OPTIONS
    assert installed_rendering(asked) == ""
    assert bench.renderings.wanted == [asked.content], "an upgrade that is rendered must not hold it up"


async def test_deleted_content_of_half_a_first_install_is_the_wanted_one(bench: Bench) -> None:
    bench.bundles.wanted = unpacked("new", digest=OTHER_DIGEST)
    assert isinstance(await bench.content(deleted()), DeletedContent)
    assert bench.renderings.asked[0].bundle.metadata.name == "new"


@pytest.mark.parametrize(
    ("status", "bundles"),
    [
        ({}, Bundles()),
        ({}, Bundles(wanted=bundle("never-unpacked"))),
        ({"active_bundle": "old", "digest": DIGEST}, Bundles()),  # of the original, and collected
    ],
)
async def test_unknown_content_is_waited_for_with_advice(
    bench: Bench, status: dict[str, Any], bundles: Bundles
) -> None:
    bench.bundles = bundles
    (fact,) = (await bench.unknown(deleted(**status))).facts
    assert (fact.cause, fact.text) == (Cause.HOOKS_UNKNOWN, ADVICE)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ((Fact(cause=Cause.REFETCHING, detail=details.REFETCHING),), "Re-fetching bundle content"),
        (
            (Fact(cause=Cause.RENDERING, detail=details.RENDERING), Fact(cause=Cause.JOB_RUNNING)),
            "Rendering bundle content",
        ),
        ((Fact(cause=Cause.RENDERING_FAILED, detail=Words(words="the worker died")),), "the worker died"),
    ],
)
async def test_content_that_is_not_rendered_yet_is_waited_for_with_advice(
    bench: Bench, facts: tuple[Fact, ...], why: str
) -> None:
    """And tried again as it is where it is installed."""
    bench.bundles.installed = unpacked("old")
    bench.renderings.progress = Progress(facts=facts)
    found = (await bench.unknown(deleted(**INSTALLED))).facts
    assert [one.cause for one in found] == [one.cause for one in facts]
    assert found[0].text == f"{ADVICE}: {why}"
    assert found[1:] == facts[1:]


async def test_hooks_that_cannot_be_deleted_are_named(bench: Bench) -> None:
    assert await bench.hooks.clean_up(deleted()) is None
    key = ObjectKey("batch", "Job", "ns", "j")
    bench.superseded.left = [(key, UnavailableError("the server is down"))]
    found = await bench.hooks.clean_up(deleted())
    assert found is not None
    (fact,) = found.facts
    assert (fact.cause, fact.objects) == (Cause.DELETION_FAILED, (key,))
    assert fact.text == "could not delete the hook Job.batch/ns/j: the server is down"


async def test_hooks_of_content_that_its_bundle_does_not_have_any_more_are_those_of_the_deployment(
    bench: Bench,
) -> None:
    """The Bundle was made again with other content: its record is not that of what is installed."""
    bench.bundles.installed = unpacked("old", digest=OTHER_DIGEST)
    assert isinstance(await bench.content(deleted(**INSTALLED)), DeletedContent)
    [attempt] = bench.renderings.asked
    assert (attempt.bundle.metadata.uid, attempt.bundle.status.digest) == ("", DIGEST)
    bench.bundles.installed = unpacked("old", digest=DIGEST)
    await bench.content(deleted(**INSTALLED))
    assert bench.renderings.asked[-1].bundle.metadata.uid == "uid-of-old"
