"""Sentences that stand in conditions and in Events: they name objects, count the others, and say what helps."""

from dataclasses import dataclass

import pytest

from rukpak_py.controllers.deployment import texts
from rukpak_py.core.objects import ObjectKey


def keys(number: int) -> list[ObjectKey]:
    return [ObjectKey("", "ConfigMap", "ns", f"c{one}") for one in range(number)]


@dataclass(frozen=True)
class Kept:
    kind: str
    namespace: str
    name: str


HOW = 'to delete, set the annotation core.rukpak.io/prune: "true" on the object, or prune: true in spec.overrides'


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (texts.applying(1), "Applying 1 object"),
        (texts.applying(3), "Applying 3 objects"),
        (texts.reverted_drift(keys(1)), "reverted drift on 1 object: ConfigMap ns/c0"),
        (texts.reverted_drift(keys(2)), "reverted drift on 2 objects: ConfigMap ns/c0, ConfigMap ns/c1"),
        (
            texts.kept_changing({keys(2)[1]: ['"x"', '"y"'], keys(1)[0]: []}),
            (
                'somebody keeps changing ConfigMap ns/c0; "x" and "y" keep changing ConfigMap ns/c1; '
                "reverting at most once a minute. Stop it, or remove the field from the bundle"
            ),
        ),
        (
            texts.over_budget(keys(1), 0),
            (
                "1 object left the content and spec.prune.maxObjects is 0: nothing was pruned; "
                "raise it to delete ConfigMap ns/c0"
            ),
        ),
        (
            texts.held_back(keys(2)),
            (
                "2 objects that left the content are kept until the new content is healthy: "
                "ConfigMap ns/c0, ConfigMap ns/c1; set spec.prune.when to AfterApply to delete now"
            ),
        ),
        (texts.kept_text([]), ""),
        (
            texts.kept_text([Kept("Namespace", "", "shop")]),
            f"kept 1 object that left the content: Namespace shop; {HOW}",
        ),
        (
            texts.kept_text([Kept("Namespace", "", "shop"), Kept("PersistentVolumeClaim", "shop", "data")]),
            f"kept 2 objects that left the content: Namespace shop, PersistentVolumeClaim shop/data; {HOW}",
        ),
    ],
)
def test_texts(shown: str, expected: str) -> None:
    assert shown == expected
