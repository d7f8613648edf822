"""Content that is no installable chart, in the words of helm; and that helm itself agrees."""

import pytest

from rukpak_py.content.tar import write_tgz
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.core.limits import MIB
from rukpak_py.formats.helm.chart import read_chart
from rukpak_py.formats.helm.format import HelmFormat
from rukpak_py.formats.helm.layout import archived, chart_of
from rukpak_py.formats.helm.process import Bounds, HelmProgram, memory_file, path_of
from tests.unit.charts import METADATA, chart, limited, metadata, packed

V1 = "apiVersion: v1\nname: web\nversion: 1.0.0\n"
WITH_SUB = METADATA + "dependencies: [{name: sub, version: 1.0.0}]\n"
WITH_TWO = METADATA + "dependencies: [{name: sub, version: 1.0.0}, {name: db, version: 2.0.0}]\n"

# Words that are helm's own are compared with what helm prints, below.
REFUSED = [
    (chart({"Chart.yaml": None, "README.md": "no chart"}), "Chart.yaml file is missing"),
    (chart({"Chart.yaml": "version: 1.0.0\n"}), "validation: chart.metadata.name is required"),
    (chart({"Chart.yaml": ""}), "validation: chart.metadata.name is required"),
    (chart({"Chart.yaml": "name: web\n"}), "validation: chart.metadata.version is required"),
    (chart({"Chart.yaml": "name: web\nversion: one\n"}), 'validation: chart.metadata.version "one" is invalid'),
    (chart({"Chart.yaml": "name: ..\nversion: 1.0.0\n"}), 'validation: chart.metadata.name ".." is not allowed'),
    (chart({"Chart.yaml": "name: a/b\nversion: 1.0.0\n"}), 'validation: chart.metadata.name "a/b" is invalid'),
    (
        chart({"Chart.yaml": metadata("web", type="app")}),
        "validation: chart.metadata.type must be application or library",
    ),
    (chart({"Chart.yaml": metadata("web", type="library")}), "library charts are not installable"),
    (
        chart({"Chart.yaml": "name: [web]\nversion: 1.0.0\n"}),
        "cannot load Chart.yaml: name must be a string, got a list",
    ),
    (
        chart({"Chart.yaml": metadata("web", deprecated="5")}),
        "cannot load Chart.yaml: deprecated must be true or false, got number 5",
    ),
    (
        chart({"Chart.yaml": metadata("web", keywords="one")}),
        'cannot load Chart.yaml: keywords must be a list, got string "one"',
    ),
    (
        chart({"Chart.yaml": metadata("web", dependencies="[{name: {}}]")}),
        "cannot load Chart.yaml: dependencies[0].name must be a string, got an object",
    ),
    (chart({"Chart.yaml": "- a\n"}), "cannot load Chart.yaml: the document must be an object, got a list"),
    (
        chart({"values.yaml": "text\n"}),
        'cannot load values.yaml: values must be an object, got string "text"',
    ),
    (
        chart({"Chart.yaml": METADATA + "dependencies: [null]\n"}),
        "validation: dependencies must not contain empty or null nodes",
    ),
    (
        chart({"Chart.yaml": METADATA + "dependencies: [{name: a, alias: 'a b'}]\n"}),
        'validation: dependency "a" has disallowed characters in the alias',
    ),
    (
        chart({"Chart.yaml": METADATA + "dependencies: [{name: a}, {name: b, alias: a}]\n"}),
        'validation: more than one dependency with name or alias "a"',
    ),
    (chart({"Chart.yaml": WITH_TWO}), "found in Chart.yaml, but missing in charts/ directory: sub, db"),
    (
        chart({"Chart.yaml": V1, "requirements.yaml": "dependencies: [{name: sub, version: 1.0.0}]\n"}),
        "found in Chart.yaml, but missing in charts/ directory: sub",
    ),
    (
        chart({"Chart.yaml": METADATA, "requirements.yaml": "dependencies: [{name: sub, version: 1.0.0}]\n"}),
        "found in Chart.yaml, but missing in charts/ directory: sub",
    ),
    (
        chart({"Chart.yaml": WITH_TWO, "charts/folder/Chart.yaml": metadata("sub")}),
        "found in Chart.yaml, but missing in charts/ directory: db",
    ),
    (
        chart({"charts/folder/Chart.yaml": "name: sub\n"}),
        "error unpacking subchart folder in web: validation: chart.metadata.version is required",
    ),
    (
        chart({"charts/sub.tgz": packed({"README": "x"})}),
        "error unpacking subchart sub.tgz in web: Chart.yaml file is missing",
    ),
    (
        chart({"charts/sub.tgz": packed({"Chart.yaml": metadata("sub")}, root="")}),
        "error unpacking subchart sub.tgz in web: ",
    ),
    (chart({"..hidden": "x"}), "chart illegally references parent directory"),
    (chart({"c:/a": "x"}), "chart contains illegally named files"),
    (chart({"charts/README.md": "x"}), "error unpacking subchart README.md in web: Chart.yaml file is missing"),
]
# Where our YAML and helm's word things differently, and limits.
REFUSED_IN_OUR_WORDS = [
    (
        chart({"Chart.yaml": "a: b: c\n"}),
        "cannot load Chart.yaml: yaml: line 1, column 5: mapping values are not allowed",
    ),
    (chart({"values.yaml": "a: [\n"}), "cannot load values.yaml: yaml: line 2, column 1: "),
    (
        chart({"templates/a\n---\n# Source: web/crds/a.yaml": "x"}),
        r"the name of chart file 'templates/a\n---\n# Source: web/crds/a.yaml' has characters that",
    ),
    (chart({"files/large": bytes(5 * MIB + 1)}), "chart file 'files/large' is larger than the 5242880 bytes"),
]
ACCEPTED = [
    chart(),
    chart(root="any-name"),
    chart({"Chart.yaml": "name: web\nversion: v1.2\n", "values.yaml": "", "README.md": "x"}),
    chart({"Chart.yaml": metadata("web", type="application", deprecated="true", annotations="{a: b}", unknown="[1]")}),
    chart({"Chart.yaml": metadata("web", maintainers="[{name: me, email: me@example.com}]", icon="null")}),
    chart({"Chart.yaml": WITH_SUB, "charts/any/Chart.yaml": metadata("sub")}),
    chart({"Chart.yaml": WITH_SUB, "charts/sub-1.0.0.tgz": packed({"Chart.yaml": metadata("sub")})}),
    chart({"Chart.yaml": WITH_SUB, "charts/any/Chart.yaml": metadata("sub", type="library")}),
    chart({"charts/_ignored/x": "x", "charts/.hidden": "x", "charts/sub.tgz.prov": "x"}),
    chart({"Chart.yaml": "name: 5\nversion: 1.10\nappVersion: true\nkeywords: [1, a]\n"}),
    chart({"Chart.yaml": METADATA, ".helmignore": "Chart.yaml\n"}),
    chart({"Chart.yaml": METADATA + "dependencies: [{name: 5}]\n", "charts/sub/Chart.yaml": "name: 5\nversion: 1\n"}),
    chart({"Chart.yaml": b"\xef\xbb\xbf" + METADATA.encode()}),
]


