"""The table of ownership, cell by cell, and what `observed_object` makes of hostile metadata."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.deployment_spec import Adopt
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
    RELEASED_ANNOTATION,
)
from rukpak_py.apply.marks import Owner, released_mark
from rukpak_py.apply.observed_object import observed_object
from rukpak_py.apply.ownership import OwnershipSituation, adopted, may_take, refusal, situation
from rukpak_py.apply.read_live import deployments_to_ask_for
from rukpak_py.core.objects import GroupVersionKind
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

MISSING = "renamed"
LABELS_OF_MISSING = {OWNER_KIND_LABEL: "BundleDeployment", OWNER_NAME_LABEL: MISSING}
BY_HELM = {"app.kubernetes.io/managed-by": "Helm"}
UID_ONLY = {"annotations": {OWNER_UID_ANNOTATION: OWNER.uid}}
HELM_LABEL = '"Helm" (label app.kubernetes.io/managed-by)'


def released(*, by: str = OWNER.uid, name: str = "a", uid: str = "u", tool: str = "", **fields: Any) -> dict[str, Any]:
    """An object that a deployment of this uid left in the cluster, when it had this key, uid and tool."""
    return {"annotations": {RELEASED_ANNOTATION: released_mark(by, key(name), uid, tool)}, **fields}


SITUATIONS: list[tuple[str, dict[str, Any], OwnershipSituation]] = [
    ("controlled by us", owned(), OwnershipSituation.OURS),
    ("controlled by us, labels stripped", {"ownerReferences": [OWNER.reference]}, OwnershipSituation.OURS),
    ("controlled by us, labels of another", owned(labels=LABELS_OF_OTHER), OwnershipSituation.OURS),
    ("outliving us", {"labels": OUR_LABELS, **UID_ONLY}, OwnershipSituation.OURS),
    ("our labels, no controller", {"labels": OUR_LABELS}, OwnershipSituation.OURS_BY_LABEL),
    (
        "our labels, of a deployment of our name that is gone",
        {"labels": OUR_LABELS, "annotations": {OWNER_UID_ANNOTATION: "former uid"}},
        OwnershipSituation.OURS_BY_LABEL,
    ),
    ("controlled by another", owned(by=OTHER), OwnershipSituation.OTHER_DEPLOYMENT),
    (
        "controlled by our name with another uid",
        owned(by=OWNER.__class__(name=OWNER.name, uid="new")),
        OwnershipSituation.OTHER_DEPLOYMENT,
    ),
    ("labels of another", {"labels": LABELS_OF_OTHER}, OwnershipSituation.OTHER_DEPLOYMENT),
    (
        "outliving another",
        {"labels": LABELS_OF_OTHER, "annotations": {OWNER_UID_ANNOTATION: OTHER.uid}},
        OwnershipSituation.OTHER_DEPLOYMENT,
    ),
    ("labels of a missing one", {"labels": LABELS_OF_MISSING}, OwnershipSituation.MISSING_DEPLOYMENT),
    (
        "outliving a missing one",
        {"labels": LABELS_OF_MISSING, "annotations": {OWNER_UID_ANNOTATION: "gone"}},
        OwnershipSituation.MISSING_DEPLOYMENT,
    ),
    (
        "labels of a missing one, and Helm's",
        {"labels": LABELS_OF_MISSING | BY_HELM},
        OwnershipSituation.MISSING_DEPLOYMENT,
    ),
    (
        "labels of a missing one, controlled by it still",
        owned(by=OTHER, labels=LABELS_OF_MISSING),
        OwnershipSituation.OTHER_DEPLOYMENT,
    ),
    ("another tool's", {"labels": BY_HELM}, OwnershipSituation.OTHER_TOOL),
    ("our labels, and Helm's", {"labels": OUR_LABELS | BY_HELM}, OwnershipSituation.OURS_BY_LABEL),
    ("another controller", {"ownerReferences": [REPLICA_SET]}, OwnershipSituation.OTHER_CONTROLLER),
    (
        "another controller, and Helm",
        {"ownerReferences": [REPLICA_SET], "labels": BY_HELM},
        OwnershipSituation.OTHER_CONTROLLER,
    ),
    (
        "another controller and our labels",
        {"ownerReferences": [REPLICA_SET], "labels": OUR_LABELS},
        OwnershipSituation.OTHER_CONTROLLER,
    ),
    (
        "another controller and our uid",
        {"ownerReferences": [REPLICA_SET], "labels": OUR_LABELS, **UID_ONLY},
        OwnershipSituation.OTHER_CONTROLLER,
    ),
    ("released by us", released(), OwnershipSituation.RELEASED),
    ("released by us, and of a chart", released(tool=HELM_LABEL, labels=BY_HELM), OwnershipSituation.RELEASED),
    ("released by us, since taken by Helm", released(labels=BY_HELM), OwnershipSituation.OTHER_TOOL),
    ("released by us, since controlled", released(ownerReferences=[REPLICA_SET]), OwnershipSituation.OTHER_CONTROLLER),
    ("released by us, since another's", released(labels=LABELS_OF_OTHER), OwnershipSituation.OTHER_DEPLOYMENT),
    ("released by us, made anew", released(uid="another"), OwnershipSituation.UNOWNED),
    ("a copy of it under another name", released(name="b"), OwnershipSituation.UNOWNED),
    ("released by a former one of our name", released(by="former"), OwnershipSituation.UNOWNED),
    ("nobody's", {}, OwnershipSituation.UNOWNED),
    ("our uid without our labels", UID_ONLY, OwnershipSituation.UNOWNED),
    (
        "an owner that is no controller",
        {"ownerReferences": [{**REPLICA_SET, "controller": False}]},
        OwnershipSituation.UNOWNED,
    ),
    (
        "our reference, not as controller",
        {"ownerReferences": [{**OWNER.reference, "controller": False}]},
        OwnershipSituation.UNOWNED,
    ),
    ("the kind label alone", {"labels": {OWNER_KIND_LABEL: "BundleDeployment"}}, OwnershipSituation.UNOWNED),
    ("the name label alone", {"labels": {OWNER_NAME_LABEL: OWNER.name}}, OwnershipSituation.UNOWNED),
    (
        "labels of a Bundle",
        {"labels": {OWNER_KIND_LABEL: "Bundle", OWNER_NAME_LABEL: OWNER.name}},
        OwnershipSituation.UNOWNED,
    ),
    (
        "our kind in another group",
        {"ownerReferences": [{**OWNER.reference, "apiVersion": "core.example.org/v1"}]},
        OwnershipSituation.OTHER_CONTROLLER,
    ),
    (
        "our kind in a later version",
        {"ownerReferences": [{**OWNER.reference, "apiVersion": "core.rukpak.io/v1"}]},
        OwnershipSituation.OURS,
    ),
]
TABLE = [
    (OwnershipSituation.OURS_BY_LABEL, True, True, True),
    (OwnershipSituation.RELEASED, True, True, True),
    (OwnershipSituation.OTHER_DEPLOYMENT, False, False, False),
    (OwnershipSituation.OTHER_CONTROLLER, False, False, False),
    (OwnershipSituation.MISSING_DEPLOYMENT, False, True, True),
    (OwnershipSituation.OTHER_TOOL, False, False, True),
    (OwnershipSituation.UNOWNED, False, True, True),
]


@pytest.mark.parametrize(("fields", "expected"), [pytest.param(*rest, id=name) for name, *rest in SITUATIONS])
def test_the_situation_of_an_object(fields: dict[str, Any], expected: OwnershipSituation) -> None:
    assert situation(live(**{"name": "a", **fields}), OWNER, {MISSING}) is expected


def test_name_without_an_object_is_free() -> None:
    assert situation(None, OWNER) is OwnershipSituation.ABSENT


@pytest.mark.parametrize(("found", "never", "if_unowned", "force"), TABLE)
def test_object_is_taken_by_its_situation_and_adopt(
    found: OwnershipSituation, *, never: bool, if_unowned: bool, force: bool
) -> None:
    assert may_take(found, Adopt.NEVER) is never
    assert may_take(found, Adopt.IF_UNOWNED) is if_unowned
    assert may_take(found, Adopt.FORCE) is force


def test_deployment_that_was_not_looked_up_counts_as_existing() -> None:
    assert situation(live(labels=LABELS_OF_MISSING), OWNER) is OwnershipSituation.OTHER_DEPLOYMENT


def test_only_names_that_labels_alone_carry_are_asked_for_and_each_once() -> None:
    lives = [
        live("a", labels=LABELS_OF_OTHER),
        live("b", labels=LABELS_OF_OTHER),
        live("c", labels=LABELS_OF_MISSING),
        live("d", labels=OUR_LABELS),
        live(**owned("e")),
        live(**owned("f", by=Owner(name="controls", uid="u"))),
        live("g", labels=LABELS_OF_OTHER, ownerReferences=[REPLICA_SET]),
        live("h"),
    ]
    assert deployments_to_ask_for(lives, OWNER) == {OTHER.name, MISSING}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (owned(by=OTHER), ["BundleDeployment other", "remove it"]),
        ({"labels": LABELS_OF_OTHER}, ["BundleDeployment other", "remove it"]),
        ({"ownerReferences": [REPLICA_SET]}, ["ReplicaSet.apps/rs", "remove it from the bundle"]),
        (
            {"labels": LABELS_OF_MISSING},
            ["BundleDeployment renamed, which does not exist", "spec.adopt to IfUnowned"],
        ),
        ({"labels": BY_HELM}, ['managed by "Helm"', "remove it from the bundle", "spec.adopt to Force"]),
        ({}, ["is not managed by anyone", "delete it", "spec.adopt to IfUnowned"]),
    ],
)
def test_a_refusal_names_the_object_the_owner_and_the_way_out(fields: dict[str, Any], named: list[str]) -> None:
    one = live(**{"name": "a", **fields})
    text = refusal(one, situation(one, OWNER, {MISSING}), OWNER)
    assert text.startswith("ConfigMap ns/a ")
    assert all(word in text for word in named)


@pytest.mark.parametrize("kind", ["Namespace", "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition"])
@pytest.mark.parametrize(
    "fields",
    [
        owned(by=OTHER),
        {"labels": LABELS_OF_OTHER},
        {"ownerReferences": [REPLICA_SET]},
        {"labels": LABELS_OF_MISSING},
        {"labels": BY_HELM},
        {},
    ],
)
def test_no_refusal_advises_to_delete_what_holds_things_of_others(kind: str, fields: dict[str, Any]) -> None:
    group = "apiextensions.k8s.io" if kind == "CustomResourceDefinition" else ""
    one = live(**{"name": "a", "gvk": GroupVersionKind(group, "v1", kind), **fields})
    text = refusal(one, situation(one, OWNER, {MISSING}), OWNER)
    for advice in ("delete it", "delete the object", "delete its controller", "from there", "of the two bundles"):
        assert advice not in text
    assert "remove it from th" in text or "set spec.adopt to IfUnowned" in text


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "adopted 1 object: ConfigMap ns/a0"), (2, "adopted 2 objects: ConfigMap ns/a0, ConfigMap ns/a1")],
)
def test_the_event_names_what_was_adopted(count: int, text: str) -> None:
    assert adopted([key(f"a{number}") for number in range(count)]) == text


def test_the_event_names_the_first_ten() -> None:
    text = adopted([key(f"a{number}") for number in range(12)])
    assert text.startswith("adopted 12 objects: ConfigMap ns/a0, ")
    assert text.endswith(" and 2 more")


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
    one = observed_object(key(), CONFIG_MAP, seen)
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
    assert one.prune is {"true": True, "false": False}.get((annotations or {}).get(PRUNE_ANNOTATION, ""))


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
    """Else a client that changes a label hides the drift."""
    assert live(**owned(labels=LABELS_OF_OTHER)).fields == live(**owned()).fields != ""
