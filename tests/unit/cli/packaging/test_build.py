"""`bundle build`: the image, what stops it, what is kept, and other tools called instead."""

import json
import os
from pathlib import Path
from typing import Any, Never

import pytest

from rukpak_py.cli.packaging.layouts import new_directory, write
from rukpak_py.library import open_bundle
from rukpak_py.sources.local import open_tree
from tests.unit.bundles import bundle, csv_document
from tests.unit.cli.packaging.test_generate import files_in, fill
from tests.unit.cli.running import CommandLine, run_python

GIVEN = ("bundle", "build", "-d", "b/manifests", "-p", "demo", "-c", "stable", "-e", "stable")
TEST_CONFIG = "operators.operatorframework.io.test.config.v1"
BUILDER = """#!/bin/sh
for word in "$@"; do echo "<$word>"; done > {record}
pwd >> {record}
exit {status}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A good bundle in b/, without metadata, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    manifests = {path: content for path, content in bundle().items() if path.startswith("manifests/")}
    fill(tmp_path / "b", manifests)
    return tmp_path


def labels_in(layout: Path) -> dict[str, str]:
    def blob(digest: str) -> Any:
        return json.loads((layout / "blobs" / digest.replace(":", "/")).read_bytes())

    [manifest] = json.loads((layout / "index.json").read_bytes())["manifests"]
    labels: dict[str, str] = blob(blob(manifest["digest"])["config"]["digest"])["config"]["Labels"]
    return labels


@pytest.mark.parametrize("output", ["image", "image.tar", "v1.0", "place/image.tar"])
def test_the_image_is_read_back_as_the_bundle(rukpakctl: CommandLine, here: Path, output: str) -> None:
    (here / "place").mkdir()
    ran = rukpakctl(*GIVEN, "--output", output, "-t", "example.com/demo:1")
    assert ran.status == 0
    assert ran.out.startswith("sha256:")
    assert ran.err == f"wrote b/metadata/annotations.yaml\nwrote bundle.Dockerfile\nwrote {output}\n"
    assert open_tree(here / output) == open_tree(here / "b")
    assert not [finding for finding in open_bundle(output).findings() if finding.is_error]


def test_building_twice_gives_the_same_bytes(rukpakctl: CommandLine, here: Path) -> None:
    digests = {rukpakctl(*GIVEN, "--output", name).out for name in ("a.tar", "b.tar", "c")}
    for path in (here / "b/manifests").iterdir():
        path.chmod(0o600)
        os.utime(path, (1, 1))
    digests.add(rukpakctl(*GIVEN, "--output", "d.tar").out)
    assert len(digests) == 1
    assert len({(here / name).read_bytes() for name in ("a.tar", "b.tar", "d.tar")}) == 1
    assert json.loads((here / "c/index.json").read_bytes())["manifests"][0]["digest"] == digests.pop().strip()


def test_no_name_is_no_part_of_the_digest(rukpakctl: CommandLine, here: Path) -> None:
    named = rukpakctl(*GIVEN, "--output", "a.tar", "-t", "example.com/demo:1")
    assert named.out == rukpakctl(*GIVEN, "--output", "b.tar").out


def test_the_time_of_reproducible_builds_is_in_the_image(
    rukpakctl: CommandLine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = rukpakctl(*GIVEN, "--output", "a.tar").out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    dated = rukpakctl(*GIVEN, "--output", "image").out
    assert dated != without
    manifest = json.loads((here / "image/blobs" / dated.strip().replace(":", "/")).read_bytes())
    config = json.loads((here / "image/blobs" / manifest["config"]["digest"].replace(":", "/")).read_bytes())
    assert config["created"] == "2001-09-09T01:46:40Z"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    (here / "bundle.Dockerfile").unlink()
    assert rukpakctl(*GIVEN, "--output", "b.tar").status == 2
    assert not (here / "bundle.Dockerfile").exists()


def test_a_bundle_with_errors_is_not_built(rukpakctl: CommandLine, here: Path) -> None:
    (here / "b/manifests/csv.yaml").write_text(json.dumps(csv_document(installModes=[])))
    before = files_in(here)
    ran = rukpakctl(*GIVEN, "--output", "image.tar")
    assert (ran.status, ran.out) == (1, "")
    assert "RV1-" in ran.err
    assert ran.err.endswith("Error: the bundle has errors, nothing was built\n")
    assert files_in(here) == before
    assert rukpakctl(*GIVEN, "--output", "image.tar", "--skip-validation").status == 0


def test_charts_are_not_checked(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"c/Chart.yaml": b"name: x\nversion: 1.0.0\n", "c/templates/x.yaml": b"{{ x }}"})
    ran = rukpakctl("bundle", "build", "-d", "c", "-p", "p", "-c", "a", "--output", "image")
    assert (ran.status, ran.err.splitlines()[0]) == (0, "not checked: the manifests are a chart")
    assert "manifests/templates/x.yaml" in open_tree(here / "image")


def test_files_that_are_there_are_kept(rukpakctl: CommandLine, here: Path) -> None:
    rukpakctl(*GIVEN, "--output", "image.tar")
    annotations = here / "b/metadata/annotations.yaml"
    annotations.write_text(annotations.read_text() + "  more: x\n")
    (here / "bundle.Dockerfile").write_text("FROM elsewhere")
    ran = rukpakctl(*GIVEN, "--output", "image.tar")
    assert ran.err == (
        "kept b/metadata/annotations.yaml (up to date)\n"
        "kept bundle.Dockerfile (not read: it does not copy b/manifests; --overwrite replaces it)\n"
        "replaced image.tar\n"
    )
    assert open_tree(here / "image.tar")["metadata/annotations.yaml"] == annotations.read_bytes()
    assert rukpakctl(*GIVEN, "--output", "image.tar", "-o").err.startswith("replaced b/metadata/annotations.yaml\n")


def test_labels_of_other_tools_and_tests_are_in_the_image(rukpakctl: CommandLine, here: Path) -> None:
    rukpakctl(*GIVEN, "--output", "image.tar")
    annotations = here / "b/metadata/annotations.yaml"
    annotations.write_text(annotations.read_text() + "  com.redhat.openshift.versions: v4.12\n  other: a\n")
    fill(here, {"b/tests/scorecard/config.yaml": b"kind: Configuration\n"})
    (here / "bundle.Dockerfile").write_text(
        "FROM scratch\n"
        "LABEL other=b \\\n  com.redhat.delivery.backport=true\n"
        "LABEL variable=$X\n"
        "COPY b/manifests /manifests/\n"
        "COPY LICENSE /licenses/\n"
    )
    ran = rukpakctl(*GIVEN, "--output", "image")
    assert ran.err == (
        "kept b/metadata/annotations.yaml (up to date)\n"
        "kept bundle.Dockerfile (its labels are in the image; --overwrite replaces it)\n"
        "not in the image: `LABEL variable=$X` of bundle.Dockerfile\n"
        "not in the image: `COPY LICENSE /licenses/` of bundle.Dockerfile\n"
        "label other=a, not b as in bundle.Dockerfile\n"
        "wrote image\n"
    )
    found = labels_in(here / "image")
    assert {key: value for key, value in found.items() if "bundle" not in key} == {
        "com.redhat.openshift.versions": "v4.12",
        "com.redhat.delivery.backport": "true",
        "other": "a",
    }
    assert open_tree(here / "image")["tests/scorecard/config.yaml"] == b"kind: Configuration\n"


def test_dockerfile_without_end_is_refused(rukpakctl: CommandLine, here: Path) -> None:
    with (here / "bundle.Dockerfile").open("wb") as file:
        file.truncate(1 << 40)
    ran = rukpakctl(*GIVEN, "--output", "image")
    assert ran.status == 3
    assert "bundle.Dockerfile is larger than" in ran.err
    assert not (here / "image").exists()


def test_tests_that_the_annotations_name_and_that_are_not_there_are_told(rukpakctl: CommandLine, here: Path) -> None:
    fill(here, {"b/metadata/annotations.yaml": f"annotations: {{{TEST_CONFIG}: tests/scorecard/}}".encode()})
    ran = rukpakctl(*GIVEN, "-o", "--output", "image")
    assert f"not in the image: b/tests/scorecard, which {TEST_CONFIG}: tests/scorecard/ needs\n" in ran.err


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (
            "annotations:\n  operators.operatorframework.io.bundle.package.v1: 5\n",
            'Expect field "operators.operatorframework.io.bundle.package.v1" to have value "demo" instead of "5", ',
        ),
        ("a: b\n", "Missing field: operators.operatorframework.io.bundle.channels.v1, "),
        ("annotations: [", "annotations.yaml: yaml: line"),
    ],
)
def test_annotations_that_say_something_else_stop_it(
    rukpakctl: CommandLine, here: Path, found: str, message: str
) -> None:
    fill(here / "b", {"metadata/annotations.yaml": found.encode()})
    ran = rukpakctl(*GIVEN, "--output", "image.tar")
    assert (ran.status, ran.out) == (3, "")
    assert message in ran.err
    assert not (here / "image.tar").exists()


def test_files_copied_before_are_kept_unless_overwritten(rukpakctl: CommandLine, here: Path) -> None:
    given = (*GIVEN, "-u", "out", "--output", "image.tar")
    assert rukpakctl(*given).status == 0
    manifest = here / "b/manifests/csv.yaml"
    manifest.write_bytes(manifest.read_bytes() + b"# changed\n")
    ran = rukpakctl(*given)
    assert "kept out/manifests/csv.yaml (is different in b/manifests; --overwrite replaces it)\n" in ran.err
    assert rukpakctl(*given, "-o").status == 0
    assert open_tree(here / "image.tar")["manifests/csv.yaml"].endswith(b"# changed\n")


def test_marks_of_removed_files_stay_out_of_the_image(rukpakctl: CommandLine, here: Path) -> None:
    """Real bundles have them, from images that were unpacked carelessly."""
    fill(here / "b", {"metadata/.wh..wh..opq": b""})
    ran = rukpakctl(*GIVEN, "--output", "image")
    assert "kept metadata/.wh..wh..opq out of the image" in ran.err
    assert sorted(path for path in open_tree(here / "image") if path.startswith("metadata")) == [
        "metadata/annotations.yaml"
    ]


def test_a_layout_of_one_image_is_replaced(rukpakctl: CommandLine, here: Path) -> None:
    (here / "image").mkdir()
    assert rukpakctl(*GIVEN, "--output", "image").err.endswith("replaced image\n")
    assert rukpakctl(*GIVEN, "--output", "image").err.endswith("replaced image\n")


@pytest.mark.parametrize(
    "output", ["b/metadata", "b/manifests/image.tar", "out", "bundle.Dockerfile", "copy/metadata/x"]
)
def test_an_image_does_not_go_where_the_bundle_is(rukpakctl: CommandLine, here: Path, output: str) -> None:
    """The image would replace generated files, or be a file of the next image."""
    (here / output).parent.mkdir(parents=True, exist_ok=True)
    before = files_in(here)
    more = ("-u", output) if output == "out" else ("-u", "copy") if output.startswith("copy") else ()
    ran = rukpakctl(*GIVEN, "--output", output, *more)
    assert (ran.status, ran.out) == (3, "")
    assert f"{output} would be part of the bundle or replace it: choose an output outside of" in ran.err
    assert files_in(here) == before


def test_a_layout_that_cannot_be_replaced_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(here, {"image/old": b"old"})
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="Input/output"), new_directory(here / "image") as directory:
        (directory / "new").touch()
    assert [path for path in files_in(here) if "image" in path] == ["image/old"]


@pytest.mark.parametrize("files", [{"work": b""}, {"oci-layout": b"{}", "index.json": b'{"manifests": [{}, {}]}'}])
def test_any_other_directory_is_not(rukpakctl: CommandLine, here: Path, files: dict[str, bytes]) -> None:
    fill(here / "image", files)
    before = files_in(here)
    ran = rukpakctl(*GIVEN, "--output", "image")
    assert (ran.status, ran.err) == (
        3,
        "Error: image already exists and is not an image layout of one image: it is not replaced\n",
    )
    assert files_in(here) == before


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("v.tgz", "v.tgz: an image is written to a directory or to an uncompressed archive, FILE.tar"),
        ("V.ZIP", "V.ZIP: an image is written to"),
        ("new/image", "new/image: there is no directory new"),
    ],
)
def test_impossible_output_is_refused_before_anything_is_written(
    rukpakctl: CommandLine, here: Path, output: str, message: str
) -> None:
    before = files_in(here)
    ran = rukpakctl(*GIVEN, "--output", output)
    assert (ran.status, ran.out) == (3, "")
    assert ran.err.startswith(f"Error: {message}")
    assert files_in(here) == before


def test_a_failure_to_write_names_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(**options: object) -> Never:
        raise PermissionError(13, "Permission denied", "/somewhere/.image.tar.x1y2")

    monkeypatch.setattr("tempfile.mkstemp", failing)
    monkeypatch.setattr("tempfile.mkdtemp", failing)
    with pytest.raises(PermissionError) as raised:
        write(here / "image.tar", b"")
    assert raised.value.filename == str(here / "image.tar")
    with pytest.raises(PermissionError) as raised, new_directory(here / "image"):
        pass
    assert raised.value.filename == str(here / "image")


def test_the_directory_of_the_bundle_is_not_that_of_its_manifests(rukpakctl: CommandLine, here: Path) -> None:
    fill(here / "b", {"PROJECT": b"", "README.yaml": b"no: object", "bundle.Dockerfile": b"FROM scratch"})
    ran = rukpakctl("bundle", "build", "-d", "b", "-p", "p", "-c", "a", "--output", "image")
    message = "Error: b is the directory of a bundle: give the one of its manifests, -d b/manifests\n"
    assert (ran.status, ran.out, ran.err) == (3, "", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --output, --push or --tool"),
        (["--tool", "kaniko", "-t", "x:1"], "kaniko is not supported image builder"),
        (["-b", "docker"], "--tool needs --tag"),
        (["-b", "docker", "-t", "x", "--push", "x"], "are for images that are made without docker"),
        (["--output", "i", "--base-image", "x"], "--base-image needs --tool"),
    ],
)
def test_wrong_usage(rukpakctl: CommandLine, here: Path, arguments: list[str], message: str) -> None:
    ran = rukpakctl(*GIVEN, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in " ".join(ran.err.split())
    assert not (here / "bundle.Dockerfile").exists()


@pytest.mark.parametrize("option", ["-t", "--push"])
def test_names_of_images_are_checked_first(rukpakctl: CommandLine, here: Path, option: str) -> None:
    ran = rukpakctl(*GIVEN, "--output", "image", option, "Not A Name")
    assert ran.status == 3
    assert "'Not A Name' is not a valid image name" in ran.err
    assert not (here / "bundle.Dockerfile").exists()


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("docker", ["build", "-f", "bundle.Dockerfile", "-t", "x y:1", "."]),
        ("podman", ["build", "-f", "bundle.Dockerfile", "-t", "x y:1", "."]),
        ("buildah", ["bud", "--format=docker", "-f", "bundle.Dockerfile", "-t", "x y:1", "."]),
    ],
)
def test_tools_are_called_in_the_working_directory(
    rukpakctl: CommandLine, here: Path, monkeypatch: pytest.MonkeyPatch, tool: str, expected: list[str]
) -> None:
    install(here, monkeypatch, tool)
    ran = rukpakctl(*GIVEN, "--tool", tool, "-t", "x y:1", "--base-image", "base:1")
    assert (ran.status, ran.out) == (0, "")
    *words, directory = (here / "record").read_text().splitlines()
    assert words == [f"<{word}>" for word in expected]
    assert directory == str(here)
    assert (here / "bundle.Dockerfile").read_text().startswith("FROM base:1\n")


def test_a_tool_that_fails_is_told_as_upstream_tells_it(
    rukpakctl: CommandLine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(here, monkeypatch, "docker", status=7)
    ran = rukpakctl(*GIVEN, "-b", "docker", "-t", 'a"b')
    argv = '[]string{"docker", "build", "-f", "bundle.Dockerfile", "-t", "a\\"b", "."}'
    assert ran.status == 3
    assert ran.err.endswith(f"Error: Failed to exec {argv}: exit status 7\n")
    (here / "bin/docker").unlink()
    missing = rukpakctl(*GIVEN, "-b", "docker", "-t", 'a"b')
    assert missing.err.endswith(f'Failed to exec {argv}: exec: "docker": executable file not found in $PATH\n')


def install(here: Path, monkeypatch: pytest.MonkeyPatch, tool: str, *, status: int = 0) -> None:
    """A program of that name, the only one on the PATH."""
    fill(here, {f"bin/{tool}": BUILDER.format(record=here / "record", status=status).encode()})
    (here / "bin" / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(here / "bin"))


def test_only_who_pushes_pays_for_the_client(here: Path) -> None:
    arguments = ["rukpakctl", *GIVEN[:2], "-d", str(here / "b/manifests"), *GIVEN[4:], "--output", str(here / "image")]
    code = f"""
import os, sys
os.chdir({str(here)!r})
from rukpak_py.cli.main import run
status = run({arguments!r})
print(int(status), {{"oras", "requests", "asyncio"}} & set(sys.modules))
"""
    assert run_python(code).splitlines()[-1] == "0 set()"
