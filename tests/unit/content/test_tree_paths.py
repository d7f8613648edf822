"""Which paths a Tree takes, and what else it refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.tree import Tree, TreeBuilder, clean_path
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import DEFAULT_LIMITS, Limits


def tree_of(files: dict[str, bytes], *directories: str, limits: Limits = DEFAULT_LIMITS) -> Tree:
    builder = TreeBuilder(limits)
    for path, content in files.items():
        builder.add(path, content)
    for directory in directories:
        builder.add_directory(directory)
    return builder.build()


@pytest.mark.parametrize(
    ("path", "clean"),
    [("a", "a"), ("./a//b/", "a/b"), ("a/./b", "a/b"), (".", ""), ("", ""), ("..a/b..", "..a/b.."), (" ", " ")],
)
def test_paths_are_normalised(path: str, clean: str) -> None:
    assert clean_path(path) == clean


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/a", "is absolute"),
        ("..", 'contains ".."'),
        ("a/../b", 'contains ".."'),
        ("a/..", 'contains ".."'),
        ("a\0b", "NUL byte or a backslash"),
        ("a\\b", "NUL byte or a backslash"),
        ("a\udc80", "is not UTF-8"),
        ("a" * 1025, "RUKPAK_LIMIT_PATH_BYTES"),
        ("é" * 513, "RUKPAK_LIMIT_PATH_BYTES"),
        ("a/" * 33, "RUKPAK_LIMIT_PATH_DEPTH"),
    ],
)
def test_c1_paths_that_are_refused(path: str, problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        clean_path(path)


@given(st.text(max_size=40) | st.lists(st.sampled_from(["a", ".", "..", "/", "//", "\\", "\0"])).map("".join))
def test_a_clean_path_is_clean(path: str) -> None:
    try:
        clean = clean_path(path)
    except ContentError:
        return
    assert clean_path(clean) == clean
    assert not set(clean.split("/")) & {".", ".."}
    assert not clean.startswith("/")


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        (["a", "a"], "'a' is there twice"),
        (["a/b", "./a//b"], "'a/b' is there twice"),
        (["a", "a/b"], "'a' is both a file and a directory"),
        (["a/b/c", "a/b"], "'a/b' is both a file and a directory"),
        (["."], "has no name"),
    ],
)
def test_paths_that_exclude_each_other(paths: list[str], problem: str) -> None:
    *others, last = paths
    builder = TreeBuilder()
    for path in others:
        builder.add(path, b"")
    with pytest.raises(ContentError, match=problem):
        builder.add(last, b"")


def test_c1_look_alikes_are_different_paths() -> None:
    """Nothing is written to a file system, so neither case nor composition can make two paths one."""
    assert len(tree_of({"A": b"1", "a": b"2", "\u00e9": b"3", "e\u0301": b"4"})) == 4


def test_a_directory_does_not_replace_a_file() -> None:
    with pytest.raises(ContentError, match="both a file and a directory"):
        tree_of({"a": b""}, "a/b")


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        (Limits(file_bytes=3), "RUKPAK_LIMIT_FILE_BYTES"),
        (Limits(content_bytes=7), "RUKPAK_LIMIT_CONTENT_BYTES"),
        (Limits(content_files=2), "RUKPAK_LIMIT_CONTENT_FILES"),
    ],
)
def test_limits_hold_while_adding(limits: Limits, problem: str) -> None:
    with pytest.raises(ContentError, match=problem):
        tree_of({"a": b"1234", "b": b"1234", "c": b""}, limits=limits)


def test_directories_count_as_files() -> None:
    with pytest.raises(ContentError, match="RUKPAK_LIMIT_CONTENT_FILES"):
        tree_of({"a/b/c/d": b""}, limits=Limits(content_files=3))


def test_a_walk_visits_what_is_below_right_after_its_directory() -> None:
    assert list(tree_of({"a.txt": b"", "b": b"", "a/z": b"", "a/b/c": b""})) == ["a/b/c", "a/z", "a.txt", "b"]


def test_names_directories_and_sizes() -> None:
    tree = tree_of({"m/a": b"12", "m/sub/b": b"3", "x": b""}, "e/f", "m")
    assert tree.names_in("m") == ["a", "sub"]
    assert tree.names_in("") == ["e", "m", "x"]
    assert tree.names_in("nowhere") == []
    assert tree.directories == {"m", "m/sub", "e", "e/f"}
    assert tree.empty_directories == {"e/f"}
    assert (tree.size_of("m/a"), tree.total_bytes) == (2, 3)


def test_the_digest_is_of_the_content() -> None:
    files = {"b": b"1", "a/c": b"2"}
    digest = tree_of(files).digest
    assert digest == tree_of(dict(reversed(files.items()))).digest
    assert digest.startswith("sha256:")
    others = [tree_of(files, "d"), tree_of({**files, "b": b"2"}), tree_of({"a/c": b"1", "b": b"2"})]
    assert digest not in {other.digest for other in others}


def test_the_digest_stays_what_it_is() -> None:
    """Pinned: stored content and `status.digest` of running clusters depend on it."""
    tree = tree_of({"manifests/a.yaml": b"kind: x\n", "manifests/\u00e9": b""}, "empty")
    assert tree.digest == PINNED


PINNED = "sha256:9258ff2da34f08d79b4b539b4b39fd715f2dfe59f4750f54e9fd0085773cfe1c"
