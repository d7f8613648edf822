"""The content store: what is put comes back, what is damaged does not, and nothing leaves the directory."""

import errno
import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rukpak_py.content.store import Store, StoredForm
from rukpak_py.content.tar import read_archive
from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.core.limits import Limits


def tree_of(content: bytes, path: str = "manifests/a.yaml") -> Tree:
    builder = TreeBuilder()
    builder.add(path, content)
    return builder.build()


TREE = tree_of(b"kind: x\n")
OTHER = tree_of(b"kind: y\n")
NOWHERE = "sha256:" + "0" * 64


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "bundles")


def file_of(store: Store, tree: Tree) -> Path:
    return store.directory / "content" / f"{tree.digest.replace(':', '-')}.tgz"


def entries(store: Store) -> set[str]:
    """Each file of content has its checksum, which is not listed."""
    found = {str(path.relative_to(store.directory)) for path in store.directory.rglob("*") if not path.is_dir()}
    sums = {path for path in found if path.startswith("checksums/s")}
    assert {f"checksums/{path.removeprefix('content/')}.json" for path in found if path.endswith(".tgz")} >= sums
    return found - sums


def test_stored_content_comes_back(store: Store) -> None:
    digest = store.put(TREE)
    assert digest == TREE.digest
    assert store.has(digest)
    assert store.get(digest) == TREE
    assert Store(store.directory).get(digest) == TREE


def test_content_that_was_never_stored_is_absent(store: Store) -> None:
    assert not store.has(NOWHERE)
    assert store.get(NOWHERE) is None


def test_the_same_content_is_stored_once(store: Store) -> None:
    store.put(TREE)
    before = file_of(store, TREE).stat()
    store.put(tree_of(b"kind: x\n"))
    after = file_of(store, TREE).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len(entries(store)) == 1


def test_content_that_compresses_beyond_the_ratio_for_strangers_comes_back(store: Store) -> None:
    tree = tree_of(bytes(8 * 1024 * 1024))
    store.put(tree)
    assert store.get(tree.digest) == tree


def flipped(data: bytes) -> bytes:
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-20],
    "emptied": lambda _data: b"",
    "flipped": flipped,
    "another": lambda _data: gzip.compress(b"".join([bytes(1024)])),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_content_is_missing_and_can_be_put_again(store: Store, damage: Callable[[bytes], bytes]) -> None:
    store.put(TREE)
    file = file_of(store, TREE)
    file.write_bytes(damage(file.read_bytes()))
    assert store.get(TREE.digest) is None
    assert not store.has(TREE.digest)
    store.put(TREE)
    assert store.get(TREE.digest) == TREE


def test_a_link_serves_the_archive(store: Store) -> None:
    store.link("a.bundle", store.put(TREE))
    link = store.directory / "a.bundle.tgz"
    assert link.is_symlink()
    assert read_archive([link.read_bytes()]) == TREE


def test_a_link_moves_at_once(store: Store) -> None:
    store.put(OTHER)
    store.link("b", store.put(TREE))
    store.link("b", OTHER.digest)
    assert read_archive([(store.directory / "b.tgz").read_bytes()]) == OTHER
    store.unlink("b")
    store.unlink("b")
    assert not (store.directory / "b.tgz").is_symlink()
    assert store.has(OTHER.digest)


