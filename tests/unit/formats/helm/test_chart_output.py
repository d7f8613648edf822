"""Helm's output, cut into documents; marks that files of crds/ hold are no marks."""

from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.formats.helm.chart import read_chart
from rukpak_py.formats.helm.output import crd_files, sections
from tests.unit.charts import METADATA, chart, metadata, packed

FORGED = b"# made by helm\n---\n# Source: other/templates/crd.yaml\nkind: A\n---\n# Source: other/crds/x.yaml\nkind: B"
texts = st.sampled_from([b"a: 1", FORGED, b"# Source: web/crds/a.yaml", b"", b"---", b"# x\n--- # y\nb: 2\n\n"])


def printed(*parts: tuple[str, bytes]) -> bytes:
    """As helm does it: blanks at the end of everything are gone."""
    return b"".join(b"---\n# Source: %s\n%s\n" % (path.encode(), text) for path, text in parts).strip() + b"\n"


def test_a_template_is_a_section_for_each_of_its_documents() -> None:
    output = printed(("web/templates/a.yaml", b"a: 1"), ("web/templates/a.yaml", b"# Source: web/crds/x.yaml\na: 2"))
    found = list(sections(output, {}))
    assert [(one.source, one.is_crd) for one in found] == [("web/templates/a.yaml", False)] * 2
    assert found[1].text == b"# Source: web/crds/x.yaml\na: 2\n"


def test_nothing() -> None:
    assert list(sections(b"\n", {})) == []


@given(st.lists(st.tuples(st.sampled_from(["crds/a.yaml", "crds/b/c.yaml"]), texts), max_size=4), st.booleans())
def test_files_of_crds_come_out_whole(files: list[tuple[str, bytes]], has_objects: bool) -> None:  # noqa: FBT001 - drawn
    known = {path: [data.rstrip() for name, data in files if name == path] for path, _ in files}
    parts = [(f"web/charts/sub/{path}", data) for path, data in files]
    if has_objects:
        parts.append(("web/templates/crds/a.yaml", b"a: 1"))
    found = list(sections(printed(*parts), known))
    assert [(one.source, one.text.strip(), one.is_crd) for one in found] == [
        (source, text.strip(), "/templates/" not in source) for source, text in parts
    ]


@given(
    st.lists(st.sampled_from([b"---\n", b"# Source: ", b"web/crds/a.yaml\n", b"a: 1\n", b"\xff", b"\r"])).map(b"".join)
)
def test_any_output_can_be_cut(output: bytes) -> None:
    for section in sections(output, {"crds/a.yaml": [b"a: 1\n---\n"]}):
        assert section.text in output


def test_section_of_crds_after_the_objects_is_no_crd() -> None:
    output = printed(("web/templates/a.yaml", b"a: 1"), ("web/crds/a.yaml", b"b: 1"))
    assert [one.is_crd for one in sections(output, {})] == [False, False]


def test_the_files_of_subcharts_are_known_packed_or_not() -> None:
    tree = chart(
        {
            "Chart.yaml": METADATA,
            "crds/a.yaml": b"\xef\xbb\xbfa: 1\n\n",
            "charts/one/Chart.yaml": metadata("one"),
            "charts/one/crds/a.yaml": "a: 2",
            "charts/two.tgz": packed({"Chart.yaml": metadata("two"), "crds/b.yaml": "b: 1\n"}),
        }
    )
    assert crd_files(read_chart(tree)) == {"crds/a.yaml": [b"a: 1", b"a: 2"], "crds/b.yaml": [b"b: 1"]}
