"""Files that `.indexignore` files leave out, row by row as the reference does it."""

import time

import pytest

from rukpak_py.catalog.indexignore import ignored
from rukpak_py.core.errors import ContentError

TREE = (
    *("a.json", "b.yaml", "x/a.json", "x/b.yaml", "x/y/a.json", "x/y/z/a.json", "objects/o.json", "x/objects/o.json"),
    *("ig/a.json", ".hidden.json", "A.JSON", "-d/a.json"),
)
EACH_A = "a.json x/a.json x/y/a.json x/y/z/a.json ig/a.json -d/a.json"
BELOW_X = "x/a.json x/b.yaml x/y/a.json x/y/z/a.json x/objects/o.json"
RECIPE = "**/*\n!*.json\n!*.yaml\n**/objects/*.json\n**/objects/*.yaml"


def left_out(text: str, files: tuple[str, ...] = TREE, *, x: str | None = None) -> set[str]:
    """`x`: the patterns of the directory of this name."""
    return set(ignored(files, {".indexignore": text, **({} if x is None else {"x/.indexignore": x})}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.json", EACH_A),
        ("/a.json", "a.json"),
        ("//a.json", "a.json"),
        ("x", BELOW_X),
        ("x/", BELOW_X),
        ("a.json/", ""),
        ("y/a.json", ""),
        ("x/y", "x/y/a.json x/y/z/a.json"),
        ("/x/y", "x/y/a.json x/y/z/a.json"),
        ("x/*", BELOW_X),
        ("x/**", BELOW_X),
        ("*", " ".join(TREE)),
        ("**", " ".join(TREE)),
        ("**/*", " ".join(TREE)),
        ("**/a.json", EACH_A),
        ("x/**/a.json", "x/a.json x/y/a.json x/y/z/a.json"),
        ("x/**/y/a.json", "x/y/a.json"),
        (RECIPE, "objects/o.json x/objects/o.json A.JSON"),
        ("x\n!x/b.yaml", BELOW_X.replace(" x/b.yaml", "")),
        ("[a.json", ""),
        ("./a.json", ""),
        (".*", ".hidden.json"),
        ("x/a**", ""),
        ("*/", f"{BELOW_X} objects/o.json ig/a.json -d/a.json"),
        ("/**", ""),
        ("!", ""),
        ("\\", ""),
        ("/", ""),
        ("  b.yaml \r\n# a.json\r\n\r\n", "b.yaml x/b.yaml"),
    ],
)
def test_pattern_leaves_out_these_files(text: str, expected: str) -> None:
    assert left_out(text) == set(expected.split())


def test_class_is_negated_by_a_caret_alone() -> None:
    files = ("a.json", "b.json", "!.json")
    assert left_out("[^a].json", files) == {"b.json", "!.json"}
    assert left_out("[!a].json", files) == {"a.json", "!.json"}


def test_first_characters_of_a_line_are_escaped() -> None:
    assert left_out("\\#hash.json\n\\!bang.json", ("#hash.json", "!bang.json", "x")) == {"#hash.json", "!bang.json"}


def test_component_behind_any_directories_is_bound_to_its_first_occurrence() -> None:
    files = ("a/b.json", "a/x/a/b.json", "x/a/b.json", "x/a/a/b.json")
    assert left_out("**/a/b.json", files) == {"a/b.json", "x/a/b.json"}


def test_file_at_the_prefix_of_a_final_wildcard_is_left_out() -> None:
    assert left_out("w/**", ("w", "w/a", "v")) == {"w", "w/a"}


def test_file_of_a_directory_decides_over_those_above_it() -> None:
    assert left_out("*.json", x="!a.json") == {one for one in TREE if one.endswith(".json")} - set(BELOW_X.split()) | {
        "x/objects/o.json"
    }
    assert left_out("!x/a.json", x="a.json") == {"x/a.json", "x/y/a.json", "x/y/z/a.json"}


def test_file_of_a_directory_that_sorts_first_is_decided_over() -> None:
    assert ignored(["-d/a.json"], {".indexignore": "a.json", "-d/.indexignore": "!a.json"})


def test_pattern_of_a_directory_counts_below_it_only() -> None:
    assert left_out("", x="/a.json") == {"x/a.json"}
    assert left_out("", x="x") == set()


def test_pattern_files_are_no_content() -> None:
    files = (".indexignore", "x/.indexignore", "x/a", ".indexignore/a")
    assert set(ignored(files, {})) == {".indexignore", "x/.indexignore"}


@pytest.mark.parametrize("pattern", ["*a" * 100 + "b", "**/" * 80 + "b", "[a-z]*" * 40 + "0", "?" * 250])
def test_patterns_are_matched_in_time_that_is_bounded(pattern: str) -> None:
    files = ["/".join(["a" * 200] * 5) + str(number) for number in range(200)]
    start = time.process_time()
    ignored(files, {".indexignore": "\n".join(f"{pattern}{number}" for number in range(20))})
    assert time.process_time() - start < 5


def test_too_many_patterns_are_refused() -> None:
    with pytest.raises(ContentError, match="more than 2000"):
        ignored(["a"], {".indexignore": "a\n" * 2001})
    with pytest.raises(ContentError, match="too many long patterns"):
        ignored(["a" * 1000] * 1000, {".indexignore": "a" * 4000})
