"""The commands on charts: what they print, in which order, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

import rukpak_py
from rukpak_py.core.errors import ContentError, UnavailableError
from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from tests.unit.charts import chart, config_map, crd, hook, metadata
from tests.unit.cli.running import SAMPLES, CommandLine

CHART = SAMPLES / "web-chart"
NOTES = SAMPLES / "notes"


@pytest.fixture(autouse=True)
def _with_helm(helm: HelmProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, helm.path)


def written(files: dict[str, str], folder: Path) -> Path:
    tree = chart(files)
    for path in tree:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(tree[path])
    return folder


def named(out: str) -> list[str]:
    return [f"{made['kind']} {made['metadata']['name']}" for made in json.loads(out)["items"]]


class TestRender:
    def test_definitions_then_objects_then_hooks(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "render", CHART, "-o", "json", "--release-name", "shop")
        objects = ["CustomResourceDefinition pages.samples.rukpak.io", "ConfigMap shop-page", "Deployment shop"]
        assert (ran.status, named(ran.out)) == (0, [*objects, "Job shop-migrate"])
        assert "test.yaml:6:5: this hook is for tests, and is left out [HELM-102]" in ran.err
        assert (
            named(rukpakctl("bundle", "render", CHART, "-o", "json", "--no-hooks").out)[-1] == "Deployment release-name"
        )

    def test_values_of_files_and_settings(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
        one.write_text("replicas: 2\npage: first\n", encoding="utf-8")
        two.write_text("page: second\n", encoding="utf-8")
        ran = rukpakctl("bundle", "render", CHART, "-f", one, "--values", two, "--set", "replicas=5")
        assert "index.html: second" in ran.out
        assert "replicas: 5" in ran.out

    def test_templates_see_the_cluster_of_the_options(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        seen = (
            '(list .Capabilities.KubeVersion.Version (.Capabilities.APIVersions.Has "shop.io/v1") .Release.Namespace)'
        )
        bundle = written({"templates/a.yaml": config_map("a", seen)}, tmp_path)
        options = ("--kube-version", "1.31.4", "--api-version", "shop.io/v1", "--install-namespace", "till")
        assert 'value: "[v1.31.4 true till]"' in rukpakctl("bundle", "render", bundle, *options).out
        assert "false rukpak-system]" in rukpakctl("bundle", "render", bundle).out

    def test_all_files_of_the_directory_are_the_charts(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        files = {"templates/a.yaml": config_map("a", '(.Files.Get "boards/a.json")'), "boards/a.json": "a board"}
        bundle = written(files, tmp_path / "any")
        for path in (bundle, tmp_path):
            assert "value: a board" in rukpakctl("bundle", "render", path).out

    def test_a_hook_that_helm_skips_is_told(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        ran = rukpakctl("bundle", "render", written({"templates/a.yaml": hook("a", "crd-install")}, tmp_path))
        assert "Warning: an object for the hook 'crd-install' is left out" in ran.err

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            (("--set", "page="), "web/templates/web.yaml:6: set the value page"),
            (("--set", "page"), 'failed parsing --set data: key "page" has no value'),
            (("--helm", "/nonexistent/helm"), "there is no program '/nonexistent/helm'. Install helm 3.16 or newer"),
            (("--config", str(NOTES / "manifests/notes.yaml")), "only bundles of format registry+v1 can be configured"),
        ],
    )
    def test_a_failure_is_a_sentence(self, rukpakctl: CommandLine, arguments: tuple[str, ...], text: str) -> None:
        ran = rukpakctl("bundle", "render", CHART, *arguments)
        assert (ran.status, ran.out) == (3, "")
        assert text in ran.err

    def test_a_file_of_values_that_is_none_is_named(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "mine.yaml"
        file.write_text("- a\n", encoding="utf-8")
        ran = rukpakctl("bundle", "render", CHART, "-f", file)
        assert ran.status == 3
        assert ran.err.startswith(f"Error: read chart values: {file}: ")

    @pytest.mark.parametrize("command", ["render", "permissions", "inspect"])
    @pytest.mark.parametrize("option", ["--set=a=b", "--release-name=x", "--kube-version=1.30", "--api-version=v1"])
    def test_other_bundles_have_no_values(self, rukpakctl: CommandLine, command: str, option: str) -> None:
        ran = rukpakctl("bundle", command, NOTES, option)
        assert ran.status == 2
        assert ran.err.endswith(f"Error: {option.partition('=')[0]} is for bundles of format helm, not plain.\n")
        assert rukpakctl("bundle", command, NOTES, "--helm", "/nonexistent").status == 0

    def test_a_chart_that_is_none_is_told_with_its_file(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        ran = rukpakctl("bundle", "render", written({"Chart.yaml": metadata("x", type="library")}, tmp_path))
        assert ran.status == 3
        assert "library charts are not installable" in ran.err
        assert "hint: Install a chart that uses it" in ran.err


def test_diff_compares_hooks_too(rukpakctl: CommandLine, tmp_path: Path) -> None:
    files = {"templates/a.yaml": config_map("a"), "crds/a.yaml": crd("c")}
    one = written(files, tmp_path / "one")
    two = written(
        {**files, "templates/h.yaml": hook("h", "pre-install"), "crds/a.yaml": crd("c", "new")}, tmp_path / "two"
    )
    ran = rukpakctl("bundle", "diff", one, two, "--exit-code")
    assert ran.status == 1
    assert "+ ConfigMap h" in ran.out
    assert "~ ConfigMap c" in ran.out
    assert "ConfigMap a" not in ran.out


def test_permissions_are_for_hooks_too(rukpakctl: CommandLine) -> None:
    out = rukpakctl("bundle", "permissions", CHART, "--release-name", "shop").out
    assert "in namespace rukpak-system" in out
    assert "jobs (batch) named shop-migrate" in out


def test_inspect_shows_the_chart_and_what_it_renders(rukpakctl: CommandLine) -> None:
    found = json.loads(rukpakctl("bundle", "inspect", CHART, "-o", "json", "--set", "image=mine").out)
    assert (found["format"], found["name"], found["version"], found["appVersion"]) == ("helm", "web", "1.2.0", "1.27.0")
    assert [one["image"] for one in found["images"]] == ["mine:1.27.0"]
    assert {one["kind"] for one in found["objects"]} == {
        *("ConfigMap", "Deployment", "Job", "CustomResourceDefinition"),
    }


def test_validate_needs_no_helm(rukpakctl: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nonexistent")
    ran = rukpakctl("bundle", "validate", CHART)
    assert ran.status == 0
    assert ran.err.startswith(
        "Warning: templates are not checked: charts are rendered by helm, and there is no program"
    )
    assert rukpakctl("bundle", "validate", CHART, "--quiet").err == ""
    assert [rule for rule in ("HELM-101", "HELM-102") if rule in ran.out] == ["HELM-101", "HELM-102"]
    assert rukpakctl("bundle", "validate", CHART, "--strict").status == 1


def test_validate_with_helm_warns_of_nothing(rukpakctl: CommandLine) -> None:
    assert rukpakctl("bundle", "validate", CHART).err == ""


class TestLibrary:
    def test_charts_are_rendered_with_keywords(self) -> None:
        values: list[dict[str, Any] | str] = [{"page": "one", "replicas": 2}, "page: two"]
        made = rukpak_py.render(CHART, values=values, settings=["replicas=3"], release_name="shop", hooks=False)
        assert [one["kind"] for one in made] == ["CustomResourceDefinition", "ConfigMap", "Deployment"]
        assert (made[1]["data"]["index.html"], made[2]["spec"]["replicas"]) == ("two", 3)
        assert rukpak_py.render(CHART, values={"page": "x"})[-1]["kind"] == "Job"

    def test_hooks_are_apart_and_what_is_left_out_is_named(self) -> None:
        made = rukpak_py.rendering(CHART)
        assert [one["kind"] for one in made.hooks] == ["Job"]
        assert [*made.objects, *made.hooks] == rukpak_py.render(CHART)
        files = {
            "Chart.yaml": b"{apiVersion: v2, name: c, version: 1.0.0}",
            "templates/a.yaml": b"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, dta: {}}",
        }
        made = rukpak_py.rendering(files)
        assert made.objects == rukpak_py.render(files)
        assert any("dta" in sentence for sentence in made.left_out)

    def test_mistakes_of_the_caller(self) -> None:
        with pytest.raises(TypeError, match="values must be a list of strings"):
            rukpak_py.render(CHART, values="page: x")
        with pytest.raises(ContentError, match="are for charts"):
            rukpak_py.render(NOTES, values={"a": 1})
        with pytest.raises(UnavailableError, match="there is no program '/nonexistent'"):
            rukpak_py.render(CHART, helm="/nonexistent")


def test_permissions_for_lookups_are_known_to_a_deployment_only(rukpakctl: CommandLine, tmp_path: Path) -> None:
    looking = '{{ $a := lookup "v1" "Secret" "x" "y" }}' + config_map("a")
    arguments = ("bundle", "permissions", "-o", "yaml", "--service-account", "apps/robot")
    ran = rukpakctl(*arguments, written({"templates/a.yaml": looking}, tmp_path / "looking"))
    assert "rukpakctl permissions NAME -o yaml" in ran.err
    assert rukpakctl(*arguments, written({"templates/a.yaml": config_map("a")}, tmp_path / "other")).err == ""
