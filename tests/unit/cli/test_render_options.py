"""Options of a rendering that not every format has a use for, and what the commands leave out."""

import json
import shutil
from pathlib import Path

import pytest

from rukpak_py.formats.helm.process import VARIABLE, HelmProgram
from tests.unit.bundles import bundle, csv_document, manifest
from tests.unit.charts import chart
from tests.unit.cli.running import SAMPLES, CommandLine
from tests.unit.images import Layout
from tests.unit.test_library_options import with_typos, written

V1, V2, NOTES, CHART = (SAMPLES / name for name in ("greeter-v1", "greeter-v2", "notes", "web-chart"))
OF_OLM = (["--watch-namespace", "a"], ["--watch-namespace", ""], ["--certificates", "operator"], ["--aggregated-roles"])


@pytest.mark.parametrize("command", ["render", "permissions", "diff"])
@pytest.mark.parametrize("option", OF_OLM, ids=" ".join)
@pytest.mark.parametrize(("path", "name"), [(NOTES, "plain"), (CHART, "helm")])
def test_options_for_olm_are_refused_elsewhere(
    rukpakctl: CommandLine, command: str, option: list[str], path: Path, name: str
) -> None:
    ran = rukpakctl("bundle", command, *([path] if command == "diff" else []), path, *option)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(f"Error: {option[0]} is for bundles of format registry+v1, not {name}.\n")


@pytest.mark.parametrize(("arguments", "name"), [([CHART], "helm"), ([NOTES, "--format", "plain"], "plain")])
def test_so_is_parity(rukpakctl: CommandLine, arguments: list[str | Path], name: str) -> None:
    ran = rukpakctl("bundle", "render", *arguments, "--parity")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(f"Error: --parity is for bundles of format registry+v1, not {name}.\n")


def test_parity_reads_content_detected_as_plain_as_a_broken_bundle_of_olm(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "render", NOTES, "--parity")
    assert ran.status == 3
    assert "RV1-904  the file is missing" in ran.err


def test_the_directory_of_the_manifests_alone_is_no_bundle(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "render", V1 / "manifests")
    assert (ran.status, ran.out) == (3, "")
    assert ran.err == f"Error: {V1 / 'manifests'} is the directory manifests/ of a bundle: give {V1}\n"


@pytest.mark.parametrize("command", ["render", "permissions", "diff", "inspect"])
@pytest.mark.parametrize(("path", "name"), [(NOTES, "plain"), (V1, "registry+v1")])
def test_options_for_charts_are_wrong_usage_elsewhere(
    rukpakctl: CommandLine, command: str, path: Path, name: str
) -> None:
    ran = rukpakctl("bundle", command, *([path] if command == "diff" else []), path, "--set", "a=b")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(f"Error: --set is for bundles of format helm, not {name}.\n")


