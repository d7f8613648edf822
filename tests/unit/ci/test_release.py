"""The files of a release: they agree in version and image, and the checksums are theirs."""

import hashlib
import tarfile
from pathlib import Path

import pytest
import yaml

from rukpak_py import __version__
from tools import chart, release

IMAGE, DIGEST = "registry.example.com/team/operator", f"sha256:{'a' * 64}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist")
    release.files(IMAGE, DIGEST, target)
    return target


def test_a_release_has_package_chart_and_manifest(made: Path) -> None:
    names = {one.name for one in made.iterdir()} - {one.name for one in made.glob("*.cdx.json")}
    package = f"rukpak_py-{__version__}"
    assert names == {
        f"{package}-py3-none-any.whl",
        f"{package}.tar.gz",
        f"rukpak-{__version__}.tgz",
        "install.yaml",
        release.SUMS,
    }


def test_chart_and_manifest_name_the_image_by_its_digest(made: Path) -> None:
    with tarfile.open(made / f"rukpak-{__version__}.tgz") as packed:
        file = packed.extractfile("rukpak/values.yaml")
        assert file is not None
        values = yaml.safe_load(file)
    assert f"{values['image']['registry']}/{values['image']['repository']}" == IMAGE
    assert values["image"]["digest"] == DIGEST
    documents = [one for one in yaml.safe_load_all((made / "install.yaml").read_text()) if one]
    pods = [one["spec"]["template"]["spec"] for one in documents if one["kind"] == "Deployment"]
    assert [container["image"] for pod in pods for container in pod["containers"]] == [f"{IMAGE}@{DIGEST}"]


def test_checksums_are_of_all_files(made: Path) -> None:
    lines = [line.split("  ") for line in (made / release.SUMS).read_text().splitlines()]
    sums = {name: digest for digest, name in lines}
    assert sums == {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in release.released(made)}


@pytest.mark.parametrize("arguments", [("operator", DIGEST), (IMAGE, "sha256:abc"), (f"{IMAGE}:v1", DIGEST)])
def test_image_without_registry_or_digest_is_refused(tmp_path: Path, arguments: tuple[str, str]) -> None:
    with pytest.raises(SystemExit, match="REGISTRY/REPOSITORY"):
        release.files(*arguments, tmp_path)


def test_another_tag_than_the_version_is_refused() -> None:
    with pytest.raises(SystemExit, match="is not v"):
        release.check("v999.0.0")


def test_version_without_a_heading_in_the_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "ROOT", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n")
    with pytest.raises(SystemExit, match="has no heading"):
        release.check(f"v{__version__}")
    (tmp_path / "CHANGELOG.md").write_text(f"## {__version__}\n")
    release.check(f"v{__version__}")


@pytest.mark.parametrize("field", ["version", "appVersion"])
def test_chart_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    versions = {"version": __version__, "appVersion": __version__, field: "999.0.0"}
    (tmp_path / "Chart.yaml").write_text(yaml.safe_dump(versions))
    monkeypatch.setattr(chart, "CHART", tmp_path)
    with pytest.raises(SystemExit, match=r"Chart\.yaml has 999\.0\.0"):
        release.check(f"v{__version__}")
