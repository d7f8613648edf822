"""Others may write the status of a Bundle: which content it has, its record says."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs
from msgspec.structs import replace

from rukpak_py.api.bundle import Bundle, pinned_source
from rukpak_py.api.names import BundlePhase
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import GitRef, GitSource, HttpSource, ImageSource
from rukpak_py.content import disk
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.tree import Tree
from rukpak_py.controllers.queue import SETTLED
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.errors import ApiError, ErrorAnswer
from tests.unit.controllers.bundle.test_bundle_reconcile import FILES, OTHER_FILES, Bench, pinned, record_of, retried
from tests.unit.controllers.fakes import FakeContent
from tests.unit.controllers.values import bundle, conditions, source, spec

IMAGE = Source(type="image", image=ImageSource(ref="quay.io/team/demo:v1", pull_secret="login"))
PEM = "-----BEGIN CERTIFICATE-----"
PINNED_IMAGE = f"quay.io/team/demo@sha256:{1:064}"


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    yield bench
    await bench.reconciler.close()


def with_status(one: Bundle, **fields: Any) -> Bundle:
    return replace(one, status=replace(one.status, **fields))


async def test_unpacked_content_is_recorded_when_the_status_says_it(bench: Bench) -> None:
    bench.put(bundle())
    seen: list[object] = []
    bench.reconciler._on_news = lambda one: seen.append(bench.records.of(one.metadata.uid))
    await bench.unpack()
    assert bench.records.kept == {"uid-of-b": record_of(bench.stored)}
    assert seen == [bench.records.of("uid-of-b")], "listeners find it recorded"


async def test_a_status_that_could_not_be_written_is_written_from_the_record_without_another_fetch(
    bench: Bench,
) -> None:
    """As after a kill in between. The source may have moved meanwhile: what was stored is what the Bundle is."""
    bench.put(bundle())
    bench.client.failing["status"] = ApiError(ErrorAnswer(subject="test", status=500, message="down"))
    with pytest.raises(ApiError):
        await bench.unpack()
    assert not bench.stored.status.digest
    del bench.client.failing["status"]
    fetches = len(bench.sources.asked)
    bench.sources.tree = OTHER_FILES
    assert await bench.reconcile() == SETTLED
    assert (bench.stored.status.digest, bench.stored.status.is_unpacked) == (FILES.digest, True)
    assert bench.records.kept == {"uid-of-b": record_of(bench.stored)}
    assert len(bench.sources.asked) == fetches


async def test_a_digest_that_a_client_wrote_is_reported_and_not_acted_on(bench: Bench) -> None:
    """The foreign content is stored: it is that of another Bundle."""
    await bench.store(pinned())
    await bench.content.keep(OTHER_FILES)
    bench.put(with_status(pinned(), digest=OTHER_FILES.digest))
    for _ in range(2):
        bench.reconciler.request_content(bench.stored)
        assert await bench.reconcile() == SETTLED
    assert bench.woken == [], "a deployment that asks again and again is not heard"
    status = bench.stored.status
    assert (status.phase, status.content_url) == (BundlePhase.FAILING, "")
    found = conditions(status)
    assert found["Unpacked"][:2] == ("False", "ContentChanged")
    assert f"set it back to {FILES.digest}, or delete the Bundle" in found["Unpacked"][2]
    assert found["Stalled"][1] == "ContentChanged"
    assert bench.content.links == {}
    assert bench.sources.asked == []
    assert bench.client.calls == ["status Bundle b"]
    assert bench.events.told == [("Warning", "b", "ContentChanged")]


async def test_a_digest_that_is_set_back_is_unpacked_again_without_a_fetch(bench: Bench) -> None:
    await bench.store(pinned())
    bench.put(with_status(pinned(), digest=OTHER_FILES.digest))
    await bench.reconcile()
    bench.put(with_status(bench.stored, digest=FILES.digest))
    assert await bench.reconcile() == SETTLED
    assert bench.stored.status.is_unpacked
    assert conditions(bench.stored.status)["Ready"][0] == "True"
    assert bench.content.links == {"b": FILES.digest}
    assert bench.sources.asked == []


async def test_a_job_that_runs_while_a_client_writes_a_digest_is_of_no_account(bench: Bench) -> None:
    one = pinned()
    await bench.records.keep(record_of(one))
    bench.put(one)
    bench.reconciler.request_content(one)
    await bench.reconcile()
    bench.put(with_status(bench.stored, digest=OTHER_FILES.digest))
    assert await bench.reconcile() == SETTLED
    assert conditions(bench.stored.status)["Unpacked"][1] == "ContentChanged"
    assert await bench.reconcile() == SETTLED
    assert bench.stored.status.digest == OTHER_FILES.digest


async def test_a_status_that_a_client_emptied_is_written_again_without_a_fetch(bench: Bench) -> None:
    """The tag may have moved meanwhile: the Bundle stays what it is."""
    await bench.store(pinned())
    bench.sources.tree = OTHER_FILES
    bench.put(bundle())
    assert await bench.reconcile() == SETTLED
    assert (bench.stored.status.digest, bench.stored.status.is_unpacked) == (FILES.digest, True)
    assert bench.sources.asked == []


async def test_a_status_that_a_client_emptied_unpins_nothing_when_the_content_is_lost(bench: Bench) -> None:
    await bench.records.keep(record_of(pinned()))
    bench.sources.tree = OTHER_FILES
    bench.put(bundle())
    assert await bench.unpack() == retried()
    message = conditions(bench.stored.status)["Unpacked"][2]
    assert f"(found {OTHER_FILES.digest}, unpacked {FILES.digest})" in message
    assert bench.content.links == {}


async def test_a_source_that_a_client_wrote_is_never_fetched_and_is_corrected(bench: Bench) -> None:
    await bench.records.keep(record_of(pinned()))
    bench.put(with_status(pinned(), resolved_source=source("hostile")))
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    await bench.unpack()
    assert [one.source for one in bench.sources.asked] == [source()]
    assert bench.stored.status.resolved_source == source()


async def test_stored_content_without_a_record_counts_as_lost_until_it_was_fetched_again(bench: Bench) -> None:
    """The status of a Bundle without a record may say anything, and the stored content may belong to others."""
    await bench.content.keep(FILES)
    bench.put(pinned())
    assert await bench.reconcile() == SETTLED
    assert (bench.content.links, bench.sources.asked) == ({}, [])
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    assert await bench.unpack() == SETTLED
    assert len(bench.sources.asked) == 1
    assert bench.records.kept == {"uid-of-b": record_of(pinned())}
    assert bench.content.links == {"b": FILES.digest}


async def test_content_that_an_operator_without_records_linked_is_taken_over_without_a_fetch(bench: Bench) -> None:
    """Its source may be gone."""
    await bench.content.keep(FILES)
    bench.content.links["b"] = FILES.digest
    bench.records.are_new = True
    bench.put(pinned())
    bench.reconciler.request_content(bench.stored)  # its deployment looked first
    assert await bench.reconcile() == SETTLED
    assert bench.records.kept == {"uid-of-b": record_of(pinned())}
    assert (bench.content.links, bench.sources.asked) == ({"b": FILES.digest}, [])
    assert bench.news == ["b"], "its deployment looks again"


@pytest.mark.parametrize(("are_new", "linked"), [(False, FILES), (True, OTHER_FILES)], ids=["later", "other link"])
async def test_a_link_that_proves_nothing_is_not_taken_over(bench: Bench, linked: Tree, *, are_new: bool) -> None:
    """Later a Bundle that was made anew, under the name of another, could be given the content of that one."""
    for files in (FILES, OTHER_FILES):
        await bench.content.keep(files)
    bench.content.links["b"] = linked.digest
    bench.records.are_new = are_new
    bench.put(pinned())
    await bench.reconcile()
    assert (bench.records.kept, bench.content.links) == ({}, {})


async def test_a_digest_that_a_client_wrote_before_there_was_a_record_harms_its_bundle_only(bench: Bench) -> None:
    await bench.content.keep(OTHER_FILES)  # of another Bundle
    bench.put(with_status(pinned(), digest=OTHER_FILES.digest))
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    assert await bench.unpack() == retried()
    assert conditions(bench.stored.status)["Unpacked"][1] == "ContentChanged"
    assert (bench.records.kept, bench.content.links) == ({}, {})


async def test_a_spec_that_was_changed_past_the_webhook_is_told_by_the_record(bench: Bench) -> None:
    """The digest of the new spec was written into the status, too."""
    await bench.store(pinned())
    one = replace(pinned(), spec=spec("others"))
    bench.put(with_status(one, spec_digest=""))
    assert await bench.reconcile() == SETTLED
    assert conditions(bench.stored.status)["Ready"][:2] == ("False", "SpecChanged")
    assert bench.content.links == {"b": FILES.digest}


async def test_the_record_follows_a_bundle_that_another_deployment_takes_over(bench: Bench) -> None:
    """One of its name, after the former was deleted with --cascade=orphan."""
    await bench.content.keep(FILES)
    former = structs.replace(record_of(pinned()), deployment="uid-of-former")
    await bench.records.keep(former)
    bench.put(pinned())
    assert await bench.reconcile() == SETTLED
    assert bench.records.kept == {"uid-of-b": record_of(pinned())}
    assert bench.client.calls == []


def test_a_status_decides_neither_which_server_is_asked_nor_with_whose_credentials() -> None:
    git = GitSource(repository="https://git.example.com/x", ref=GitRef(branch="main"))
    commit = "c" * 40
    hostile_git = GitSource(repository="https://evil.example.com/x", ref=GitRef(commit=commit))
    cases = [
        (source(), source("hostile"), source()),
        (source(), Source(type="git", git=hostile_git), source()),
        (IMAGE, _image(PINNED_IMAGE), _image(PINNED_IMAGE, pull_secret="login")),
        (IMAGE, _image(PINNED_IMAGE.replace("quay", "evil")), _image(PINNED_IMAGE, pull_secret="login")),
        (IMAGE, _image("evil.io/x:v1"), IMAGE),
        (_image("localhost:5000/x"), _image(f"r/y@sha256:{1:064}"), _image(f"localhost:5000/x@sha256:{1:064}")),
        (_image(PINNED_IMAGE), _image(f"quay.io/team/demo@sha256:{2:064}"), _image(PINNED_IMAGE)),
        (Source(type="git", git=git), Source(type="git", git=hostile_git), _git(git, commit)),
        (_git(git, "d" * 40), Source(type="git", git=hostile_git), _git(git, "d" * 40)),
        (_git(git, "cccc"), Source(type="git", git=hostile_git), _git(git, commit)),
    ]
    for given, resolved, expected in cases:
        one = replace(bundle(), spec=replace(bundle().spec, source=given))
        assert pinned_source(with_status(one, resolved_source=resolved)) == expected


def test_a_recorded_source_is_fetched_with_the_login_of_the_spec() -> None:
    one = replace(bundle(), spec=replace(bundle().spec, source=IMAGE))
    hostile = with_status(one, resolved_source=_image("evil.io/x@sha256:1"))
    assert pinned_source(hostile, _image(PINNED_IMAGE)) == _image(PINNED_IMAGE, pull_secret="login")


@pytest.mark.parametrize(
    "given",
    [
        Source(type="http", http=HttpSource(url="https://example.com/a.tgz", sha256="1" * 64, ca_bundle=PEM)),
        Source(
            type="git", git=GitSource(repository="https://example.com/a", ref=GitRef(commit="c" * 40), ca_bundle=PEM)
        ),
        Source(type="image", image=ImageSource(ref=PINNED_IMAGE, ca_bundle=PEM)),
        source(),
    ],
    ids=lambda given: given.type,
)
async def test_a_status_has_no_certificates_and_lost_content_is_fetched_with_them(bench: Bench, given: Source) -> None:
    """`kubectl get bundles -o wide` prints all of `resolvedSource`."""
    bench.put(replace(bundle(), spec=replace(bundle().spec, source=given)))
    await bench.unpack()
    shown = bench.stored.status.resolved_source
    assert shown is not None
    assert shown.type == given.type
    assert PEM.encode() not in msgspec.json.encode(shown)
    bench.content.stored.clear()
    bench.reconciler.request_content(bench.stored)
    bench.woken.clear()
    await bench.unpack()
    assert [request.source for request in bench.sources.asked] == [given, given]


async def test_readers_that_were_given_the_content_of_an_image_are_recorded(bench: Bench) -> None:
    bench.sources.resolved = _image(PINNED_IMAGE)
    bench.put(replace(bundle(), spec=replace(bundle().spec, source=IMAGE)))
    await bench.unpack()
    [(access, digest)] = bench.records.images
    assert (access.image, access.bundle, access.deployment) == (PINNED_IMAGE, "uid-of-b", "uid-of-shop")
    assert digest == FILES.digest


async def test_an_image_that_has_no_digest_is_not_recorded(bench: Bench) -> None:
    """A node that got it from an archive knows only an id."""
    bench.sources.resolved = _image("quay.io/team/demo:v1")
    bench.put(replace(bundle(), spec=replace(bundle().spec, source=IMAGE)))
    await bench.unpack()
    assert bench.records.images == []


class ReadOnly(FakeContent):
    """The content can be read, and nothing can be written."""

    fails: tuple[str, ...] = ("keep", "link", "unlink")

    async def keep(self, tree: Tree, converted: Tree | None = None) -> str:
        self._fail("keep")
        return await super().keep(tree, converted)

    async def link(self, bundle: str, digest: str, form: Any) -> None:
        self._fail("link")
        await super().link(bundle, digest, form)

    async def unlink(self, bundle: str) -> None:
        self._fail("unlink")
        await super().unlink(bundle)

    def _fail(self, call: str) -> None:
        if call in self.fails:
            with disk.reporting_failures("the content store", Path("/var/cache/bundles")):
                raise OSError(30, "Read-only file system")


READ_ONLY = (
    "persist bundle content: the content store /var/cache/bundles failed: Read-only file system; "
    "mount its volume writable, or name another directory"
)


@pytest.mark.parametrize("fails", [("keep",), ("link",), ("unlink",)])
async def test_a_store_that_cannot_be_written_is_told_in_the_status_and_tried_again(
    fails: tuple[str, ...],
) -> None:
    content = ReadOnly()
    content.fails = fails
    bench = Bench(content)
    bench.put(bundle())
    outcome = await bench.unpack() if fails != ("unlink",) else await bench.reconcile()
    assert outcome == retried()
    found = conditions(bench.stored.status)
    assert found["Unpacked"] == ("False", "UnpackFailed", READ_ONLY)
    assert found["Ready"][:2] == ("False", "Unavailable")
    assert "Reconciling" in found
    assert bench.events.told == [("Warning", "b", "UnpackFailed")]
    content.fails = ()
    is_recorded = fails == ("link",)  # so it is not fetched again
    assert await (bench.reconcile() if is_recorded else bench.unpack()) == SETTLED
    assert bench.stored.status.is_unpacked
    await bench.reconciler.close()


async def test_a_store_that_cannot_be_written_says_nothing_of_content_that_is_there() -> None:
    """Only its link cannot be made; it is read without."""
    content = ReadOnly()
    content.stored[FILES.digest] = FILES
    bench = Bench(content)
    await bench.records.keep(record_of(pinned()))
    bench.put(pinned())
    assert await bench.reconcile() == SETTLED
    assert bench.client.calls == []
    await bench.reconciler.close()


def test_the_error_of_a_store_is_one_that_passes() -> None:
    assert issubclass(StoreUnavailableError, UnavailableError)


def _image(ref: str, **more: str) -> Source:
    return Source(type="image", image=ImageSource(ref=ref, **more))


def _git(git: GitSource, commit: str) -> Source:
    return Source(type="git", git=replace(git, ref=GitRef(commit=commit)))
