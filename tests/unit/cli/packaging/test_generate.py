"""`bundle generate`: where files go, what happens to those that are there, and what is told of it."""

import os
from pathlib import Path

import pytest

from rukpak_py.content import yaml
from tests.unit.bundles import csv_document, tree_of
from tests.unit.cli.running import CommandLine

PREFIX = "operators.operatorframework.io.bundle."
GIVE = "give --package and --channels (and --default, if it is not the first channel by name)"
CSV = tree_of({"csv.yaml": csv_document()})["csv.yaml"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def files_in(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_annotations_go_beside_the_manifests(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"b/m/csv.yaml": CSV})
    ran = rukpakctl("bundle", "generate", "-d", "b/m/", "-p", "p", "-c", "a,b", "-e", "a", "--base-image", "x:y")
    assert (ran.status, ran.out, ran.err) == (0, "wrote b/metadata/annotations.yaml\nwrote bundle.Dockerfile\n", "")
    assert files_in(here) == ["b/m/csv.yaml", "b/metadata/annotations.yaml", "bundle.Dockerfile"]
    lines = (here / "bundle.Dockerfile").read_text().splitlines()
    assert lines[0] == "FROM x:y"
    assert lines[-4:] == [
        f"LABEL {PREFIX}channel.default.v1=a",
        "",
        "COPY b/m /manifests/",
        "COPY b/metadata /metadata/",
    ]
    assert (here / "b/metadata/annotations.yaml").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("working", "given", "copied"),
    [
        ("b/m", ".", (".", "../metadata")),
        ("b", "./m/", ("m", "metadata")),
        ("x", "../b/m", ("../b/m", "../b/metadata")),
        ("b/m/sub", "..", ("..", "../../metadata")),
    ],
)
def test_paths_of_the_dockerfile_start_in_the_working_directory(
    rukpakctl: CommandLine, here: Path, working: str, given: str, copied: tuple[str, str]
) -> None:
    fill(here, {"b/m/csv.yaml": CSV, f"{working}/.keep": b""})
    os.chdir(here / working)  # the fixture leads back
    assert rukpakctl("bundle", "generate", "-d", given, "-p", "p", "-c", "a").status == 0
    lines = Path("bundle.Dockerfile").read_text().splitlines()
    assert lines[-2:] == [f"COPY {copied[0]} /manifests/", f"COPY {copied[1]} /metadata/"]
    assert (here / "b/metadata/annotations.yaml").is_file()


def test_both_files_are_replaced_and_that_is_told(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"b/m/csv.yaml": CSV, "b/metadata/annotations.yaml": b"annotations: {}", "bundle.Dockerfile": b"old"})
    first = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a")
    assert first.out == (
        "replaced b/metadata/annotations.yaml\nreplaced bundle.Dockerfile\ndropped from bundle.Dockerfile: old\n"
    )
    again = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a")
    assert again.out == "unchanged b/metadata/annotations.yaml\nunchanged bundle.Dockerfile\n"


def test_an_output_directory_gets_a_copy_with_its_tree_and_modes(rukpakctl: CommandLine, here: Path) -> None:
    """Upstream puts what is in any sub-directory into a single one, where files of equal names are lost."""
    manifests = {"b/m/csv.yaml": CSV, "b/m/sub/one.yaml": b"a: b", "b/m/sub/deep/two.yaml": b"c: d"}
    fill(here, manifests | {"b/m/other/one.yaml": b"e: f"})
    (here / "b/m/sub/one.yaml").chmod(0o640)
    assert rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a", "-u", "out").status == 0
    assert files_in(here / "out") == [
        "manifests/csv.yaml",
        "manifests/other/one.yaml",
        "manifests/sub/deep/two.yaml",
        "manifests/sub/one.yaml",
        "metadata/annotations.yaml",
    ]
    assert (here / "out/manifests/sub/one.yaml").stat().st_mode & 0o777 == 0o640
    assert (here / "out/manifests/other/one.yaml").read_bytes() == b"e: f"
    assert not (here / "b/metadata").exists()
    assert (
        (here / "bundle.Dockerfile")
        .read_text()
        .endswith("COPY out/manifests /manifests/\nCOPY out/metadata /metadata/\n")
    )


def test_other_files_of_the_output_directory_are_listed(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"b/m/csv.yaml": CSV, "out/manifests/stale.yaml": b"old", "out/manifests/csv.yaml": b"old"})
    ran = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a", "-u", "out")
    assert ran.out == (
        "replaced out/manifests/csv.yaml\n"
        "wrote out/metadata/annotations.yaml\n"
        "wrote bundle.Dockerfile\n"
        "kept out/manifests/stale.yaml (not from b/m, but in the image)\n"
    )


