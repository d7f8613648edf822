"""Content of another class than the one that was given: which class it is for."""

from collections.abc import Callable

import pytest

from rukpak_py.content.tree import Tree
from rukpak_py.core.findings import InvalidBundleError
from rukpak_py.formats.helm.format import HelmFormat
from rukpak_py.formats.plain import PlainFormat
from rukpak_py.formats.registry_v1.read import read
from tests.unit.bundles import bundle, tree_of
from tests.unit.charts import chart

CONFIG_MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
PLAIN, LONE = {"manifests/a.yaml": CONFIG_MAP}, {"a.yaml": CONFIG_MAP}
CHART = "Chart.yaml makes the content a Helm chart: set both provisioner classes to core-rukpak-io-helm"
FOR_PLAIN = "for plain manifests set both provisioner classes to core-rukpak-io-plain"
FOR_OLM = "for an OLM bundle set both provisioner classes to core-rukpak-io-registry"
WHERE = "Chart.yaml must be at the root of the content, or in the one directory that the root has."


def plain(tree: Tree) -> None:
    PlainFormat().check(tree)


def helm(tree: Tree) -> None:
    HelmFormat().check(tree)


def registry(tree: Tree) -> None:
    read(tree).complete()


@pytest.mark.parametrize(
    ("check", "tree", "hint"),
    [
        (plain, tree_of({"Chart.yaml": "name: web"}), CHART),
        (plain, tree_of({"web/Chart.yaml": "name: web", "web/manifests/a": ""}), CHART),
        (registry, chart(), CHART),
        (helm, tree_of(PLAIN), FOR_PLAIN),
        (helm, tree_of(LONE), FOR_PLAIN),
        (helm, bundle(), FOR_OLM),
        (helm, tree_of({"a/b/Chart.yaml": "name: web", "README.md": "x"}), WHERE),
        (registry, tree_of(PLAIN), FOR_PLAIN),
        (registry, tree_of({"metadata/x": "", **PLAIN}), FOR_PLAIN),
    ],
)
def test_the_hint_names_the_class(check: Callable[[Tree], None], tree: Tree, hint: str) -> None:
    with pytest.raises(InvalidBundleError) as refused:
        check(tree)
    assert refused.value.findings[0].hint == hint