def test_a_link_does_not_wait_for_the_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand deployments at once make a thousand links, and a lost one is made again."""
    digest = store.put(TREE)
    waits: list[int] = []
    monkeypatch.setattr(os, "fsync", waits.append)
    store.link("b", digest)
    store.unlink("b")
    assert waits == []


def test_only_stored_content_can_be_linked(store: Store) -> None:
    with pytest.raises(UnavailableError, match=f"the content {NOWHERE} of Bundle b is not in {store.directory}"):
        store.link("b", NOWHERE)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../a", "a/b", "A", "a_b", "-a", "a..b", "content/x", "a" * 252, "a\n"]
)
def test_c15_names_that_are_no_bundles(store: Store, name: str) -> None:
    store.put(TREE)
    for use in (store.unlink, lambda name: store.link(name, TREE.digest)):
        with pytest.raises(ContentError, match="cannot be the name of a Bundle's archive"):
            use(name)


@pytest.mark.parametrize(
    "digest", ["", "sha256:", "sha256:" + "A" * 64, "sha256:../../x", "md5:" + "0" * 64, NOWHERE + "\n"]
)
def test_c15_what_is_no_digest(store: Store, digest: str) -> None:
    for use in (store.has, store.get, lambda digest: store.link("b", digest)):
        with pytest.raises(ContentError, match="is not a digest"):
            use(digest)


def test_a_sweep_keeps_what_is_referred_to(store: Store) -> None:
    trees = [tree_of(str(number).encode()) for number in range(4)]
    kept, linked, flying, loose = [store.put(tree) for tree in trees]
    store.link("linked", linked)
    store.link("gone", kept)
    with store.in_flight(flying):
        assert store.sweep({kept, "", "sha256:../x"}, {"linked"}) == [loose]  # a Bundle without content has no digest
        assert [store.has(tree.digest) for tree in trees] == [True, True, True, False]
    assert not (store.directory / "gone.tgz").is_symlink()
    assert store.sweep(set(), {"linked"}) in ([kept, flying], [flying, kept])
    assert store.sweep(set(), set()) == [linked]
    assert entries(store) == set()


def test_the_converted_form_is_served_where_there_is_one_and_goes_with_its_content(store: Store) -> None:
    digest, plain = store.put(TREE, OTHER), store.put(tree_of(b"kind: z\n"))
    for bundle, of, form, expected in (
        ("a", digest, StoredForm.CONVERTED, OTHER),
        ("b", digest, StoredForm.ORIGINAL, TREE),
        ("c", plain, StoredForm.CONVERTED, tree_of(b"kind: z\n")),
    ):
        store.link(bundle, of, form)
        for file in ((store.directory / f"{bundle}.tgz").open("rb"), store.open_archive(of, form)):
            assert file is not None
            with file:
                assert read_archive(iter([file.read()])) == expected
    assert store.get(digest) == TREE
    assert store.sweep(set(), {"a"}) == [plain]
    assert store.has(digest)
    assert store.sweep(set(), set()) == [digest]
    assert entries(store) == set()


def test_a_converted_form_without_its_content_does_not_count(store: Store) -> None:
    digest = store.put(TREE, OTHER)
    file_of(store, TREE).unlink()
    assert store.open_archive(digest, StoredForm.CONVERTED) is None
    with pytest.raises(UnavailableError):
        store.link("a", digest, StoredForm.CONVERTED)
    assert store.put(TREE, OTHER) == digest
    store.link("a", digest, StoredForm.CONVERTED)


def test_a_sweep_leaves_what_is_not_ours(store: Store) -> None:
    (store.directory / "notes.txt").write_text("mine")
    (store.directory / "file.tgz").write_text("mine")
    (store.directory / "content" / "readme").write_text("mine")
    store.sweep(set(), set())
    assert entries(store) == {"notes.txt", "file.tgz", "content/readme"}


def test_in_flight_nests(store: Store) -> None:
    digest = store.put(TREE)
    with store.in_flight(digest):
        with store.in_flight(digest):
            pass
        assert store.sweep(set(), set()) == []
    assert store.sweep(set(), set()) == [digest]


def test_temporary_files_of_a_crash_are_removed_on_open(store: Store) -> None:
    store.link("b", store.put(TREE))
    (store.directory / "content" / ".tmp-0123456789abcdef").write_bytes(b"half an archive")
    (store.directory / ".tmp-456789abcdef0123").symlink_to("content/nothing")
    again = Store(store.directory)
    assert entries(again) == {"b.tgz", str(file_of(store, TREE).relative_to(store.directory))}
    assert again.get(TREE.digest) == TREE


@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_crash_at_any_step_leaves_nothing_under_a_name(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A kill runs no clean-up: neither does this one, because unlink is gone too."""

    class Killed(BaseException):
        pass

    def kill(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", kill)
        if step == "write":
            patch.setattr("rukpak_py.content.store.write_tgz", lambda _: map(kill, [1]))
        else:
            patch.setattr(os, step, kill)
        with pytest.raises(Killed):
            store.put(TREE)
    assert not store.has(TREE.digest)
    left = {path.name for path in store.directory.rglob("*") if not path.is_dir()}
    assert left
    assert all(name.startswith(".tmp-") for name in left), "nobody takes it for a file of ours"
    again = Store(store.directory)
    assert entries(again) == set()
    assert again.get(again.put(TREE)) == TREE


@pytest.mark.parametrize("call", ["fsync", "rename", "open"])
def test_a_full_disk_is_unavailable_and_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real = getattr(os, call)

    def full(*arguments: object, **options: object) -> object:
        if call == "open" and not (isinstance(arguments[0], str) and arguments[0].startswith(".tmp-")):
            return real(*arguments, **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(UnavailableError, match=f"{store.directory} failed: No space left on device"):
            store.put(TREE)
    assert entries(store) == set()


def test_a_directory_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match=r"content store .*/file/store failed"):
        Store(tmp_path / "file" / "store")


def test_a_removed_directory_is_made_again(store: Store) -> None:
    store.put(TREE)
    file_of(store, TREE).unlink()
    (store.directory / "content").rmdir()
    assert store.get(TREE.digest) is None
    assert store.get(store.put(TREE)) == TREE


def test_c20_links_are_never_followed(store: Store, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"".join(gzip.compress(b"secret") for _ in range(1)))
    file_of(store, TREE).symlink_to(secret)
    assert not store.has(TREE.digest)
    assert store.get(TREE.digest) is None
    assert store.get(store.put(TREE)) == TREE
    assert gzip.decompress(secret.read_bytes()) == b"secret"


def test_c20_a_content_directory_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / "content").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnavailableError):
        Store(tmp_path / "bundles")


def test_threads_may_put_the_same_content(store: Store) -> None:
    threads = [threading.Thread(target=store.put, args=(tree_of(b"x" * 100_000),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entries(store)) == 1
    assert store.get(tree_of(b"x" * 100_000).digest) is not None


def test_limits_hold_for_what_is_read(store: Store) -> None:
    """Lowered limits make content unusable; it goes, and its source says why when it is fetched again."""
    store.put(TREE)
    assert Store(store.directory, Limits(content_bytes=4)).get(TREE.digest) is None
