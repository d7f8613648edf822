"""Sentences that stand in conditions and in Events: they name objects, count the others, and say what helps."""

from dataclasses import dataclass

import pytest

from rukpak_py.api.deployment_spec import Override
from rukpak_py.controllers.deployment import messages
from rukpak_py.core.objects import ObjectKey


def keys(number: int) -> list[ObjectKey]:
    return [ObjectKey("", "ConfigMap", "ns", f"c{one}") for one in range(number)]


@dataclass(frozen=True)
class Kept:
    kind: str
    namespace: str
    name: str
    reason: str = ""
    group: str = ""


HOW = (
    'deleted with the BundleDeployment; to delete earlier, set the annotation core.rukpak.io/prune: "true" on the '
    "object, or prune: true in spec.overrides"
)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (messages.applying(1), "Applying 1 object"),
        (messages.applying(3), "Applying 3 objects"),
        (messages.reverted_drift(keys(1)), "reverted drift on 1 object: ConfigMap ns/c0"),
        (messages.reverted_drift(keys(2)), "reverted drift on 2 objects: ConfigMap ns/c0, ConfigMap ns/c1"),
        (
            messages.kept_changing({keys(2)[1]: ['"x"', '"y"'], keys(1)[0]: []}),
            (
                'another client keeps changing ConfigMap ns/c0; "x" and "y" keep changing ConfigMap ns/c1; '
                "reverting at most once a minute. Stop it, remove the field from the bundle, or name it in "
                "spec.overrides[].ignore"
            ),
        ),
        (
            messages.over_budget(keys(1), 0),
            (
                "1 object is no longer in the bundle, and spec.prune.maxObjects is 0: nothing was pruned; "
                "raise it to delete ConfigMap ns/c0"
            ),
        ),
        (
            messages.held_back(keys(2)),
            (
                "2 objects no longer in the bundle are kept until the new content is healthy: "
                "ConfigMap ns/c0, ConfigMap ns/c1; set spec.prune.when to AfterApply to delete now"
            ),
        ),
        (messages.released(keys(1), ""), "left ConfigMap ns/c0 in the cluster, no longer managed"),
        (
            messages.released(keys(2), 'core.rukpak.io/prune: "false"'),
            ('left ConfigMap ns/c0, ConfigMap ns/c1 in the cluster, no longer managed (core.rukpak.io/prune: "false")'),
        ),
        (
            messages.kept_text([Kept("CustomResourceDefinition", "", "x.y", "HadInstances", "apiextensions.k8s.io")]),
            (
                "kept 1 object no longer in the bundle: CustomResourceDefinition.apiextensions.k8s.io/x.y "
                f"(its instances are gone); {HOW}"
            ),
        ),
        (messages.kept_text([]), ""),
        (
            messages.kept_text([Kept("Namespace", "", "shop")]),
            f"kept 1 object no longer in the bundle: Namespace shop; {HOW}",
        ),
        (
            messages.kept_text([Kept("Namespace", "", "shop"), Kept("PersistentVolumeClaim", "shop", "data")]),
            f"kept 2 objects no longer in the bundle: Namespace shop, PersistentVolumeClaim shop/data; {HOW}",
        ),
    ],
)
def test_messages_have_their_texts(shown: str, expected: str) -> None:
    assert shown == expected


CHECK = "matches no object of the bundle and no kept object; check kind, namespace and name, or remove the entry"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Override(kind="ConfigMap", namespace="ns", name="c0"), []),
        (Override(kind="ConfigMap", name="c0"), []),  # in the install namespace
        (Override(kind="Namespace", name="shop"), []),
        (Override(kind="ConfigMap", namespace="other", name="c0"), [f"(ConfigMap other/c0) {CHECK}"]),
        (Override(kind="Configmap", namespace="ns", name="c0"), [f"(Configmap ns/c0) {CHECK}"]),
        (Override(group="apps", kind="ConfigMap", name="c0"), [f"(ConfigMap.apps/c0) {CHECK}"]),
        (Override(kind="Namespace", name="shops"), [f"(Namespace shops) {CHECK}"]),
    ],
)
def test_an_override_that_is_about_nothing_is_told(given: Override, expected: list[str]) -> None:
    there = [*keys(1), ObjectKey("", "Namespace", "", "shop")]
    matching = Override(kind="ConfigMap", name="c0")
    found = messages.unmatched_overrides([matching, given], there, "ns")
    assert found == [f"spec.overrides[1] {text}" for text in expected]


def test_many_of_them_are_counted() -> None:
    overrides = [Override(kind="ConfigMap", name=f"x{number}") for number in range(13)]
    found = messages.unmatched_overrides(overrides, [], "ns")
    assert len(found) == 11
    assert found[-1] == "spec.overrides[]: 3 more entries match nothing"
