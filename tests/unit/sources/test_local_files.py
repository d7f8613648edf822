"""Files that hold no bundle: what they are, and what to give instead."""

import gzip
from pathlib import Path

import pytest

from rukpak_py.core.errors import AccessError, ContentError
from rukpak_py.sources.local import open_tree

CSV = b"# a comment\n\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
GIVE = "give the directory of the bundle, the one that holds manifests/"


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(ContentError) as caught:
        open_tree(path)
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        b"---\na: 1\n",
        b'{"kind": "List"}',
        b"[]",
        b"- a\n",
        b"\xef\xbb\xbf'key' : x",
        b"%YAML 1.1\n---\n",
        b"a:\n",
        b"a: " + "ü".encode() * 4000,
    ],
)
def test_yaml_is_told_with_what_to_give(tmp_path: Path, text: bytes) -> None:
    assert refusal(tmp_path / "x", text) == f"is a YAML file; {GIVE}"


def test_the_directory_of_a_manifest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b/manifests").mkdir(parents=True)
    assert refusal(Path("b/manifests/csv.yaml"), CSV) == f"is a YAML file; {GIVE}, here 'b'"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the file is empty"),
        (b"Read me first.\n", f"is a text file; {GIVE}"),
        (b"PK\x03\x04rest", "is a zip archive, which is not supported: unpack it with `unzip`, and give the directory"),
        (b"\xfd7zXZ\0rest", "is compressed with xz, which is not supported: unpack it first with `xz -d`"),
        (b"BZh91AY&SY", "is compressed with bzip2, which is not supported: unpack it first with `bzip2 -d`"),
        (b"\x28\xb5\x2f\xfdrest", "is compressed with zstd, which is not supported: unpack it first with `zstd -d`"),
        (gzip.compress(CSV * 20), "is neither a tar archive, gzipped or not, nor an image layout"),
        (b"\x7fELF" + bytes(600), "is neither a tar archive, gzipped or not, nor an image layout"),
    ],
)
def test_other_files_are_told(tmp_path: Path, data: bytes, problem: str) -> None:
    assert refusal(tmp_path / "bundle.tar", data) == problem


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"x")

    def closed(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(AccessError, match=r"/x: permission denied$"):
        open_tree(tmp_path / "x")
