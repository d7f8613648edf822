"""Records as the controllers and the image source see them: in memory, on disk, and swept with care."""

import asyncio
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from rukpak_py.api.names import PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content import disk
from rukpak_py.content.records import BundleRecord, InUse, RecordStore
from rukpak_py.content.tree import Tree
from rukpak_py.controllers import content_records as module
from rukpak_py.controllers.content_records import ContentRecords, StoredImages
from rukpak_py.sources.image.descriptors import CHART
from rukpak_py.sources.source import ImageAccess, ImageContent
from tests.unit.bundles import tree_of
from tests.unit.controllers.fakes import Clock
from tests.unit.controllers.values import DIGEST, OTHER_DIGEST, source

REF = f"quay.io/team/demo@sha256:{0:064}"
TREE = tree_of({"manifests/a": "1"})
RECORD = BundleRecord(uid="u", deployment="d", spec_digest="s", digest=DIGEST, source=source())
NOTHING = InUse(bundles=set(), deployments=set(), installed=set())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock


@pytest.fixture
def records(tmp_path: Path) -> ContentRecords:
    return ContentRecords(tmp_path)


def access(bundle: str = "u", deployment: str = "", *, image: str = REF, class_name: str = PLAIN_CLASS) -> ImageAccess:
    return ImageAccess(image=image, provisioner_class=class_name, bundle=bundle, deployment=deployment)


class Stored:
    """Trees in the store, by digest."""

    def __init__(self, records: ContentRecords) -> None:
        self.trees = {DIGEST: TREE}
        self.images = StoredImages(records, has=self.has, load=self.load)

    async def has(self, digest: str) -> bool:
        return digest in self.trees

    async def load(self, digest: str) -> Tree | None:
        return self.trees.get(digest)


async def on_disk(folder: Path) -> dict[str, BundleRecord]:
    again = ContentRecords(folder)
    await again.open()
    return {uid: found for uid in ("u", "v") if (found := again.of(uid)) is not None}


async def test_a_kept_record_counts_and_is_on_disk(records: ContentRecords, tmp_path: Path) -> None:
    assert records.of("u") is None
    await records.keep(RECORD)
    assert (records.of("u"), await on_disk(tmp_path)) == (RECORD, {"u": RECORD})


async def test_only_the_first_process_that_keeps_records_finds_them_new(tmp_path: Path) -> None:
    first, next_one = ContentRecords(tmp_path), ContentRecords(tmp_path)
    await first.open()
    await next_one.open()
    assert (first.are_new, next_one.are_new) == (True, False)


async def test_content_belongs_to_recorded_bundles_and_deployments(records: ContentRecords) -> None:
    await records.keep(RECORD)
    assert records.is_content_of(DIGEST, bundle="u", deployment="")
    assert not records.is_content_of(OTHER_DIGEST, bundle="u", deployment="d")
    assert not records.is_content_of(DIGEST, bundle="v", deployment="d"), "a Bundle without a record has no content"
    assert records.is_content_of(DIGEST, bundle="", deployment="d"), "the Bundle is gone, its deployment is not"
    assert not records.is_content_of(OTHER_DIGEST, bundle="", deployment="d")
    assert not records.is_content_of(DIGEST, bundle="", deployment="")


async def test_record_of_a_spec_is_found_among_those_of_the_content(records: ContentRecords) -> None:
    other = replace(RECORD, uid="v", spec_digest="sha256:other")
    await records.keep(RECORD)
    await records.keep(other)
    assert records.of_deployment(DIGEST, "d") == RECORD
    assert records.of_deployment(DIGEST, "d", spec_digest="sha256:other") == other
    assert records.of_deployment(DIGEST, "d", spec_digest="sha256:third") is None
    assert records.of_deployment(DIGEST, "another", spec_digest="sha256:other") is None