@pytest.mark.parametrize(("tree", "text"), [*REFUSED, *REFUSED_IN_OUR_WORDS])
def test_content_that_is_no_installable_chart_is_refused(tree: Tree, text: str) -> None:
    with pytest.raises(ContentError) as caught:
        HelmFormat().check(tree)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("tree", ACCEPTED)
def test_a_chart_is_checked_without_helm(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    HelmFormat(helm="/nonexistent/helm").check(tree)


@pytest.mark.parametrize(("tree", "text"), [*REFUSED, *((tree, "") for tree in ACCEPTED)])
def test_helm_says_the_same(tree: Tree, text: str, helm: HelmProgram) -> None:
    bounds = Bounds(memory=512 * MIB, seconds=60, output=MIB)
    pieces = [b"".join(_tgz(tree))]
    with memory_file("chart", pieces) as file, memory_file("none", []) as stdin:
        ended = helm.run(
            ["template", "--namespace=shop", "web", path_of(file)], bounds=bounds, stdin=stdin, files=[file]
        )
    assert (ended.code != 0) == bool(text)
    # What is wrong with the type of a value we say in our own words, behind helm's.
    assert (text.partition(": ")[0] if ", got " in text else text) in ended.errors


def _tgz(tree: Tree) -> list[bytes]:
    return list(write_tgz(archived(chart_of(tree))))


def test_nothing_at_all() -> None:
    with pytest.raises(ContentError, match="no files in chart archive"):
        read_chart(chart({"Chart.yaml": None}))


def test_a_refusal_names_the_file_and_says_what_to_do() -> None:
    with pytest.raises(InvalidBundleError) as caught:
        read_chart(chart({"Chart.yaml": "name: web\nversion: a: b\n"}, root="web"))
    (finding,) = caught.value.findings
    assert (finding.rule, finding.file, finding.line) == ("HELM-002", "web/Chart.yaml", 2)
    with pytest.raises(InvalidBundleError) as caught:
        read_chart(chart({"Chart.yaml": WITH_SUB}))
    assert "Run `helm dependency build`" in caught.value.advised


def test_packed_subcharts_share_one_budget() -> None:
    half = packed({"Chart.yaml": metadata("sub"), "files/x": "x" * 600_000})
    one, two = {"charts/a.tgz": half}, {"charts/a.tgz": half, "charts/b.tgz": half}
    limits = limited(content_bytes=MIB)
    read_chart(chart(one), limits)
    with pytest.raises(ContentError, match=r"error unpacking subchart b\.tgz in web: .*exceeds the limit"):
        read_chart(chart(two), limits)


def test_archives_in_archives_end_somewhere() -> None:
    inner = packed({"Chart.yaml": metadata("sub")})
    for _ in range(9):
        inner = _around(inner)
    with pytest.raises(ContentError, match="packed more than 8 deep"):
        read_chart(chart({"charts/sub.tgz": inner}))


def _around(inner: bytes) -> bytes:
    return b"".join(write_tgz(archived(chart({"Chart.yaml": metadata("sub"), "charts/sub.tgz": inner}))))


def test_a_chart_is_served_below_a_directory() -> None:
    served = HelmFormat().check(chart({"templates/a.yaml": "a"}))
    assert served is not None
    assert list(served) == ["chart/Chart.yaml", "chart/templates/a.yaml"]
    assert HelmFormat().check(chart({"templates/a.yaml": "a"}, root="web")) is None


def test_chart_never_counts_as_small() -> None:
    assert not HelmFormat().stays_small(chart())
