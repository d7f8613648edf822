"""Objects that the check takes for those of this release are those of install.yaml."""

from pathlib import Path
from typing import Any

import yaml

from rukpak_py.apply.permissions.permission import Permission
from rukpak_py.cli.checks.shipped import operator_permissions, shipped_objects
from tests.unit.cli.checks import sound

INSTALL = Path(__file__).parents[4] / "manifests/install.yaml"
RBAC = ("rules", "roleRef", "subjects")


def key(one: dict[str, Any]) -> tuple[str, str, str, str]:
    metadata = one["metadata"]
    return one["apiVersion"], one["kind"], metadata.get("namespace", ""), metadata["name"]


def test_shipped_objects_are_those_of_the_manifest() -> None:
    installed = {key(one): one for one in yaml.load_all(INSTALL.read_text(), yaml.CSafeLoader) if one}
    shipped = {key(one): one for one in shipped_objects(sound.CLASSIC)}
    assert shipped.keys() == installed.keys()
    for name, one in shipped.items():
        assert {field: one.get(field) for field in RBAC if name[1] != "ServiceAccount"} == {
            field: installed[name].get(field) for field in RBAC if name[1] != "ServiceAccount"
        }


def test_operator_needs_no_wildcard_in_narrow_mode_and_everything_in_classic() -> None:
    everything = Permission("", "*", "*", "*")
    assert everything in operator_permissions(sound.CLASSIC)
    narrow = operator_permissions(sound.NARROW)
    assert not [one for one in narrow if one.has_wildcard]
    assert Permission("rukpak-system", "update", "", "secrets") in narrow
    assert Permission("kube-system", "get", "", "configmaps", "extension-apiserver-authentication") in narrow
