"""Files that helm leaves out of a chart that is a directory, compared with helm itself on the same files."""

import subprocess
import time
from pathlib import Path

import pytest

from rukpak_py.content.tar import write_tgz
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.format import RenderOptions
from rukpak_py.formats.helm.chart import read_chart
from rukpak_py.formats.helm.format import HelmFormat
from rukpak_py.formats.helm.layout import archived, loaded_files
from rukpak_py.formats.helm.process import HelmProgram
from rukpak_py.formats.validation import validate
from tests.unit.charts import METADATA, chart, config_map, metadata, packed

LISTING = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata:\n"
    "{{- range $path, $_ := .Files }}\n  {{ $path | b64enc | quote }}: {{ $path | quote }}\n{{- end }}\n"
)
FILES: dict[str, str | bytes | None] = {
    "Chart.yaml": METADATA,
    "templates/files.yaml": LISTING,
    "templates/.swp.yaml": config_map("hidden"),
    "templates/sub/.swp.yaml": config_map("hidden-below"),
    "templates/tests/test.yaml": config_map("tested"),
    "templates/a.yaml": config_map("a"),
    "a.txt": "",
    "ab.txt": "",
    "b.TXT": "",
    "é.txt": "",
    "a*b": "",
    "-": "",
    "]": "",
    "^": "",
    "!x": "",
    "#x": "",
    ".hidden": "",
    "ci/values.yaml": "",
    "ci/deep/ci/a.txt": "",
    "dir/a.txt": "",
    "dir/b/a.txt": "",
    "dir/ci": "no directory",
    "charts/sub/Chart.yaml": metadata("sub"),
    "charts/sub/templates/a.yaml": config_map("of-sub"),
    "charts/sub/templates/.swp.yaml": config_map("hidden-of-sub"),
    "charts/sub/.helmignore": "templates/\n",
    "charts/sub/ci/a.txt": "",
    "charts/packed.tgz": packed({"Chart.yaml": metadata("packed"), "templates/ci/a.yaml": config_map("of-packed")}),
}
RULES = [
    "",
    "# a.txt\n\n  \n",
    "a.txt",
    " \ta.txt \u00a0\r\n",
    "\ufeffa.txt",
    "/a.txt",
    "//a.txt",
    "*.txt",
    "*.txt/",
    "/*.txt",
    "*/*.txt",
    "*/",
    "/*/",
    "dir/*",
    "dir/*/*",
    "/dir/b/",
    "ci",
    "ci/",
    "/ci",
    "ci/values.yaml",
    "deep/ci",
    ".*",
    ".?*",
    "?",
    "?.txt",
    "a?.txt",
    "[ab].txt",
    "[^ab].txt",
    "[!ab].txt",
    "[a-z].txt",
    "[z-a].txt",
    "[^z-a].txt",
    "[a-z]*[.]txt",
    "[É-ê].txt",
    "dir[^a]a.txt",
    "d*r/*a*.*",
    "*.t*t*",
    "a\\*b",
    "a[*]b",
    "\\a.txt",
    "[\\]]",
    "[\\-]",
    "[\\^]",
    "[a^]",
    "^",
    "]",
    "!*[a-z]*",
    "!*[a-z]*\ntests/",
    "/",
    "\\!x",
    "\\#x",
    "dir\\/",
    "!*",
    "ci/\n!*.yaml",
    "templates/tests/",
    "tests",
    "charts/",
    "charts/sub/templates/a.yaml",
    "charts/*.tgz",
    "*.tgz",
    "a.txt # not a comment",
]
ALL_GONE = ["!", "!a.txt", "!*.txt\na.txt", "!ci/", "!/", "*", "*a*a*", "Chart.yaml", "/Chart.yaml", "[^z]*", "/*.yaml"]
REFUSED = [
    ("**", "double-star (**) syntax is not supported"),
    ("a.txt\n\ndir/**/a", "double-star (**) syntax is not supported"),
    ("a[", "syntax error in pattern"),
    ("[]", "syntax error in pattern"),
    ("[]a]", "syntax error in pattern"),
    ("[^]", "syntax error in pattern"),
    ("[-a]", "syntax error in pattern"),
    ("[a-]", "syntax error in pattern"),
    ("[a", "syntax error in pattern"),
    ("[a-b", "syntax error in pattern"),
    ("[\\", "syntax error in pattern"),
    ("a\\", "syntax error in pattern"),
    ("*a[", "syntax error in pattern"),
]


