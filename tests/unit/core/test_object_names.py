"""The name of an object in messages is read back as the key it was made from."""

import re
from pathlib import Path

import pytest

import rukpak_py
from rukpak_py.core.objects import ObjectKey

KEYS = [
    ObjectKey("", "ConfigMap", "shop", "settings"),
    ObjectKey("", "Namespace", "", "shop"),
    ObjectKey("apps", "Deployment", "shop", "web"),
    ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:node"),
    ObjectKey("core.rukpak.io", "BundleDeployment", "", "shop"),
    ObjectKey("core.rukpak.io", "Thing", "", "shop"),
]
PROGRAM = Path(rukpak_py.__file__).parent
QUOTED = re.compile(
    r"""\b(?:Bundle|BundleDeployment|BundleInstance|ConfigMap|Deployment|Job|Namespace|Pod|Secret|Service) ["']\{"""
)
UPSTREAM = ("get secret ", "get configmap ")  # users match on these texts
OF_FINDINGS = PROGRAM / "formats" / "registry_v1"  # which quote documents of a bundle, as the reference validator does


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_key_is_read_from_its_own_name(key: ObjectKey) -> None:
    assert ObjectKey.parse(str(key)) == key


@pytest.mark.parametrize("name", ["", "ConfigMap", "ConfigMap ", "Deployment.apps", "Deployment/web", "a sentence."])
def test_other_words_are_no_key(name: str) -> None:
    found = ObjectKey.parse(name)
    assert found is None or str(found) == name


def test_kinds_of_our_own_group_go_without_it() -> None:
    assert str(ObjectKey("core.rukpak.io", "Bundle", "", "shop-1")) == "Bundle shop-1"
    assert str(ObjectKey("core.rukpak.io", "Thing", "", "x")) == "Thing.core.rukpak.io/x"


def test_no_message_quotes_the_name_of_an_object() -> None:
    """One notation in conditions, Events, logs and on the command line."""
    found = [
        f"{path.relative_to(PROGRAM)}: {line.strip()}"
        for path in PROGRAM.rglob("*.py")
        if not path.is_relative_to(OF_FINDINGS)
        for line in path.read_text(encoding="utf-8").splitlines()
        if QUOTED.search(line) and not any(text in line for text in UPSTREAM)
    ]
    assert found == []
