"""Sentences that stand in conditions and in Events: they name objects, count the others, and say what helps."""

import pytest

from rukpak_py.api.deployment_spec import Override
from rukpak_py.controllers.result import object_details as details
from rukpak_py.controllers.result.deployment_details import Applying
from rukpak_py.core.objects import ObjectKey


def keys(number: int) -> tuple[ObjectKey, ...]:
    return tuple(ObjectKey("", "ConfigMap", "ns", f"c{one}") for one in range(number))


NAMESPACE = details.KeptObject(kind="Namespace", namespace="", name="shop", reason="")
CLAIM = details.KeptObject(kind="PersistentVolumeClaim", namespace="shop", name="data", reason="")
CRD = details.KeptObject(
    group="apiextensions.k8s.io",
    kind="CustomResourceDefinition",
    namespace="",
    name="x.y",
    reason="HadInstances",
)
HOW = (
    'deleted with the BundleDeployment; to delete earlier, set the annotation core.rukpak.io/prune: "true" on the '
    "object, or prune: true in spec.overrides"
)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (Applying(number=1).text(()), "Applying 1 object"),
        (Applying(number=3).text(()), "Applying 3 objects"),
        (details.RevertedDrift().text(keys(1)), "reverted drift on 1 object: ConfigMap ns/c0"),
        (details.RevertedDrift().text(keys(2)), "reverted drift on 2 objects: ConfigMap ns/c0, ConfigMap ns/c1"),
        (
            details.ContestedFields(managers=((), ('"x"', '"y"'))).text(keys(2)),
            (
                'another client keeps changing ConfigMap ns/c0; "x" and "y" keep changing ConfigMap ns/c1; '
                "reverting at most once a minute. Stop it, remove the field from the bundle, or name it in "
                "spec.overrides[].ignore"
            ),
        ),
        (
            details.OverBudget(most=0).text(keys(1)),
            (
                "1 object is no longer in the bundle, and spec.prune.maxObjects is 0: nothing was pruned; "
                "raise it to delete ConfigMap ns/c0"
            ),
        ),
        (
            details.HeldBack().text(keys(2)),
            (
                "2 objects no longer in the bundle are kept until the new content is healthy: "
                "ConfigMap ns/c0, ConfigMap ns/c1; set spec.prune.when to AfterApply to delete now"
            ),
        ),
        (details.Released().text(keys(1)), "left ConfigMap ns/c0 in the cluster, no longer managed"),
        (
            details.Released(why='core.rukpak.io/prune: "false"').text(keys(2)),
            ('left ConfigMap ns/c0, ConfigMap ns/c1 in the cluster, no longer managed (core.rukpak.io/prune: "false")'),
        ),
        (
            details.Kept(kept=(CRD,)).text(()),
            (
                "kept 1 object no longer in the bundle: CustomResourceDefinition.apiextensions.k8s.io/x.y "
                f"(its instances are gone); {HOW}"
            ),
        ),
        (
            details.Kept(kept=(NAMESPACE,)).text(()),
            f"kept 1 object no longer in the bundle: Namespace shop; {HOW}",
        ),
        (
            details.Kept(kept=(NAMESPACE, CLAIM)).text(()),
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
    found = details.unmatched_overrides([matching, given], there, "ns")
    assert found == [f"spec.overrides[1] {text}" for text in expected]


def test_many_of_them_are_counted() -> None:
    overrides = [Override(kind="ConfigMap", name=f"x{number}") for number in range(13)]
    found = details.unmatched_overrides(overrides, [], "ns")
    assert len(found) == 11
    assert found[-1] == "spec.overrides[]: 3 more entries match nothing"
