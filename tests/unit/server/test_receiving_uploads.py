"""Uploads are stored in the Bundle's turn, or refused; the Bundle may change while one arrives."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from rukpak_py.api.accounts import Account
from rukpak_py.api.bundle import Bundle
from rukpak_py.api.metadata import ObjectMeta
from rukpak_py.api.source import Source
from rukpak_py.api.source_types import UploadSource
from rukpak_py.content.tar import read_archive
from rukpak_py.controllers.jobs import ContentBudget, KeyedLock
from rukpak_py.core.errors import UnavailableError
from rukpak_py.core.limits import DEFAULT_LIMITS
from rukpak_py.server.access import Identity
from rukpak_py.server.uploads import LiveBundles, Unpacking, UploadRefusedError, Uploads
from rukpak_py.sources.upload import UploadDirectory, UploadedFor
from tests.unit.controllers.values import bundle, unpacked
from tests.unit.sources.websites import tgz
from tests.workers import WORKERS

UPLOAD = Source(type="upload", upload=UploadSource())
BODY, OTHER = tgz(), tgz({"other": b"1"})
DIGEST = read_archive([BODY]).digest


def of_type_upload(one: Bundle) -> Bundle:
    return replace(one, spec=replace(one.spec, source=UPLOAD))


ANN = Identity(user="ann")
INSTALLER, OTHER_ACCOUNT = Account("shop", "installer"), Account("shop", "other")
WAITING, PINNED = of_type_upload(bundle()), of_type_upload(unpacked(digest=DIGEST))


@dataclass
class Bench(LiveBundles):
    directory: UploadDirectory
    live: list[Bundle]  # what each read answers; the last one stays
    stored: set[str] = field(default_factory=set)
    woken: list[str] = field(default_factory=list)
    turns: KeyedLock = field(default_factory=KeyedLock)
    why_not: str | None = None
    recorded: str = ""  # the digest of what was unpacked, whatever the status says
    accounts: list[Account | None] = field(default_factory=lambda: [None])  # as `live`
    impersonated: set[Account] = field(default_factory=set)
    asked: list[tuple[str, Account]] = field(default_factory=list)

    async def read(self, _name: str) -> Bundle:
        await asyncio.sleep(0)
        return self.live.pop(0) if len(self.live) > 1 else self.live[0]

    async def has(self, digest: str) -> bool:
        return digest in self.stored

    async def put(self, *pieces: bytes) -> bool:
        unpacking = Unpacking(
            turns=self.turns,
            budget=ContentBudget(),
            workers=WORKERS,
            has_content=self.has,
            uploaded=lambda one: self.woken.append(one.metadata.name),
            pinned_digest=lambda one: self.recorded or one.status.digest,
            account_of=self.account_of,
        )
        uploads = Uploads(
            self.directory,
            self,
            unpacking,
            may_impersonate=self.may_impersonate,
            unavailable=lambda: self.why_not,
        )
        return await uploads.receive("b", ANN, _chunks(pieces), seconds=10)

    async def account_of(self, _one: Bundle) -> Account | None:
        return self.accounts.pop(0) if len(self.accounts) > 1 else self.accounts[0]

    async def may_impersonate(self, identity: Identity, account: Account) -> bool:
        self.asked.append((identity.user, account))
        return account in self.impersonated

    @property
    def upload(self) -> bytes:
        found = self.directory.find(UploadedFor(bundle="b", uid="uid-of-b"))
        if found is None:
            return b""
        with found:
            return found.read()


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def _chunks(pieces: Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(0)
        yield piece


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(directory=UploadDirectory(tmp_path, DEFAULT_LIMITS), live=[WAITING])


async def test_an_upload_is_stored_and_its_bundle_is_woken(bench: Bench) -> None:
    assert await bench.put(BODY[:10], BODY[10:])
    assert (bench.upload, bench.woken) == (BODY, ["b"])


async def test_the_same_bytes_again_change_nothing(bench: Bench) -> None:
    await bench.put(BODY)
    assert not await bench.put(BODY)
    assert bench.woken == ["b", "b"], "it may wait for a try that failed otherwise"
    bench.live, bench.stored = [PINNED], {DIGEST}
    assert not await bench.put(BODY)
    assert len(bench.woken) == 2


async def test_an_upload_to_an_unpacked_bundle_does_not_change_it(bench: Bench) -> None:
    await bench.put(BODY)
    bench.live, bench.stored = [PINNED], {DIGEST}
    for other in (OTHER, b"no archive"):
        with pytest.raises(UploadRefusedError, match="cannot change content of existing bundle") as refused:
            await bench.put(other)
        assert refused.value.status == 409
    assert bench.upload == BODY


async def test_a_bundle_that_is_unpacked_while_an_upload_arrives(bench: Bench) -> None:
    """The upload has other content, and must not be reported as accepted."""
    bench.live = [WAITING, WAITING, PINNED]
    with pytest.raises(UploadRefusedError, match="bundle has already been unpacked"):
        await bench.put(OTHER)
    assert (bench.upload, bench.woken) == (b"", [])


async def test_lost_content_is_taken_again_by_its_digest(bench: Bench) -> None:
    bench.live = [PINNED]
    assert await bench.put(BODY)
    assert (bench.upload, bench.woken) == (BODY, ["b"])


async def test_a_lost_upload_is_kept_again_though_its_content_is_there(bench: Bench) -> None:
    bench.live, bench.stored = [PINNED], {DIGEST}
    assert not await bench.put(BODY)
    assert (bench.upload, bench.woken) == (BODY, [])


async def test_an_upload_that_ends_when_this_replica_leads_no_more(bench: Bench) -> None:
    """The next leader would not hear of it."""
    bench.why_not = "does not lead"
    with pytest.raises(UploadRefusedError, match="does not lead") as refused:
        await bench.put(BODY)
    assert refused.value.status == 503
    assert (bench.upload, bench.woken) == (b"", [])


async def test_an_upload_waits_for_its_turn(bench: Bench) -> None:
    async with bench.turns.of("uid-of-b"):
        putting = asyncio.create_task(bench.put(BODY))
        await asyncio.sleep(0.05)
        assert bench.upload == b""
    assert await putting


@pytest.mark.parametrize(
    ("live", "text"),
    [
        (bundle(), 'bundle source type is "configMaps"; expected "upload"'),
        (
            replace(WAITING, metadata=ObjectMeta(name="b", uid="u", deletion_timestamp="2026-01-01T00:00:00Z")),
            'bundle "b" is being deleted',
        ),
    ],
)
async def test_bundles_that_take_no_upload(bench: Bench, live: Bundle, text: str) -> None:
    bench.live = [live]
    with pytest.raises(UploadRefusedError, match=text):
        await bench.put(BODY)


async def test_an_upload_to_a_full_disk_is_refused_and_leaves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(UnavailableError, match="No space left on device"):
        await bench.put(BODY)
    assert not names(tmp_path)
    monkeypatch.undo()
    assert await bench.put(BODY)


@pytest.mark.parametrize("said", ["", DIGEST])
async def test_an_upload_replaces_nothing_when_a_client_changed_the_digest_of_the_status(
    bench: Bench, said: str
) -> None:
    """Emptied, or set to that of the upload: the record of what was unpacked counts."""
    bench.recorded = f"sha256:{0:064}"
    bench.live = [replace(PINNED, status=replace(PINNED.status, digest=said))]
    with pytest.raises(UploadRefusedError, match="already been unpacked"):
        await bench.put(BODY)
    assert (bench.upload, bench.woken) == (b"", [])


async def test_a_client_that_goes_away_leaves_nothing(bench: Bench, tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield BODY[:10]
        raise ConnectionResetError

    unpacking = Unpacking(
        turns=bench.turns,
        budget=ContentBudget(),
        workers=WORKERS,
        has_content=bench.has,
        uploaded=lambda _: None,
        pinned_digest=lambda one: one.status.digest,
        account_of=bench.account_of,
    )
    uploads = Uploads(bench.directory, bench, unpacking, may_impersonate=bench.may_impersonate)
    with pytest.raises(ConnectionResetError):
        await uploads.receive("b", ANN, broken(), seconds=10)
    assert not names(tmp_path)


async def test_upload_for_a_deployment_without_an_account_asks_for_no_other_right(bench: Bench) -> None:
    assert await bench.put(BODY)
    assert bench.asked == []


async def test_upload_for_a_deployment_with_an_account_takes_the_right_to_impersonate_it(bench: Bench) -> None:
    bench.accounts, bench.impersonated = [INSTALLER], {OTHER_ACCOUNT}
    with pytest.raises(UploadRefusedError, match='user "ann" cannot impersonate service account shop/i') as refused:
        await bench.put(BODY)
    assert (refused.value.status, bench.upload, bench.woken) == (403, b"", [])
    bench.impersonated = {INSTALLER}
    assert await bench.put(BODY)
    assert bench.asked == [("ann", INSTALLER)] * 2, "one review for each upload"


@pytest.mark.parametrize("before", [None, OTHER_ACCOUNT])
async def test_account_that_the_deployment_has_got_while_an_upload_arrives_counts(
    bench: Bench, before: Account | None
) -> None:
    bench.accounts, bench.impersonated = [before, INSTALLER], {OTHER_ACCOUNT}
    with pytest.raises(UploadRefusedError, match="cannot impersonate service account shop/installer"):
        await bench.put(BODY)
    assert bench.upload == b""
