"""The Bundle of a template: found by what it is, created once, never taken from others."""

from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus, Installation
from rukpak_py.api.conditions import Condition
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.metadata import TemplateMeta
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    TEMPLATE_HASH_LABEL,
    BundlePhase,
    Reason,
)
from rukpak_py.api.reading import read_bundle, to_json
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import UploadSource
from rukpak_py.api.template_hash import bundle_name, template_hash
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.deployment.state import DeploymentState
from rukpak_py.controllers.deployment.template_bundle import Templates
from rukpak_py.controllers.existence import Existence
from rukpak_py.core.errors import AccessError, ConflictError, UnavailableError
from rukpak_py.kube.errors import (
    ApiError,
    ForbiddenError,
    InvalidError,
    KindNotServedError,
    ServerUnavailableError,
    StaleError,
    UnauthorizedError,
)
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, refusal
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, bundle, bundle_of, deployment, owner_of, source, spec

SHOP = deployment()
NAME = bundle_name("shop", template_hash(SHOP.spec.template))
OUR_LABELS = {
    OWNER_KIND_LABEL: BUNDLE_DEPLOYMENT_KIND,
    OWNER_NAME_LABEL: "shop",
    TEMPLATE_HASH_LABEL: template_hash(SHOP.spec.template),
}


class Bench:
    def __init__(self) -> None:
        self.client = FakeClient()
        self.bundles: Cache[Bundle] = Cache(clock=Clock())
        self.new: list[str] = []
        deployments = Cache[BundleDeployment](clock=monotonic)
        deployments.put(SHOP)  # its last event is a moment old: its existence is not checked
        existence = Existence(self.client.as_client(), BUNDLE_DEPLOYMENTS, deployments, on_gone=lambda _: None)
        self.templates = Templates(
            self.client.as_client(),
            self.bundles,
            existence,
            has_account=lambda one: bool(one.spec.service_account_name),
            on_new=self.new.append,
        )

    async def bundle_of(self, one: BundleDeployment = SHOP) -> Bundle | None:
        return await self.templates.bundle_of(one, DeploymentState())

    def find(self, one: BundleDeployment = SHOP) -> Bundle | None:
        return self.templates.find(one, template_hash(one.spec.template))

    def there(self, one: Bundle, *, seen: bool = True) -> Bundle:
        stored = read_bundle(self.client.put(BUNDLE_KIND, to_json(one)))
        if seen:
            self.bundles.put(stored)
        return stored

    @property
    def names(self) -> set[str]:
        return {name for _, name in self.client.objects}


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_a_missing_bundle_is_created_with_one_call(bench: Bench) -> None:
    template = replace(
        SHOP.spec.template, metadata=TemplateMeta(labels={"a": "b", OWNER_NAME_LABEL: "x"}, annotations={"c": "d"})
    )
    one = replace(SHOP, spec=replace(SHOP.spec, template=template))
    created = await bench.bundle_of(one)
    assert created is not None
    metadata = created.metadata
    assert bench.client.calls == [f"create Bundle {metadata.name}"]
    assert metadata.name == bundle_name("shop", template_hash(template))
    assert metadata.labels == {"a": "b", **OUR_LABELS, TEMPLATE_HASH_LABEL: template_hash(template)}
    assert metadata.annotations == {"c": "d"}
    assert metadata.controller is not None
    assert metadata.controller.uid == one.metadata.uid
    assert created.spec == template.spec
    assert bench.find(one) == created, "without waiting for its event"
    assert bench.new == [metadata.name]


async def test_a_bundle_is_found_without_a_call(bench: Bench) -> None:
    one = bench.there(bundle_of(SHOP))
    assert await bench.bundle_of(SHOP) == one
    assert bench.client.calls == []


async def test_the_bundle_of_an_edited_template_is_another_one(bench: Bench) -> None:
    state, edited = DeploymentState(), deployment(template=spec("edited"), generation=2)
    first = await bench.templates.bundle_of(SHOP, state)
    second = await bench.templates.bundle_of(edited, state)
    assert first is not None
    assert second is not None
    assert first.metadata.name != second.metadata.name == bundle_of(edited).metadata.name
    assert await bench.templates.bundle_of(replace(SHOP, metadata=replace(SHOP.metadata, generation=3)), state) == first


@pytest.mark.parametrize("error", [AccessError("denied"), UnavailableError("no answer")])
async def test_a_bundle_that_cannot_be_created_is_said_with_the_servers_words(bench: Bench, error: Exception) -> None:
    bench.client.failing["create"] = error
    with pytest.raises(type(error), match=str(error)):
        await bench.bundle_of(SHOP)
    assert len(bench.bundles) == 0


async def test_without_the_crd_of_bundles_it_says_what_to_install(bench: Bench) -> None:
    bench.client.failing["create"] = refusal(KindNotServedError, "404 page not found")
    with pytest.raises(UnavailableError) as raised:
        await bench.bundle_of(SHOP)
    assert str(raised.value) == "the API server does not serve Bundle (core.rukpak.io/v1alpha1): install config/crds"


