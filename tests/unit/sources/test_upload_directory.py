"""Uploaded archives on disk, and the source that reads them."""

from pathlib import Path
from time import monotonic

import pytest

from rukpak_py.api.source import Source
from rukpak_py.api.source_types import UploadSource
from rukpak_py.content import disk
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits
from rukpak_py.sources import upload
from rukpak_py.sources.source import ContentPendingError, FetchRequest
from rukpak_py.sources.upload import UploadDirectory, UploadedFor
from tests.unit.sources.websites import FILES, tgz
from tests.workers import WORKERS

ONE = UploadedFor(bundle="b", uid="1")
OTHER = UploadedFor(bundle="b", uid="2")
SPEC = Source(type="upload", upload=UploadSource())


@pytest.fixture
def uploads(tmp_path: Path) -> UploadDirectory:
    return UploadDirectory(tmp_path / "uploads", DEFAULT_LIMITS)


async def store(uploads: UploadDirectory, body: bytes, to: UploadedFor = ONE) -> str:
    incoming = uploads.receive()
    try:
        await incoming.archive.add(body)
        await incoming.archive.complete()
        incoming.keep(to)
    finally:
        incoming.close()
    return incoming.archive.sha256


def names(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "uploads").iterdir()}


async def fetch(uploads: UploadDirectory, uid: str = "1", limits: Limits = DEFAULT_LIMITS) -> dict[str, bytes]:
    request = FetchRequest(bundle="b", uid=uid, source=SPEC)
    fetched = await upload.UploadFetcher(uploads, limits, WORKERS).fetch(request)
    assert fetched.resolved == SPEC
    return dict(fetched.tree)


async def test_an_archive_is_for_one_bundle(uploads: UploadDirectory, tmp_path: Path) -> None:
    sha256 = await store(uploads, tgz())
    assert uploads.sha256(ONE) == sha256
    assert uploads.sha256(OTHER) is None
    assert names(tmp_path) == {"b_1.tgz"}
    assert await fetch(uploads) == FILES


@pytest.mark.parametrize("uid", ["1", "2"])
async def test_missing_upload_is_waited_for(uploads: UploadDirectory, uid: str) -> None:
    if uid == "2":
        await store(uploads, tgz())
    with pytest.raises(ContentPendingError, match="waiting for bundle to be uploaded"):
        await fetch(uploads, uid)


async def test_a_newer_archive_takes_the_place_of_one_that_is_read(uploads: UploadDirectory) -> None:
    body = tgz()
    await store(uploads, body)
    reading = uploads.find(ONE)
    assert reading is not None
    await store(uploads, tgz({"other": b"1"}))
    with reading:
        assert reading.read() == body, "it is not written over"
    assert await fetch(uploads) == {"other": b"1"}


async def test_upload_that_is_not_kept_is_deleted(uploads: UploadDirectory, tmp_path: Path) -> None:
    incoming = uploads.receive()
    await incoming.archive.add(bytes(10**6))
    assert len(names(tmp_path)) == 1
    incoming.close()
    assert not names(tmp_path)


async def test_more_than_an_archive_may_have(tmp_path: Path) -> None:
    incoming = UploadDirectory(tmp_path / "uploads", Limits(archive_bytes=10)).receive()
    with pytest.raises(ContentError, match="the size of the archive exceeds the limit of 10 bytes"):
        await incoming.archive.add(bytes(11))
    incoming.close()
    assert not names(tmp_path)


async def test_temporary_file_of_a_crash_is_deleted_and_nothing_else(uploads: UploadDirectory, tmp_path: Path) -> None:
    await store(uploads, tgz())
    for name in (disk.temporary_name(), ".tmp-mine", "b.tgz", "notes_1.txt", "lost+found"):
        (tmp_path / "uploads" / name).write_text("")
    uploads.clean()
    assert names(tmp_path) == {"b_1.tgz", ".tmp-mine", "b.tgz", "notes_1.txt", "lost+found"}


async def test_archives_go_with_their_bundles(tmp_path: Path) -> None:
    before = UploadDirectory(tmp_path / "uploads", DEFAULT_LIMITS)
    await store(before, tgz())
    await store(before, tgz(), OTHER)
    (tmp_path / "uploads" / "b.tgz").write_text("a stranger's")
    uploads = UploadDirectory(tmp_path / "uploads", DEFAULT_LIMITS)
    assert uploads.sweep() == [], "the Bundles are not known"
    assert uploads.sweep({"2"}, monotonic()) == ["b_1.tgz"]
    await store(uploads, tgz(), ONE)
    uploads.gone("1")
    assert uploads.sweep() == ["b_1.tgz"], "the deletion was seen"
    assert names(tmp_path) == {"b_2.tgz", "b.tgz"}


async def test_upload_stored_after_a_list_was_asked_for_stays_however_old_the_list_becomes(
    uploads: UploadDirectory, tmp_path: Path
) -> None:
    asked_at = monotonic()
    await store(uploads, tgz())
    for _ in range(2):
        assert uploads.sweep(set(), asked_at) == []
    assert uploads.sweep({"1"}, monotonic()) == []
    assert names(tmp_path) == {"b_1.tgz"}
    assert uploads.sweep(set(), monotonic()) == ["b_1.tgz"], "a newer list does not show its Bundle any more"


@pytest.mark.parametrize(
    "to",
    [
        UploadedFor(bundle="..", uid="1"),
        UploadedFor(bundle="a/b", uid="1"),
        UploadedFor(bundle="a", uid="../1"),
        UploadedFor(bundle="a", uid=""),
        UploadedFor(bundle="a_b", uid="1_"),
    ],
)
async def test_names_that_lead_elsewhere_c15(uploads: UploadDirectory, tmp_path: Path, to: UploadedFor) -> None:
    with pytest.raises(ContentError, match="cannot be the name of an uploaded archive"):
        await store(uploads, b"", to)
    assert not names(tmp_path)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "read response as gzip: gzip: invalid header"),
        (b"<html>", "read response as gzip: gzip: invalid header"),
        (tgz()[:-20], "untar bundle contents from response: "),
        (tgz({"../x": b""}), 'untar bundle contents from response: path .* contains ".."'),
    ],
    ids=["empty", "a web page", "cut off", "a path out of it"],
)
async def test_upload_that_is_no_archive_is_refused(uploads: UploadDirectory, body: bytes, text: str) -> None:
    await store(uploads, body)
    with pytest.raises(ContentError, match=text):
        await fetch(uploads)


def test_a_directory_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    uploads = UploadDirectory(tmp_path / "file" / "uploads", DEFAULT_LIMITS)
    assert uploads.find(ONE) is None
    with pytest.raises(UnavailableError, match=r"the upload directory .* failed"):
        uploads.receive()


def test_links_are_not_followed_c20(uploads: UploadDirectory, tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "b_1.tgz").symlink_to(tmp_path / "secret")
    (tmp_path / "secret").write_text("secret")
    assert uploads.find(ONE) is None
    uploads.sweep(set(), monotonic())
    assert (tmp_path / "secret").exists()
