"""The design's table of ownership, cell by cell, and what `live_of` makes of hostile metadata."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.bundle_deployment import Adopt
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
)
from rukpak_py.apply.live import live_of
from rukpak_py.apply.ownership import Situation, may_take, refusal, situation
from tests.unit.apply.lives import (
    CONFIG_MAP,
    DEPLOYMENT_REFERENCE,
    LABELS_OF_OTHER,
    OTHER,
    OUR_LABELS,
    OWNER,
    REPLICA_SET,
    key,
    live,
    managed,
    metadata,
    owned,
)

UID_ONLY = {"annotations": {OWNER_UID_ANNOTATION: OWNER.uid}}
SITUATIONS: list[tuple[str, dict[str, Any], Situation]] = [
    ("controlled by us", owned(), Situation.OURS),
    ("controlled by us, labels stripped", {"ownerReferences": [OWNER.reference]}, Situation.OURS),
    ("controlled by us, labels of another", owned(labels=LABELS_OF_OTHER), Situation.OURS),
    ("outliving us", {"labels": OUR_LABELS, **UID_ONLY}, Situation.OURS),
    ("our labels, no controller", {"labels": OUR_LABELS}, Situation.OURS_BY_LABEL),
    (
        "our labels, of a deployment of our name that is gone",
        {"labels": OUR_LABELS, "annotations": {OWNER_UID_ANNOTATION: "former uid"}},
        Situation.OURS_BY_LABEL,
    ),
    ("controlled by another", owned(by=OTHER), Situation.OTHER_DEPLOYMENT),
    (
        "controlled by our name with another uid",
        owned(by=OWNER.__class__(name=OWNER.name, uid="new")),
        Situation.OTHER_DEPLOYMENT,
    ),
    ("labels of another", {"labels": LABELS_OF_OTHER}, Situation.OTHER_DEPLOYMENT),
    (
        "outliving another",
        {"labels": LABELS_OF_OTHER, "annotations": {OWNER_UID_ANNOTATION: OTHER.uid}},
        Situation.OTHER_DEPLOYMENT,
    ),
    ("another controller", {"ownerReferences": [REPLICA_SET]}, Situation.OTHER_CONTROLLER),
    (
        "another controller and our labels",
        {"ownerReferences": [REPLICA_SET], "labels": OUR_LABELS},
        Situation.OTHER_CONTROLLER,
    ),
    (
        "another controller and our uid",
        {"ownerReferences": [REPLICA_SET], "labels": OUR_LABELS, **UID_ONLY},
        Situation.OTHER_CONTROLLER,
    ),
    ("nobody's", {}, Situation.UNOWNED),
    ("our uid without our labels", UID_ONLY, Situation.UNOWNED),
    ("an owner that is no controller", {"ownerReferences": [{**REPLICA_SET, "controller": False}]}, Situation.UNOWNED),
    (
        "our reference, not as controller",
        {"ownerReferences": [{**OWNER.reference, "controller": False}]},
        Situation.UNOWNED,
    ),
    ("the kind label alone", {"labels": {OWNER_KIND_LABEL: "BundleDeployment"}}, Situation.UNOWNED),
    ("the name label alone", {"labels": {OWNER_NAME_LABEL: OWNER.name}}, Situation.UNOWNED),
    ("labels of a Bundle", {"labels": {OWNER_KIND_LABEL: "Bundle", OWNER_NAME_LABEL: OWNER.name}}, Situation.UNOWNED),
    (
        "our kind in another group",
        {"ownerReferences": [{**OWNER.reference, "apiVersion": "core.example.org/v1"}]},
        Situation.OTHER_CONTROLLER,
    ),
    (
        "our kind in a later version",
        {"ownerReferences": [{**OWNER.reference, "apiVersion": "core.rukpak.io/v1"}]},
        Situation.OURS,
    ),
]
TABLE = [
    (Situation.OURS_BY_LABEL, True, True),
    (Situation.OTHER_DEPLOYMENT, False, False),
    (Situation.OTHER_CONTROLLER, False, False),
    (Situation.UNOWNED, False, True),
]


@pytest.mark.parametrize(("fields", "expected"), [pytest.param(*rest, id=name) for name, *rest in SITUATIONS])
def test_the_situation_of_an_object(fields: dict[str, Any], expected: Situation) -> None:
    assert situation(live(**{"name": "a", **fields}), OWNER) is expected


def test_a_name_that_nobody_has_is_free() -> None:
    assert situation(None, OWNER) is Situation.ABSENT


@pytest.mark.parametrize(("found", "never", "if_unowned"), TABLE)
def test_what_may_be_taken(found: Situation, *, never: bool, if_unowned: bool) -> None:
    assert may_take(found, Adopt.NEVER) is never
    assert may_take(found, Adopt.IF_UNOWNED) is if_unowned


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (owned(by=OTHER), ['BundleDeployment "other"', "remove it"]),
        ({"labels": LABELS_OF_OTHER}, ['BundleDeployment "other"', "remove it"]),
        ({"ownerReferences": [REPLICA_SET]}, ['ReplicaSet "rs"', "remove it from the bundle"]),
        ({}, ["belongs to nobody", "spec.adopt", "IfUnowned"]),
    ],
)
def test_a_refusal_names_the_object_the_owner_and_the_way_out(fields: dict[str, Any], named: list[str]) -> None:
    one = live(**{"name": "a", **fields})
    text = refusal(one, situation(one, OWNER), OWNER)
    assert text.startswith("ConfigMap ns/a ")
    assert all(word in text for word in named)


WORDS = st.sampled_from(
    ["", OWNER.name, OWNER.uid, OTHER.uid, "BundleDeployment", "true", "false", "x" * 300, "\u2028", "-1"]
)
KEYS = st.sampled_from(
    [OWNER_KIND_LABEL, OWNER_NAME_LABEL, OWNER_UID_ANNOTATION, APPLIED_ANNOTATION, PRUNE_ANNOTATION, "x"]
)
REFERENCES = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "core.rukpak.io/v1alpha1", "", "/"]),
        "kind": WORDS,
        "name": WORDS,
        "uid": WORDS,
    },
    optional={"controller": st.none() | st.booleans()},
)


@given(
    labels=st.none() | st.dictionaries(KEYS, WORDS),
    annotations=st.none() | st.dictionaries(KEYS, WORDS),
    references=st.none() | st.lists(REFERENCES, max_size=3),
)
def test_only_a_controller_or_our_annotation_beside_our_labels_makes_an_owner(
    labels: dict[str, str] | None, annotations: dict[str, str] | None, references: list[dict[str, Any]] | None
) -> None:
    seen = metadata(labels=labels, annotations=annotations, ownerReferences=references)
    one = live_of(key(), CONFIG_MAP, seen)
    controller = next((reference for reference in references or [] if reference.get("controller")), None)
    if controller is not None:
        is_deployment = all(controller[name] == value for name, value in DEPLOYMENT_REFERENCE.items())
        assert one.owner_uid == (controller["uid"] if is_deployment else "")
        assert not one.outlives
    elif one.owner_uid:
        assert labels
        assert labels[OWNER_KIND_LABEL] == "BundleDeployment"
        assert labels[OWNER_NAME_LABEL]
        assert (annotations or {})[OWNER_UID_ANNOTATION] == one.owner_uid
        assert one.outlives
    assert one.never_prune is ((annotations or {}).get(PRUNE_ANNOTATION) == "false")


@pytest.mark.parametrize(
    ("entries", "counts"),
    [
        ([managed(OWNER)], True),
        ([managed(OTHER), managed(OWNER)], True),
        ([managed(OTHER)], False),
        ([managed(OWNER, operation="Update")], False),
        ([managed(OWNER, subresource="status")], False),
        ([], False),
    ],
)
def test_only_our_own_apply_entry_tells_our_fields(entries: list[dict[str, Any]], *, counts: bool) -> None:
    assert bool(live(**owned(managedFields=entries)).fields) is counts


def test_other_entries_do_not_change_the_hash_of_ours() -> None:
    alone = live(**owned(managedFields=[managed(OWNER)]))
    among = live(**owned(managedFields=[managed(OTHER, {"f:x": {}}), managed(OWNER), {"manager": "kubectl"}]))
    assert alone.fields == among.fields


def test_the_manager_is_the_one_of_the_controller_not_of_the_labels() -> None:
    """Else whoever changes a label hides the drift."""
    assert live(**owned(labels=LABELS_OF_OTHER)).fields == live(**owned()).fields != ""