def test_the_parent_can_be_the_output_directory(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"b/manifests/csv.yaml": CSV})
    ran = rukpakctl("bundle", "generate", "-d", "b/manifests", "-p", "p", "-c", "a", "-u", "b")
    assert ran.out.startswith("unchanged b/manifests/csv.yaml\nwrote b/metadata/annotations.yaml\n")


@pytest.mark.parametrize("output", ["b/m", "b/m/sub"])
def test_an_output_directory_inside_the_input_is_refused(rukpakctl: CommandLine, here: Path, output: str) -> None:
    fill(here, {"b/m/csv.yaml": CSV})
    ran = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a", "-u", output)
    assert (ran.status, ran.out) == (3, "")
    assert "choose an output directory outside of it" in ran.err
    assert files_in(here) == ["b/m/csv.yaml"]


def test_package_and_channels_are_found_in_the_old_layout(rukpakctl: CommandLine, here: Path) -> None:
    manifest = b"packageName: demo\nchannels: [{name: stable, currentCSV: demo.v1.2.3}]\n"
    fill(here, {"demo/1.2.3/csv.yaml": CSV, "demo/demo.package.yaml": manifest})
    ran = rukpakctl("bundle", "generate", "-d", "demo/1.2.3")
    assert ran.out == (
        "package demo, channels stable, default channel stable (from demo.package.yaml)\n"
        "wrote demo/metadata/annotations.yaml\n"
        "wrote bundle.Dockerfile\n"
    )
    again = rukpakctl("bundle", "generate", "-d", "demo/1.2.3", "-c", "beta")
    assert again.out.splitlines()[0].startswith(
        "package demo, channels beta, default channel stable (from demo.package.yaml)"
    )


def test_with_package_and_channels_nothing_is_inferred(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"demo/1.2.3/csv.yaml": CSV, "demo/p.yaml": b"packageName: demo\ndefaultChannel: x\n"})
    assert rukpakctl("bundle", "generate", "-d", "demo/1.2.3", "-p", "p", "-c", "a,b").status == 0
    assert "channel.default" not in (here / "demo/metadata/annotations.yaml").read_text()
    assert "channel.default" not in (here / "bundle.Dockerfile").read_text()


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({}, ["-d", "absent", "-p", "p", "-c", "a"], "absent: there is no such directory"),
        ({"b/m/sub/csv.yaml": CSV}, ["-d", "b/m", "-p", "p", "-c", "a"], "The directory {}/b/m contains no yaml files"),
        (
            {"d/1/csv.yaml": CSV, "d/p.yaml": b"packageName: demo"},
            ["-d", "d/1"],
            f"error interpreting channels, please manually input channels instead\n{GIVE}",
        ),
        (
            {"d/1/csv.yaml": CSV},
            ["-d", "d/1", "-p", "p"],
            (
                "please manually input channels and packageName, error interpreting bundle from directory {0}/d/1, "
                "error parsing package.yaml file in the package root directory, "
                "valid PackageManifest YAML file not found in {0}/d\n"
                f"{GIVE}"
            ),
        ),
    ],
)
def test_failures_write_nothing(
    rukpakctl: CommandLine, here: Path, files: dict[str, bytes], arguments: list[str], message: str
) -> None:
    fill(here, files)
    ran = rukpakctl("bundle", "generate", *arguments)
    assert (ran.status, ran.out, ran.err) == (3, "", f"Error: {message.format(here)}\n")
    assert files_in(here) == sorted(files)


def test_losses_of_replaced_files_are_listed(rukpakctl: CommandLine, here: Path) -> None:
    annotations = f"annotations:\n  {PREFIX}package.v1: old\n  {PREFIX}channel.default.v1: a\n"
    lines = [
        "FROM base:1",
        "",
        "# Labels",
        f"LABEL {PREFIX}package.v1=old",
        "LABEL com.example/x=v4",
        "COPY elsewhere /manifests/",
        "COPY tests/scorecard /tests/scorecard/",
        "RUN true",
    ]
    fill(here, {"b/m/csv.yaml": CSV, "b/metadata/annotations.yaml": annotations.encode()})
    fill(here, {"bundle.Dockerfile": "\n".join(lines).encode()})
    ran = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a")
    assert ran.out.splitlines() == [
        "replaced b/metadata/annotations.yaml",
        f"dropped from b/metadata/annotations.yaml: {PREFIX}channel.default.v1: a",
        "replaced bundle.Dockerfile",
        "dropped from bundle.Dockerfile: LABEL com.example/x=v4",
        "dropped from bundle.Dockerfile: COPY tests/scorecard /tests/scorecard/",
        "dropped from bundle.Dockerfile: FROM base:1",
        "dropped from bundle.Dockerfile: RUN true",
    ]


