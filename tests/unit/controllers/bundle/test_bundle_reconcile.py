"""The life of a Bundle: fetched once, pinned, refilled only with the same content."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import Installation
from rukpak_py.api.deployment_spec import BundleTemplate
from rukpak_py.api.metadata import OwnerReference
from rukpak_py.api.names import (
    BUNDLE_KIND,
    HELM_CLASS,
    PLAIN_CLASS,
    REGISTRY_CLASS,
    UPSTREAM_BUNDLE_FINALIZER,
    BundlePhase,
)
from rukpak_py.api.reading import read_bundle, to_json
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import Authorization, GitRef, GitSource, SecretReference, UploadSource
from rukpak_py.content.records import BundleRecord
from rukpak_py.controllers import jobs
from rukpak_py.controllers.bundle.kept_content import REFILLS_AT_ONCE
from rukpak_py.controllers.bundle.owners import FormerContent
from rukpak_py.controllers.bundle.pinning import Pinning
from rukpak_py.controllers.bundle.reconcile import BundleReconciler
from rukpak_py.controllers.bundle.state import BundleStates
from rukpak_py.controllers.bundle.unpacking import UnpackJobs
from rukpak_py.controllers.cache import Cache
from rukpak_py.controllers.queue import SETTLED, BackOff, Schedule, Turn
from rukpak_py.controllers.result.bundle_details import (
    InstalledContentGone,
    OtherThanInstalled,
    OtherThanNamed,
    UnknownClass,
)
from rukpak_py.controllers.result.cause_table import DENIED_SECONDS, WAIT_QUIET_SECONDS
from rukpak_py.controllers.result.conclusion import Clock as Moment
from rukpak_py.controllers.writes import StatusWriter
from rukpak_py.core.errors import AccessError, ContentError, RukPakError, UnavailableError
from rukpak_py.kube.resources import BUNDLES
from rukpak_py.sources.source import ContentPendingError
from tests.unit.controllers.fakes import NOW, Clock, FakeClient, FakeContent, FakeEvents, FakeRecords, FakeSources, tree
from tests.unit.controllers.values import START, bundle, conditions, source, spec, unpacked
from tests.waiting import until

CONTROLLER = OwnerReference(api_version="x/v1", kind="BundleDeployment", name="d", uid="uid-of-d", controller=True)
WAITING = ContentPendingError("waiting for bundle to be uploaded")
PAUSE_SECONDS = 1.0  # the first one after a failure
MOMENT = Moment(loop=1000.0, wall=START)  # at which everything is concluded
BACK_OFF = BackOff(first=PAUSE_SECONDS)
ATTEMPT = Turn(back_off=BACK_OFF)
LOOK = Turn(is_attempt=False, failures=1, back_off=BACK_OFF)
FILES = tree(f=b"1")
OTHER_FILES = tree(f=b"2")


def retried(seconds: float = PAUSE_SECONDS) -> Schedule:
    return Schedule(failures=1, attempt_at=MOMENT.loop + seconds)


HELD = Schedule(failures=1)  # another attempt when it is woken, and not before


def under_way(look_after: float | None = None) -> Schedule:
    report_at = MOMENT.loop + look_after if look_after is not None else None
    return Schedule(is_under_way=True, report_at=report_at)


class Bench:
    def __init__(self, content: FakeContent | None = None) -> None:
        self.moment = MOMENT
        self.client = FakeClient()
        self.content = content or FakeContent()
        self.sources = FakeSources(tree=FILES)
        self.events = FakeEvents()
        self.woken: list[str] = []
        self.news: list[str] = []
        self.looked_at: list[str] = []
        self.bundles: Cache[Bundle] = Cache(clock=Clock())
        self.records = FakeRecords()
        self.pinning = Pinning(self.content, self.records, deployment_uid=lambda _: "uid-of-shop")
        self.states = BundleStates()
        self.deployment_class = PLAIN_CLASS
        self.installed: Installation | None = None
        self.installed_error: RukPakError | None = None
        self.former: FormerContent | None = None
        self.reconciler = BundleReconciler(
            client=self.client.as_client(),
            bundles=self.bundles,
            jobs=UnpackJobs(
                self.sources,
                self.content,
                records=self.records,
                states=self.states,
                deployment_class=lambda _: self.deployment_class,
                deployment_uid=lambda _: "uid-of-shop",
                installed_as=self.installed_as,
                formerly=self.formerly,
                on_end=self.woken.append,
            ),
            content=self.content,
            pinning=self.pinning,
            writer=StatusWriter(self.client.as_client(), BUNDLES, self.bundles),
            events=self.events,
            states=self.states,
            classes={PLAIN_CLASS},
            look=self.looked_at.append,
            wake=self.woken.append,
            on_news=self.told_of,
            clock=lambda: self.moment,
        )

    async def formerly(self, _: Bundle) -> FormerContent | None:
        return self.former

    async def installed_as(self, _: Bundle) -> Installation | None:
        if self.installed_error is not None:
            raise self.installed_error
        return self.installed

    def told_of(self, one: Bundle) -> None:
        self.news.append(one.metadata.name)

    def put(self, one: Bundle) -> None:
        """Put the object on the server, and show its event."""
        stored = self.client.put(BUNDLE_KIND, to_json(one))
        self.bundles.put(read_bundle(stored))

    async def store(self, one: Bundle) -> None:
        """Store the content of the Bundle, and the record of it."""
        await self.content.keep(FILES)
        await self.records.keep(record_of(one))

    async def reconcile(self, turn: Turn = ATTEMPT) -> Schedule:
        return await self.reconciler.reconcile("b", turn)

    async def unpack(self) -> Schedule:
        """Reconcile from the start of a job to the report of its result."""
        assert (await self.reconcile()).is_under_way
        await until(lambda: self.woken)
        self.woken.clear()
        return await self.reconcile()

    async def reconcile_woken(self) -> None:
        """Reconcile woken keys until nothing more happens by itself."""
        while self.woken:
            names, self.woken[:] = dict.fromkeys(self.woken), []
            for name in names:
                await self.reconciler.reconcile(name, ATTEMPT)
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    @property
    def stored(self) -> Bundle:
        return self.read("b")

    def read(self, name: str) -> Bundle:
        return read_bundle(self.client.objects[BUNDLE_KIND, name])


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.reconciler.close()


def pinned() -> Bundle:
    return unpacked(digest=FILES.digest)


def record_of(one: Bundle, *, resolved: Source | None = None) -> BundleRecord:
    return BundleRecord(
        uid=one.metadata.uid,
        deployment="uid-of-shop",
        spec_digest=one.status.spec_digest,
        digest=one.status.digest,
        source=resolved or one.spec.source,
    )


async def test_the_first_unpacking_is_one_fetch_and_one_write(bench: Bench) -> None:
    bench.put(bundle())
    assert await bench.unpack() == SETTLED
    assert bench.client.calls == ["status Bundle b"]
    assert bench.stored.status.is_unpacked
    assert bench.stored.status.digest == FILES.digest
    assert bench.content.links == {"b": FILES.digest}
    assert bench.events.told == [("Normal", "b", "Unpacked")]
    assert bench.news == ["b"]
    assert bench.bundles.get("b") == bench.stored, "the next reconcile does not wait for the event"


async def test_a_source_is_told_whose_content_it_fetches(bench: Bench) -> None:
    bench.put(bundle())
    await bench.unpack()
    (request,) = bench.sources.asked
    assert (request.bundle, request.uid, request.source) == ("b", "uid-of-b", source())


async def test_a_pinned_bundle_costs_no_call(bench: Bench) -> None:
    await bench.store(pinned())
    bench.put(pinned())
    assert await bench.reconcile() == SETTLED
    assert (bench.client.calls, bench.sources.asked, bench.events.told) == ([], [], [])
    assert bench.content.links == {"b": FILES.digest}, "its link is seen to"


async def test_the_store_is_asked_for_pinned_content_once_and_at_each_slow_pass(bench: Bench) -> None:
    await bench.store(pinned())
    bench.put(pinned())
    await bench.reconcile()
    bench.content.links.clear()
    await bench.reconcile()
    assert bench.content.links == {}, "nobody asked"
    bench.reconciler.check_content()
    await bench.reconcile()
    assert bench.content.links == {"b": FILES.digest}


async def test_a_pinned_bundle_whose_content_is_lost_is_left_until_content_is_requested(bench: Bench) -> None:
    bench.put(pinned())
    assert await bench.reconcile() == SETTLED
    assert (bench.client.calls, bench.sources.asked) == ([], [])


async def test_lost_content_that_is_requested_is_fetched_from_the_resolved_source(bench: Bench) -> None:
    one = pinned()
    bench.put(replace(one, status=replace(one.status, resolved_source=source("resolved"))))
    await bench.records.keep(record_of(one, resolved=source("resolved")))
    bench.reconciler.request_content(bench.stored)
    assert bench.woken == ["b"]
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert [request.source for request in bench.sources.asked] == [source("resolved")]
    assert bench.content.links == {"b": FILES.digest}
    assert bench.client.calls == [], "its status said all of it already"
    assert bench.news == ["b"], "whoever waits for the content is told"
    assert await bench.reconcile() == SETTLED
    assert len(bench.sources.asked) == 1, "asked for once, fetched once"


async def test_the_slow_pass_fetches_what_is_lost_and_nothing_else(bench: Bench) -> None:
    await bench.store(pinned())
    bench.put(pinned())
    bench.reconciler.check_content()
    assert await bench.reconcile() == SETTLED
    assert bench.sources.asked == []
    bench.content.stored.clear()
    bench.reconciler.check_content()
    await bench.reconcile()
    await until(lambda: bench.sources.asked)


async def test_the_slow_pass_storms_no_server(bench: Bench) -> None:
    """Two fetches at a time, each begun at the end of another; requested content does not wait with them."""
    names = [f"b{number}" for number in range(7)]
    bench.sources.gate = asyncio.Event()
    bench.sources.error = UnavailableError("gone")
    for name in names:
        bench.put(unpacked(name, digest=FILES.digest))
    bench.reconciler.check_content()
    await bench.reconcile_woken()
    assert len(bench.sources.asked) == REFILLS_AT_ONCE
    bench.reconciler.request_content(bench.read("b6"))
    await bench.reconcile_woken()
    assert [one.bundle for one in bench.sources.asked] == ["b0", "b1", "b6"]
    bench.reconciler.gone(bench.read("b0"))
    await bench.reconcile_woken()
    assert [one.bundle for one in bench.sources.asked[3:]] == ["b2"]
    bench.sources.gate.set()
    async with asyncio.timeout(10):
        while len(bench.sources.asked) < len(names):
            await bench.reconcile_woken()
    assert {one.bundle for one in bench.sources.asked} == set(names)


async def test_lost_content_that_cannot_be_fetched_again_is_told_once_beside_what_was_unpacked(bench: Bench) -> None:
    """It is not requested, so it is no failure; the next slow pass tries again, another process repeats no Event."""
    bench.put(pinned())
    bench.sources.error = UnavailableError("no answer")
    for number in range(1, 3):
        bench.reconciler.check_content()
        await bench.reconcile()
        await until(lambda: len(bench.sources.asked) == number)  # noqa: B023 - it is awaited here
        await until(lambda: bench.woken.count("b") >= 2)
        assert await bench.reconcile() == SETTLED
        bench.woken.clear()
        assert await bench.reconcile() == SETTLED
        assert bench.events.told == [("Warning", "b", "UnpackFailed")]
        assert len(bench.client.calls) == 1
        bench.states.reset("uid-of-b")  # as a new process
        assert await bench.reconcile() == SETTLED
    found = conditions(bench.stored.status)
    lost = "the unpacked content is lost, and cannot be fetched again yet: source bundle content: no answer"
    assert found["Unpacked"] == ("True", "UnpackSuccessful", f"{found['Ready'][2]}\n{lost}")
    assert found["Ready"][0] == "True"

    bench.sources.error = None
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    await bench.unpack()
    assert conditions(bench.stored.status)["Unpacked"] == found["Ready"]
    assert bench.events.told == [("Warning", "b", "UnpackFailed")]


async def test_other_content_is_never_accepted_for_a_pinned_bundle(bench: Bench) -> None:
    bench.put(pinned())
    bench.sources.tree = OTHER_FILES
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    assert await bench.unpack() == retried()
    assert bench.stored.status.digest == FILES.digest
    assert bench.stored.status.phase == BundlePhase.FAILING
    assert conditions(bench.stored.status)["Unpacked"][1] == "ContentChanged"
    assert bench.events.told == [("Warning", "b", "ContentChanged")]
    assert bench.content.links == {}
    assert bench.sources.settled == ["b"], "the pod that has it is not read again"


async def test_the_old_content_is_accepted_when_it_comes_back(bench: Bench) -> None:
    bench.put(pinned())
    bench.sources.tree = OTHER_FILES
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    await bench.unpack()
    bench.sources.tree = FILES
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked
    assert bench.content.links == {"b": FILES.digest}


def installed(one: Source, digest: str = FILES.digest) -> Installation:
    template = BundleTemplate(spec=replace(spec(), source=one))
    return Installation(bundle="b", digest=digest, time=NOW, template=template)


async def test_other_content_than_the_template_names_is_refused_with_the_way_out(bench: Bench) -> None:
    bench.put(bundle())
    bench.former = FormerContent(digest=FILES.digest, deployment="uid-of-shop", is_named=True, is_of_source=False)
    bench.sources.tree = OTHER_FILES
    assert await bench.unpack() == retried()
    told = OtherThanNamed(found=OTHER_FILES.digest, named=FILES.digest)
    assert conditions(bench.stored.status)["Unpacked"] == ("False", "ContentChanged", told.text(()))
    assert bench.records.of("uid-of-b") is None
    bench.former = None
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.digest == OTHER_FILES.digest


class TestABundleThatWasDeletedAndMadeAgainWhileItsContentIsInstalled:
    BRANCH = Source(type="git", git=GitSource(repository="https://git/x", ref=GitRef(branch="main")))
    COMMIT = Source(type="git", git=GitSource(repository="https://git/x", ref=GitRef(commit="1" * 40)))

    async def test_a_bundle_made_again_is_fetched_as_it_was_resolved(self, bench: Bench) -> None:
        bench.put(replace(bundle(), spec=replace(spec(), source=self.BRANCH)))
        bench.installed = installed(self.COMMIT)
        assert await bench.unpack() == SETTLED
        assert [request.source for request in bench.sources.asked] == [self.COMMIT]
        assert bench.stored.status.digest == FILES.digest
        assert bench.stored.status.resolved_source == self.COMMIT

    async def test_the_history_says_neither_which_server_is_asked_nor_with_whose_login(self, bench: Bench) -> None:
        """Others may have written it."""
        login = Authorization(secret=SecretReference(name="s"))
        other = GitSource(repository="https://elsewhere/x", ref=GitRef(commit="1" * 40), auth=login)
        bench.put(replace(bundle(), spec=replace(spec(), source=self.BRANCH)))
        bench.installed = installed(Source(type="git", git=other))
        await bench.unpack()
        assert [request.source for request in bench.sources.asked] == [self.COMMIT]

    async def test_other_content_is_not_accepted(self, bench: Bench) -> None:
        bench.put(bundle())
        bench.installed = installed(source())
        bench.sources.tree = OTHER_FILES
        assert await bench.unpack() == retried()
        told = OtherThanInstalled(found=OTHER_FILES.digest, installed=FILES.digest)
        assert conditions(bench.stored.status)["Unpacked"] == ("False", "ContentChanged", told.text(()))
        assert not bench.stored.status.digest
        assert bench.records.of("uid-of-b") is None

        bench.sources.tree = FILES
        assert await bench.unpack() == SETTLED
        assert bench.stored.status.is_unpacked

    async def test_other_content_is_accepted_once_something_else_is_installed(self, bench: Bench) -> None:
        bench.put(bundle())
        bench.installed = installed(source())
        bench.sources.tree = OTHER_FILES
        await bench.unpack()
        bench.installed = None
        assert await bench.unpack() == SETTLED
        assert bench.stored.status.digest == OTHER_FILES.digest

    async def test_a_commit_that_is_gone_is_told_with_the_way_out(self, bench: Bench) -> None:
        bench.put(replace(bundle(), spec=replace(spec(), source=self.BRANCH)))
        bench.installed = installed(self.COMMIT)
        bench.sources.error = ContentError("no such commit")
        await bench.unpack()
        told = InstalledContentGone(words="source bundle content: no such commit", pin=f"commit {'1' * 40}")
        assert conditions(bench.stored.status)["Unpacked"] == ("False", "UnpackFailed", told.text(()))

    async def test_content_that_later_rules_refuse_is_what_is_installed(self, bench: Bench) -> None:
        bench.put(bundle())
        bench.installed = installed(source())
        bench.content.refusing = ContentError("refused by now")
        assert await bench.unpack() == SETTLED

    async def test_an_upload_is_waited_for_as_lost_content(self, bench: Bench) -> None:
        bench.put(replace(bundle(), spec=replace(spec(), source=Source(type="upload", upload=UploadSource()))))
        bench.installed = installed(Source(type="upload", upload=UploadSource()))
        bench.sources.error = WAITING
        await bench.unpack()
        assert conditions(bench.stored.status)["Unpacked"][1] == "ContentLost"

    async def test_an_api_server_that_does_not_say_what_is_installed_is_asked_again(self, bench: Bench) -> None:
        bench.put(bundle())
        bench.installed_error = UnavailableError("no answer")
        assert await bench.unpack() == retried()
        assert bench.sources.asked == []

    async def test_content_that_was_unpacked_for_the_bundle_itself_counts_first(self, bench: Bench) -> None:
        bench.put(pinned())
        bench.installed = installed(source("installed"), OTHER_FILES.digest)
        bench.reconciler.request_content(bench.stored)
        bench.woken.clear()
        await bench.unpack()
        assert bench.stored.status.digest == FILES.digest
        assert [request.source for request in bench.sources.asked] == [source()]


@pytest.mark.parametrize(
    ("error", "schedule"),
    [
        (UnavailableError("no answer"), retried()),
        (AccessError("no answer"), retried(DENIED_SECONDS)),
    ],
)
async def test_an_unpack_that_may_succeed_later_is_tried_again(
    bench: Bench, error: RukPakError, schedule: Schedule
) -> None:
    bench.put(bundle())
    bench.sources.error = error
    assert await bench.unpack() == schedule
    assert conditions(bench.stored.status)["Unpacked"] == ("False", "UnpackFailed", "source bundle content: no answer")
    assert bench.events.told == [("Warning", "b", "UnpackFailed")]


async def test_a_server_that_says_when_is_not_asked_before(bench: Bench) -> None:
    bench.put(bundle())
    bench.sources.error = UnavailableError("no answer", retry_after=10_000.0)
    now = asyncio.get_running_loop().time()
    schedule = await bench.unpack()
    assert schedule.attempt_at is not None
    assert schedule.attempt_at >= now + 10_000.0


async def test_failing_again_the_same_way_is_neither_written_nor_told(bench: Bench) -> None:
    bench.put(bundle())
    bench.sources.error = UnavailableError("no answer")
    await bench.unpack()
    await bench.unpack()
    assert bench.client.calls == ["status Bundle b"]
    assert len(bench.events.told) == 1
    assert len(bench.sources.asked) == 2


@pytest.mark.parametrize("error", [UnavailableError("no answer"), AccessError("401"), ContentError("empty"), WAITING])
async def test_a_look_between_two_attempts_fetches_nothing(bench: Bench, error: RukPakError) -> None:
    """It began another fetch: once a second, for ever, whatever the back-off said."""
    bench.put(bundle())
    bench.sources.error = error
    await bench.unpack()
    status = bench.stored.status
    for _ in range(3):
        assert await bench.reconcile(LOOK) == HELD
    assert (len(bench.sources.asked), bench.stored.status) == (1, status)
    await bench.unpack()
    assert len(bench.sources.asked) == 2


async def test_lost_content_is_fetched_at_the_first_request_and_then_with_its_pauses(bench: Bench) -> None:
    bench.put(pinned())
    bench.sources.error = UnavailableError("no answer")
    bench.reconciler.request_content(pinned())
    assert bench.woken == ["b"]
    bench.woken.clear()
    assert await bench.unpack() == retried()
    bench.reconciler.request_content(pinned())
    assert bench.woken == [], "its next attempt has its time"


async def test_a_bug_in_a_fetch_fails_its_bundle_and_nothing_else(bench: Bench) -> None:
    bench.put(bundle())
    bench.sources.error = KeyError("a secret")
    assert await bench.unpack() == retried()
    message = "unexpected KeyError; this is a bug, please report it"
    assert conditions(bench.stored.status)["Unpacked"] == ("False", "UnpackFailed", message)


async def test_a_bundle_that_is_deleted_while_it_is_fetched_ends_its_job(bench: Bench) -> None:
    bench.sources.gate = asyncio.Event()
    bench.put(bundle())
    await bench.reconcile()
    await until(lambda: bench.sources.asked)
    bench.bundles.drop("b", "uid-of-b")
    bench.reconciler.gone(bundle())
    await until(lambda: bench.woken)
    assert await bench.reconcile() == SETTLED
    assert bench.client.calls == []


async def test_wrong_content_is_not_tried_again(bench: Bench) -> None:
    bench.put(bundle())
    bench.content.refusing = ContentError("empty")
    assert await bench.unpack() == HELD
    assert "Stalled" in conditions(bench.stored.status)
    assert conditions(bench.stored.status)["Unpacked"] == ("False", "UnpackFailed", "empty")


async def test_content_that_was_wrong_is_judged_anew_for_a_deployment_of_another_class(bench: Bench) -> None:
    bench.put(replace(bundle(), metadata=replace(bundle().metadata, owner_references=(CONTROLLER,))))
    bench.content.refusing = ContentError("empty")
    assert await bench.unpack() == HELD
    bench.reconciler.deployment_changed(CONTROLLER.uid)
    assert bench.woken == []
    bench.deployment_class = REGISTRY_CLASS
    bench.content.refusing = None
    bench.reconciler.deployment_changed(CONTROLLER.uid)
    assert bench.woken == ["b"]
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked
    bench.reconciler.deployment_changed(CONTROLLER.uid)
    assert bench.woken == []


async def test_a_class_that_changes_while_the_content_is_judged(bench: Bench) -> None:
    """The result is of no interest any more, and nothing else would wake the Bundle."""
    bench.put(replace(bundle(), metadata=replace(bundle().metadata, owner_references=(CONTROLLER,))))
    bench.content.refusing = ContentError("empty")
    assert await bench.reconcile() == under_way(WAIT_QUIET_SECONDS)
    await until(lambda: bench.woken)
    bench.deployment_class, bench.content.refusing = REGISTRY_CLASS, None
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked


async def test_a_slow_job_is_told_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(jobs, "monotonic", clock)
    bench.sources.gate = opened = asyncio.Event()
    bench.put(bundle())
    assert await bench.reconcile() == under_way(WAIT_QUIET_SECONDS)
    clock.now += 100
    assert await bench.reconcile() == under_way(WAIT_QUIET_SECONDS), "it has no place in its lane yet"
    await until(lambda: bench.sources.asked)
    clock.now += 0.25
    assert await bench.reconcile() == under_way(WAIT_QUIET_SECONDS - 0.25)
    assert bench.client.calls == []
    clock.now += WAIT_QUIET_SECONDS - 0.25
    assert await bench.reconcile() == under_way()
    assert await bench.reconcile() == under_way()
    assert bench.client.calls == ["status Bundle b"]
    assert bench.stored.status.phase == BundlePhase.UNPACKING
    opened.set()


async def test_a_failing_bundle_does_not_flicker_to_unpacking(bench: Bench) -> None:
    bench.put(bundle())
    bench.sources.error = UnavailableError("no answer")
    await bench.unpack()
    bench.sources.gate = asyncio.Event()
    await bench.reconcile()
    assert await bench.reconcile() == under_way()
    assert bench.stored.status.phase == BundlePhase.FAILING


@pytest.mark.parametrize("observed", [-1, 0, 2, 17])
async def test_a_bundle_that_a_restore_brought_with_its_status_is_unpacked_like_any_other(
    bench: Bench, observed: int
) -> None:
    """Its observedGeneration may be ahead of its generation: that proves nothing."""
    one = bundle(generation=1)
    bench.put(replace(one, status=replace(one.status, observed_generation=observed)))
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked
    assert bench.stored.status.observed_generation == 1


async def test_a_pinned_bundle_that_a_restore_brought_is_kept_and_observed_as_it_is_now(bench: Bench) -> None:
    await bench.store(pinned())
    one = pinned()
    bench.put(replace(one, status=replace(one.status, observed_generation=17)))
    assert await bench.reconcile() == SETTLED
    assert (bench.stored.status.observed_generation, bench.sources.asked) == (1, [])
    assert bench.stored.status.digest == FILES.digest
    assert bench.events.told == []


async def test_a_bundle_that_a_restore_brought_can_be_deleted(bench: Bench) -> None:
    one = bundle(deletion_timestamp=NOW, finalizers=(UPSTREAM_BUNDLE_FINALIZER,))
    bench.put(replace(one, status=replace(one.status, observed_generation=17)))
    assert await bench.reconcile() == SETTLED
    assert bench.stored.metadata.finalizers == ()


async def test_a_class_of_others_is_none_of_our_business(bench: Bench) -> None:
    bench.put(replace(bundle(), spec=spec(provisioner=HELM_CLASS)))
    assert await bench.reconcile() == SETTLED
    assert (bench.client.calls, bench.sources.asked) == ([], [])


async def test_the_spelling_of_old_classes_is_ours(bench: Bench) -> None:
    bench.put(replace(bundle(), spec=spec(provisioner="core.rukpak.io/plain")))
    assert await bench.unpack() == SETTLED


async def test_a_bundle_that_is_gone_loses_its_link(bench: Bench) -> None:
    bench.content.links["b"] = "sha256:1"
    assert await bench.reconcile() == SETTLED
    assert bench.content.links == {}


async def test_a_misspelt_class_of_ours_is_told(bench: Bench) -> None:
    name = "core-rukpak-io-plian"
    bench.put(replace(bundle(), spec=spec(provisioner=name)))
    assert await bench.reconcile() == SETTLED
    told = UnknownClass(class_name=name, field="spec.provisionerClassName", is_immutable=True)
    assert conditions(bench.stored.status)["Ready"] == ("False", "ClassUnknown", told.text(()))
    assert "Stalled" in conditions(bench.stored.status)
    assert bench.events.told == [("Warning", "b", "ClassUnknown")]


async def test_the_originals_finalizer_goes_and_others_stay(bench: Bench) -> None:
    bench.put(bundle(deletion_timestamp=NOW, finalizers=("x/y", UPSTREAM_BUNDLE_FINALIZER)))
    assert await bench.reconcile() == SETTLED
    assert bench.client.calls == ["patch Bundle b"]
    assert bench.stored.metadata.finalizers == ("x/y",)


async def test_a_bundle_that_is_being_deleted_is_not_fetched(bench: Bench) -> None:
    bench.put(bundle(deletion_timestamp=NOW, finalizers=("x/y",)))
    assert await bench.reconcile() == SETTLED
    assert (bench.client.calls, bench.sources.asked) == ([], [])


async def test_a_spec_changed_past_the_webhook_is_told_once_and_taken_back(bench: Bench) -> None:
    one = pinned()
    bench.put(replace(one, spec=spec("others"), metadata=replace(one.metadata, generation=2)))
    assert await bench.reconcile() == SETTLED
    assert conditions(bench.stored.status)["Ready"][:2] == ("False", "SpecChanged")
    await bench.reconcile()
    assert bench.client.calls == ["status Bundle b"]
    back = replace(bench.stored, spec=one.spec, metadata=replace(bench.stored.metadata, generation=3))
    bench.put(back)
    assert await bench.reconcile() == SETTLED
    assert conditions(bench.stored.status)["Ready"][0] == "True"
    assert bench.stored.status.observed_generation == 3
    assert bench.sources.asked == []


async def test_a_bundle_that_was_deleted_while_it_was_fetched_is_forgotten(bench: Bench) -> None:
    bench.put(bundle())
    await bench.reconcile()
    await until(lambda: bench.woken)
    del bench.client.objects[BUNDLE_KIND, "b"]
    assert await bench.reconcile() == SETTLED


async def test_a_result_is_never_written_to_another_bundle_of_the_name(bench: Bench) -> None:
    bench.put(bundle())
    await bench.reconcile()
    await until(lambda: bench.woken)
    del bench.client.objects[BUNDLE_KIND, "b"]
    bench.client.put(BUNDLE_KIND, to_json(bundle(uid="another")))
    assert await bench.reconcile() == SETTLED
    assert bench.stored.status.phase == ""


UPLOAD = Source(type="upload", upload=UploadSource())


def upload_bundle(one: Bundle | None = None) -> Bundle:
    one = one or bundle()
    spec = replace(one.spec, source=UPLOAD)
    return replace(one, spec=spec, status=replace(one.status, spec_digest=""))


async def test_a_bundle_waits_for_its_upload_without_asking_again(bench: Bench) -> None:
    bench.put(upload_bundle())
    bench.sources.error = WAITING
    assert await bench.unpack() == HELD
    assert bench.stored.status.phase == BundlePhase.PENDING
    found = conditions(bench.stored.status)
    assert found["Unpacked"] == ("False", "UnpackPending", "waiting for bundle to be uploaded")
    assert found["Reconciling"] == ("True", "UnpackPending", "waiting for bundle to be uploaded")
    assert bench.events.told == []


async def test_an_upload_wakes_its_bundle(bench: Bench) -> None:
    bench.put(upload_bundle())
    bench.sources.error = WAITING
    await bench.unpack()
    bench.sources.error = None
    bench.reconciler.uploaded(bench.stored)
    assert bench.woken == ["b"]
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.digest == FILES.digest


@pytest.mark.parametrize("error", [WAITING, None])
async def test_a_result_from_before_an_upload_does_not_count(bench: Bench, error: ContentPendingError | None) -> None:
    """It was found before the upload came, and taken after it: neither as pending nor as the former content."""
    bench.put(upload_bundle())
    bench.sources.error = error
    await bench.reconcile()
    await until(lambda: bench.woken)
    bench.sources.error, bench.sources.tree = None, OTHER_FILES
    bench.reconciler.uploaded(bench.stored)
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.digest == OTHER_FILES.digest
    assert bench.client.calls == ["status Bundle b"]


@pytest.mark.parametrize("is_requested", [True, False])
async def test_a_lost_upload_says_so_until_it_is_back(bench: Bench, is_requested: bool) -> None:  # noqa: FBT001 - a case
    bench.put(upload_bundle(pinned()))
    bench.sources.error = WAITING
    if is_requested:
        bench.reconciler.request_content(bench.stored)
        bench.woken.clear()
        await bench.unpack()
    else:
        bench.reconciler.check_content()
        bench.woken.clear()
        await bench.reconcile()
        await until(lambda: bench.woken)
        await bench.reconcile()
    status = bench.stored.status
    assert (status.phase, status.digest, status.content_url) == (BundlePhase.FAILING, FILES.digest, "")
    found = conditions(status)
    assert {found[kind][1] for kind in ("Unpacked", "Ready", "Stalled")} == {"ContentLost"}
    assert bench.events.told == [("Warning", "b", "ContentLost")]
    assert "b" not in bench.content.links

    bench.sources.error = None
    bench.reconciler.uploaded(bench.stored)
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert bench.stored.status.is_unpacked
    assert bench.content.links == {"b": FILES.digest}


async def test_a_deployment_that_asks_for_a_lost_upload_again_and_again_is_not_heard(bench: Bench) -> None:
    bench.put(upload_bundle(pinned()))
    bench.sources.error = WAITING
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    await bench.unpack()
    bench.reconciler.request_content(bench.stored)
    assert bench.woken == []


async def test_the_url_is_written_with_the_rest_and_corrected_when_it_moves(bench: Bench) -> None:
    bench.pinning.content_url = lambda name: f"https://here/{name}"
    bench.put(bundle())
    await bench.unpack()
    assert bench.stored.status.content_url == "https://here/b"
    assert bench.client.calls == ["status Bundle b"]
    assert await bench.reconcile() == SETTLED
    bench.pinning.content_url = lambda name: f"https://there/{name}"
    assert await bench.reconcile() == SETTLED
    assert bench.stored.status.content_url == "https://there/b"
    assert len(bench.client.calls) == 2
    assert bench.events.told == [("Normal", "b", "Unpacked")], "that is no news"


async def test_a_link_of_a_former_bundle_of_the_name_goes_at_once(bench: Bench) -> None:
    bench.content.links["b"] = OTHER_FILES.digest
    bench.put(bundle())
    await bench.reconcile()
    assert "b" not in bench.content.links


async def test_a_link_to_lost_content_goes(bench: Bench) -> None:
    bench.content.links["b"] = FILES.digest
    bench.put(pinned())
    assert await bench.reconcile() == SETTLED
    assert "b" not in bench.content.links
