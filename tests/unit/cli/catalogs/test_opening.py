"""Catalogs where users have them: a directory, a file, an image on disk, in an archive or in a registry."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rukpak_py.cli.catalogs import directory
from rukpak_py.cli.catalogs.opening import BUNDLE_LABEL, CATALOG_LABEL, DATABASE_LABEL
from rukpak_py.content.canonical import write_tar
from rukpak_py.content.tree import Tree
from rukpak_py.core.limits import Limits
from rukpak_py.sources.image.build import image_of, layout_of
from tests.unit.bundles import tree_of
from tests.unit.cli.running import CommandLine
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.web_servers import Server, serving

PACKAGE = b'{"schema": "olm.package", "name": "p", "defaultChannel": "a"}\n'
CHANNEL = b'{"schema": "olm.channel", "package": "p", "name": "a", "entries": [{"name": "p.v1.0.0"}]}\n'
BUNDLE = b"""\
schema: olm.bundle
package: p
name: p.v1.0.0
image: registry.example.com/p:1.0.0
properties:
- type: olm.package
  value: {packageName: p, version: 1.0.0}
"""
FILES = {"configs/p/package.json": PACKAGE + CHANNEL, "configs/p/bundle.yaml": BUNDLE}
VALID = "NAME  DISPLAY NAME  DEFAULT CHANNEL  DEPRECATED\np     -             a                -\n"


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return written(tmp_path / "catalog", {path.removeprefix("configs/"): data for path, data in FILES.items()})


def written(root: Path, files: dict[str, bytes]) -> Path:
    root.mkdir(exist_ok=True)
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def of_tree(tree: Tree, root: Path) -> Path:
    return written(root, {path: tree[path] for path in tree})


def test_a_directory(rukpakctl: CommandLine, root: Path) -> None:
    assert rukpakctl("catalog", "list", "packages", root).out == VALID


def test_a_file(rukpakctl: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "catalog.yaml"
    file.write_bytes(b"---\n".join([PACKAGE, CHANNEL, BUNDLE]))
    assert rukpakctl("catalog", "list", "packages", file).out == VALID
    file.write_bytes(b"---\n".join([PACKAGE, CHANNEL]))
    ran = rukpakctl("catalog", "validate", file, "-o", "github")
    assert f"file={os.path.relpath(file)},line=3,col=77,title=FBC-C18" in ran.out


def test_an_image_layout(rukpakctl: CommandLine, tmp_path: Path) -> None:
    layout = layout_of(image_of(tree_of({**FILES, "other/x": b"no blob"}), labels={CATALOG_LABEL: "/configs"}))
    assert rukpakctl("catalog", "list", "packages", of_tree(layout, tmp_path / "layout")).out == VALID
    archive = tmp_path / "image.tar"
    archive.write_bytes(b"".join(write_tar(layout)))
    assert rukpakctl("catalog", "list", "packages", archive).out == VALID
    assert rukpakctl("catalog", "list", "packages", f"oci-archive:{archive}").out == VALID


def test_the_catalog_may_be_the_whole_image(rukpakctl: CommandLine, tmp_path: Path) -> None:
    layout = layout_of(image_of(tree_of(FILES), labels={CATALOG_LABEL: "/"}))
    assert rukpakctl("catalog", "list", "packages", of_tree(layout, tmp_path / "layout")).out == VALID


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ({}, "neither the image of a catalog"),
        ({DATABASE_LABEL: "/x"}, "a catalog in a database"),
        ({BUNDLE_LABEL: "p"}, "a bundle, not a catalog"),
    ],
)
def test_another_image_is_refused(rukpakctl: CommandLine, tmp_path: Path, labels: dict[str, str], told: str) -> None:
    layout = layout_of(image_of(tree_of(FILES), labels=labels))
    ran = rukpakctl("catalog", "list", "packages", of_tree(layout, tmp_path / "layout"))
    assert (ran.status, ran.out) == (3, "")
    assert told in ran.err


@pytest.fixture
def contents() -> Contents:
    return Contents()


@pytest.fixture
def registry(contents: Contents) -> Iterator[Server]:
    with serving(contents.answer) as server:
        yield server


def test_an_image_of_a_registry(rukpakctl: CommandLine, contents: Contents, registry: Server) -> None:
    image = image_of(tree_of(FILES), labels={CATALOG_LABEL: "/configs"})
    for blob in (*image.layers, image.config):
        contents.blob(blob.data, blob.media_type)
    contents.document(image.manifest.data, image.manifest.media_type, tag="v1")
    ran = rukpakctl("catalog", "list", "packages", f"{registry.address}/{REPOSITORY}:v1")
    assert (ran.status, ran.out) == (0, VALID)


def test_an_image_without_the_label_is_refused_before_its_layers_are_fetched(
    rukpakctl: CommandLine, contents: Contents, registry: Server
) -> None:
    image = image_of(tree_of(FILES), labels={})
    for blob in (*image.layers, image.config):
        contents.blob(blob.data, blob.media_type)
    contents.document(image.manifest.data, image.manifest.media_type, tag="v1")
    ran = rukpakctl("catalog", "list", "packages", f"{registry.address}/{REPOSITORY}:v1")
    assert ran.status == 3
    assert "neither the image of a catalog" in ran.err
    asked = [one.path.rpartition("/")[2] for one in registry.asked]
    assert image.config.digest in asked
    assert not {layer.digest for layer in image.layers} & set(asked)


def test_a_directory_of_bundles_is_named_as_such(rukpakctl: CommandLine, tmp_path: Path) -> None:
    root = written(tmp_path / "bundles", {"a/1/manifests/csv.yaml": b"kind: x\n", "a/1/metadata/a.yaml": b"a: 1\n"})
    ran = rukpakctl("catalog", "validate", root)
    assert ran.status == 3
    assert "holds bundles (a/1) and no package of a catalog" in " ".join(ran.out.split())
    ran = rukpakctl("catalog", "validate", root / "a/1")
    assert ran.status == 3
    assert "is a bundle, not a catalog" in ran.out


def test_a_dockerfile_beside_catalogs_is_no_catalog(rukpakctl: CommandLine, root: Path) -> None:
    assert rukpakctl("catalog", "generate", "dockerfile", root).status == 0
    ran = rukpakctl("catalog", "validate", root, f"{root}.Dockerfile")
    assert ran.status == 3
    told = "is not a catalog: give a directory, a .yaml or .json file, or an image"
    assert f"{root}.Dockerfile: cannot be read {told}" in " ".join(ran.out.split())
    assert "manifests/" not in ran.out


def test_a_missing_path_is_no_image(rukpakctl: CommandLine, tmp_path: Path) -> None:
    ran = rukpakctl("catalog", "validate", tmp_path / "missing")
    assert ran.status == 3
    assert "there is no such file or directory" in ran.out


def test_links_and_other_files_of_a_directory(
    rukpakctl: CommandLine, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (tmp_path / "outside.json").write_bytes(b'{"schema": "x"}')
    (root / "inside.json").write_bytes(b'{"schema": "x"}')
    (root / "to-file").symlink_to("inside.json")
    (root / "to-directory").symlink_to("p")
    (root / "to-nothing").symlink_to("nothing")
    (root / "to-outside").symlink_to("../outside.json")
    os.mkfifo(root / "pipe")
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("no blob\n")
    ran = rukpakctl("catalog", "validate", ".")
    assert ran.status == 1
    told = [line.split()[:3] for line in ran.out.splitlines() if "FBC-" in line]
    assert told == [
        [".git", "warning", "FBC-W05"],
        ["pipe", "warning", "FBC-W03"],
        ["to-directory", "error", "FBC-L11"],
        ["to-nothing", "error", "FBC-L11"],
        ["to-outside", "error", "FBC-L11"],
    ]


def test_ignored_files_are_no_content(rukpakctl: CommandLine, root: Path) -> None:
    (root / "README.md").write_text("prose\n")
    assert rukpakctl("catalog", "validate", root).status == 1
    (root / ".indexignore").write_text("*.md\n")
    assert rukpakctl("catalog", "validate", root).status == 0


def test_ignored_links_and_checkouts_are_not_reported(rukpakctl: CommandLine, root: Path) -> None:
    (root / "README").symlink_to("nothing")
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("no blob\n")
    ran = rukpakctl("catalog", "validate", root)
    assert (ran.status, "FBC-L11" in ran.out, "FBC-W05" in ran.out) == (1, True, True)
    (root / ".indexignore").write_text("README\n.git/\n")
    ran = rukpakctl("catalog", "validate", root)
    assert (ran.status, "FBC-" in ran.out) == (0, False)
    assert rukpakctl("catalog", "render", root).status == 0
    assert rukpakctl("catalog", "fmt", "--check", root).status in {0, 1}


def test_a_catalog_larger_than_the_limit_is_refused(
    rukpakctl: CommandLine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUKPAK_LIMIT_CATALOG_BYTES", "100")
    ran = rukpakctl("catalog", "validate", root)
    assert ran.status == 3
    assert "RUKPAK_LIMIT_CATALOG_BYTES" in ran.out


@pytest.mark.parametrize("label", ["./configs", "/x/../configs", "/configs//", "configs"])
def test_the_label_names_a_directory_in_any_spelling(rukpakctl: CommandLine, tmp_path: Path, label: str) -> None:
    layout = layout_of(image_of(tree_of(FILES), labels={CATALOG_LABEL: label}))
    assert rukpakctl("catalog", "list", "packages", of_tree(layout, tmp_path / "layout")).out == VALID


@pytest.mark.parametrize("label", ["/nowhere", "../../etc", "/configs/p/bundle.yaml"])
def test_a_label_that_names_no_directory_is_refused(rukpakctl: CommandLine, tmp_path: Path, label: str) -> None:
    layout = layout_of(image_of(tree_of(FILES), labels={CATALOG_LABEL: label}))
    ran = rukpakctl("catalog", "validate", of_tree(layout, tmp_path / "layout"))
    assert ran.status == 3
    assert "which is not a directory of the image" in " ".join(ran.out.split())


def test_pipes_and_empty_paths_are_refused(rukpakctl: CommandLine, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "catalog.json")
    ran = rukpakctl("catalog", "validate", tmp_path / "catalog.json")
    assert (ran.status, "a device, a FIFO or a socket" in ran.out) == (3, True)
    ran = rukpakctl("catalog", "validate", "")
    assert (ran.status, "is empty" in ran.out) == (3, True)


def test_findings_of_a_whole_catalog_read_their_file_once_more(
    rukpakctl: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    read = directory.read_regular_file

    def counted(real: Path, name: str, limits: Limits) -> bytes:
        reads.append(name)
        return read(real, name, limits)

    monkeypatch.setattr(directory, "read_regular_file", counted)
    entries = ", ".join(f'{{"name": "ghost.v{number}.0.0"}}' for number in range(200))
    channel = f'{{"schema": "olm.channel", "package": "p", "name": "a", "entries": [{entries}]}}\n'.encode()
    root = written(tmp_path / "catalog", {"c.json": PACKAGE + channel})
    assert rukpakctl("catalog", "validate", root, "--no-cache").status == 1
    assert len(reads) <= 3
