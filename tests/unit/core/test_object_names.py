"""The name of an object in messages is read back as the key it was made from."""

import pytest

from rukpak_py.core.objects import ObjectKey

KEYS = [
    ObjectKey("", "ConfigMap", "shop", "settings"),
    ObjectKey("", "Namespace", "", "shop"),
    ObjectKey("apps", "Deployment", "shop", "web"),
    ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:node"),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_key_is_read_from_its_own_name(key: ObjectKey) -> None:
    assert ObjectKey.parse(str(key)) == key


@pytest.mark.parametrize("name", ["", "ConfigMap", "ConfigMap ", "Deployment.apps", "Deployment/web", "a sentence."])
def test_other_words_are_no_key(name: str) -> None:
    found = ObjectKey.parse(name)
    assert found is None or str(found) == name
