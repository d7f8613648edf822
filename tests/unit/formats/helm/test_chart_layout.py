"""Where the chart is in a bundle, and which bundles are taken for charts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.content.tree import Tree, TreeBuilder
from rukpak_py.formats.detection import FormatName, detect_format
from rukpak_py.formats.helm.layout import archived, chart_of, chart_root

names = st.sampled_from(["Chart.yaml", "web", "templates", "a", "b"])


def tree(*paths: str, empty: tuple[str, ...] = ()) -> Tree:
    builder = TreeBuilder()
    for path in paths:
        builder.add(path, path.encode())
    for path in empty:
        builder.add_directory(path)
    return builder.build()


@pytest.mark.parametrize(
    ("content", "root", "paths"),
    [
        (tree("Chart.yaml", "templates/a.yaml"), "", ["Chart.yaml", "templates/a.yaml"]),
        (tree("web/Chart.yaml", "web/templates/a.yaml"), "web", ["Chart.yaml", "templates/a.yaml"]),
        (tree("web/Chart.yaml", "README.md"), "", ["README.md", "web/Chart.yaml"]),
        (tree("web/Chart.yaml", empty=("other",)), "", ["web/Chart.yaml"]),
        (tree("web/web/Chart.yaml"), "web", ["web/Chart.yaml"]),
        (tree("Chart.yaml"), "", ["Chart.yaml"]),
        (tree(), "", []),
    ],
)
def test_one_directory_alone_is_the_chart(content: Tree, root: str, paths: list[str]) -> None:
    assert chart_root(content) == root
    assert list(chart_of(content)) == paths


def test_empty_directories_come_along() -> None:
    assert chart_of(tree("web/Chart.yaml", empty=("web/templates",))).directories == {"templates"}
    assert chart_of(tree(empty=("web",))).directories == frozenset()


@given(st.sets(st.lists(names, min_size=1, max_size=3).map("/".join), max_size=6))
def test_an_archive_has_one_directory_and_no_file_is_lost(paths: set[str]) -> None:
    files = [path for path in paths if not any(other.startswith(f"{path}/") for other in paths)]
    content = tree(*files)
    made = archived(chart_of(content))
    assert made.names_in("") == (["chart"] if files else [])
    assert sorted(made.values()) == sorted(content.values())
    assert chart_of(made) == Tree(dict(chart_of(content)))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (tree("Chart.yaml"), FormatName.HELM),
        (tree("web/Chart.yaml", "web/values.yaml"), FormatName.HELM),
        (tree("web/Chart.yaml", "README.md"), FormatName.PLAIN),
        (tree("manifests/Chart.yaml"), FormatName.PLAIN),
    ],
)
def test_a_chart_is_detected_where_it_would_be_loaded(content: Tree, expected: FormatName) -> None:
    assert detect_format(content) is expected