def test_aggregated_roles(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("bundle", "render", V1, "--aggregated-roles", "-o", "json")
    *_, last = json.loads(ran.out)["items"]
    assert last["metadata"] == {
        "name": "greetings.samples.rukpak.io-view",
        "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
    }
    assert rukpakctl("bundle", "diff", V1, V1, "--aggregated-roles", "--exit-code").status == 0
    both = rukpakctl("bundle", "render", V1, "--aggregated-roles", "--parity")
    assert both.status == 2
    assert "leave out --parity or --aggregated-roles" in both.err


def test_fields_that_are_left_out_are_warnings_with_places(rukpakctl: CommandLine, tmp_path: Path) -> None:
    path = written(with_typos(), tmp_path)
    ran = rukpakctl("bundle", "render", path)
    assert ran.status == 0
    warnings = [line for line in ran.err.splitlines() if "unknown field" in line]
    assert len(warnings) == 4
    assert all(line.startswith("Warning: manifests/") for line in warnings)
    assert "runAsNonRoot" not in ran.out
    assert (
        len([line for line in rukpakctl("bundle", "diff", V1, path).err.splitlines() if "unknown field" in line]) == 4
    )


def test_rules_of_roles_too(rukpakctl: CommandLine, tmp_path: Path) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceName": ["a"]}]
    role = manifest("Role", "r", api_version="rbac.authorization.k8s.io/v1", rules=rules)
    ran = rukpakctl("bundle", "render", written(bundle(others=[role]), tmp_path))
    assert "unknown field rules[0].resourceName [RV1-945]" in ran.err
    assert "resourceName" not in ran.out


def test_plain_manifests_too(rukpakctl: CommandLine, tmp_path: Path) -> None:
    notes = shutil.copytree(NOTES, tmp_path / "b")
    (notes / "manifests/more.yaml").write_text("{apiVersion: v1, kind: Secret, metadata: {name: a}, dta: {}}\n")
    ran = rukpakctl("bundle", "render", notes)
    assert (ran.status, "dta" in ran.out) == (0, False)
    assert ran.err == "Warning: manifests/more.yaml:1:53: unknown field dta [PLAIN-010]\n"


def test_charts_too(rukpakctl: CommandLine, tmp_path: Path, helm: HelmProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, helm.path)
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {Type: x, ports: [{port: {{ .Values.port }}}]}\n"
    path = written(chart({"templates/a.yaml": text}), tmp_path)
    ran = rukpakctl("bundle", "render", path, "--set", "port=80")
    assert (ran.status, "Type" in ran.out) == (0, False)
    assert ran.err == "Warning: Service s: unknown field spec.Type is left out\n"
    huge = rukpakctl("bundle", "render", path, "--set", "port=4294967376")
    assert (huge.status, huge.out) == (3, "")
    assert "web/templates/a.yaml: Service s: spec.ports[0].port must be an integer of 32 bits" in huge.err


def test_a_bundle_of_olm_without_objects_is_told_once(rukpakctl: CommandLine, tmp_path: Path) -> None:
    empty = bundle(csv=csv_document(deployments=[], permissions=[], owned=[]), crds=[])
    ran = rukpakctl("bundle", "render", written(empty, tmp_path))
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == "Warning: manifests/csv.yaml:1:1: the bundle has no objects [RV1-962]\n"
    assert "the bundle has no objects" in rukpakctl("bundle", "render", tmp_path, "--parity").err


def test_inspect_shows_upgrades_and_where_the_bundle_is_listed(rukpakctl: CommandLine, tmp_path: Path) -> None:
    csv = csv_document(
        annotations={"olm.skipRange": ">=1.0.0 <1.2.3", "capabilities": "Seamless Upgrades"},
        provider={"name": "Example"},
        skips=["demo.v1.2.1", "demo.v1.2.2"],
    )
    path = written(bundle(csv=csv, annotations={"com.redhat.openshift.versions": "v4.12-v4.15"}), tmp_path)
    found = json.loads(rukpakctl("bundle", "inspect", path, "-o", "json").out)
    facts = {
        "skips": ["demo.v1.2.1", "demo.v1.2.2"],
        "skipRange": ">=1.0.0 <1.2.3",
        "openshiftVersions": "v4.12-v4.15",
        "capabilities": "Seamless Upgrades",
        "provider": "Example",
    }
    assert facts.items() <= found.items()
    assert "image" not in found
    lines = rukpakctl("bundle", "inspect", path).out.splitlines()
    assert {
        "skips               demo.v1.2.1, demo.v1.2.2",
        "skip range          >=1.0.0 <1.2.3",
        "OpenShift versions  v4.12-v4.15",
        "capability level    Seamless Upgrades",
        "provider            Example",
    } <= set(lines)
    none = json.loads(rukpakctl("bundle", "inspect", written(bundle(), tmp_path / "none"), "-o", "json").out)
    assert [none[name] for name in facts] == [[], None, None, "Basic Install", None]


def test_inspect_shows_the_image(rukpakctl: CommandLine, tmp_path: Path) -> None:
    layout = Layout()
    image = layout.image([dict(bundle())], {"version": "1.2.3"})
    for path, content in layout.index(image).files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    found = json.loads(rukpakctl("bundle", "inspect", tmp_path, "-o", "json").out)
    assert found["image"] == {"digest": image["digest"], "labels": {"version": "1.2.3"}}
    out = rukpakctl("bundle", "inspect", tmp_path).out
    assert f" image digest {image['digest']} " in " ".join(out.split())
    assert "\nimage labels\n  version  1.2.3\n" in out


def test_inspect_shows_the_apis_that_the_csv_requires(rukpakctl: CommandLine, tmp_path: Path) -> None:
    required = {"required": [{"name": "backups.a.example.com", "version": "v1", "kind": "Backup"}]}
    services = {"required": [{"group": "m.example.com", "version": "v1beta1", "kind": "Metric"}]}
    csv = csv_document(apiservicedefinitions=services)
    csv["spec"]["customresourcedefinitions"].update(required)
    path = written(bundle(csv=csv), tmp_path)
    found = json.loads(rukpakctl("bundle", "inspect", path, "-o", "json").out)
    assert found["required"] == [
        {"group": "a.example.com", "kind": "Backup", "version": "v1"},
        {"group": "m.example.com", "kind": "Metric", "version": "v1beta1"},
    ]
    out = rukpakctl("bundle", "inspect", path).out
    assert "required APIs\n  Backup.a.example.com  v1\n  Metric.m.example.com  v1beta1\n" in out
    assert json.loads(rukpakctl("bundle", "inspect", V2, "-o", "json").out)["required"] == []
