"""Which charts the suite takes, in which versions."""

from pathlib import Path

from rukpak_py.formats.helm.process import HelmProgram
from tests.helm_oracle.cases import CHARTS, HARMLESS, Step, own_cases, packed_cases
from tests.unit.charts import packed


def archive(folder: Path, name: str, version: str) -> None:
    files = {"Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n"}
    (folder / f"{name}-{version}.tgz").write_bytes(packed(files, root=f"{name}/"))


def test_the_oldest_and_the_newest_of_each_packed_chart(tmp_path: Path) -> None:
    for version in ("10.0.0", "9.1.0", "10.0.0-rc.1"):
        archive(tmp_path, "web", version)
    archive(tmp_path, "alone", "1.0.0")
    (case,) = packed_cases(tmp_path)
    assert (case.chart, case.first.version, case.second.version) == ("web", "9.1.0", "10.0.0")
    assert case.values_of(Step.UPGRADE) == {}
    assert case.values_of(Step.VALUES) == HARMLESS


def test_values_beside_a_packed_chart(tmp_path: Path) -> None:
    for version in ("1.0.0", "1.0.1"):
        archive(tmp_path, "web", version)
    (tmp_path / "web.yaml").write_text("values: {a: {b: 1}}\nchanged: {a: {c: 2}}\n")
    (case,) = packed_cases(tmp_path)
    assert [case.values_of(step) for step in Step] == [
        {"a": {"b": 1}},
        {"a": {"b": 1}},
        {"a": {"b": 1, "c": 2}},
        {"a": {"b": 1}},
        {"a": {"b": 1}},
    ]
    assert [case.chart_of(step).version for step in Step] == ["1.0.0", "1.0.1", "1.0.1", "1.0.0", "1.0.1"]


def test_each_chart_of_this_repository_has_two_versions_and_other_values(tmp_path: Path, helm: HelmProgram) -> None:
    cases = own_cases(tmp_path, Path(helm.path))
    assert [case.chart for case in cases] == sorted(path.name for path in CHARTS.iterdir() if path.is_dir())
    for case in cases:
        assert case.first.path != case.second.path
        assert case.first.path.exists()
        assert case.second.path.exists()
        assert case.values_of(Step.VALUES) != case.values_of(Step.UPGRADE)
    (directory,) = [case for case in cases if case.first.path.is_dir()]
    assert "version: 2.0.0" in (directory.second.path / "Chart.yaml").read_text()
