"""A directory as a bundle: what is read of a checkout of any size, where links may lead, what becomes of the rest."""

import os
import socket
from pathlib import Path

import pytest

from rukpak_py.core.errors import ContentError, RukPakError
from rukpak_py.core.limits import Limits
from rukpak_py.sources import local_directory
from rukpak_py.sources.local import open_tree
from rukpak_py.sources.local_directory import Selection, read_bundle, read_directory

BUNDLE = {"manifests/csv.yaml": b"kind: x\n", "metadata/annotations.yaml": b"a: 1\n"}


def written(root: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def test_a_checkout_is_read_as_far_as_formats_read_it(tmp_path: Path) -> None:
    content = {**BUNDLE, "bundle.Dockerfile": b"FROM scratch", "tests/scorecard/config.yaml": b"x"}
    others = (".git/config", ".venv/bin/x", "node_modules/a/b", "tests/unit/x", "main.go", "templates/x", "values.yaml")
    written(tmp_path, {**content, **dict.fromkeys(others, b"1" * 100)})
    (tmp_path / ".venv" / "bin" / "python").symlink_to("/nowhere/python3.11")
    (tmp_path / "build").symlink_to("../elsewhere")
    os.mkfifo(tmp_path / "fifo")
    tree = open_tree(tmp_path, limits=Limits(file_bytes=50))
    assert dict(tree) == content
    assert not tree.empty_directories


def test_of_a_chart_everything_is_read(tmp_path: Path) -> None:
    """Its templates may read any file of it."""
    chart = {"Chart.yaml": b"c", "templates/a": b"t", "crds/c": b"d", "docs/x": b"1", "main.py": b"2"}
    assert dict(open_tree(written(tmp_path, {**chart, ".git/x": b"3"}))) == chart


def test_where_no_bundle_is_the_names_for_advice_are_read(tmp_path: Path) -> None:
    written(
        tmp_path, {"v1/manifests/a.yaml": b"1", "v2/x/manifests/a": b"2", "csv.yaml": b"kind: x", "README.md": b"x"}
    )
    written(tmp_path, {".venv/manifests/a": b"3"})
    tree = open_tree(tmp_path)
    assert dict(tree) == {"csv.yaml": b"kind: x"}
    assert tree.directories == {"v1", "v1/manifests"}


def test_directory_that_is_not_entered_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, {**BUNDLE, "a/b": b"", "tests/e2e/x": b"", ".git/x": b""})
    listed: list[str] = []
    list_directory = Path.iterdir

    def iterdir(path: Path) -> object:
        listed.append(str(path.relative_to(tmp_path)))
        return list_directory(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    open_tree(tmp_path)
    assert listed == [".", "manifests", "metadata", "tests"]


@pytest.mark.parametrize("place", ["manifests", "metadata"])
@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../../outside", "points out of the directory, to '../../outside': put a copy in its place"),
        ("/etc", "points out of the directory"),
        ("missing", "points to 'missing', which is not there: put the file in its place, or remove it"),
        ("link", "which is not there"),
        (".", "points to a directory that it lies in: remove it"),
        ("..", "points to a directory that it lies in"),
    ],
)
def test_links_that_a_bundle_needs_are_refused(tmp_path: Path, place: str, target: str, problem: str) -> None:
    (tmp_path / "outside").write_bytes(b"secret")
    root = written(tmp_path / "root", BUNDLE)
    (root / place / "link").symlink_to(target)
    with pytest.raises(ContentError) as caught:
        open_tree(root)
    assert str(caught.value).startswith(f"{root}: link '{place}/link' ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("target", ["../../outside", "missing", "link", "."])
def test_other_links_that_cannot_be_followed_are_left_out(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside").write_bytes(b"secret")
    root = written(tmp_path / "root", {**BUNDLE, "tests/scorecard/config.yaml": b"x"})
    (root / "tests" / "scorecard" / "link").symlink_to(target)
    (root / "a.Dockerfile").symlink_to(target)
    assert "tests/scorecard/link" not in open_tree(root)
    assert "a.Dockerfile" not in open_tree(root)


def test_nothing_but_regular_files_is_opened(tmp_path: Path) -> None:
    written(tmp_path, BUNDLE)
    for name in ("fifo", "socket"):
        path = tmp_path / "manifests" / name
        with socket.socket(socket.AF_UNIX) as listener:
            os.mkfifo(path) if name == "fifo" else listener.bind(os.path.relpath(path))
            with pytest.raises(ContentError, match=f"'manifests/{name}' is a device, a FIFO or a socket"):
                open_tree(tmp_path)
        path.unlink()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ContentError, match="is neither a directory nor a regular file"):
        open_tree(tmp_path / "fifo")


@pytest.mark.parametrize("becomes", ["link", "fifo", "link of its directory"])
def test_file_that_is_swapped_after_the_check_is_refused(
    tmp_path: Path, becomes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = written(tmp_path / "elsewhere", {"csv.yaml": b"secret"})
    root = written(tmp_path / "d", BUNDLE)
    file = root / "manifests" / "csv.yaml"
    opened = local_directory._descriptor

    def swapped(root: Path, real: Path) -> int:
        if real == file:
            file.unlink()
            if becomes == "fifo":
                os.mkfifo(file)
            elif becomes == "link":
                file.symlink_to(secret / "csv.yaml")
            else:
                file.parent.rmdir()
                file.parent.symlink_to(secret)
        return opened(root, real)

    monkeypatch.setattr(local_directory, "_descriptor", swapped)
    with pytest.raises(RukPakError, match=r"symbolic links|is a device, a FIFO|Not a directory") as caught:
        open_tree(root)
    assert "manifests/csv.yaml" in str(caught.value)


def test_a_selection_is_kept_to(tmp_path: Path) -> None:
    written(tmp_path, {"a/x": b"1", "a/y": b"2", "b/x": b"3", "c": b"4"})
    selection = Selection(keep=lambda path: not path.endswith("y"), enter=lambda path: path != "b")
    assert dict(read_directory(tmp_path, selection=selection)) == {"a/x": b"1", "c": b"4"}


def test_a_whole_directory_is_read_without_its_history(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    tree = read_directory(written(tmp_path, {**BUNDLE, ".git/config": b"x", "a/.git": b"y", ".hidden": b"z"}))
    assert dict(tree) == {**BUNDLE, ".hidden": b"z"}
    assert tree.empty_directories == {"a", "empty"}


def test_a_directory_that_may_not_be_read_matters_where_the_bundle_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"private/x": b"", "v1/manifests/a": b""})
    list_directory = Path.iterdir

    def iterdir(path: Path) -> object:
        if path.name in closed:
            raise PermissionError(13, "Permission denied", str(path))
        return list_directory(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    closed = {"private"}
    assert "v1/manifests" in read_bundle(tmp_path).directories
    closed = {"manifests"}
    with pytest.raises(RukPakError, match="v1/manifests: permission denied"):
        open_tree(tmp_path / "v1")