LIKE_OURS = bundle_of(SHOP)


@pytest.mark.parametrize(
    "other",
    [
        replace(LIKE_OURS, metadata=replace(LIKE_OURS.metadata, owner_references=())),
        replace(LIKE_OURS, metadata=replace(LIKE_OURS.metadata, labels={})),
        replace(LIKE_OURS, metadata=replace(LIKE_OURS.metadata, deletion_timestamp=NOW)),
        replace(LIKE_OURS, spec=spec("others")),
        bundle_of(deployment(uid="another")),
        bundle_of(deployment(template=spec("others"))),
    ],
    ids=["no controller", "no hash", "going", "another spec under our hash", "another's", "of another template"],
)
def test_a_similar_bundle_is_not_the_bundle_of_the_template(bench: Bench, other: Bundle) -> None:
    bench.there(other)
    assert bench.find(SHOP) is None


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (bundle(NAME), "does not belong to this BundleDeployment"),
        (bundle(NAME, labels=OUR_LABELS, owner_references=(owner_of(deployment(uid="new")),)), "does not belong"),
        (replace(bundle_of(SHOP), spec=spec("others")), "with a spec that differs"),
    ],
)
async def test_a_bundle_of_another_owner_on_the_name_is_a_named_conflict(
    bench: Bench, other: Bundle, text: str
) -> None:
    stored = bench.there(other, seen=False)
    with pytest.raises(ConflictError, match=f"Bundle {NAME} exists.*{text}"):
        await bench.bundle_of(SHOP)
    assert bench.client.calls == [f"create Bundle {NAME}", f"get Bundle {NAME}"]
    assert read_bundle(bench.client.objects[BUNDLE_KIND, NAME]) == stored


async def test_our_own_bundle_that_no_event_has_shown_is_ours(bench: Bench) -> None:
    stored = bench.there(bundle_of(SHOP), seen=False)
    assert await bench.bundle_of(SHOP) == stored


async def test_a_bundle_that_is_still_going_is_told_and_tried_again(bench: Bench) -> None:
    bench.there(bundle_of(SHOP, deletion_timestamp=NOW), seen=False)
    with pytest.raises(UnavailableError, match="is being deleted; waiting until it is gone"):
        await bench.bundle_of(SHOP)


async def test_a_bundle_that_a_deployment_of_the_name_left_behind_becomes_ours(bench: Bench) -> None:
    orphan = bench.there(replace(bundle_of(SHOP), metadata=bundle(NAME, labels=OUR_LABELS).metadata), seen=False)
    taken = await bench.bundle_of(SHOP)
    assert taken is not None
    assert taken.metadata.controller is not None
    assert taken.metadata.controller.uid == SHOP.metadata.uid
    assert taken.metadata.uid == orphan.metadata.uid
    assert bench.find(SHOP) == taken


UPLOADED = BundleTemplate(spec=replace(SHOP.spec.template.spec, source=Source(type="upload", upload=UploadSource())))


@pytest.mark.parametrize(
    ("template", "account", "is_taken"),
    [(UPLOADED, "installer", False), (UPLOADED, "", True), (SHOP.spec.template, "installer", True)],
)
async def test_upload_left_behind_is_made_anew_by_a_deployment_with_an_account(
    bench: Bench, template: BundleTemplate, account: str, *, is_taken: bool
) -> None:
    one = replace(SHOP, spec=replace(SHOP.spec, template=template, service_account_name=account))
    wanted = template_hash(template)
    labels = {**OUR_LABELS, TEMPLATE_HASH_LABEL: wanted}
    metadata = bundle(bundle_name("shop", wanted), labels=labels).metadata
    orphan = bench.there(replace(bundle_of(one), metadata=metadata), seen=False)
    found = await bench.bundle_of(one)
    assert found is not None
    assert (found.metadata.uid == orphan.metadata.uid) is is_taken
    assert found.metadata.controller is not None
    assert found.metadata.controller.uid == one.metadata.uid
    assert bench.find(one) == found


@pytest.mark.parametrize("change", [{"labels": {}}, {"labels": {**OUR_LABELS, OWNER_NAME_LABEL: "x"}}])
async def test_a_bundle_that_no_deployment_of_the_name_left_stays(bench: Bench, change: dict[str, Any]) -> None:
    bench.there(replace(bundle_of(SHOP), metadata=bundle(NAME, **change).metadata), seen=False)
    with pytest.raises(ConflictError):
        await bench.bundle_of(SHOP)


def test_the_active_bundle_is_the_one_that_the_status_names_and_that_is_ours(bench: Bench) -> None:
    one = bench.there(bundle_of(SHOP))
    active = deployment(status=BundleDeploymentStatus(active_bundle=one.metadata.name))
    assert bench.templates.active(active) == one
    assert bench.templates.active(SHOP) is None
    assert bench.templates.active(replace(active, metadata=replace(active.metadata, uid="another"))) is None


