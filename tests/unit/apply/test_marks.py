"""Marks that an admission webhook took off are named; answers with all marks, and of deletions, are fine."""

from typing import Any

import pytest

from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_KIND_LABEL, OWNER_UID_ANNOTATION
from rukpak_py.apply.results import lost_marks
from tests.unit.apply.lives import LABELS_OF_OTHER, OUR_LABELS, OWNER, live, owned

OUTLIVING = {APPLIED_ANNOTATION: "sha256:1", OWNER_UID_ANNOTATION: OWNER.uid}
WHOLE: list[dict[str, Any]] = [
    owned(),
    {"labels": OUR_LABELS, "annotations": OUTLIVING},
    {"deletionTimestamp": "2026-01-01T00:00:00Z"},
]
STRIPPED: list[tuple[dict[str, Any], str]] = [
    (owned(labels={}), "owner-name"),
    (owned(labels={OWNER_KIND_LABEL: "BundleDeployment"}), "owner-name"),
    (owned(labels=LABELS_OF_OTHER), "owner-name"),
    (owned(ownerReferences=[]), "the owner,"),
    ({"labels": OUR_LABELS, "annotations": {APPLIED_ANNOTATION: "sha256:1"}}, "the owner,"),
    (owned(annotations={APPLIED_ANNOTATION: ""}), "removed the annotation core.rukpak.io/applied,"),
    ({}, "owner-name and the annotation core.rukpak.io/applied,"),
]


@pytest.mark.parametrize("answer", WHOLE)
def test_an_answer_with_all_marks(answer: dict[str, Any]) -> None:
    assert lost_marks(live(**answer), OWNER) is None


@pytest.mark.parametrize(("answer", "named"), STRIPPED)
def test_missing_mark_is_named(answer: dict[str, Any], named: str) -> None:
    failure = lost_marks(live(**answer), OWNER)
    assert failure is not None
    assert failure.message.startswith("ConfigMap ns/a: an admission webhook or policy removed ")
    assert named in failure.message
