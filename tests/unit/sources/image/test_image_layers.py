"""Layers of images become one Tree: replacements, whiteouts, links, limits, and what is refused."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits, variable_of
from rukpak_py.sources.image import layers
from rukpak_py.sources.image.descriptors import Descriptor, verified
from rukpak_py.sources.image.layers import apply_layers, below, tree_of_image
from tests.unit.images import Entry, directory, hard_link, layer, symlink, zstd_compressed


def files(*layers: bytes, **kwargs: object) -> dict[str, bytes]:
    return dict(apply_layers([[data] for data in layers], **kwargs))  # type: ignore[arg-type]  # passed through


def test_later_layers_replace_and_add() -> None:
    lower = layer({"a": b"1", "dir/b": b"2"})
    assert files(lower, layer({"a": b"3", "dir/c": b"4"})) == {"a": b"3", "dir/b": b"2", "dir/c": b"4"}


@pytest.mark.parametrize("packed", [False, True])
def test_layers_are_gzipped_or_not(packed: bool) -> None:  # noqa: FBT001 a parameter of the test
    data = layer({"a": b"1"})
    assert files(gzip.compress(data) if packed else data) == {"a": b"1"}


def test_chunks_may_have_any_size() -> None:
    data = gzip.compress(layer({"a": b"x" * 5000, "b": b"y"}))
    tree = apply_layers([(data[i : i + 7] for i in range(0, len(data), 7))])
    assert dict(tree) == {"a": b"x" * 5000, "b": b"y"}


def test_a_whiteout_removes_a_file_or_all_below_a_directory() -> None:
    lower = layer({"a": b"1", "dir/b": b"2", "dir/sub/c": b"3", "dirt": b"4"})
    assert files(lower, layer({".wh.a": b"", ".wh.dir": b""})) == {"dirt": b"4"}
    assert files(lower, layer({"dir/.wh.sub": b""})) == {"a": b"1", "dir/b": b"2", "dirt": b"4"}


def test_a_whiteout_leaves_what_its_own_layer_brings_wherever_it_stands() -> None:
    lower = layer({"dir/b": b"2"})
    assert files(lower, layer({"dir/b": b"new", "dir/.wh.b": b""})) == {"dir/b": b"new"}
    assert files(lower, layer({".wh.dir": b"", "dir/c": b"3"})) == {"dir/c": b"3"}


def test_an_opaque_directory_hides_what_is_below_it() -> None:
    lower = layer({"dir/b": b"2", "dir/sub/c": b"3", "other": b"4"})
    upper = layer({"dir/d": b"5", "dir/.wh..wh..opq": b""})
    assert files(lower, upper) == {"dir/d": b"5", "other": b"4"}
    assert files(lower, layer({".wh..wh..opq": b"", "x": b"1"})) == {"x": b"1"}


def test_many_small_layers_do_not_look_at_everything_again() -> None:
    """Looking at each path again for each layer would take minutes."""
    deep = "/".join("d" * 25)
    lower = layer({f"{deep}/{number}": symlink("x") for number in range(15_000)} | {"a": b"1"})
    upper = [layer({f".wh.{number}": b"", "b": str(number).encode()}) for number in range(500)]
    assert files(lower, *upper, keep=below("a", "b")) == {"a": b"1", "b": b"499"}


def test_whiteouts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_OTHERS", 10)
    with pytest.raises(ContentError, match="more than 10 links and whiteouts"):
        files(layer({f".wh.{number}": b"" for number in range(11)}))


def test_notes_of_aufs_are_no_content() -> None:
    assert files(layer({"a": b"1"}), layer({".wh..wh.plnk": b"", ".wh..wh.aufs": b""})) == {"a": b"1"}


@pytest.mark.parametrize("name", ["dir/.wh.", "dir/.wh..", "dir/.wh..."])
def test_c2_a_whiteout_of_no_name_is_refused(name: str) -> None:
    with pytest.raises(ContentError, match="removes nothing"):
        files(layer({name: b""}))


def test_files_and_directories_make_room_for_each_other() -> None:
    assert files(layer({"a": b"1"}), layer({"a/b": b"2"})) == {"a/b": b"2"}
    assert files(layer({"a/b": b"2", "a/c/d": b"3"}), layer({"a": b"1"})) == {"a": b"1"}
    assert files(layer({"a": symlink("b"), "b/x": b"0"}), layer({"a/b": b"2"})) == {"a/b": b"2", "b/x": b"0"}
    assert files(layer({"a/b": b"2"}), layer({"a": directory()})) == {"a/b": b"2"}


def test_empty_directories_count() -> None:
    assert apply_layers([[layer({"manifests": directory()})]]).directories == {"manifests"}


def test_only_kept_paths_are_read_and_counted() -> None:
    beside: dict[str, bytes | Entry] = {
        "bin/sh": b"x" * 5000,
        "manifestsx": b"2",
        "dev/null": Entry(type=tarfile.CHRTYPE),
    }
    found = files(
        layer({**beside, "manifests/a": b"1"}), keep=below("manifests", "metadata"), limits=Limits(content_bytes=10)
    )
    assert found == {"manifests/a": b"1"}


def test_a_link_becomes_a_copy_of_what_it_leads_to() -> None:
    found = files(
        layer({"data/a": b"1", "link": symlink("data/a"), "absolute": symlink("/data/a"), "hard": hard_link("data/a")}),
        layer({"data/b": b"2", "dir": symlink("../../data")}),
    )
    assert found == {
        "data/a": b"1",
        "data/b": b"2",
        "link": b"1",
        "absolute": b"1",
        "hard": b"1",
        "dir/a": b"1",
        "dir/b": b"2",
    }


def test_a_kept_link_may_lead_through_links_that_are_not_kept() -> None:
    data = layer({"current": symlink("v1"), "manifests": symlink("current/manifests"), "v1/manifests": symlink("../m")})
    with pytest.raises(ContentError, match="which is not a file of the image that is read"):
        files(data, keep=below("manifests"))
    assert files(data, layer({"m/a": b"1"}), keep=below("manifests", "m")) == {"m/a": b"1", "manifests/a": b"1"}


def test_a_kept_link_may_lead_to_what_is_not_kept_when_layers_can_be_read_again() -> None:
    layers = [
        layer({"opt/a": b"old", "opt/dir/x": b"x", "opt/dir/y": symlink("../../srv/y"), "srv/y": b"y", "etc/z": b"z"}),
        layer({"opt/a": b"new", "manifests/a": symlink("/opt/a"), "manifests/z": hard_link("etc/z")}),
        layer({"metadata": symlink("opt/dir")}),
    ]
    tree = tree_of_image(lambda: [[data] for data in layers], keep=below("manifests", "metadata"))
    assert dict(tree) == {"manifests/a": b"new", "manifests/z": b"z", "metadata/x": b"x", "metadata/y": b"y"}


@pytest.mark.parametrize("entry", [symlink("/opt/missing"), hard_link("opt/missing"), symlink("/")])
def test_a_link_to_what_is_in_no_layer_is_refused(entry: Entry) -> None:
    passes = 0

    def layers() -> list[list[bytes]]:
        nonlocal passes
        passes += 1
        return [[layer({"manifests/a": entry})]]

    with pytest.raises(ContentError, match=r"link 'manifests/a' points to .*which is not a file of the image"):
        tree_of_image(layers, keep=below("manifests"))
    assert passes <= 2


def test_target_of_a_link_is_held_to_the_limits() -> None:
    data = layer({"opt/a": b"x" * 100, "manifests/a": symlink("/opt/a")})
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_FILE_BYTES"):
        tree_of_image(lambda: [[data]], keep=below("manifests"), limits=Limits(file_bytes=50))


def test_an_image_that_needs_no_second_look_gets_none() -> None:
    layers = iter([[[layer({"manifests/a": symlink("b"), "manifests/b": b"1", "x": symlink("gone")})]]])
    assert len(tree_of_image(lambda: next(layers), keep=below("manifests"))) == 2


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"a": symlink("b"), "b": symlink("a")}, "never ends"),
        ({"a": symlink("a")}, "never ends"),
        ({"a": symlink("missing")}, "is not a file of the image"),
        ({"a": symlink("/")}, "points to '/'"),
        ({"a": hard_link("missing")}, "is not a file of the image"),
        ({"d/x": b"1", "d/loop": symlink("../d")}, "a directory that it lies in"),
        ({"d/x": symlink("../e"), "e/y": symlink("../d")}, "a directory that it lies in"),
        ({"a": Entry(type=tarfile.FIFOTYPE)}, "a device or a FIFO"),
        ({"../a": b""}, r'contains "\.\."'),
        ({"a\\b": b""}, "backslash"),
        ({"/".join("a" * 40): b""}, "path_depth"),
    ],
)
def test_c1_what_is_no_content_is_refused(entries: dict[str, bytes | Entry], problem: str) -> None:
    with pytest.raises(ContentError, match=problem.replace("path_depth", "RUKPAK_LIMIT_PATH_DEPTH")):
        files(layer(entries))


def test_c10_links_that_multiply_end_at_a_limit() -> None:
    entries: dict[str, bytes | Entry] = {"d0/f": b"x"}
    for level in range(1, 25):
        entries |= {f"d{level}/{name}": symlink(f"../d{level - 1}") for name in "ab"}
    with pytest.raises(ContentError, match="limit"):
        files(layer(entries), limits=Limits(content_files=2000))


def test_c10_links_that_lead_far_are_refused() -> None:
    """Following forty of them to their end took minutes."""
    far = "/".join(["a"] * 2000)
    entries: dict[str, bytes | Entry] = {f"m/{n}": symlink(f"/m/{n + 1}/{far}") for n in range(39)}
    with pytest.raises(ContentError, match="link 'm/0' leads too far: through more than 1024 names"):
        files(layer(entries | {"m/39": b"x"}))


@given(
    st.lists(st.sampled_from(["a", "a/b", "b", "a/bc", "abc/d"])),
    st.lists(st.sampled_from(["a", "b", "bc", "abc", "d"]), min_size=1).map("/".join),
)
def test_paths_below_directories_are_told(directories: list[str], path: str) -> None:
    assert below(*directories)(path) == any(path == one or path.startswith(f"{one}/") for one in directories)


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (Limits(content_bytes=15), "content_bytes"),
        (Limits(content_files=3), "content_files"),
        (Limits(file_bytes=5), "file_bytes"),
        (Limits(image_bytes=12000), "image_bytes"),
    ],
)
def test_limits_hold_over_all_layers(limits: Limits, name: str) -> None:
    one, two = layer({"a": b"123456", "b": b"1"}), layer({"c": b"1234567890", "d": b""})
    if name != "file_bytes":
        assert files(one, limits=limits)
    with pytest.raises(ContentError, match=variable_of(name)):
        files(one, two, limits=limits)


def test_a_layer_that_inflates_too_much_is_refused() -> None:
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_INFLATION_RATIO"):
        files(gzip.compress(layer({"a": bytes(8_000_000)})))


def test_zstd_frames_follow_each_other_and_some_are_skipped() -> None:
    """Builders write frames for pulling single files: one frame each, and a table in a frame that is skipped."""
    data = layer({"a": b"1" * 200_000, "b": b"2"})
    frames = [zstd_compressed(data[start : start + 50_000]) for start in range(0, len(data), 50_000)]
    skipped = b"\x50\x2a\x4d\x18" + (8).to_bytes(4, "little") + b"12345678"
    assert files(b"".join(frames)) == {"a": b"1" * 200_000, "b": b"2"}
    assert files(frames[0] + skipped + b"".join(frames[1:]) + skipped) == {"a": b"1" * 200_000, "b": b"2"}


@pytest.mark.parametrize("end", [b"rest", b"\0\0rest"])
def test_nothing_follows_zstd(end: bytes) -> None:
    with pytest.raises(ContentError, match="data follows its end"):
        files(zstd_compressed(layer({"a": b"1"})) + end)


def test_damaged_zstd_is_refused() -> None:
    with pytest.raises(ContentError, match="not valid zstd"):
        files(b"\x28\xb5\x2f\xfd" + b"\xff" * 100)
    with pytest.raises(ContentError, match="cut off"):
        files(zstd_compressed(layer({"a": b"1"}))[:-5])


def test_c1_a_zstd_bomb_is_refused() -> None:
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_INFLATION_RATIO"):
        files(zstd_compressed(layer({"a": bytes(8_000_000)})))


def test_a_zstd_window_of_gigabytes_is_refused() -> None:
    bomb = zstd_compressed(layer({"a": b"1"}), window_log=30)
    with pytest.raises(ContentError, match="a window of more than 32 MiB"):
        files(bomb)


def test_a_layer_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ContentError, match="cut off"):
        files(layer({"a": b"1" * 2000})[:1500])


def blob(data: bytes, *, digest: str | None = None, size: int | None = None) -> Iterator[bytes]:
    true = f"sha256:{hashlib.sha256(data).hexdigest()}"
    descriptor = Descriptor(digest=digest or true, size=len(data) if size is None else size)
    return verified([data[:3], data[3:]], descriptor)


def test_blobs_are_what_their_descriptors_say() -> None:
    assert b"".join(blob(b"content")) == b"content"
    longer = f"sha512:{hashlib.sha512(b'content').hexdigest()}"
    assert b"".join(blob(b"content", digest=longer)) == b"content"
    with pytest.raises(ContentError, match="is larger than the 6 bytes"):
        list(blob(b"content", size=6))
    with pytest.raises(ContentError, match="has 7 bytes instead of 8"):
        list(blob(b"content", size=8))
    with pytest.raises(ContentError, match="is damaged: its content has the digest"):
        list(blob(b"content", digest="sha256:" + "0" * 64))


@pytest.mark.parametrize("digest", ["", "sha256:../../x", "md5:0", "sha256:" + "A" * 64, "sha512:" + "0" * 64])
def test_c15_a_digest_that_is_none_never_becomes_a_path(digest: str) -> None:
    with pytest.raises(ContentError, match="is not a digest"):
        list(blob(b"", digest=digest or "x"))


def test_a_damaged_layer_is_noticed_although_its_tar_is_sound() -> None:
    data = layer({"a": b"1"})
    descriptor = Descriptor(digest="sha256:" + "0" * 64, size=len(data))
    with pytest.raises(ContentError, match="is damaged"):
        apply_layers([verified(io.BytesIO(data), descriptor)])
