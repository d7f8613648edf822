"""Refusals of the admission rules, with their order and their words."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.admission import (
    bundle_denials,
    config_map_created_denials,
    config_map_deleted_denials,
    denial_text,
    denials_without_look_ups,
    referenced_config_maps,
)
from rukpak_py.api.bundle import BundleSpec

GIT = {"repository": "https://example.com/a", "ref": {"tag": "v1"}}
OUTSIDE = 'bundle.spec.source.git.directory begins with "../": directory must define path within the repository'
HTTP = {"url": "https://example.com"}
NO_CONFIG_MAPS = 'bundle.spec.source.configmaps must be set for source type "configmaps"'


def spec(source: dict[str, Any], class_name: str = "core-rukpak-io-plain") -> BundleSpec:
    return msgspec.convert({"provisionerClassName": class_name, "source": source}, BundleSpec)


def git_in(directory: str) -> BundleSpec:
    return spec({"type": "git", "git": GIT | {"directory": directory}})


def config_maps(*items: tuple[str, str]) -> BundleSpec:
    listed = [{"configMap": {"name": name}, "path": path} for name, path in items]
    return spec({"type": "configMaps", "configMaps": listed})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"type": "image", "image": {"ref": "a"}}, ()),
        ({"type": "image", "git": GIT}, ('bundle.spec.source.image must be set for source type "image"',)),
        ({"type": "git", "git": GIT}, ()),
        ({"type": "git", "image": {"ref": "a"}}, ('bundle.spec.source.git must be set for source type "git"',)),
        ({"type": "configMaps"}, (NO_CONFIG_MAPS,)),
        ({"type": "configMaps", "configMaps": []}, (NO_CONFIG_MAPS,)),
        ({"type": "upload", "upload": {}}, ()),
        ({"type": "upload"}, ('bundle.spec.source.upload must be set for source type "upload"',)),
        ({"type": "upload", "http": HTTP}, ('bundle.spec.source.upload must be set for source type "upload"',)),
        ({"type": "http", "http": HTTP}, ()),
        ({"type": "http"}, ('bundle.spec.source.http must be set for source type "http"',)),
        ({"type": "http", "upload": {}}, ('bundle.spec.source.http must be set for source type "http"',)),
        ({"type": "else", "image": {"ref": "a"}}, ()),
    ],
)
def test_the_type_needs_its_member(source: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert bundle_denials(old=None, new=spec(source), immutable={}) == expected


@pytest.mark.parametrize(
    "directory", ["", ".", "./", "a", "ab", "dev/deploy", "./dev", "a/../b", "..a", "...", "/", "/a"]
)
def test_directories_inside_the_repository_pass(directory: str) -> None:
    assert bundle_denials(old=None, new=git_in(directory), immutable={}) == ()


@pytest.mark.parametrize("directory", ["..", "../", "../a", "./../a", "a/../../b", "..//a"])
def test_directories_outside_the_repository_are_refused(directory: str) -> None:
    assert bundle_denials(old=None, new=git_in(directory), immutable={}) == (OUTSIDE,)


@given(st.text(alphabet="./a\\ \x00ä", max_size=6))
def test_no_directory_crashes_the_check(directory: str) -> None:
    assert bundle_denials(old=None, new=git_in(directory), immutable={}) in {(), (OUTSIDE,)}


def test_a_changed_spec_is_refused_before_anything_else() -> None:
    denials = bundle_denials(old=git_in("a"), new=git_in("../b"), immutable={})
    assert denials == ("bundle.spec is immutable",)


def test_a_changed_class_is_refused() -> None:
    source = {"type": "upload", "upload": {}}
    assert bundle_denials(old=spec(source), new=spec(source, "core-rukpak-io-helm"), immutable={}) == (
        "bundle.spec is immutable",
    )


def test_an_update_that_means_the_same_passes() -> None:
    normalised = spec({"type": "git", "git": GIT | {"auth": {"secret": {}}}})
    assert bundle_denials(old=spec({"type": "git", "git": GIT}), new=normalised, immutable={}) == ()


NOT_IMMUTABLE = 'configmap "bad" is not immutable; set immutable: true on it'


def test_everything_wrong_with_config_maps_is_told_at_once() -> None:
    new = config_maps(("good", "manifests"), ("bad", "../up"), ("absent", ""), ("bad", "ok"))
    denials = bundle_denials(old=None, new=new, immutable={"good": True, "bad": False})
    assert denials == (
        'bundle.spec.source.configmaps[1].path is invalid: "../up" is outside bundle root',
        f"bundle.spec.source.configmaps[1].configmap.name is invalid: {NOT_IMMUTABLE}",
        f"bundle.spec.source.configmaps[3].configmap.name is invalid: {NOT_IMMUTABLE}",
    )
    assert denial_text(denials) == f"[{', '.join(denials)}]"


def test_a_single_denial_stands_alone() -> None:
    assert denial_text(("one",)) == "one"
    assert denial_text(("one", "one")) == "one"


@pytest.mark.parametrize("of_type", ["configMaps", "image"])
def test_too_many_config_maps_are_refused_before_anything_is_looked_at(of_type: str) -> None:
    items = [{"configMap": {"name": "bad"}, "path": "../up"}] * 300
    new = spec({"type": of_type, "configMaps": items, "image": {"ref": "a"}})
    expected = ("bundle.spec.source.configmaps has 300 items; at most 256 are allowed",)
    assert bundle_denials(old=None, new=new, immutable={"bad": False}) == expected
    assert denials_without_look_ups(old=None, new=new) == expected
    assert denials_without_look_ups(old=new, new=git_in("a")) == expected


def test_paths_that_no_file_system_takes_are_refused() -> None:
    assert bundle_denials(old=None, new=git_in("a/" * 3000), immutable={}) == (
        "bundle.spec.source.git.directory is invalid: it has 6000 characters; at most 4096 are allowed",
    )
    assert bundle_denials(old=None, new=config_maps(("a", ""), ("b", "x" * 5000)), immutable={}) == (
        "bundle.spec.source.configmaps[1].path is invalid: it has 5000 characters; at most 4096 are allowed",
    )


def test_a_denial_quotes_the_two_ends_of_a_long_text() -> None:
    denial = bundle_denials(old=None, new=config_maps(("a", f"../{'x' * 3000}/end")), immutable={})[0]
    assert denial.startswith('bundle.spec.source.configmaps[0].path is invalid: "../xxx')
    assert re.search(r"x … \(25[0-9]{2} characters left out\) … x", denial)
    assert denial.endswith('xxx/end" is outside bundle root')


def test_many_bundles_are_named_in_part() -> None:
    bundles = [f"b{number}" for number in range(1000)]
    (denial,) = config_map_created_denials(name="a", immutable=False, bundles=bundles)
    assert "by bundles [b0 b1 b2 " in denial
    assert denial.endswith(
        " b99 and 900 more]; referenced configmaps must have .immutable == true; set immutable: true on it"
    )


def test_only_config_map_sources_refer_to_config_maps() -> None:
    assert referenced_config_maps(config_maps(("a", ""), ("b", ""), ("a", "x"), ("", ""))) == ("a", "b")
    assert referenced_config_maps(git_in("a")) == ()


def test_a_referenced_config_map_is_created_immutable() -> None:
    [denial] = config_map_created_denials(name="c", immutable=False, bundles=["b1", "b2"])
    assert denial == (
        'configmap "c" is referenced in .spec.source.configMaps[].configMap.name by bundles [b1 b2];'
        " referenced configmaps must have .immutable == true; set immutable: true on it"
    )
    assert config_map_created_denials(name="c", immutable=True, bundles=["b1"]) == ()
    assert config_map_created_denials(name="c", immutable=False, bundles=[]) == ()


def test_a_config_map_in_use_stays() -> None:
    assert config_map_deleted_denials(name="c", bundles=["b1", "b2"]) == ('configmap "c" is in-use by bundle "b1"',)
    assert config_map_deleted_denials(name="c", bundles=[]) == ()
