"""Images in archives: read where their files lie, or within a budget when the archive is compressed."""

import gzip
from pathlib import Path
from typing import Self

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits
from rukpak_py.sources.local import open_tree
from rukpak_py.sources.local_blobs import ArchiveBlobs
from tests.unit.images import Entry, Layout, layer, symlink

MIB = 1024 * 1024
FILES: dict[str, bytes | Entry] = {
    "./a": b"1" * 513,
    "empty": b"",
    f"{'long/' * 40}name": b"2" * 512,
    "b": b"3" * (MIB + 1),
    "link": symlink("./b"),
    "a": b"later",
    "loop": symlink("loop"),
    "gone": symlink("missing"),
}


@pytest.mark.parametrize("compressed", [False, True])
def test_files_of_an_archive_are_found(tmp_path: Path, *, compressed: bool) -> None:
    data = layer(FILES)
    (tmp_path / "x").write_bytes(gzip.compress(data) if compressed else data)
    blobs = ArchiveBlobs(tmp_path / "x", Limits(inflation_ratio=10_000))
    contents = {"a": b"1" * 513, "empty": b"", f"{'long/' * 40}name": b"2" * 512, "b": b"3" * (MIB + 1)}
    for path, content in {**contents, "link": contents["b"]}.items():
        assert b"".join(blobs(path)) == content
    for path in ("missing", "loop", "gone"):
        with pytest.raises(ContentError, match="is missing in the archive"):
            b"".join(blobs(path))


def image_of_many_layers() -> bytes:
    layout = Layout()
    image = layout.image([{f"manifests/{number}": b"x" * 4000} for number in range(40)])
    return layer(layout.index(image).files)


def test_many_layers_in_a_compressed_archive_end_at_a_budget(tmp_path: Path) -> None:
    data = image_of_many_layers()
    limits = Limits(image_bytes=len(data))
    (tmp_path / "plain").write_bytes(data)
    assert len(open_tree(tmp_path / "plain", limits=limits)) == 40
    (tmp_path / "packed").write_bytes(gzip.compress(data))
    assert len(open_tree(tmp_path / "packed")) == 40
    with pytest.raises(ContentError, match=r"too large to be unpacked again for each of its layers.*`gunzip`"):
        open_tree(tmp_path / "packed", limits=limits)


def test_an_archive_is_read_once_for_all_its_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = image_of_many_layers()
    path = tmp_path / "x"
    path.write_bytes(data)
    read = 0
    open_file = Path.open

    class Counting:
        def __init__(self, file: object) -> None:
            self.file = file

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()  # type: ignore[attr-defined]  # a file

        def seek(self, start: int) -> None:
            self.file.seek(start)  # type: ignore[attr-defined]  # a file

        def read(self, size: int) -> bytes:
            nonlocal read
            found: bytes = self.file.read(size)  # type: ignore[attr-defined]  # a file
            read += len(found)
            return found

    monkeypatch.setattr(Path, "open", lambda path, mode: Counting(open_file(path, mode)))
    assert len(open_tree(path)) == 40
    # To find out what it is, to find its files, the files themselves, and first pieces of it.
    assert read < 6 * len(data)


@pytest.mark.parametrize("name", ["content_files", "image_bytes"])
def test_limits_hold_for_the_index_of_an_archive(tmp_path: Path, name: str) -> None:
    (tmp_path / "x").write_bytes(layer(FILES))
    blobs = ArchiveBlobs(tmp_path / "x", Limits(**{name: 3}))
    with pytest.raises(ContentError, match=f"RUKPAK_LIMIT_{name.upper()}"):
        blobs("a")
