"""`validate --fix`: which corrections are made, how they are shown, and when they are written."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rukpak_py.cli.linting import fixing
from tests.unit.bundles import bundle
from tests.unit.cli.running import CommandLine
from tests.unit.images import Layout

PLAIN = """\
# of the web server
apiVersion: apps/v1
kind: Deploymnet
metadata: {name: web, labels: {app: web}}
spec:
  replicas: "2"  # at the least
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, debug: true}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1.0
          imagePulPolicy: always
          env:
            - {name: PORT, value: 8080}
---
apiVersion: rbac.authorization.k8s.io/v1beta1
kind: Role
metadata: {name: web}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [get]}
"""
RIGHT = {
    "Deploymnet": "Deployment",
    'replicas: "2"': "replicas: 2",
    "debug: true": 'debug: "true"',
    "imagePulPolicy: always": "imagePullPolicy: Always",
    "value: 8080": 'value: "8080"',
    "v1beta1": "v1",
}


def corrected(text: str) -> str:
    for wrong, right in RIGHT.items():
        assert text.count(wrong) == 1
        text = text.replace(wrong, right)
    return text


@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web/manifests").mkdir(parents=True)
    file = tmp_path / "web/manifests/web.yaml"
    file.write_text(PLAIN)
    return file


def test_corrections_are_written_without_asking(rukpakctl: CommandLine, plain: Path) -> None:
    plain.chmod(0o640)
    ran = rukpakctl("bundle", "validate", "web", "--fix", "--yes")
    assert plain.read_text() == corrected(PLAIN)
    assert plain.stat().st_mode & 0o777 == 0o640
    assert ran.err == "Wrote 7 corrections in 1 file.\n"
    assert ran.out.endswith("web (plain): valid\n")
    assert ran.status == 0
    assert rukpakctl("bundle", "validate", "web", "--fix").err == "There is nothing to correct.\n"


def test_report_tells_how_many_findings_can_be_corrected(rukpakctl: CommandLine, plain: Path) -> None:
    assert rukpakctl("bundle", "validate", "web").out.startswith("web (plain): 2 errors, 2 fixable with --fix\n")
    subprocess.run(["tar", "cf", "web.tar", "-C", "web", "manifests"], check=True)
    assert rukpakctl("bundle", "validate", "web.tar").out.startswith("web.tar (plain): 2 errors\n")
    assert '"fixable": true' in rukpakctl("bundle", "validate", "web", "-o", "json").out
    assert '"fixable": true' not in rukpakctl("bundle", "validate", "web.tar", "-o", "json").out


@pytest.mark.parametrize("value", ["&port 8080", "!!int 8080"])
def test_value_that_cannot_be_corrected_is_not_announced(rukpakctl: CommandLine, plain: Path, value: str) -> None:
    plain.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata:\n  port: {value}\n  a: 1\n")
    assert rukpakctl("bundle", "validate", "web").out.startswith("web (plain): 2 errors, 1 fixable with --fix\n")
    document = json.loads(rukpakctl("bundle", "validate", "web", "-o", "json").out)
    assert [one["fixable"] for one in document["bundles"][0]["findings"]] == [False, True]


def test_difference_can_be_applied(rukpakctl: CommandLine, plain: Path) -> None:
    ran = rukpakctl("bundle", "validate", "web", "--fix")
    assert plain.read_text() == PLAIN
    assert ran.err.startswith("7 corrections in 1 file are not written: there is no terminal to ask at.")
    assert ran.status == 1
    difference = ran.out.partition("web (plain)")[0]
    subprocess.run(["git", "apply", "-p0", "-"], input=difference.encode(), check=True, capture_output=True)
    assert plain.read_text() == corrected(PLAIN)


def test_difference_of_a_file_without_an_end_of_line(rukpakctl: CommandLine, plain: Path) -> None:
    plain.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  port: 8080")
    out = rukpakctl("bundle", "validate", "web", "--fix").out
    subprocess.run(["git", "apply", "-p0", "-"], input=out.partition("web (pl")[0].encode(), check=True)
    assert plain.read_text().endswith('\n  port: "8080"')


def test_difference_of_a_file_with_line_ends_of_windows(rukpakctl: CommandLine, plain: Path) -> None:
    unix = rukpakctl("bundle", "validate", "web", "--fix").out
    plain.write_bytes(PLAIN.replace("\n", "\r\n").encode())
    assert rukpakctl("bundle", "validate", "web", "--fix").out == unix
    rukpakctl("bundle", "validate", "web", "--fix", "--yes")
    assert plain.read_bytes() == corrected(PLAIN).replace("\n", "\r\n").encode()


def test_bundle_that_is_given_twice_is_corrected_once(rukpakctl: CommandLine, plain: Path) -> None:
    ran = rukpakctl("bundle", "validate", "web", "./web", "--fix", "--yes")
    assert (ran.status, ran.err) == (0, "Wrote 7 corrections in 1 file.\n")
    assert plain.read_text() == corrected(PLAIN)


@pytest.mark.parametrize("change", [lambda file: file.write_text("a: 1\n"), Path.unlink], ids=["changed", "deleted"])
def test_no_file_is_written_where_one_has_changed_meanwhile(
    rukpakctl: CommandLine, plain: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    other = plain.with_name("zoo.yaml")
    other.write_text(PLAIN.replace("name: web", "name: zoo"))
    monkeypatch.setattr(fixing, "print_lines", lambda _: change(other) if other.exists() else None)
    ran = rukpakctl("bundle", "validate", "web", "--fix", "--yes")
    assert ran.status == 3
    assert "web/manifests/zoo.yaml has changed since it was read: nothing is written" in ran.err
    assert plain.read_text() == PLAIN


def test_distant_changes_are_hunks_of_their_own(rukpakctl: CommandLine, plain: Path) -> None:
    plain.write_text(PLAIN.replace("---\n", "---\n" + "# nothing\n" * 20))
    out = rukpakctl("bundle", "validate", "web", "--fix").out
    assert [line for line in out.splitlines() if line.startswith("@@")] == ["@@ -1,19 +1,19 @@", "@@ -35,7 +35,7 @@"]
    subprocess.run(["git", "apply", "-p0", "-"], input=out.partition("web (pl")[0].encode(), check=True)


@pytest.mark.parametrize("name", ["web.yaml", "web.json"])
def test_number_with_leading_zeros_stays_in_quotes(rukpakctl: CommandLine, plain: Path, name: str) -> None:
    """Without quotes it is another number in YAML, and none in JSON."""
    plain.unlink()
    text = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"priority": "010"}}\n'
    file = plain.with_name(name)
    file.write_text(text)
    ran = rukpakctl("bundle", "validate", "web", "--fix", "--yes")
    assert file.read_text() == text
    assert "fixable" not in ran.out


def test_findings_that_are_not_told_are_not_corrected(rukpakctl: CommandLine, plain: Path) -> None:
    text = PLAIN.replace("verbs: [get]}", "verbs: [get]}\n").replace(
        "v1beta1", "v1beta1  # rukpakctl: ignore OBJ-011 old"
    )
    plain.write_text(text)
    rukpakctl("bundle", "validate", "web", "--fix", "--yes", "--ignore", "OBJ-010")
    assert plain.read_text() == text


def test_known_findings_are_not_corrected(rukpakctl: CommandLine, plain: Path) -> None:
    rukpakctl("bundle", "validate", "web", "--write-baseline", "known.json")
    ran = rukpakctl("bundle", "validate", "web", "--fix", "--yes", "--baseline", "known.json")
    assert plain.read_text() == PLAIN
    assert ran.err == "There is nothing to correct.\n"


def test_warnings_are_corrected_only_where_they_are_told(rukpakctl: CommandLine, plain: Path) -> None:
    rukpakctl("bundle", "validate", "web", "--fix", "--yes", "--quiet")
    assert plain.read_text() == corrected(PLAIN).replace("imagePullPolicy: Always", "imagePulPolicy: always")


def test_file_behind_a_link_is_written(rukpakctl: CommandLine, plain: Path) -> None:
    target = plain.with_name("target")
    plain.rename(plain.parent.parent / "target")
    plain.symlink_to("../target")
    rukpakctl("bundle", "validate", "web", "--fix", "--yes")
    assert plain.is_symlink()
    assert plain.read_text() == corrected(PLAIN)
    assert not target.exists()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("minKubeVersion: '1.25.0'", "minKubeVersion: 'v1.25.0'"),
        ("minKubeVersion: '1.25.0'", "minKubeVersion: '1.25'"),
        ("minKubeVersion: '1.25.0'", "miniKubeVersion: '1.25.0'"),
        ("type: AllNamespaces", "type: AllNameSpaces"),
        ("scope: Namespaced", "scope: namespaced"),
        ("type: object", "type: Object"),
    ],
)
def test_bundle_of_olm_is_corrected(
    rukpakctl: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, right: str, wrong: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = dict(bundle())
    (file,) = [name for name, content in files.items() if content.decode().count(right) == 1]
    text = files[file].decode()
    for name, content in (files | {file: text.replace(right, wrong).encode()}).items():
        (tmp_path / "demo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "demo" / name).write_bytes(content)
    rukpakctl("bundle", "validate", "demo", "--fix", "--yes")
    assert (tmp_path / "demo" / file).read_text() == text


def test_values_of_shipped_config_maps_and_secrets_get_quotes(
    rukpakctl: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = "---\napiVersion: v1\nkind: {}\nmetadata: {{name: web}}\n{}: {{port: {}}}\n"
    wrong = [("ConfigMap", "data", "8080"), ("Secret", "stringData", "8080"), ("Secret", "data", "8080")]
    for name, content in bundle(
        files={"manifests/shipped.yaml": "".join(shipped.format(*one) for one in wrong)}
    ).items():
        (tmp_path / "demo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "demo" / name).write_bytes(content)
    rukpakctl("bundle", "validate", "demo", "--fix", "--yes")
    right = [(*wrong[0][:2], '"8080"'), (*wrong[1][:2], '"8080"'), wrong[2]]  # a number is no base64
    assert (tmp_path / "demo/manifests/shipped.yaml").read_text() == "".join(shipped.format(*one) for one in right)


def test_two_slips_of_one_annotation_do_not_become_one_key(rukpakctl: CommandLine, tmp_path: Path) -> None:
    files, csv = dict(bundle()), "manifests/csv.yaml"
    slips = "  annotations:\n    olm.skiprange: <1.0.0\n    OLM.SkipRange: <2.0.0\n"
    text = files[csv].decode().replace("  annotations:\n", slips)
    for name, content in (files | {csv: text.encode()}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    rukpakctl("bundle", "validate", str(tmp_path), "--fix", "--yes")
    assert (tmp_path / csv).read_text() == text.replace("olm.skiprange", "olm.skipRange")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--write-baseline", "known.json"], "--write-baseline writes all findings"),
        (["-o", "json"], "--fix shows people a difference"),
    ],
)
def test_options_that_contradict_each_other(
    rukpakctl: CommandLine, plain: Path, arguments: list[str], problem: str
) -> None:
    ran = rukpakctl("bundle", "validate", "web", "--fix", *arguments)
    assert ran.status == 2
    assert problem in ran.err


def test_value_that_is_a_string_here_and_a_number_there_is_no_correction(rukpakctl: CommandLine, plain: Path) -> None:
    shared = PLAIN.replace(
        "template:\n    metadata: {", "template:\n    metadata: {annotations: &shared {containerPort: 8080}, "
    )
    text = shared.replace("          env:\n", "          ports: [{<<: *shared}]\n          env:\n")
    assert text.count("shared") == 2
    plain.write_text(text)
    ran = rukpakctl("bundle", "validate", "web", "--fix", "--yes")
    assert ran.err == "Wrote 7 corrections in 1 file.\n"
    assert plain.read_text() == corrected(text)


def test_missing_path_is_told_as_missing(rukpakctl: CommandLine, plain: Path) -> None:
    ran = rukpakctl("bundle", "validate", "nowhere", "--fix")
    assert ran.status == 3
    assert ran.err == "Error: nowhere: there is no such directory; --fix corrects files on this machine\n"


def test_yes_alone_is_a_mistake(rukpakctl: CommandLine, plain: Path) -> None:
    ran = rukpakctl("bundle", "validate", "web", "--yes")
    assert ran.status == 2
    assert "--yes answers the question of --fix" in ran.err


def test_archives_are_not_corrected(rukpakctl: CommandLine, plain: Path) -> None:
    subprocess.run(["tar", "cf", "web.tar", "-C", "web", "manifests"], check=True)
    ran = rukpakctl("bundle", "validate", "web.tar", "--fix")
    assert ran.status == 3
    assert "web.tar: --fix corrects files of a directory" in ran.err


def test_images_are_not_corrected(rukpakctl: CommandLine, plain: Path) -> None:
    layout = Layout()
    image = layout.image([{"manifests/web.yaml": PLAIN.encode()}])
    for path, content in layout.index(image).files.items():
        file = Path("image", path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    ran = rukpakctl("bundle", "validate", "image", "--fix", "--yes")
    assert ran.status == 3
    assert "image: --fix corrects files of a directory, and this is one with an image in it" in ran.err
    assert rukpakctl("bundle", "validate", "image").out.startswith("image (plain): 2 errors\n")
