"""Messages about a field that never changes and would have to: which objects may be deleted for it, and what helps."""

from typing import Any

import pytest

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.names import OWNER_UID_ANNOTATION, PRUNE_ANNOTATION
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.plan import Change, decide
from rukpak_py.apply.replacing import REPLACE, advice, why_not_deleted, why_replaced
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.kube.errors import Cause, ErrorAnswer, InvalidError
from tests.unit.apply.lives import OUR_LABELS, OWNER, desired, live, owned

CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
OUTLIVES = {"ownerReferences": [], "labels": OUR_LABELS}
CLAIM_NOT_DELETED = "and is not deleted: restore the old value"
NOT_DELETED = f"{CLAIM_NOT_DELETED}, or delete it yourself"


def wanted(gvk: GroupVersionKind, **annotations: str) -> Desired:
    metadata = {"name": "a", "namespace": "ns", "annotations": annotations}
    return desired({"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata})


def change(gvk: GroupVersionKind, *, is_ours: bool = True, outlives: bool = False, **annotations: str) -> Change:
    marks: dict[str, Any] = {"annotations": {OWNER_UID_ANNOTATION: OWNER.uid}, **OUTLIVES} if outlives else {}
    fields = owned(**marks) if is_ours else {}
    seen = live(**{**fields, "gvk": gvk})
    names = {"force": "core.rukpak.io/force", "prune": PRUNE_ANNOTATION}
    given = wanted(gvk, **{names[name]: value for name, value in annotations.items()})
    return decide(given, seen, owner=OWNER, adopt=Adopt.IF_UNOWNED, fields=None)


@pytest.mark.parametrize(
    ("given", "why", "expected"),
    [
        (change(CONFIG_MAP), "", REPLACE),
        (change(CLAIM), "", "set force for it in spec.overrides to delete and re-create it; its data is lost with it"),
        (change(CONFIG_MAP, force="true"), "", ""),
        (
            change(CONFIG_MAP, is_ours=False, force="true"),
            "it existed before this BundleDeployment",
            f"it existed before this BundleDeployment {NOT_DELETED}",
        ),
        (
            change(CLAIM, outlives=True, force="true"),
            "it is a PersistentVolumeClaim that existed before this BundleDeployment",
            f"it is a PersistentVolumeClaim that existed before this BundleDeployment {CLAIM_NOT_DELETED}",
        ),
        (
            change(CONFIG_MAP, outlives=True, force="true", prune="false"),
            'it is marked core.rukpak.io/prune: "false"',
            f'it is marked core.rukpak.io/prune: "false" {NOT_DELETED}',
        ),
    ],
    ids=["ours", "claim", "forced", "being adopted", "adopted claim", "never pruned"],
)
def test_advice_depends_on_the_former_owner(given: Change, why: str, expected: str) -> None:
    assert (why_not_deleted(given), advice(given)) == (why, expected)


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ([("spec.selector", "Invalid value: {}: field is immutable")], "spec.selector is immutable"),
        (
            [("spec.a", "field is immutable"), ("spec.b", "may not change once set"), ("spec.a", "field is immutable")],
            "spec.a, spec.b are immutable",
        ),
    ],
)
def test_a_replacement_says_why(causes: list[tuple[str, str]], expected: str) -> None:
    refusal = ErrorAnswer(
        subject="s",
        status=422,
        reason="Invalid",
        message="m",
        causes=[Cause(field=field, message=message) for field, message in causes],
    )
    assert why_replaced(InvalidError(refusal)) == expected
