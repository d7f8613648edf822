"""Package and channels found in the old layout; every expectation and message is what opm does with the same files."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.packaging import Inferred, infer
from tests.unit.bundles import Content, tree_of

FAILED = "please manually input channels and packageName, error interpreting bundle from directory /x/demo/1.0.0, "
MANIFEST_FAILED = (
    f"{FAILED}error parsing package.yaml file in the package root directory, "
    "valid PackageManifest YAML file not found in /x/demo"
)


def csv(version: str, *, name: str | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name or f"demo.v{version}"},
        "spec": {"version": version, **spec},
    }


def manifest(*channels: tuple[str, str], default: str = "", name: str = "demo") -> dict[str, Any]:
    listed = [{"name": channel, "currentCSV": head} for channel, head in channels]
    return {"packageName": name, "channels": listed, **({"defaultChannel": default} if default else {})}


BUNDLES: dict[str, Content] = {
    "1.0.0/csv.yaml": csv("1.0.0"),
    "1.1.0/csv.yaml": csv("1.1.0", replaces="demo.v1.0.0"),
    "1.2.0/csv.yaml": csv("1.2.0", replaces="demo.v1.1.0"),
}
TWO_CHANNELS = manifest(("stable", "demo.v1.1.0"), ("alpha", "demo.v1.2.0"), default="stable")


def inferred(files: Mapping[str, Content], bundle: str = "1.0.0", *directories: str) -> Inferred:
    return infer(tree_of(files, *directories), bundle, shown="/x/demo")


def of_demo(channels: str, default: str = "") -> Inferred:
    return Inferred(package="demo", channels=channels, default_channel=default, manifest="p.yaml")


def test_a_bundle_is_in_every_channel_whose_head_leads_to_it() -> None:
    files = {**BUNDLES, "p.yaml": TWO_CHANNELS}
    assert inferred(files, "1.0.0") == of_demo("alpha,stable", "stable")
    assert inferred(files, "1.1.0") == of_demo("alpha,stable", "stable")
    assert inferred(files, "1.2.0") == of_demo("alpha", "stable")  # its default is a channel that it is not in


def test_a_single_channel_is_the_default() -> None:
    assert inferred({**BUNDLES, "p.yaml": manifest(("stable", "demo.v1.1.0"))}) == of_demo("stable", "stable")


def test_of_two_channels_none_is_the_default() -> None:
    files = {**BUNDLES, "p.yaml": manifest(("b", "demo.v1.1.0"), ("a", "demo.v1.1.0"))}
    assert inferred(files) == of_demo("a,b")


@pytest.mark.parametrize(
    ("bundles", "channels"),
    [
        ({"1.1.0/csv.yaml": csv("1.1.0", skips=["demo.v1.0.0"])}, "stable"),
        ({"1.1.0/csv.yaml": csv("1.1.0", replaces="demo.v0.5", skips=["demo.v1.0.0"])}, "stable"),
        ({"1.1.0/csv.yaml": csv("1.1.0", replaces="demo.v0.5")}, ""),
        ({"1.1.0/csv.yaml": csv("1.1.0")}, ""),
        (
            {
                "1.0.5/csv.yaml": csv("1.0.5", replaces="demo.v1.0.0"),
                "1.1.0/csv.yaml": csv("1.1.0", skips=["demo.v1.0.5"]),
            },
            "stable",
        ),
        (
            {
                "1.0.0/csv.yaml": csv("1.0.0", replaces="demo.v1.1.0"),
                "1.1.0/csv.yaml": csv("1.1.0", replaces="demo.v1.0.0"),
            },
            "stable",
        ),
    ],
    ids=["skips", "skips beside a gap", "a gap", "nothing", "skips, then replaces", "a circle"],
)
def test_heads_lead_by_replaces_and_skips(bundles: dict[str, Content], channels: str) -> None:
    files = {"1.0.0/csv.yaml": csv("1.0.0"), "p.yaml": manifest(("stable", "demo.v1.1.0")), **bundles}
    assert inferred(files).channels == channels


def test_a_head_that_is_not_there_leads_nowhere() -> None:
    files = {**BUNDLES, "p.yaml": manifest(("stable", "demo.v9"), ("alpha", "demo.v1.2.0"))}
    assert inferred(files) == of_demo("alpha")


def test_the_first_file_with_a_package_name_is_the_manifest() -> None:
    files = {**BUNDLES, "a.txt": manifest(("first", "demo.v1.0.0"), name="a"), "p.yaml": TWO_CHANNELS}
    expected = Inferred(package="a", channels="first", default_channel="first", manifest="a.txt")
    assert inferred(files) == expected
    assert inferred({**files, "0.yaml": "x: [", "9.yaml": "no"}) == expected


def test_scalars_become_texts_and_keys_are_found_in_any_case() -> None:
    text = "PackageName: 5\nchannels: [{NAME: 1.5, currentcsv: demo.v1.0.0}]\n"
    expected = Inferred(package="5", channels="1.5", default_channel="1.5", manifest="p.yaml")
    assert inferred({**BUNDLES, "p.yaml": text}) == expected


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"1.0.0/again.yaml": csv("1.0.1")},
            "error loading CSV from bundle directory, more than one ClusterServiceVersion is found in bundle",
        ),
        (
            {"1.0.0/csv.yaml": "a: b"},
            "error loading CSV from bundle directory, no ClusterServiceVersion object found in /x/demo/1.0.0",
        ),
        (
            {"1.2.0/again.yaml": csv("1.0.1")},
            (
                "error getting CSVs from bundles in the package directory, "
                "more than one ClusterServiceVersion is found in bundle"
            ),
        ),
        (
            {"other/a.yaml": "a: b"},
            (
                "error getting CSVs from bundles in the package directory, "
                "no ClusterServiceVersion object found in /x/demo/other"
            ),
        ),
        (
            {"other/sub/csv.yaml": csv("3.0.0")},
            (
                "error getting CSVs from bundles in the package directory, "
                "no ClusterServiceVersion object found in /x/demo/other"
            ),
        ),
    ],
)
def test_every_directory_holds_one_csv(files: dict[str, Content], message: str) -> None:
    with pytest.raises(ContentError) as caught:
        inferred({**BUNDLES, "p.yaml": TWO_CHANNELS, **files})
    assert str(caught.value) == FAILED + message


def test_an_empty_directory_is_no_bundle_either() -> None:
    with pytest.raises(ContentError, match=r"object found in /x/demo/empty$"):
        inferred({**BUNDLES, "p.yaml": TWO_CHANNELS}, "1.0.0", "empty")


@pytest.mark.parametrize("directory", [".git", "metadata"])
def test_directory_without_the_name_of_a_bundle_is_left_out(directory: str) -> None:
    """Opm fails here, from its own second run on: it writes `metadata` itself."""
    files = {**BUNDLES, "p.yaml": TWO_CHANNELS, f"{directory}/file": "a: b"}
    assert inferred(files) == of_demo("alpha,stable", "stable")


COULD_NOT = "could not decode contents into package manifest - "


@pytest.mark.parametrize(
    ("manifests", "message"),
    [
        ({}, ""),
        (
            {"p.yaml": "a: b"},
            ", error parsing /x/demo/p.yaml as package.yaml file, name of package (packageName) is missing",
        ),
        (
            {"p.yaml": "packageName: [x]"},
            (
                f", error parsing /x/demo/p.yaml as package.yaml file, {COULD_NOT}"
                "packageName must be a string, got a list"
            ),
        ),
        (
            {"p.yaml": "packageName: a\nchannels: x"},
            (
                f", error parsing /x/demo/p.yaml as package.yaml file, {COULD_NOT}"
                'channels must be a list, got string "x"'
            ),
        ),
        (
            {"a.yaml": "a: b", "p.yaml": "---\n"},
            (
                ", [error parsing /x/demo/a.yaml as package.yaml file, name of package (packageName) is missing, "
                "error parsing /x/demo/p.yaml as package.yaml file, name of package (packageName) is missing]"
            ),
        ),
    ],
)
def test_without_a_package_manifest_nothing_is_known(manifests: dict[str, Content], message: str) -> None:
    with pytest.raises(ContentError) as caught:
        inferred({**BUNDLES, **manifests})
    assert str(caught.value) == MANIFEST_FAILED + message


def test_a_manifest_that_is_no_yaml_is_told() -> None:
    with pytest.raises(
        ContentError,
        match=r"p\.yaml as package\.yaml file, could not decode contents into package manifest - yaml: line",
    ):
        inferred({**BUNDLES, "p.yaml": "packageName: ["})


def test_no_sequence_of_names_is_needed() -> None:
    """Versions are not read: names of directories and versions of bundles may be anything."""
    names: Sequence[str] = ["one", "two"]
    files: dict[str, Content] = {f"{name}/x": csv("no version", name=name) for name in names}
    assert inferred({**files, "p.yaml": manifest(("c", "two"))}, "two").channels == "c"