def tree_with(rules: str | bytes) -> Tree:
    return chart({**FILES, ".helmignore": rules})


def printed_by_helm(path: Path, helm: HelmProgram) -> subprocess.CompletedProcess[str]:
    command = [helm.path, "template", "--namespace=shop", "web", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def written(tree: Tree, folder: Path) -> Path:
    for path in tree:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tree[path])
    return folder


def written_archive(tree: Tree, folder: Path) -> Path:
    """Helm leaves nothing out of it."""
    path = folder / "web.tgz"
    path.write_bytes(b"".join(write_tgz(archived(tree))))
    return path


@pytest.mark.parametrize("rules", RULES)
def test_files_that_are_left_are_those_that_helm_loads(rules: str, helm: HelmProgram, tmp_path: Path) -> None:
    tree = tree_with(rules)
    by_helm = printed_by_helm(written(tree, tmp_path / "web"), helm)
    assert by_helm.returncode == 0, by_helm.stderr
    left = loaded_files(tree, is_directory=True)
    assert printed_by_helm(written_archive(left, tmp_path), helm).stdout == by_helm.stdout
    read_chart(tree, is_directory=True)


@pytest.mark.parametrize("rules", ALL_GONE)
def test_a_chart_may_leave_out_its_own_metadata(rules: str, helm: HelmProgram, tmp_path: Path) -> None:
    by_helm = printed_by_helm(written(tree_with(rules), tmp_path), helm)
    assert "Chart.yaml file is missing" in by_helm.stderr
    with pytest.raises(ContentError, match=r"Chart\.yaml file is missing|no files in chart archive"):
        HelmFormat().check(tree_with(rules), is_directory=True)


@pytest.mark.parametrize(("rules", "text"), REFUSED)
def test_a_rule_that_helm_refuses_names_its_line(rules: str, text: str, helm: HelmProgram, tmp_path: Path) -> None:
    assert text in printed_by_helm(written(tree_with(rules), tmp_path), helm).stderr
    with pytest.raises(InvalidBundleError) as caught:
        HelmFormat().check(tree_with(rules), is_directory=True)
    (finding,) = caught.value.findings
    assert (finding.rule, finding.file, finding.line) == ("HELM-002", ".helmignore", rules.count("\n") + 1)
    assert str(caught.value) == f"cannot load .helmignore: {text}"
    assert [one.rule for one in validate(tree_with(rules), is_directory=True) if one.is_error] == ["HELM-002"]


@pytest.mark.parametrize("root", ["", "any"])
def test_an_archive_stays_as_it_is(root: str, helm: HelmProgram) -> None:
    tree = chart(
        {"templates/a.yaml": config_map("a"), "templates/b.yaml": config_map("b"), ".helmignore": "b.*"}, root=root
    )
    as_directory = RenderOptions(is_directory=True, helm=helm.path)
    as_archive = RenderOptions(is_directory=False, helm=helm.path)
    assert [one.head.name for one in HelmFormat().render(tree, as_directory).objects] == ["a"]
    assert [one.head.name for one in HelmFormat().render(tree, as_archive).objects] == ["a", "b"]
    HelmFormat().check(chart({".helmignore": "**"}, root=root), is_directory=False)


def test_warnings_are_about_what_is_left() -> None:
    tree = chart({"templates/a.yaml": config_map("a", "(now)"), ".helmignore": "templates/a.yaml"})
    assert [one.rule for one in validate(tree, is_directory=False)] == ["HELM-104"]
    assert validate(tree, is_directory=True) == []


def test_bytes_that_are_not_text_fit_nothing() -> None:
    files = {"a.txt": "", "b.txt": ""}
    left = loaded_files(chart({**files, ".helmignore": b"\xff.txt\nb.txt"}), is_directory=True)
    assert set(left) == {"Chart.yaml", ".helmignore", "a.txt"}


def test_rules_are_no_way_to_keep_a_worker_busy() -> None:
    """Where a `*` may match is tried once, from left to right: else this is a matter of hours."""
    tree = chart({**{f"{'a' * 200}{number}": "" for number in range(100)}, ".helmignore": "*a" * 100 + "b"})
    started = time.process_time()
    assert len(loaded_files(tree, is_directory=True)) == 102
    assert time.process_time() - started < 5  # seconds; some milliseconds
    with pytest.raises(ContentError, match="is larger than 65536 bytes"):
        read_chart(chart({".helmignore": "#" * 70_000}), is_directory=True)