async def test_failed_edits_do_not_pile_up(bench: Bench) -> None:
    """Bundles of any number of templates in a row that were never installed go as soon as there is a newer one."""
    installed = bench.there(bundle_of(SHOP))
    past = bench.there(bundle_of(deployment(template=spec("past"))))
    strangers = bench.there(bundle_of(deployment("other", uid="uid-of-other")))
    history = (Installation(bundle=past.metadata.name, digest="sha256:1", time=NOW),)
    status = BundleDeploymentStatus(active_bundle=installed.metadata.name, history=history)
    for number in range(20):
        edited = deployment(template=spec(f"edit-{number}"), status=status)
        wanted = await bench.bundle_of(edited)
        assert wanted is not None
        await bench.templates.drop_never_installed(edited, wanted)
        kept = (installed, past, strangers, wanted)
        assert bench.names == {one.metadata.name for one in kept}


async def test_after_a_pivot_only_the_wanted_bundle_stays(bench: Bench) -> None:
    bench.there(bundle_of(deployment(template=spec("past"))))
    going = bench.there(bundle_of(deployment(template=spec("going")), deletion_timestamp=NOW))
    strangers = bench.there(bundle_of(deployment("other", uid="uid-of-other")))
    wanted = bench.there(bundle_of(SHOP))
    await bench.templates.drop_superseded(SHOP, wanted)
    assert bench.names == {one.metadata.name for one in (wanted, strangers, going)}
    assert len(bench.client.calls) == 1, "what is going already is not asked to go"


async def test_a_bundle_that_was_replaced_is_not_deleted(bench: Bench) -> None:
    past = bench.there(bundle_of(deployment(template=spec("past"))))
    bench.client.put(BUNDLE_KIND, to_json(replace(past, metadata=replace(past.metadata, uid="another"))))
    await bench.templates.drop_superseded(SHOP, bench.there(bundle_of(SHOP)))
    assert past.metadata.name in bench.names


@pytest.fixture
def going_back(bench: Bench) -> Bench:
    """The deployment is there, and asked for before its former Bundle is made again."""
    bench.client.put(BUNDLE_DEPLOYMENT_KIND, to_json(SHOP))
    return bench


ENTRY = Installation(revision=1, bundle=NAME, digest=DIGEST, time="", template=SHOP.spec.template)


@pytest.mark.parametrize("kind", [ServerUnavailableError, StaleError, UnauthorizedError])
async def test_failed_request_does_not_refuse_the_former_bundle(going_back: Bench, kind: type[ApiError]) -> None:
    going_back.client.failing["create"] = refusal(kind)
    assert await going_back.templates.restore_entry(SHOP, ENTRY) == ""
    del going_back.client.failing["create"]
    assert await going_back.templates.restore_entry(SHOP, ENTRY) == ""
    assert NAME in going_back.names


async def test_former_bundle_that_is_still_being_deleted_is_waited_for(going_back: Bench) -> None:
    going_back.there(bundle_of(SHOP, deletion_timestamp=NOW), seen=False)
    assert await going_back.templates.restore_entry(SHOP, ENTRY) == ""


@pytest.mark.parametrize("kind", [ForbiddenError, InvalidError])
async def test_refused_former_bundle_is_told(going_back: Bench, kind: type[ApiError]) -> None:
    going_back.client.failing["create"] = refusal(kind)
    assert await going_back.templates.restore_entry(SHOP, ENTRY) == "test: refused"


async def test_former_bundle_of_others_is_told(going_back: Bench) -> None:
    going_back.there(bundle_of(deployment(uid="another")))
    assert "does not belong to this BundleDeployment" in await going_back.templates.restore_entry(SHOP, ENTRY)


async def test_entry_without_its_template_has_no_bundle(going_back: Bench) -> None:
    assert "status.history" in await going_back.templates.restore_entry(SHOP, replace(ENTRY, template=None))


def failing(reason: str) -> BundleStatus:
    conditions = tuple(
        Condition(type=kind, status="False", reason=why, message="no such commit", last_transition_time=NOW)
        for kind, why in (("Unpacked", "UnpackFailed"), ("Ready", reason))
    )
    return BundleStatus(phase=BundlePhase.FAILING, conditions=conditions)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (BundleStatus(), ""),
        (failing(Reason.UNAVAILABLE), ""),
        (failing(Reason.CONTENT_ERROR), f"Bundle {NAME} cannot be unpacked: no such commit"),
        (
            BundleStatus(phase=BundlePhase.UNPACKED, digest=OTHER_DIGEST),
            f"Bundle {NAME} has other content than revision 1; delete that Bundle",
        ),
    ],
    ids=["new", "source away", "fails", "other content"],
)
async def test_former_bundle_that_is_there_is_not_made_again(going_back: Bench, status: BundleStatus, why: str) -> None:
    going_back.there(bundle_of(SHOP, status=status))
    assert await going_back.templates.restore_entry(SHOP, ENTRY) == why
    assert going_back.client.calls == []


def test_the_name_of_a_bundle_fits() -> None:
    long = deployment("x" * 45, template=BundleTemplate(spec=spec()).spec)
    assert len(bundle_of(long).metadata.name) <= 52
    assert source() == source("maps")
