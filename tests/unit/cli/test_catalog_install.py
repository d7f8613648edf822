"""`rukpakctl catalog resolve` and `install` without a cluster: what they print, refuse and warn of."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.running import SAMPLES, CommandLine, Ran
from tests.unit.sources.image.image_registry import REPOSITORY, Contents
from tests.unit.web_servers import serving

CATALOG = SAMPLES / "greeter-catalog"
IMAGE = f"example.com/web@sha256:{'0' * 64}"


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    """A catalog whose only bundle is an image by tag, of a registry that the test fills in."""
    return tmp_path / "catalog.yaml"


def write(path: Path, image: str, *properties: dict[str, Any]) -> None:
    version = {"type": "olm.package", "value": {"packageName": "web", "version": "1.0.0"}}
    bundle = {"schema": "olm.bundle", "package": "web", "name": "web.v1.0.0", "properties": [version, *properties]}
    blobs = [
        {"schema": "olm.package", "name": "web", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "web", "name": "stable", "entries": [{"name": "web.v1.0.0"}]},
        {**bundle, **({"image": image} if image else {})},
    ]
    path.write_text(yaml.safe_dump_all(blobs), encoding="utf-8")


def manifest(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran.err
    document: dict[str, Any] = yaml.safe_load(ran.out)
    return document


def image_of(document: dict[str, Any]) -> str:
    return str(document["spec"]["template"]["spec"]["source"]["image"]["ref"])


def test_upgrade_is_resolved_along_the_edges(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("catalog", "resolve", "greeter", "--catalog", CATALOG, "--from", "1.0.0", "-o", "json")
    found = json.loads(ran.out)
    assert (ran.status, found["bundle"], found["edge"]["kind"]) == (0, "greeter.v1.2.0", "replaces")
    assert found["skipped"] == ["greeter.v1.1.0"]


def test_several_channels_are_one_graph(rukpakctl: CommandLine) -> None:
    chosen = ("--channel", "stable", "--channel", "fast", "--from", "greeter.v1.2.0")
    ran = rukpakctl("catalog", "resolve", "greeter", "--catalog", CATALOG, *chosen, "-o", "json")
    assert json.loads(ran.out)["bundle"] == "greeter.v2.0.0"


@pytest.mark.parametrize("command", ["resolve", "install"])
@pytest.mark.parametrize(
    ("asked", "cause", "remedy"),
    [
        (("greter",), 'package "greter" not found', "did you mean greeter?"),
        (("greeter", "--channel", "beta"), 'has no channel "beta"', "choose one of its channels: fast, stable"),
        (("greeter", "--version-range", ">9.0.0"), 'in range ">9.0.0"', "versions to choose from: 1.3.0"),
        (("greeter", "--from", "0.1.0"), '"0.1.0" is not in channel stable', "bundles that can be upgraded"),
        (("greeter", "--from", "v1.0.0"), 'no bundle or version "v1.0.0"', "did you mean 1.0.0"),
        (("greeter", "--from", "greeter.v2.0.0"), 'upgrades "greeter.v2.0.0"', "bundles that can be upgraded"),
    ],
)
def test_refusal_says_why_and_what_to_do(
    rukpakctl: CommandLine, command: str, asked: tuple[str, ...], cause: str, remedy: str
) -> None:
    ran = rukpakctl("catalog", command, *asked, "--catalog", CATALOG)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("Error: ")
    assert cause in ran.err
    assert remedy in ran.err


def test_refusal_is_a_document_for_programs(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("catalog", "resolve", "nothing", "--catalog", CATALOG, "-o", "json")
    assert (ran.status, json.loads(ran.out)["refusal"]["cause"]) == (1, "UnknownPackage")


def test_manifest_names_the_bundle_and_the_channel(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("catalog", "install", "greeter", "--catalog", CATALOG, "--install-namespace", "shop")
    found = manifest(ran)
    assert found["metadata"] == {
        "name": "greeter",
        "annotations": {
            "core.rukpak.io/catalog-package": "greeter",
            "core.rukpak.io/catalog-channel": "stable",
            "core.rukpak.io/catalog-version": "1.3.0",
            "core.rukpak.io/catalog-bundle": "greeter.v1.3.0",
        },
    }
    assert found["spec"]["installNamespace"] == "shop"
    assert "@sha256:" in image_of(found)
    assert "Warning: greeter.v1.3.0 requires package postgres >=1.4.0: missing in the catalog" in ran.err


def test_manifest_of_an_installed_bundle_that_stays_says_so(rukpakctl: CommandLine) -> None:
    """A pipeline that writes the manifest into Git again finds no difference."""
    asked = ("catalog", "install", "greeter", "--catalog", CATALOG, "--from", "1.2.0", "--version-range", "<1.3.0")
    ran = rukpakctl(*asked)
    assert manifest(ran)["metadata"]["annotations"]["core.rukpak.io/catalog-version"] == "1.2.0"
    assert "nothing newer than greeter.v1.2.0 in channel stable; the range leaves out greeter.v1.3.0" in ran.err


def test_deprecated_bundle_is_warned_of(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("catalog", "install", "greeter", "--catalog", CATALOG, "--version-range", "1.0.0", "-o", "json")
    assert json.loads(ran.out)["metadata"]["annotations"]["core.rukpak.io/catalog-version"] == "1.0.0"
    assert "Warning: greeter.v1.0.0: this bundle is deprecated: Version 1.0 gets no fixes any more." in ran.err


def test_tag_is_replaced_by_the_digest_of_the_registry(rukpakctl: CommandLine, tagged: Path) -> None:
    contents = Contents()
    digest = contents.image({"manifests/a.yaml": b"{}"}, tag="v1")["digest"]
    with serving(contents.answer) as registry:
        name = f"{registry.address}/{REPOSITORY}"
        write(tagged, f"{name}:v1")
        found = manifest(rukpakctl("catalog", "install", "web", "--catalog", tagged))
        assert image_of(found) == f"{name}@{digest}"
        asked = [one.path for one in registry.asked if one.path.startswith("/v2/team")]
        assert asked == [f"/v2/{REPOSITORY}/manifests/v1"]


def test_digest_of_an_index_needs_no_image_for_this_machine(rukpakctl: CommandLine, tagged: Path) -> None:
    contents = Contents()
    other = contents.image({"a": b"b"}, platform={"os": "linux", "architecture": "s390x"})
    digest = contents.index(other, tag="v1")["digest"]
    with serving(contents.answer) as registry:
        write(tagged, f"{registry.address}/{REPOSITORY}:v1")
        found = manifest(rukpakctl("catalog", "install", "web", "--catalog", tagged))
    assert image_of(found).endswith(digest)


def test_tag_that_the_registry_does_not_have_is_an_error_with_a_way_on(rukpakctl: CommandLine, tagged: Path) -> None:
    with serving(Contents().answer) as registry:
        image = f"{registry.address}/{REPOSITORY}:v1"
        write(tagged, image)
        ran = rukpakctl("catalog", "install", "web", "--catalog", tagged)
        assert (ran.status, ran.out) == (3, "")
        assert f"{image}: the catalog names this image by a tag, whose digest cannot be had" in ran.err
        assert "--allow-tag" in ran.err
        assert image_of(manifest(rukpakctl("catalog", "install", "web", "--catalog", tagged, "--allow-tag"))) == image


def test_bundle_without_an_image_is_refused(rukpakctl: CommandLine, tagged: Path) -> None:
    write(tagged, "", {"type": "olm.bundle.object", "value": {"data": "e30="}})
    ran = rukpakctl("catalog", "install", "web", "--catalog", tagged)
    assert (ran.status, ran.out) == (1, "")
    assert 'no image of bundle "web.v1.0.0", only its objects, which cannot be installed' in ran.err
    assert "rukpakctl catalog render BUNDLE --image-template" in ran.err


def test_name_that_no_deployment_can_have_is_wrong_usage(rukpakctl: CommandLine) -> None:
    ran = rukpakctl("catalog", "install", "greeter", "--catalog", CATALOG, "--name", "Greeter")
    assert (ran.status, ran.out) == (2, "")
    assert "choose one with --name" in ran.err
    ran = rukpakctl("catalog", "install", "greeter", "--catalog", CATALOG, "--dry-run")
    assert (ran.status, ran.out) == (2, "")


@pytest.mark.parametrize("command", ["resolve", "install"])
def test_range_that_cannot_be_read_is_wrong_usage(rukpakctl: CommandLine, command: str) -> None:
    ran = rukpakctl("catalog", command, "greeter", "--catalog", CATALOG, "--version-range", ">=1.2")
    assert (ran.status, ran.out) == (2, "")
    assert "--version-range" in ran.err
    assert "Write all three numbers of a version, and no `v` before them: `>=1.2.0`." in ran.err


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (">=2.10.0 <2.13.0", "must have the form PACKAGE=RANGE, such as 'greeter=>=1.2.0'"),
        ("greeter>=1.2.0", "must have the form PACKAGE=RANGE"),
        ("=1.2.0", "must have the form PACKAGE=RANGE"),
        ("greeter=>=1.0.0, <2.0.0", "separated by blanks, not by commas: `>=1.0.0 <2.0.0`"),
        ("greeter=^1.0.0", "write both bounds"),
    ],
)
def test_versions_of_a_filter_that_cannot_be_read_are_wrong_usage(
    rukpakctl: CommandLine, typed: str, told: str
) -> None:
    ran = rukpakctl("catalog", "filter", CATALOG, "--package", "greeter", "--versions", typed)
    assert (ran.status, ran.out) == (2, "")
    assert told in ran.err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--install-namespace", "Shop"),
        ("--watch-namespace", "a,b"),
        ("--watch-namespace", "", "--watch-namespace", "shop"),
    ],
)
def test_namespaces_that_cannot_be_are_wrong_usage(rukpakctl: CommandLine, wrong: tuple[str, ...]) -> None:
    ran = rukpakctl("catalog", "install", "greeter", "--catalog", CATALOG, *wrong)
    assert (ran.status, ran.out) == (2, "")
    assert wrong[0] in ran.err


def test_namespaces_that_the_install_modes_do_not_allow_are_warned_of(rukpakctl: CommandLine, tagged: Path) -> None:
    modes = [{"type": "AllNamespaces", "supported": True}]
    write(tagged, IMAGE, {"type": "olm.csv.metadata", "value": {"installModes": modes}})
    ran = rukpakctl("catalog", "install", "web", "--catalog", tagged, "--watch-namespace", "shop")
    assert manifest(ran)["spec"]["watchNamespaces"] == ["shop"]
    assert "Warning: web.v1.0.0 supports AllNamespaces, and to watch namespace shop needs SingleNamespace" in ran.err
    assert rukpakctl("catalog", "install", "web", "--catalog", tagged, "--watch-namespace", "").err == ""


def test_catalog_that_is_not_valid_is_refused(rukpakctl: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "catalog.yaml").write_text("schema: olm.package\nname: web\n", encoding="utf-8")
    ran = rukpakctl("catalog", "resolve", "web", "--catalog", tmp_path)
    assert (ran.status, ran.out) == (3, "")
    assert "the catalog cannot be used" in ran.err
