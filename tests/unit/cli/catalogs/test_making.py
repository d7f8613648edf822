"""Commands that print or write catalogs and their files: render, filter, init, template and generate."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rukpak_py.cli.catalogs.opening import BUNDLE_LABEL
from rukpak_py.content import yaml
from rukpak_py.sources.image.build import image_of, layout_of
from tests.unit.bundles import tree_of
from tests.unit.catalog.samples import bundle, channel, package, sample, stream
from tests.unit.cli.catalogs.conftest import WriteCatalog
from tests.unit.cli.running import CommandLine
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.web_servers import serving

CSV = b"""\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: p.v1.0.0}
spec: {version: 1.0.0}
"""
ANNOTATIONS = f"annotations:\n  {BUNDLE_LABEL}: p\n".encode()
BUNDLE_FILES = {"manifests/csv.yaml": CSV, "metadata/annotations.yaml": ANNOTATIONS}


def blobs_of(text: str) -> list[Any]:
    return list(yaml.documents(text.encode()))


@pytest.fixture
def bundle_directory(tmp_path: Path) -> Path:
    for path, data in BUNDLE_FILES.items():
        (tmp_path / "bundle" / path).parent.mkdir(parents=True)
        (tmp_path / "bundle" / path).write_bytes(data)
    return tmp_path / "bundle"


def test_several_references_are_one_catalog(
    rukpakctl: CommandLine, write_catalog: WriteCatalog, bundle_directory: Path
) -> None:
    first = write_catalog([package(), channel("a", "v2"), bundle("v2")], "first")
    second = write_catalog([{"schema": "olm.package", "name": "a"}], "second")
    ran = rukpakctl("catalog", "render", first, second, bundle_directory, "--image-template", "r.io/{{.Name}}")
    assert (ran.status, ran.err) == (0, "")
    found = [(one["schema"], one["name"]) for one in blobs_of(ran.out)]
    assert found == [
        ("olm.package", "a"),
        ("olm.package", "p"),
        ("olm.channel", "a"),
        ("olm.bundle", "p.v1.0.0"),
        ("olm.bundle", "p.v2.0.0"),
    ]
    assert blobs_of(ran.out)[3]["image"] == "r.io/p.v1.0.0"


def test_catalog_that_is_given_twice_is_printed_twice(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    root = write_catalog(sample("v1"))
    once, twice = rukpakctl("catalog", "render", root).out, rukpakctl("catalog", "render", root, root).out
    assert sorted(map(json.dumps, blobs_of(twice))) == sorted([*map(json.dumps, blobs_of(once))] * 2)


def test_yaml_has_the_values_of_json(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    root = write_catalog(sample("v1", "v2 replaces v1"))
    as_json, as_yaml = (rukpakctl("catalog", "render", root, "-o", output).out for output in ("json", "yaml"))
    assert as_yaml.startswith("---\n")
    assert blobs_of(as_json) == blobs_of(as_yaml)


def test_lost_blobs_are_named_on_standard_error(rukpakctl: CommandLine, write_catalog: WriteCatalog) -> None:
    root = write_catalog([*sample("v1"), {"schema": "olm.bundle", "name": "lost"}])
    ran = rukpakctl("catalog", "render", root)
    assert ran.status == 0
    assert "lost" not in ran.out
    assert ran.err.startswith("Warning: catalog.json: ")
    assert "lost" in ran.err


def test_catalog_that_cannot_be_read_is_not_printed_in_part(
    rukpakctl: CommandLine, write_catalog: WriteCatalog
) -> None:
    root = write_catalog(sample("v1"))
    (root / "z.yaml").write_text("a: [\n")
    ran = rukpakctl("catalog", "render", root)
    assert (ran.status, ran.out) == (3, "")
    assert f"{root}/z.yaml:2:1  error  FBC-L03" in ran.err


def test_bundle_without_an_image_is_not_migrated_with_a_warning(
    rukpakctl: CommandLine, bundle_directory: Path, tmp_path: Path
) -> None:
    ran = rukpakctl("catalog", "render", bundle_directory)
    assert (ran.status, ran.err) == (0, "")
    (tmp_path / "rendered.json").write_text(ran.out)
    for source in (bundle_directory, tmp_path / "rendered.json"):
        ran = rukpakctl("catalog", "render", source, "--migrate")
        assert [one["type"] for one in blobs_of(ran.out)[0]["properties"]][-1] == "olm.bundle.object"
        assert ran.err.count("Warning: ") == 1
        assert "not migrated: p.v1.0.0: a bundle without an image keeps its objects" in ran.err
        assert "--image-template" in ran.err
    ran = rukpakctl("catalog", "render", bundle_directory, "--migrate", "--image-template", "r.io/{{.Name}}")
    assert (ran.status, ran.err) == (0, "")


def test_directory_of_bundles_is_answered_by_their_names(rukpakctl: CommandLine, bundle_directory: Path) -> None:
    root = bundle_directory.parent
    shutil.copytree(bundle_directory, root / "another one")
    ran = rukpakctl("catalog", "render", root)
    assert (ran.status, ran.out, "FBC-" in ran.err) == (3, "", False)
    assert f"{root}: holds bundles and no blob of a catalog: give '{root}/another one' {root}/bundle" in ran.err


@pytest.mark.parametrize("prefix", ["", "docker://"])
def test_image_of_a_bundle_is_named_without_a_scheme(rukpakctl: CommandLine, prefix: str) -> None:
    contents = Contents()
    image = image_of(tree_of(BUNDLE_FILES), labels={BUNDLE_LABEL: "p"})
    for blob in (*image.layers, image.config):
        contents.blob(blob.data, blob.media_type)
    contents.document(image.manifest.data, image.manifest.media_type, tag="v1")
    with serving(contents.answer) as server:
        ran = rukpakctl("catalog", "render", f"{prefix}{server.address}/{REPOSITORY}:v1")
    assert (ran.status, ran.err) == (0, "")
    (blob,) = blobs_of(ran.out)
    assert blob["image"] == f"{server.address}/{REPOSITORY}:v1"


def test_bundle_in_a_layout_on_disk_has_no_image(rukpakctl: CommandLine, tmp_path: Path) -> None:
    layout = layout_of(image_of(tree_of(BUNDLE_FILES), labels={BUNDLE_LABEL: "p"}))
    for path in layout:
        (tmp_path / "layout" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "layout" / path).write_bytes(layout[path])
    for typed in (tmp_path / "layout", f"oci:{tmp_path}/layout"):
        (blob,) = blobs_of(rukpakctl("catalog", "render", typed).out)
        assert blob["image"] == ""


@pytest.fixture
def channels(write_catalog: WriteCatalog) -> Path:
    return write_catalog(
        [
            package(),
            channel("a", "v4 replaces v3", "v3 replaces v2", "v2 replaces v1", "v1"),
            channel("b", "v1"),
            *(bundle(name) for name in ("v1", "v2", "v3", "v4")),
            {"schema": "olm.package", "name": "q", "defaultChannel": "a"},
            {"schema": "olm.channel", "package": "q", "name": "a", "entries": [{"name": "q.v1.0.0"}]},
            bundle("v1", name="q.v1.0.0", package="q")
            | {"properties": [{"type": "olm.package", "value": {"packageName": "q", "version": "1.0.0"}}]},
        ]
    )


def filtered(rukpakctl: CommandLine, *arguments: str | Path) -> tuple[list[tuple[str, str]], list[str]]:
    ran = rukpakctl("catalog", "filter", *arguments)
    assert ran.status == 0
    return [(one["schema"].removeprefix("olm."), one["name"]) for one in blobs_of(ran.out)], ran.err.splitlines()


def test_filter_keeps_a_package(rukpakctl: CommandLine, channels: Path) -> None:
    found, notes = filtered(rukpakctl, channels, "--package", "q")
    assert found == [("package", "q"), ("channel", "a"), ("bundle", "q.v1.0.0")]
    assert notes == []


def test_filter_tells_what_it_repaired(rukpakctl: CommandLine, channels: Path) -> None:
    found, notes = filtered(rukpakctl, channels, "--package", "p", "--versions", "p=>=3.0.0", "-o", "yaml")
    assert found == [("package", "p"), ("channel", "a"), ("bundle", "p.v3.0.0"), ("bundle", "p.v4.0.0")]
    assert notes == [
        (
            "Warning: package p, channel a: p.v3.0.0: still replaces p.v2.0.0, which is left out, "
            "so that it can be upgraded"
        ),
        "Warning: package p, channel b is left out: no entry of it has a version in the range",
    ]
    found, notes = filtered(rukpakctl, channels, "--package", "p", "--channel", "p/b")
    assert found == [("package", "p"), ("channel", "b"), ("bundle", "p.v1.0.0")]
    assert notes == ["Warning: package p: the default channel is b, because a is left out"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--package", "r"), 'package "r" not found'),
        (("--package", "p", "--channel", "p/c"), 'package "p" has no channel "c"'),
        (("--package", "p", "--versions", "p=>9.0.0"), "is in range"),
    ],
)
def test_filter_without_a_result_is_a_failure(
    rukpakctl: CommandLine, channels: Path, arguments: tuple[str, ...], told: str
) -> None:
    ran = rukpakctl("catalog", "filter", channels, *arguments)
    assert (ran.status, ran.out) == (3, "")
    assert told in ran.err


def test_init(rukpakctl: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "d.md").write_text("about p\n")
    (tmp_path / "icon").write_bytes(b"\x89PNG\r\n\x1a\n1234")
    options = ("-c", "stable", "-d", tmp_path / "d.md", "-i", tmp_path / "icon")
    (blob,) = blobs_of(rukpakctl("catalog", "init", "p", *options, "-o", "yaml").out)
    assert (blob["name"], blob["defaultChannel"], blob["description"]) == ("p", "stable", "about p\n")
    assert blob["icon"]["mediatype"] == "image/png"
    ran = rukpakctl("catalog", "init", "p", "-i", tmp_path / "d.md")
    assert (ran.status, ran.out) == (3, "")
    assert rukpakctl("catalog", "init", "p", "-i", tmp_path / "missing").status == 2


def test_template(rukpakctl: CommandLine, tmp_path: Path, bundle_directory: Path) -> None:
    file = tmp_path / "template.yaml"
    entries = [package(), channel("a", "v1"), {"schema": "olm.bundle", "image": str(bundle_directory)}]
    file.write_bytes(json.dumps({"schema": "olm.template.basic", "entries": entries}).encode())
    ran = rukpakctl("catalog", "template", "basic", file)
    assert (ran.status, ran.out) == (3, "")
    assert "is a directory, not an image: --allow-directories takes it" in ran.err
    ran = rukpakctl("catalog", "template", "basic", file, "--allow-directories")
    assert (ran.status, ran.err) == (0, "")
    assert [one["name"] for one in blobs_of(ran.out)] == ["p", "a", "p.v1.0.0"]


def test_all_bundles_that_cannot_be_pulled_are_told(rukpakctl: CommandLine, tmp_path: Path) -> None:
    entries = [{"schema": "olm.bundle", "image": f"{tmp_path}/{name}"} for name in ("one", "two")]
    file = tmp_path / "template.json"
    file.write_text(json.dumps({"schema": "olm.template.basic", "entries": entries}))
    ran = rukpakctl("catalog", "template", "basic", file, "--allow-directories")
    assert ran.status == 3
    assert "/one: " in ran.err
    assert "/two: " in ran.err


def test_dockerfile_is_written_beside_the_catalog_and_never_replaced(
    rukpakctl: CommandLine, write_catalog: WriteCatalog
) -> None:
    root = write_catalog(sample("v1"))
    ran = rukpakctl("catalog", "generate", "dockerfile", root, "-i", "r.io/base", "-b", "r.io/builder", "-l", "k=v w")
    target = root.parent / "c.Dockerfile"
    assert (ran.status, ran.out) == (0, f"wrote {target}\n")
    text = target.read_text()
    assert "FROM r.io/builder as builder\n" in text
    assert '\nLABEL "k"="v w"\n' in text
    ran = rukpakctl("catalog", "generate", "dockerfile", root)
    assert (ran.status, ran.out) == (3, "")
    assert target.read_text() == text
    assert rukpakctl("catalog", "generate", "dockerfile", root / "catalog.json").status == 3


def test_stream_of_one_file_is_a_catalog(rukpakctl: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_bytes(stream(sample(*(f"v{number}" for number in range(1, 3)))))
    assert rukpakctl("catalog", "render", file).status == 0
