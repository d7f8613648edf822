"""The controllers' view of content: stored in threads, read within the settings' limits, swept with care."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BufferedReader
from pathlib import Path

import pytest

from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.content.checksums import Checksums, Verdict
from rukpak_py.content.disk import StoreUnavailableError
from rukpak_py.content.records import BundleRecord, InUse
from rukpak_py.content.store import StoredForm
from rukpak_py.controllers import stored_content as module
from rukpak_py.controllers.stored_content import StoredContent
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.formats.by_class import Classes
from rukpak_py.formats.format import SMALL, RenderOptions
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.workers.pool import WorkerProcesses
from tests.unit.controllers.fakes import Clock, tree
from tests.unit.controllers.values import source
from tests.workers import WORKERS

MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
FILES = tree(**{"manifests/a.yaml": MAP})
PLAIN = Classes(PLAIN_CLASS, PLAIN_CLASS)
NOTHING = InUse(bundles=set(), deployments=set(), installed=set())
OPTIONS = RenderOptions(install_namespace="ns")


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[StoredContent]:
    processes = WorkerProcesses()
    stored = StoredContent(tmp_path, DEFAULT_LIMITS, processes)
    await stored.open()
    yield stored
    await processes.close()


async def test_kept_content_can_be_rendered(stored: StoredContent) -> None:
    await stored.check(PLAIN, FILES, is_directory=True)
    digest = await stored.keep(FILES)
    assert digest == FILES.digest
    assert await stored.has(digest)
    loaded = await stored.load(digest)
    assert loaded == FILES
    rendered = await stored.render(PLAIN, loaded, OPTIONS)
    assert [one.head.name for one in rendered.objects] == ["a"]


async def test_missing_content_loads_as_none(stored: StoredContent) -> None:
    assert await stored.load(FILES.digest) is None


async def test_a_store_that_cannot_be_opened_says_why_until_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing ends: each who needs it fails with the cause, and the first who can opens it."""
    (tmp_path / "bundles").write_text("in the way")
    stored = StoredContent(tmp_path / "bundles", DEFAULT_LIMITS, WORKERS)
    await stored.open()
    assert f"the content store {tmp_path / 'bundles'} failed" in caplog.text
    with pytest.raises(StoreUnavailableError, match=f"the content store {tmp_path / 'bundles'} failed"):
        await stored.keep(FILES)
    (tmp_path / "bundles").unlink()
    assert await stored.has(await stored.keep(FILES))


async def test_records_are_read_when_the_store_is_opened(stored: StoredContent, tmp_path: Path) -> None:
    record = BundleRecord(uid="u", spec_digest="s", digest=FILES.digest, source=source())
    await stored.records.keep(record)
    again = StoredContent(tmp_path, DEFAULT_LIMITS, WORKERS)
    assert not again.is_content_of(FILES.digest, bundle="u", deployment="")
    await again.open()
    assert again.records.of("u") == record
    assert again.is_content_of(FILES.digest, bundle="u", deployment="")


async def test_the_content_of_a_record_is_kept_whatever_the_statuses_say(
    stored: StoredContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    digest = await stored.keep(FILES)
    await stored.records.keep(BundleRecord(uid="u", spec_digest="s", digest=digest, source=source()))
    clock.now += module.RECENT_SECONDS
    await stored.sweep({f"sha256:{0:064}"}, set(), InUse(bundles={"u"}, deployments=set(), installed=set()))
    assert await stored.has(digest)


async def test_many_clients_of_one_archive_hash_it_one_after_the_other(
    stored: StoredContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waiting check holds no thread: others are served meanwhile."""
    digest = await stored.keep(FILES)
    at_once, most = 0, 0

    class Watched(Checksums):
        def verdict(self, folder: int, name: str, file: BufferedReader) -> Verdict:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            found = super().verdict(folder, name, file)
            at_once -= 1
            return found

    monkeypatch.setattr((await stored._store()), "_checks", Watched())
    archives = await asyncio.gather(*(stored.archive(digest, StoredForm.ORIGINAL) for _ in range(64)))
    for archive in archives:
        assert archive is not None
        archive.close()
    assert most == 1


async def test_a_class_without_a_format_is_wrong_content(stored: StoredContent) -> None:
    with pytest.raises(ContentError, match="the provisioner class 'example' is not served"):
        await stored.check(Classes("example"), FILES, is_directory=True)


@pytest.mark.parametrize("limit", [1, DEFAULT_LIMITS.yaml_bytes])
async def test_the_limits_of_the_settings_hold_for_checking_and_rendering(tmp_path: Path, limit: int) -> None:
    stored = StoredContent(tmp_path, replace(DEFAULT_LIMITS, yaml_bytes=limit), WORKERS)
    await stored.open()

    async def check() -> None:
        await stored.check(PLAIN, FILES, is_directory=True)

    async def render() -> None:
        await stored.render(PLAIN, FILES, OPTIONS)

    for read in (check, render):
        if limit == 1:
            with pytest.raises(ContentError, match="RUKPAK_LIMIT_YAML_BYTES"):
                await read()
        else:
            await read()


async def test_content_stored_a_moment_ago_is_not_swept(stored: StoredContent, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    digest = await stored.keep(FILES)
    await stored.sweep(set(), set(), NOTHING)
    assert await stored.has(digest), "the status that refers to it may be on its way"
    clock.now += module.RECENT_SECONDS
    await stored.sweep({digest}, set(), NOTHING)
    assert await stored.has(digest)
    await stored.sweep(set(), set(), NOTHING)
    assert not await stored.has(digest)


async def test_content_that_may_become_large_is_read_by_a_worker_and_its_failures_come_back(
    stored: StoredContent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlainFormat, "render", None)  # in this process
    monkeypatch.setattr(PlainFormat, "check", None)
    with_alias = MAP + b"data: {x: &x y, z: *x}\n"
    rendered = await stored.render(PLAIN, tree(**{"manifests/a.yaml": with_alias}), OPTIONS)
    assert [one.head.name for one in rendered.objects] == ["a"]
    with pytest.raises(ContentError, match="found zero objects"):
        await stored.check(PLAIN, tree(**{"manifests/empty.yaml": b"#" * SMALL + b"\n"}), is_directory=True)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (MAP, True),
        (MAP + b"data: {x: &x y, z: *x}\n", False),
        (MAP + b"#" * (SMALL - len(MAP)), True),
        (MAP + b"#" * (SMALL - len(MAP) + 1), False),
    ],
)
def test_content_that_may_become_large_is_not_rendered_in_place(
    tmp_path: Path, content: bytes, *, expected: bool
) -> None:
    stored = StoredContent(tmp_path, DEFAULT_LIMITS, WORKERS)
    assert stored.renders_in_place(PLAIN, tree(**{"manifests/a.yaml": content})) is expected
