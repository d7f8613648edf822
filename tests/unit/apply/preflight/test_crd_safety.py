"""The gate of CRD upgrades: which changes it is asked about, and what a review makes of the upgrade."""

from typing import Any

import pytest

from rukpak_py.api.deployment_spec import CrdSafety
from rukpak_py.apply.crd_review import NAMED_STATEMENTS, CrdReview, review_upgrade
from rukpak_py.apply.crd_safety.definition import UnreadableDefinitionError
from rukpak_py.apply.preflight.crd_safety import refusal, warning
from rukpak_py.apply.results import FailureKind
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError
from rukpak_py.kube.resources import CRDS
from tests.manifests import crd, strings

KEY = CRDS.key("", "things.a.test")
NAME = KEY.name
LOSES = ("spec.color: a value that the schema does not have is dropped (version v1, 1 object: one)",)
BREAKS = ("spec.size: Required value (version v1, 1 object: one)",)
NO_CLIENT: Any = None


@pytest.mark.parametrize(
    ("review", "safety", "is_refused"),
    [
        (CrdReview(name=NAME), CrdSafety.ENFORCE, False),
        (CrdReview(name=NAME, warns=BREAKS), CrdSafety.ENFORCE, False),
        (CrdReview(name=NAME, breaks=BREAKS), CrdSafety.ENFORCE, True),
        (CrdReview(name=NAME, breaks=BREAKS), CrdSafety.WARN, False),
        (CrdReview(name=NAME, loses=LOSES), CrdSafety.ENFORCE, True),
        (CrdReview(name=NAME, loses=LOSES), CrdSafety.WARN, True),
        (CrdReview(name=NAME, loses=("no",), refused_for_itself=True), CrdSafety.WARN, True),
    ],
)
def test_only_what_breaks_objects_passes_with_warn(review: CrdReview, safety: CrdSafety, *, is_refused: bool) -> None:
    assert (refusal(KEY, review, safety) is not None) is is_refused


def test_a_refusal_has_the_words_of_the_original_the_offenders_and_the_way_out() -> None:
    found = refusal(KEY, CrdReview(name=NAME, breaks=BREAKS, not_checked=("v1: spec: CEL",)), CrdSafety.ENFORCE)
    assert found is not None
    assert found.message == (
        f'{KEY}: error validating existing CRs against new CRD\'s schema for "{NAME}": {BREAKS[0]}; v1: spec: CEL; '
        "repair these objects, or set spec.crdSafety: Warn"
    )


def test_objects_that_cannot_be_listed_refuse_the_upgrade_by_name() -> None:
    answer = 'cannot list resource "things"'
    error = ForbiddenError(ErrorAnswer(subject="list Thing.a.test", status=403, message=answer))
    for safety in CrdSafety:
        found = refusal(KEY, CrdReview(name=NAME, unlisted=error), safety)
        assert found is not None
        assert found.kind is FailureKind.ACCESS
        assert answer in found.message


def test_a_warning_names_a_bounded_number_of_statements() -> None:
    review = CrdReview(name=NAME, warns=tuple(f"spec.f{number}: no" for number in range(NAMED_STATEMENTS + 2)))
    assert warning(KEY, review).endswith(f"spec.f{NAMED_STATEMENTS - 1}: no; and 2 more")
    assert warning(KEY, CrdReview(name=NAME)) == ""


async def test_a_removed_stored_version_needs_no_list() -> None:
    old = {**crd("a.test", "v1", "v2"), "status": {"storedVersions": ["v1", "v2"]}}
    review = await review_upgrade(NO_CLIENT, old, crd("a.test", "v3"))
    assert (review.loses, review.refused_for_itself) == (("cannot remove stored versions [v1 v2]",), True)


async def test_a_wider_schema_needs_no_list() -> None:
    review = await review_upgrade(
        NO_CLIENT, crd("a.test", schema=strings("a")), crd("a.test", schema=strings("a", "b"))
    )
    assert review == CrdReview(name="things.a.test")


@pytest.mark.parametrize("switched_off", ["old", "new"])
async def test_the_annotation_switches_the_review_off(switched_off: str) -> None:
    crds = {"old": crd("a.test", "v1"), "new": crd("a.test", "v2")}
    crds[switched_off]["metadata"]["annotations"] = {"core.rukpak.io/safe-crd-upgrade-validation": "false"}
    assert await review_upgrade(NO_CLIENT, crds["old"], crds["new"]) == CrdReview(name="things.a.test")


async def test_a_crd_that_nests_too_deeply_cannot_be_reviewed() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(UnreadableDefinitionError):
        await review_upgrade(NO_CLIENT, crd("a.test"), crd("a.test", schema=schema))
