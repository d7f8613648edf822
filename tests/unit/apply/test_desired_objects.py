"""The bytes that are sent, and their digest: the same everywhere, another one when the bytes differ."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.deployment_spec import Override
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    DELETION_POLICY_ANNOTATION,
    FORCE_ANNOTATION,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
)
from rukpak_py.apply.desired import Desired, desire
from rukpak_py.apply.marks import Owner, identity
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupKind, Object
from tests.manifests import config_map
from tests.unit.apply.lives import OTHER, OUR_LABELS, OWNER, desired, namespace

PROGRAM = """
import json, sys
from tests.unit.apply.lives import desired
want = desired(json.loads(sys.argv[1]))
print(want.payload.digest, want.payload_when_taken.digest)
"""


def sent(want: Desired) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(want.payload.body)
    return body


def test_an_owned_object_carries_labels_reference_and_digest() -> None:
    want = desired(config_map(x="1"))
    metadata = sent(want)["metadata"]
    assert metadata["labels"] == OUR_LABELS
    assert metadata["ownerReferences"] == [OWNER.reference]
    assert metadata["annotations"] == {APPLIED_ANNOTATION: f"v2:{identity(OWNER.uid, want.key)}:{want.payload.digest}"}
    assert metadata["namespace"] == want.key.namespace == "ns"
    assert sent(want)["data"] == {"x": "1"}
    assert want.payload == want.payload_when_taken


@pytest.mark.parametrize(
    "want",
    [desired(config_map(), outlives=True), desired(config_map(annotations={PRUNE_ANNOTATION: "false"}))],
    ids=["as told", "by annotation"],
)
def test_an_object_that_outlives_us_carries_our_uid_and_no_reference(want: Desired) -> None:
    metadata = sent(want)["metadata"]
    assert "ownerReferences" not in metadata
    assert metadata["annotations"][OWNER_UID_ANNOTATION] == OWNER.uid
    assert metadata["labels"] == OUR_LABELS


@pytest.mark.parametrize("text", ["true", "", "False", "no"])
def test_only_the_word_false_keeps_an_object(text: str) -> None:
    assert "ownerReferences" in sent(desired(config_map(annotations={PRUNE_ANNOTATION: text})))["metadata"]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("v1", "Namespace"),
        ("v1", "PersistentVolume"),
        ("v1", "PersistentVolumeClaim"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ],
)
def test_irreplaceable_object_has_a_form_for_when_it_is_taken(api_version: str, kind: str) -> None:
    want = desired({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}})
    made = json.loads(want.payload.body)["metadata"]
    taken = json.loads(want.payload_when_taken.body)["metadata"]
    for metadata in (made, taken):
        assert "ownerReferences" not in metadata
        assert metadata["annotations"][OWNER_UID_ANNOTATION] == OWNER.uid
    assert made["annotations"][DELETION_POLICY_ANNOTATION] == "Delete"
    assert DELETION_POLICY_ANNOTATION not in taken["annotations"]


def test_deletion_annotations_of_irreplaceable_objects_in_a_bundle_are_ignored_and_told() -> None:
    shipped = namespace()
    shipped["metadata"]["annotations"] = {PRUNE_ANNOTATION: "true", FORCE_ANNOTATION: "true"}
    want = desired(shipped)
    assert not want.force
    assert want.warnings == (
        'Namespace a: core.rukpak.io/prune: "true" in a bundle is ignored for this kind; use prune in spec.overrides',
        'Namespace a: core.rukpak.io/force: "true" in a bundle is ignored for this kind; use force in spec.overrides',
    )
    assert desired(shipped, overrides=(Override(kind="Namespace", name="a", force=True),)).force


def test_nothing_else_has_and_one_that_outlives_us_has_one() -> None:
    want = desired(namespace())
    outliving = desired(namespace(), outlives=True)
    assert outliving.payload == outliving.payload_when_taken == want.payload_when_taken
    alike = {"apiVersion": "example.org/v1", "kind": "Namespace", "metadata": {"name": "a"}}
    assert desired(alike).payload == desired(alike).payload_when_taken


def test_owner_that_the_content_claims_does_not_count() -> None:
    lying = config_map(annotations={APPLIED_ANNOTATION: "sha256:0", OWNER_UID_ANNOTATION: OTHER.uid}, x="1")
    lying["metadata"] |= {"labels": OTHER.labels, "ownerReferences": [OTHER.reference]}
    assert desired(lying).payload == desired(config_map(x="1")).payload


@pytest.mark.parametrize(
    "other",
    [
        desired(config_map(x="2")),
        desired(config_map(x="1", y="")),
        desired(config_map("b", x="1")),
        desired(config_map(x="1", annotations={"a": "b"})),
        desired(config_map(x="1"), owner=Owner(name="shop", uid="another")),
        desired(config_map(x="1"), owner=Owner(name="renamed", uid=OWNER.uid)),
        desired(config_map(x="1"), outlives=True),
    ],
)
def test_whatever_is_sent_differently_has_another_digest(other: Desired) -> None:
    assert other.payload.digest != desired(config_map(x="1")).payload.digest


@given(st.dictionaries(st.text(alphabet="abc", min_size=1), st.text(), max_size=5))
def test_the_order_of_fields_does_not_matter(data: dict[str, str]) -> None:
    backwards = dict(reversed([*data.items()]))
    one, other = ({**config_map(), "data": fields} for fields in (data, backwards))
    assert desired(one).payload == desired(other).payload


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_digest_is_the_same_in_every_process(seed: str) -> None:
    for manifest in (config_map(annotations={"b": "1", "a": "2"}, y="1", x="2"), namespace()):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(manifest)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        want = desired(manifest)
        assert run.stdout.split() == [want.payload.digest, want.payload_when_taken.digest]


def test_applying_twice_is_the_same_object() -> None:
    """A sent object, taken as content again, is the same: our marks are not content."""
    want = desired(config_map(x="1"))
    assert desired(sent(want)).payload == want.payload


@pytest.mark.parametrize(("text", "force"), [("true", True), ("false", False), ("TRUE", False)])
def test_annotation_forces_only_when_it_is_true(text: str, *, force: bool) -> None:
    assert desired(config_map(annotations={FORCE_ANNOTATION: text})).force is force


def test_a_definition_says_what_it_brings() -> None:
    spec = {"group": "shop.example.org", "names": {"kind": "Basket", "plural": "baskets"}, "scope": "Namespaced"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "baskets.shop.example.org"},
        "spec": spec,
    }
    want = desire(Object.from_manifest(crd), owner=OWNER, namespaced=False, default_namespace="ns", custom=False)
    assert want.defines == {GroupKind("shop.example.org", "Basket")}
    assert want.phase is ApplyPhase.CRDS
    assert want.key.namespace == ""


def test_an_object_without_a_name_is_wrong_content() -> None:
    with pytest.raises(ContentError, match=r"metadata\.name is missing"):
        desired({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}})


NEVER = Override(kind="ConfigMap", name="a", prune=False, force=True)
ALWAYS = Override(kind="ConfigMap", namespace="ns", name="a", prune=True, force=False)


@pytest.mark.parametrize(
    ("annotations", "override", "outlives", "force"),
    [
        ({}, None, False, False),
        ({PRUNE_ANNOTATION: "false", FORCE_ANNOTATION: "true"}, None, True, True),
        ({}, NEVER, True, True),
        ({PRUNE_ANNOTATION: "true", FORCE_ANNOTATION: "false"}, NEVER, True, True),
        ({PRUNE_ANNOTATION: "false", FORCE_ANNOTATION: "true"}, ALWAYS, False, False),
    ],
)
def test_an_override_wins_over_the_annotations_of_its_object(
    annotations: dict[str, str], override: Override | None, *, outlives: bool, force: bool
) -> None:
    overrides = (override,) if override is not None else ()
    want = desired(config_map(annotations=annotations), overrides=overrides)
    assert ("ownerReferences" not in sent(want)["metadata"], want.force) == (outlives, force)
    assert desired(config_map("b"), overrides=overrides) == desired(config_map("b"))


@pytest.mark.parametrize(
    ("annotations", "override", "stays"),
    [
        ({}, None, True),
        ({PRUNE_ANNOTATION: "true"}, None, False),
        ({}, ALWAYS, False),
        ({PRUNE_ANNOTATION: "true"}, NEVER, True),
    ],
)
def test_lasting_object_outlives_us_unless_annotation_or_override_says_otherwise(
    annotations: dict[str, str], override: Override | None, *, stays: bool
) -> None:
    overrides = () if override is None else (override,)
    want = desired(config_map(annotations=annotations), lasting=True, overrides=overrides)
    assert ("ownerReferences" not in sent(want)["metadata"]) is stays
