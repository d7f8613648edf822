"""Two specs are equal when they mean the same, whatever they leave out."""

from typing import Any

import msgspec
import pytest

from rukpak_py.api.bundle import BundleSpec
from rukpak_py.api.template_hash import spec_digest, specs_equal

GIT = {"repository": "https://example.com/a", "ref": {"tag": "v1"}}


def spec(source: dict[str, Any], class_name: str = "core-rukpak-io-plain") -> BundleSpec:
    return msgspec.convert({"provisionerClassName": class_name, "source": source}, BundleSpec)


@pytest.mark.parametrize(
    "other",
    [
        {"type": "git", "git": GIT | {"auth": {}}},
        {"type": "git", "git": GIT | {"auth": {"secret": {}}}},
        {"type": "git", "git": GIT | {"auth": {"secret": {"name": ""}, "insecureSkipVerify": False}}},
        {"type": "git", "git": GIT | {"directory": ""}},
        {"type": "git", "git": GIT, "configMaps": []},
    ],
)
def test_absent_and_empty_are_equal(other: dict[str, Any]) -> None:
    one = spec({"type": "git", "git": GIT})
    assert specs_equal(one, spec(other))
    assert spec_digest(one) == spec_digest(spec(other))


@pytest.mark.parametrize(
    "other",
    [
        {"type": "git", "git": GIT | {"directory": "x"}},
        {"type": "git", "git": GIT | {"auth": {"secret": {"name": "s"}}}},
        {"type": "git", "git": GIT | {"caBundle": "PEM"}},
        {"type": "git", "git": GIT, "upload": {}},
        {"type": "image", "git": GIT},
    ],
)
def test_specs_with_another_meaning_are_not_equal(other: dict[str, Any]) -> None:
    one = spec({"type": "git", "git": GIT})
    assert not specs_equal(one, spec(other))
    assert spec_digest(one) != spec_digest(spec(other))


def test_the_order_of_config_maps_counts() -> None:
    items = [{"configMap": {"name": "a"}}, {"configMap": {"name": "b"}}]
    one = spec({"type": "configMaps", "configMaps": items})
    assert not specs_equal(one, spec({"type": "configMaps", "configMaps": items[::-1]}))


def test_a_digest_names_its_algorithm() -> None:
    assert spec_digest(spec({"type": "upload", "upload": {}})).startswith("sha256:")