def test_annotations_and_labels_of_other_tools_are_kept(rukpakctl: CommandLine, here: Path) -> None:
    annotations = (
        f'annotations:\n  {PREFIX}package.v1: old\n  com.redhat.openshift.versions: "4.12"\n  a b: "$x"\nmore: 1\n'
    )
    found = "FROM scratch\nLABEL com.example/only-here='one two'\nCOPY ./b/m manifests/\n"
    fill(here, {"b/m/csv.yaml": CSV, "b/metadata/annotations.yaml": annotations.encode()})
    fill(here, {"bundle.Dockerfile": found.encode(), "b/tests/scorecard/config.yaml": b"kind: Configuration\n"})
    ran = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a")
    assert ran.out == "replaced b/metadata/annotations.yaml\nreplaced bundle.Dockerfile\n"
    written = yaml.load((here / "b/metadata/annotations.yaml").read_bytes())
    assert written["annotations"] | {"com.redhat.openshift.versions": "4.12", "a b": "$x"} == written["annotations"]
    assert written["annotations"][f"{PREFIX}package.v1"] == "p"
    assert written["more"] == 1
    assert (here / "bundle.Dockerfile").read_text().splitlines()[-8:] == [
        f"LABEL {PREFIX}channels.v1=a",
        'LABEL "a b"="\\$x"',
        'LABEL com.example/only-here="one two"',
        "LABEL com.redhat.openshift.versions=4.12",
        "",
        "COPY b/m /manifests/",
        "COPY b/metadata /metadata/",
        "COPY b/tests/scorecard /tests/scorecard/",
    ]
    again = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a")
    assert again.out == "unchanged b/metadata/annotations.yaml\nunchanged bundle.Dockerfile\n"


@pytest.mark.parametrize("content", [b"old", b"annotations: [", b"annotations: {a: [b]}", b"annotations: 5"])
def test_annotations_that_cannot_be_read_are_not_replaced(rukpakctl: CommandLine, here: Path, content: bytes) -> None:
    fill(here, {"b/m/csv.yaml": CSV, "b/metadata/annotations.yaml": content})
    ran = rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a")
    assert (ran.status, ran.out) == (3, "")
    assert "b/metadata/annotations.yaml" in ran.err
    assert ran.err.endswith("repair it, or remove it\n")
    assert (here / "b/metadata/annotations.yaml").read_bytes() == content


def test_names_come_from_the_annotations(rukpakctl: CommandLine, here: Path) -> None:
    annotations = (
        f"annotations:\n  {PREFIX}package.v1: demo\n  {PREFIX}channels.v1: a,b\n  {PREFIX}channel.default.v1: b\n"
    )
    fill(here, {"b/m/csv.yaml": CSV, "b/metadata/annotations.yaml": annotations.encode()})
    ran = rukpakctl("bundle", "generate", "-d", "b/m")
    origin = "(from b/metadata/annotations.yaml)"
    assert ran.out.splitlines()[0] == f"package demo, channels a,b, default channel b {origin}"
    assert rukpakctl("bundle", "generate", "-d", "b/m", "-c", "c", "-e", "c").out.splitlines()[0] == (
        f"package demo, channels c, default channel c {origin}"
    )


def test_tests_go_into_an_output_directory(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"b/m/csv.yaml": CSV, "b/tests/scorecard/config.yaml": b"kind: Configuration\n"})
    assert rukpakctl("bundle", "generate", "-d", "b/m", "-p", "p", "-c", "a", "-u", "out").status == 0
    assert (here / "out/tests/scorecard/config.yaml").read_bytes() == b"kind: Configuration\n"
    assert (here / "bundle.Dockerfile").read_text().endswith("COPY out/tests/scorecard /tests/scorecard/\n")


def test_inside_a_bundle_its_manifests_are_named(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"manifests/csv.yaml": CSV, "metadata/annotations.yaml": b"annotations: {}"})
    ran = rukpakctl("bundle", "generate", "-d", ".", "-p", "p", "-c", "a")
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.endswith("give the one of its manifests, -d manifests\n")


def test_manifests_may_have_a_directory_of_that_name(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"m/csv.yaml": CSV, "m/manifests/more.yaml": CSV, "c/Chart.yaml": b"name: x", "c/manifests/x": b""})
    assert rukpakctl("bundle", "generate", "-d", "m", "-p", "p", "-c", "a").status == 0
    assert rukpakctl("bundle", "generate", "-d", "c", "-p", "p", "-c", "a").status == 0


def test_the_directory_is_needed(rukpakctl: CommandLine, here: Path) -> None:
    ran = rukpakctl("bundle", "generate", "-p", "p", "-c", "a")
    assert ran.status == 2
    assert "--directory" in ran.err
