"""plain+v0: what is refused when a Bundle is unpacked, in upstream's words (P1 to P4)."""

import pytest

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import advised
from rukpak_py.core.limits import Limits
from rukpak_py.formats.plain import PlainFormat

PLAIN = PlainFormat()
CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
PREFIX = "get objects from bundle manifests: "


def tree_of(files: dict[str, bytes], *directories: str) -> Tree:
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add(path, content)
    for directory in directories:
        builder.add_directory(directory)
    return builder.build()


def advised_refusal(tree: Tree) -> str:
    with pytest.raises(ContentError) as caught:
        PLAIN.check(tree)
    return advised(caught.value)


def refusal(tree: Tree) -> str:
    with pytest.raises(ContentError) as caught:
        PLAIN.check(tree)
    return str(caught.value)


@pytest.mark.parametrize("files", [{}, {"other/a.yaml": CONFIG_MAP}, {"a.yaml": CONFIG_MAP}])
def test_p1_manifests_must_exist(files: dict[str, bytes]) -> None:
    assert refusal(tree_of(files)) == PREFIX + "readdir manifests: file does not exist"


def test_p1_manifests_must_be_a_directory() -> None:
    assert refusal(tree_of({"manifests": b""})) == PREFIX + "readdir manifests: not a directory"


@pytest.mark.parametrize(
    ("files", "directories"), [({"manifests/sub/b.yaml": CONFIG_MAP}, []), ({}, ["manifests/sub"])]
)
def test_p2_manifests_must_be_flat(files: dict[str, bytes], directories: list[str]) -> None:
    assert refusal(tree_of({"manifests/a.yaml": CONFIG_MAP, **files}, *directories)) == PREFIX + (
        'subdirectories are not allowed within the "manifests" directory of the bundle image filesystem: '
        'found "manifests/sub"'
    )


def test_entries_are_judged_in_the_order_of_their_names() -> None:
    broken = {"manifests/z.yaml": b"a: ["}
    assert "subdirectories" in refusal(tree_of({"manifests/sub/b.yaml": b"", **broken}))
    assert "error parsing manifests/a" in refusal(tree_of({"manifests/sub/b.yaml": b"", "manifests/a": b"a: ["}))


@pytest.mark.parametrize("name", ["README", ".gitignore", "b.txt"])
def test_p3_every_file_counts(name: str) -> None:
    text = refusal(tree_of({"manifests/a.yaml": CONFIG_MAP, f"manifests/{name}": b"!.gitignore\n"}))
    assert text == (
        f'{PREFIX}unable to decode "manifests/{name}": '
        "json: cannot unmarshal string into Go value of type unstructured.detector"
    )


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a: [\n", "error parsing manifests/a: yaml: line 2, column 1: did not find "),
        (b"a: 1\n---x\n", "error parsing manifests/a: yaml: line 2, column 1: invalid document separator: x"),
        (b'{"a": 1} x', "error parsing manifests/a: json: line 1, column 10: "),
        (b"[1]", 'unable to decode "manifests/a": json: cannot unmarshal array into Go value of type '),
        (b"5", 'unable to decode "manifests/a": json: cannot unmarshal number into Go value of type '),
        (b"yes", 'unable to decode "manifests/a": json: cannot unmarshal bool into Go value of type '),
        (b"a: 1", "unable to decode \"manifests/a\": Object 'Kind' is missing in '{\"a\": …}'"),
        (b"kind: 5", "unable to decode \"manifests/a\": Object 'Kind' is missing in '{\"kind\": …}'"),
        (b"kind: ''", "unable to decode \"manifests/a\": Object 'Kind' is missing in '"),
        (b"kind: x\napiVersion: a/b/c\n", "unable to decode \"manifests/a\": Object 'Kind' is missing in '"),
        (b"kind: List\nitems: {}", 'unable to decode "manifests/a": items must be a list, got an object'),
        (b"kind: List\nitems: [5]", 'unable to decode "manifests/a": json: cannot unmarshal number into Go value of '),
        (b"kind: List\nitems: [{}]", "unable to decode \"manifests/a\": Object 'Kind' is missing in '"),
    ],
)
def test_p3_every_document_is_an_object_with_a_kind(data: bytes, problem: str) -> None:
    assert refusal(tree_of({"manifests/a": data})).startswith(PREFIX + problem)


def test_a_document_without_kind_is_named_but_not_shown() -> None:
    secret = b"apiVersion: v1\nmetadata: {name: token, namespace: ns}\nstringData: {password: hunter2}\n"
    assert refusal(tree_of({"manifests/a": secret})).endswith(
        """'{"apiVersion":"v1","metadata":{"name":"token","namespace":"ns"}}'"""
    )


def test_a_document_of_other_keys_shows_some_of_them_without_values() -> None:
    data = b"password: hunter2\nb: 1\n" + b"x" * 50 + b": 2\nd: 3\n"
    assert refusal(tree_of({"manifests/a": data})).endswith(
        f"""is missing in '{{"password": …, "b": …, "{"x" * 40}": …, …}}'"""
    )


@pytest.mark.parametrize("data", [b"", b"# only a comment\n", b"---\n---\nnull\n", b"kind: List\nitems: []\n"])
def test_p4_there_must_be_an_object(data: bytes) -> None:
    assert refusal(tree_of({"manifests/a": data})) == (
        "invalid bundle: found zero objects: plain+v0 bundles are required to contain at least one object"
    )


def test_p4_holds_for_an_empty_directory() -> None:
    assert "found zero objects" in refusal(tree_of({}, "manifests"))


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (
            {},
            (
                f"{PREFIX}readdir manifests: file does not exist. "
                "Put the manifests into a directory manifests/ at the root of the bundle, and give that root."
            ),
        ),
        (
            {"manifests/sub/b.yaml": CONFIG_MAP},
            'found "manifests/sub". Move its files up into manifests/, or out of the bundle.',
        ),
        ({"manifests/a": b"5"}, "or move it out of manifests/: every file there counts, whatever its name."),
        ({"manifests/a": b""}, "are required to contain at least one object. Add a manifest to manifests/."),
    ],
)
def test_a_refusal_has_the_advice_of_its_rule(files: dict[str, bytes], text: str) -> None:
    assert advised_refusal(tree_of(files)).endswith(text)


def test_good_bundles_pass() -> None:
    files = {"manifests/a.yaml": b"# licence\n---\n" + CONFIG_MAP, "manifests/empty": b"", "other/x": b"a: ["}
    PLAIN.check(tree_of(files))
    PLAIN.check(tree_of({"manifests/a": b"kind: x"}))  # neither version nor name is asked for here


def test_limits_are_those_of_the_caller() -> None:
    with pytest.raises(ContentError, match=r"error parsing manifests/a: .*RUKPAK_LIMIT_YAML_BYTES"):
        PLAIN.check(tree_of({"manifests/a": CONFIG_MAP}), limits=Limits(yaml_bytes=10))
