"""The commands on our sample bundles: what they print, word for word where it is short, and how they exit."""

import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any, Never

import pytest

from rukpak_py.cli import validation
from rukpak_py.content import yaml
from rukpak_py.formats.registry_v1.reading import WRONG_TYPE
from rukpak_py.formats.validation import Profile
from tests.unit.cli.running import ROOT, SAMPLES, CommandLine

V1, V2, BROKEN, NOTES = (SAMPLES / name for name in ("greeter-v1", "greeter-v2", "greeter-broken", "notes"))

# The command line forks while it has one thread; a test's process may have more, of which newer Pythons warn.
forking = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)


def archive(bundle: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as tar:
        for path in sorted(bundle.rglob("*")):
            tar.add(path, path.relative_to(bundle), recursive=False)
    return target


def misspelt_bundle(folder: Path) -> Path:
    shutil.copytree(V1, folder / "b")
    csv = folder / "b/manifests/greeter.clusterserviceversion.yaml"
    csv.write_text(csv.read_text(encoding="utf-8").replace("  maturity:", "  maturty:"), encoding="utf-8")
    return folder / "b"


def bundle_of_nothing(folder: Path) -> Path:
    (folder / "manifests").mkdir()
    (folder / "manifests/a.yaml").write_text("# nothing yet\n", encoding="utf-8")
    return folder


def hostile_bundle(folder: Path) -> Path:
    """A good one, with control characters wherever texts may have them."""
    shutil.copytree(V1, folder / "hostile")
    csv = folder / "hostile/manifests/greeter.clusterserviceversion.yaml"
    text = csv.read_text(encoding="utf-8")
    text = text.replace("displayName: Greeter\n", 'displayName: "\\e]0;owned\\a\\e[2J"\n')
    text = text.replace("image: registry", 'image: "\\e[31m\\u202E" # registry')
    text = text.replace("- name: greeter\n          label", '- name: "\\e[31mred\\u009b"\n          label')
    csv.write_text(text, encoding="utf-8")
    return folder / "hostile"


def dying(path: str, checks: validation.Checks) -> Never:
    os._exit(9)


class TestValidate:
    def test_a_good_bundle(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "validate", "docs/samples/greeter-v1")
        assert (ran.status, ran.out, ran.err) == (0, "docs/samples/greeter-v1 (registry+v1): valid\n", "")

    def test_a_broken_bundle(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "validate", BROKEN)
        assert ran.status == 1
        place = "  manifests/greeter.clusterserviceversion.yaml"
        assert f"{place}:61:17  error  RV1-002  invalid cluster service version strategy deployment name" in ran.out
        assert '      hint: Put it in quotes: value: "8080"\n' in ran.out

    @forking
    def test_several_bundles_come_in_the_order_in_which_they_were_given(self, rukpakctl: CommandLine) -> None:
        absent = Path("absent")
        paths = [V2, BROKEN, NOTES, V1, V1, BROKEN, V2, absent, V1, NOTES]
        ran = rukpakctl("bundle", "validate", *paths, "--jobs", "2", "-o", "json")
        assert ran.status == 3
        reports = json.loads(ran.out)["bundles"]
        assert [report["path"] for report in reports] == [str(path) for path in paths]
        assert [report["valid"] for report in reports] == [path not in {BROKEN, absent} for path in paths]
        alone = json.loads(rukpakctl("bundle", "validate", *paths, "--jobs", "1", "-o", "json").out)
        assert alone["bundles"] == reports

    def test_several_bundles_have_a_summary(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "validate", V1, NOTES)
        assert ran.out.endswith("notes (plain): valid\n2 bundles valid: 0 errors, 0 warnings\n")

    def test_strict_makes_errors_of_warnings(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        bundle = misspelt_bundle(tmp_path)
        assert rukpakctl("bundle", "validate", bundle).status == 0
        strict = rukpakctl("bundle", "validate", bundle, "--strict")
        assert strict.status == 1
        assert ":14:3  error  RV1-911  unknown field" in strict.out

    def test_profiles_are_those_of_the_rules(self, rukpakctl: CommandLine) -> None:
        assert {*validation.PROFILES, "strict"} == {profile.value for profile in Profile}
        ran = rukpakctl("bundle", "validate", V1, "--profile", "operatorhub", "--profile", "olmv1")
        assert ran.status in {0, 1}

    def test_an_archive_is_a_bundle(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        ran = rukpakctl("bundle", "validate", archive(BROKEN, tmp_path / "b.tgz"), "-o", "github")
        assert ran.status == 1
        assert "b.tgz,title=RV1-002::manifests/greeter.clusterserviceversion.yaml:61:17: invalid" in ran.out

    def test_sarif_has_titles_of_rules(self, rukpakctl: CommandLine) -> None:
        (run,) = json.loads(rukpakctl("bundle", "validate", BROKEN, "-o", "sarif").out)["runs"]
        titles = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
        assert titles["RV1-002"] == "A deployment's name is a DNS-1123 subdomain"
        uris = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"]}
        assert "docs/samples/greeter-broken/manifests/greeter.clusterserviceversion.yaml" in uris

    def test_sarif_says_of_a_rule_what_holds_for_all_its_findings(self, rukpakctl: CommandLine) -> None:
        """The advice of RV1-903 says for each finding what to write."""
        (run,) = json.loads(rukpakctl("bundle", "validate", BROKEN, "-o", "sarif").out)["runs"]
        (rule,) = (rule for rule in run["tool"]["driver"]["rules"] if rule["id"] == "RV1-903")
        assert rule["help"]["text"] == WRONG_TYPE.hint
        (result,) = (result for result in run["results"] if result["ruleId"] == "RV1-903")
        assert result["message"]["text"].endswith('\nPut it in quotes: value: "8080"')

    def test_every_rule_describes_itself(self) -> None:
        assert all(one.title and one.hint for one in validation.described_rules().values())

    def test_unreadable_bundle_is_reported_beside_the_others(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "validate", "absent", V1)
        assert ran.status == 3
        assert "absent: cannot be read\n  there is no such file or directory" in ran.out

    @forking
    def test_a_process_that_dies_costs_its_bundles_only(
        self, rukpakctl: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(validation, "report_of", dying)
        ran = rukpakctl("bundle", "validate", *([BROKEN] * 8), "--jobs", "2", "-o", "json")
        assert ran.status == 3
        assert len(json.loads(ran.out)["bundles"]) == 8
        assert "the process that checked it died" in ran.out


class TestRender:
    def test_yaml_and_json_are_the_same_objects(self, rukpakctl: CommandLine) -> None:
        as_yaml = yaml.load_all(rukpakctl("bundle", "render", V1).out.encode())
        as_json = json.loads(rukpakctl("bundle", "render", V1, "-o", "json").out)
        assert (as_json["apiVersion"], as_json["kind"]) == ("v1", "List")
        assert as_json["items"] == as_yaml
        kinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Deployment"]
        assert [one["kind"] for one in as_yaml] == kinds

    def test_namespaces(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl(
            "bundle", "render", V1, "-o", "json", "--install-namespace", "here", "--watch-namespace", "there"
        )
        items = json.loads(ran.out)["items"]
        assert [(one["kind"], one["metadata"].get("namespace")) for one in items] == [
            ("ServiceAccount", "here"),
            ("Role", "there"),
            ("RoleBinding", "there"),
            ("CustomResourceDefinition", None),
            ("Deployment", "here"),
        ]

    def test_targets_that_the_operator_does_not_support(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "render", V1, "--watch-namespace", "a", "--watch-namespace", "b")
        assert (ran.status, ran.out) == (3, "")
        assert ran.err.startswith("Error: invalid option(s): invalid target namespaces [a b]")

    def test_a_configuration(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        config = tmp_path / "config.yaml"
        config.write_text("deploymentConfig:\n  env:\n    - {name: LANGUAGE, value: en}\n", encoding="utf-8")
        *_, deployment = json.loads(rukpakctl("bundle", "render", V1, "-o", "json", "--config", config).out)["items"]
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["env"][-1] == {"name": "LANGUAGE", "value": "en"}

    def test_patches_are_applied_and_those_that_match_nothing_named(
        self, rukpakctl: CommandLine, tmp_path: Path
    ) -> None:
        patches = tmp_path / "patches.yaml"
        patches.write_text(
            "- target: {group: apps, kind: Deployment}\n"
            "  patch: 'spec: {replicas: 3}'\n"
            "- target: {kind: Secret, name: none}\n"
            "  patch: '[{op: remove, path: /data}]'\n",
            encoding="utf-8",
        )
        ran = rukpakctl("bundle", "render", V1, "-o", "json", "--patches", patches)
        assert ran.err == "Warning: spec.patches[1] matches no object of the bundle\n"
        *others, deployment = json.loads(ran.out)["items"]
        *same, unpatched = json.loads(rukpakctl("bundle", "render", V1, "-o", "json").out)["items"]
        assert (deployment["spec"].pop("replicas"), others) == (3, same)
        unpatched["spec"].pop("replicas", None)
        assert deployment == unpatched

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (
                "target: {kind: Secret}",
                "it is not a list of patches as in spec.patches: Expected `array`, got `object`",
            ),
            ("[{patch: 'a: b'}]", "missing required field `target`"),
            ("[", "it is not a list of patches as in spec.patches: "),
            ("[{target: {kind: ServiceAccount}, patch: 'kind: Pod'}]", "it may not change kind"),
        ],
    )
    def test_wrong_patches_are_told(self, rukpakctl: CommandLine, tmp_path: Path, text: str, problem: str) -> None:
        patches = tmp_path / "patches.yaml"
        patches.write_text(text, encoding="utf-8")
        ran = rukpakctl("bundle", "render", V1, "--patches", patches)
        assert ran.status == 3
        assert problem in ran.err

    def test_parity_has_no_patches(self, rukpakctl: CommandLine) -> None:
        assert rukpakctl("bundle", "render", V1, "--parity", "--patches", "-").status == 2

    def test_field_left_out_of_a_rendering_is_a_warning(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        ran = rukpakctl("bundle", "render", misspelt_bundle(tmp_path))
        assert ran.status == 0
        place = "manifests/greeter.clusterserviceversion.yaml:14:3"
        assert ran.err.startswith(f"Warning: {place}: unknown field spec.maturty")
        assert rukpakctl("bundle", "render", tmp_path / "b", "--parity").err == ""

    def test_nothing_to_render_is_told(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        bundle = bundle_of_nothing(tmp_path)
        ran = rukpakctl("bundle", "render", bundle)
        assert (ran.status, ran.out, ran.err) == (0, "", f"Warning: {bundle}: the bundle has no objects\n")
        assert json.loads(rukpakctl("bundle", "render", bundle, "-o", "json").out)["items"] == []

    def test_a_broken_bundle_is_told_with_places(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "render", BROKEN)
        assert (ran.status, ran.out) == (3, "")
        assert ran.err.startswith("Error: the bundle cannot be used:\n  manifests/greeter.clusterserviceversion.yaml:")
        assert "      hint: Put it in quotes" in ran.err

    def test_parity_says_it_in_the_same_words(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "render", BROKEN, "--parity")
        assert (ran.status, ran.out) == (3, "")
        assert ran.err == rukpakctl("bundle", "render", BROKEN).err


class TestDiff:
    def test_exit_status(self, rukpakctl: CommandLine) -> None:
        assert rukpakctl("bundle", "diff", V1, V2).status == 0
        assert rukpakctl("bundle", "diff", V1, V2, "--exit-code").status == 1
        assert rukpakctl("bundle", "diff", V1, V1, "--exit-code").status == 0
        assert rukpakctl("bundle", "diff", V1, BROKEN, "--exit-code").status == 3

    def test_text(self, rukpakctl: CommandLine) -> None:
        lines = rukpakctl("bundle", "diff", V1, V2).out.splitlines()
        assert "  + ConfigMap greeter/greeter-settings" in lines
        assert "      ~ spec.replicas: 1 → 2" in lines
        assert lines[:4] == [
            "Summary",
            '  ~ name: "greeter.v1.0.0" → "greeter.v2.0.0"',
            '  ~ version: "1.0.0" → "2.0.0"',
            '  + replaces: "greeter.v1.0.0"',
        ]
        assert lines[5:10] == [
            "Permissions gained",
            "  ServiceAccount greeter/greeter in the whole cluster",
            "    get list  secrets",
            "",
            "Objects",
        ]
        assert lines[-2:] == [
            "",
            "objects: 2 removed, 3 added, 0 renamed, 1 changed; 2 permissions gained, 0 lost",
        ]

    def test_json(self, rukpakctl: CommandLine) -> None:
        found = json.loads(rukpakctl("bundle", "diff", V1, V2, "-o", "json").out)
        assert set(found) == {
            "namespace",
            "leftOut",
            "summary",
            "added",
            "removed",
            "renamed",
            "changed",
            "permissions",
            "crds",
        }
        (changed,) = found["changed"]
        assert changed["object"] == {"group": "apps", "kind": "Deployment", "namespace": "greeter", "name": "greeter"}
        assert {"path": "spec.replicas", "change": "changed", "secret": False, "old": 1, "new": 2} in changed["fields"]

    def test_other_channels_are_a_difference_where_all_objects_stay(
        self, rukpakctl: CommandLine, tmp_path: Path
    ) -> None:
        bundle = shutil.copytree(V1, tmp_path / "other")
        annotations = bundle / "metadata/annotations.yaml"
        annotations.write_text(annotations.read_text().replace("channels.v1: stable", "channels.v1: stable,candidate"))
        ran = rukpakctl("bundle", "diff", V1, bundle, "--exit-code")
        assert ran.status == 1
        assert '  ~ channels: "stable" → "candidate, stable"' in ran.out
        assert "objects: 0 removed, 0 added, 0 renamed, 0 changed" in ran.out

    def test_other_install_namespace_is_one_line(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        bundle = shutil.copytree(V1, tmp_path / "other")
        csv = bundle / "manifests/greeter.clusterserviceversion.yaml"
        text = csv.read_text()
        changed = text.replace("suggested-namespace: greeter", "suggested-namespace: hall")
        assert changed != text
        csv.write_text(changed)
        out = rukpakctl("bundle", "diff", V1, bundle).out
        assert "  ~ namespace: greeter → hall, " in out
        assert "objects: 0 removed, 0 added" in out
        assert "0 changed; 0 permissions gained, 0 lost" in out

    def test_fields_left_out_of_compared_renderings_are_warnings(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        bundle = misspelt_bundle(tmp_path)
        ran = rukpakctl("bundle", "diff", V1, bundle)
        place = f"{bundle}: manifests/greeter.clusterserviceversion.yaml:14:3"
        assert ran.err.startswith(f"Warning: {place}: unknown field spec.maturty")
        assert len(ran.err.splitlines()) == 1
        assert len(rukpakctl("bundle", "diff", bundle, bundle).err.splitlines()) == 2


class TestPermissions:
    def test_text(self, rukpakctl: CommandLine) -> None:
        out = rukpakctl("bundle", "permissions", V2).out
        assert "  ServiceAccount greeter/greeter\n    ! reads every Secret" in out
        assert "    get patch delete  deployments (apps) named greeter\n" in out

    def test_json(self, rukpakctl: CommandLine) -> None:
        found = json.loads(rukpakctl("bundle", "permissions", V2, "-o", "json").out)
        (grant,) = found["grants"]
        assert grant["holder"] == {"kind": "ServiceAccount", "namespace": "greeter", "name": "greeter"}
        assert [warning["id"] for warning in grant["warnings"]] == ["secrets"]
        assert {one["namespace"] for one in found["installer"]} == {None, "greeter"}

    def test_yaml_is_ready_to_be_applied(self, rukpakctl: CommandLine) -> None:
        arguments = ("bundle", "permissions", V2, "-o", "yaml", "--service-account", "robot")
        made = yaml.load_all(rukpakctl(*arguments).out.encode())
        kinds = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
        assert [one["kind"] for one in made] == [*kinds, "ClusterRole"]
        assert {one["metadata"]["name"] for one in made[2:-1]} == {"greeter-installer"}
        assert made[-1]["metadata"]["name"] == "greeter-installer-watch"
        assert made[3]["subjects"] == [{"kind": "ServiceAccount", "name": "robot", "namespace": "greeter"}]

    def test_bundle_goes_to_the_namespace_of_the_account(self, rukpakctl: CommandLine) -> None:
        arguments = ("bundle", "permissions", V2, "-o", "yaml", "--service-account", "apps/robot")
        made = yaml.load_all(rukpakctl(*arguments).out.encode())
        assert {one["metadata"].get("namespace") for one in made} == {None, "apps"}

    def test_operator_of_another_namespace_gets_the_right_to_watch_secrets(
        self, rukpakctl: CommandLine, tmp_path: Path
    ) -> None:
        (tmp_path / "manifests").mkdir()
        (tmp_path / "manifests" / "a.yaml").write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
        arguments = ("-o", "yaml", "--service-account", "apps/robot", "--operator-account", "ops/rukpak")
        made = yaml.load_all(rukpakctl("bundle", "permissions", tmp_path, *arguments).out.encode())
        bound = [(one["metadata"]["name"], one["subjects"][0]) for one in made if one["kind"] == "RoleBinding"]
        assert bound[-1] == (
            "apps-installer-watch",
            {"kind": "ServiceAccount", "name": "rukpak", "namespace": "ops"},
        )

    @pytest.mark.parametrize("account", ["", "core-admin", "ops/", "a/b/c"])
    def test_account_of_the_operator_has_a_namespace(self, rukpakctl: CommandLine, account: str) -> None:
        ran = rukpakctl("bundle", "permissions", V2, "-o", "yaml", "--operator-account", account)
        assert (ran.status, ran.out) == (2, "")
        assert "is not a service account: write NAMESPACE/NAME" in ran.err

    def test_namespace_that_the_bundle_brings_is_to_be_adopted(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "permissions", NOTES, "-o", "yaml", "--service-account", "apps/robot")
        assert "Warning: the bundle brings Namespace notes" in ran.err
        assert "spec.adopt: IfUnowned" in ran.err

    @pytest.mark.parametrize("account", ["", "tools/", "/robot", "a/b/robot", "Robot"])
    def test_an_account_is_one_that_can_be(self, rukpakctl: CommandLine, account: str) -> None:
        ran = rukpakctl("bundle", "permissions", V2, "-o", "yaml", "--service-account", account)
        assert (ran.status, ran.out) == (2, "")
        assert "is not a service account: write [NAMESPACE/]NAME" in ran.err

    @pytest.mark.parametrize("name", ["", "Bad Name", "a/b", "50%", ".."])
    def test_a_name_of_roles_is_one_that_can_be(self, rukpakctl: CommandLine, name: str) -> None:
        ran = rukpakctl("bundle", "permissions", V2, "-o", "yaml", "--name", name)
        assert (ran.status, ran.out) == (2, "")
        assert f"{name!r} is not a valid role name" in ran.err

    def test_options_of_another_output_are_told(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "permissions", V2, "--name", "a:b", "--service-account", "robot")
        assert ran.status == 0
        assert ran.err.splitlines() == [
            "Warning: --name has an effect with -o yaml only",
            "Warning: --service-account has an effect with -o yaml only",
        ]
        assert rukpakctl("bundle", "permissions", V2, "-o", "yaml", "--name", "a:b").err == ""

    def test_nothing_is_told_in_every_section(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        out = rukpakctl("bundle", "permissions", bundle_of_nothing(tmp_path)).out
        assert [line for line in out.splitlines() if line.startswith(" ")] == ["  nothing"] * 3

    def test_plain_bundles_have_an_installer_too(self, rukpakctl: CommandLine) -> None:
        out = rukpakctl("bundle", "permissions", NOTES).out
        assert "What the bundle grants\n  nothing\n" in out
        assert "    create            namespaces\n" in out


@pytest.mark.parametrize("option", ["--install-namespace", "--watch-namespace"])
@pytest.mark.parametrize("name", ["4.8-system", "Bad_NS", "a,b"])
def test_a_namespace_is_one_that_can_be(rukpakctl: CommandLine, option: str, name: str) -> None:
    ran = rukpakctl("bundle", "render", V1, option, name)
    assert (ran.status, ran.out) == (2, "")
    assert f"{name!r} is not a valid namespace name" in ran.err
    is_list = "," in name and option == "--watch-namespace"
    assert ("give the option once for each" in ran.err) == is_list


def test_all_namespaces_have_no_name(rukpakctl: CommandLine) -> None:
    assert rukpakctl("bundle", "render", V1, "--watch-namespace", "").status == 0


@pytest.mark.parametrize(
    "arguments", [["validate"], ["render"], ["inspect"], ["permissions"], ["diff", str(V1)]], ids=lambda given: given[0]
)
def test_limits_are_set_by_the_variables_that_messages_name(
    rukpakctl: CommandLine, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUKPAK_LIMIT_FILE_BYTES", "10")
    ran = rukpakctl("bundle", *arguments, V1)
    assert ran.status == 3
    assert "exceeds the limit of 10 bytes (RUKPAK_LIMIT_FILE_BYTES sets it)" in ran.out + ran.err
    monkeypatch.setenv("RUKPAK_LIMIT_FILE_BYTES", "many")
    ran = rukpakctl("bundle", *arguments, V1)
    assert ran.status == 3
    assert "RUKPAK_LIMIT_FILE_BYTES" in ran.out + ran.err


class TestInspect:
    def test_text(self, rukpakctl: CommandLine) -> None:
        out = rukpakctl("bundle", "inspect", V2).out
        for row in (
            "package             greeter",
            "version             2.0.0",
            "install modes       AllNamespaces, OwnNamespace, SingleNamespace",
            "  Greeting.samples.rukpak.io  v1  Namespaced",
            "  registry.example.com/greeter:2.0.0  tag  greeter",
        ):
            assert f"{row}\n" in out

    def test_json(self, rukpakctl: CommandLine) -> None:
        found: dict[str, Any] = json.loads(rukpakctl("bundle", "inspect", V2, "-o", "json").out)
        assert found["digest"].startswith("sha256:")
        assert found["definitions"] == [
            {"group": "samples.rukpak.io", "kind": "Greeting", "versions": ["v1"], "scope": "Namespaced"}
        ]
        assert found["images"] == [
            {"image": "registry.example.com/greeter:2.0.0", "pinned": False, "usedBy": ["greeter"]}
        ]

    def test_dependencies_with_and_without_a_value(self, rukpakctl: CommandLine, tmp_path: Path) -> None:
        bundle = shutil.copytree(V1, tmp_path / "b")
        entries = '[{"type": "olm.gvk"}, {"type": "olm.label", "value": {"label": "x"}}]'
        (bundle / "metadata/dependencies.yaml").write_text(f"dependencies: {entries}", encoding="utf-8")
        assert json.loads(rukpakctl("bundle", "inspect", bundle, "-o", "json").out)["dependencies"] == json.loads(
            entries
        )
        assert 'olm.gvk    (no value)\n  olm.label  {"label":"x"}\n' in rukpakctl("bundle", "inspect", bundle).out

    def test_a_broken_bundle_is_shown_as_far_as_it_goes(self, rukpakctl: CommandLine) -> None:
        ran = rukpakctl("bundle", "inspect", BROKEN)
        assert ran.status == 0
        assert "package             greeter\n" in ran.out
        assert ran.err.startswith("Warning: the bundle has defects")

    def test_plain(self, rukpakctl: CommandLine) -> None:
        found = json.loads(rukpakctl("bundle", "inspect", NOTES, "-o", "json").out)
        assert found["format"] == "plain"
        assert found["objects"] == [{"kind": "ConfigMap", "count": 1}, {"kind": "Namespace", "count": 1}]


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate"],
        ["validate", "-o", "json"],
        ["validate", "-o", "github"],
        ["validate", "-o", "sarif"],
        ["render"],
        ["render", "-o", "json"],
        ["inspect"],
        ["inspect", "-o", "json"],
        ["permissions"],
        ["diff", str(V1)],
    ],
    ids=" ".join,
)
def test_hostile_bundles_do_not_reach_the_terminal(
    rukpakctl: CommandLine, arguments: list[str], tmp_path: Path
) -> None:
    ran = rukpakctl("bundle", *arguments, hostile_bundle(tmp_path))
    printed = ran.out + ran.err
    assert printed
    assert not set(printed) & set("\x1b\x07\x9b\u202e\r")