async def test_a_record_that_cannot_be_written_counts_and_is_written_with_the_next_sweep(
    records: ContentRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        with disk.reporting_failures("the content store", tmp_path):
            raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(RecordStore, "keep_bundle", fail)
        patch.setattr(RecordStore, "keep_image", fail)
        await records.keep(RECORD)
        await records.image_unpacked(access(), DIGEST)
    assert records.of("u") == RECORD
    assert caplog.text.count("Read-only file system") == 2
    assert await on_disk(tmp_path) == {}
    await records.sweep(NOTHING)
    assert await on_disk(tmp_path) == {"u": RECORD}


async def test_a_sweep_forgets_what_is_gone_but_nothing_recent(
    records: ContentRecords, tmp_path: Path, clock: Clock
) -> None:
    await records.keep(RECORD)
    await records.image_unpacked(access("u", "d"), DIGEST)
    assert await records.sweep(NOTHING) == {DIGEST}, "the caches may not show its Bundle yet"
    clock.now += module.RECENT_SECONDS
    assert await records.sweep(InUse(bundles={"u"}, deployments=set(), installed=set())) == {DIGEST}
    assert await records.sweep(NOTHING) == set()
    assert (records.of("u"), await on_disk(tmp_path)) == (None, {})
    assert await records.image(access()) is None


async def test_a_record_kept_during_a_sweep_stays(
    records: ContentRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep does not know of it."""
    began, may_end = threading.Event(), threading.Event()
    real = RecordStore.sweep

    def slow(store: RecordStore, in_use: InUse) -> None:
        began.set()
        may_end.wait(10)
        real(store, in_use)

    monkeypatch.setattr(RecordStore, "sweep", slow)
    sweep = asyncio.create_task(records.sweep(NOTHING))
    await asyncio.to_thread(began.wait, 10)
    keep = asyncio.create_task(records.keep(RECORD))
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(sweep, keep)
    assert await on_disk(tmp_path) == {"u": RECORD}


async def test_stored_content_of_an_image_goes_to_those_who_proved_access(records: ContentRecords) -> None:
    images = Stored(records).images
    assert not await images.is_stored(access())
    await records.image_unpacked(access("u", "d"), DIGEST)
    assert await images.find(access("u")) == ImageContent(tree=TREE)
    assert await images.find(access("u", class_name="core.rukpak.io/plain")) == ImageContent(tree=TREE)
    assert await images.find(access("new", "d")) == ImageContent(tree=TREE), "its deployment has proved access"
    assert await images.find(access("new")) is None
    assert await images.find(access("new", "e")) is None
    assert await images.is_stored(access("new"))
    await images.prove(access("new", "e"))
    assert await images.find(access("new")) == ImageContent(tree=TREE)
    assert await images.find(access("newer", "e")) == ImageContent(tree=TREE)


async def test_the_type_of_a_stored_artifact_is_known_to_the_next_reader(records: ContentRecords) -> None:
    images = Stored(records).images
    await records.image_unpacked(access("u", "d"), DIGEST, artifact_type=CHART)
    await images.prove(access("new", "e"))
    assert await images.find(access("new")) == ImageContent(tree=TREE, artifact_type=CHART)


async def test_an_image_of_another_registry_or_for_another_class_is_another_one(records: ContentRecords) -> None:
    """A registry of the reader's own choice answers what it likes, so it proves nothing for this image."""
    images = Stored(records).images
    await records.image_unpacked(access(), DIGEST)
    assert await images.find(access(class_name=REGISTRY_CLASS)) is None
    assert await images.find(access(image=REF.replace("quay.io", "evil.io"))) is None
    assert not await images.is_stored(access(image=REF.replace("quay.io", "evil.io")))


async def test_content_of_an_image_that_was_swept_is_pulled_again(records: ContentRecords) -> None:
    stored = Stored(records)
    await records.image_unpacked(access(), DIGEST)
    stored.trees.clear()
    assert not await stored.images.is_stored(access())
    assert await stored.images.find(access()) is None
