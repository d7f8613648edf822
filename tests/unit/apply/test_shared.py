"""CRDs that two deployments bring: when the second leaves them to the first."""

from typing import Any

import orjson
import pytest

from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.api.names import APPLIED_ANNOTATION, OWNER_NAME_LABEL, OWNER_UID_ANNOTATION, RELEASED_ANNOTATION
from rukpak_py.apply.desired import Desired, digests_by
from rukpak_py.apply.marks import Owner
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.plan import Action, decide
from rukpak_py.core.objects import GroupVersionKind
from tests.manifests import config_map, crd
from tests.unit.apply.lives import LABELS_OF_OTHER, OTHER, OWNER, desired, live

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
DEFINITION = crd("example.com")
NAME = DEFINITION["metadata"]["name"]
GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
RELEASED = {RELEASED_ANNOTATION: "v1:by-another-deployment"}
MISSING = Owner(name="renamed", uid="uid-of-renamed")


def of(owner: Owner, manifest: dict[str, Any] = DEFINITION, **fields: Any) -> ObservedObject:
    """The CRD as this deployment has applied it."""
    sent = orjson.loads(desired(manifest, owner=owner, lasting=True).payload.body)["metadata"]
    return live(NAME, gvk=CRD, namespace="", labels=sent["labels"], annotations=sent["annotations"], **fields)


def changed(**metadata: Any) -> dict[str, Any]:
    return {**DEFINITION, "metadata": {**DEFINITION["metadata"], **metadata}}


WANTED = desired(DEFINITION, lasting=True)
FREE = live(NAME, gvk=CRD, namespace="", annotations=RELEASED)
FREE_GOING = live(NAME, gvk=CRD, namespace="", annotations=RELEASED, **GOING)
OF_HELM = live(NAME, gvk=CRD, namespace="", annotations=RELEASED, labels={"app.kubernetes.io/managed-by": "Helm"})
BARE = live(NAME, gvk=CRD, namespace="", labels=LABELS_OF_OTHER)
CASES: list[tuple[str, Desired, ObservedObject, bool, Action]] = [
    ("the same", WANTED, of(OTHER), False, Action.SHARE),
    ("another label", WANTED, of(OTHER, changed(labels={"a": "b"})), False, Action.REFUSE),
    ("another annotation", WANTED, of(OTHER, changed(annotations={"a": "b"})), False, Action.REFUSE),
    ("changed since both were installed", WANTED, of(OTHER, changed(labels={"a": "b"})), True, Action.SHARE),
    ("not applied by it", WANTED, BARE, False, Action.REFUSE),
    ("going", WANTED, of(OTHER, **GOING), False, Action.REFUSE),
    ("of one that does not exist", WANTED, of(MISSING), False, Action.SHARE),
    ("let go of, and not installed", WANTED, FREE, False, Action.REFUSE),
    ("let go of since both were installed", WANTED, FREE, True, Action.SHARE),
    ("let go of with the marks of another tool", WANTED, OF_HELM, True, Action.SHARE),
    ("let go of and going", WANTED, FREE_GOING, True, Action.WAIT),
    ("nobody's, among the templates", desired(DEFINITION), FREE, True, Action.REFUSE),
    ("among the templates", desired(DEFINITION), of(OTHER), False, Action.REFUSE),
]


@pytest.mark.parametrize(
    ("want", "there", "is_installed", "action"), [pytest.param(*rest, id=name) for name, *rest in CASES]
)
def test_object_of_another_deployment_is_shared_only_where_it_may_be(
    want: Desired, there: ObservedObject, *, is_installed: bool, action: Action
) -> None:
    change = decide(
        want,
        there,
        owner=OWNER,
        adopt=Adopt.NEVER,
        fields=None,
        missing_deployments={MISSING.name},
        is_installed=is_installed,
    )
    assert change.action is action
    assert (change.shared is not None) is (action is Action.SHARE)


def test_object_of_a_missing_deployment_is_taken_where_adopt_says_so() -> None:
    missing = {MISSING.name}
    change = decide(WANTED, of(MISSING), owner=OWNER, adopt=Adopt.IF_UNOWNED, fields=None, missing_deployments=missing)
    assert change.action is Action.TAKE


def test_shared_object_is_told_from_another_one_later() -> None:
    change = decide(WANTED, of(OTHER), owner=OWNER, adopt=Adopt.NEVER, fields=None)
    assert change.shared is not None
    assert (change.shared.owner, change.shared.has_owner) == (OTHER, True)
    assert change.shared.is_same(of(OTHER))
    assert not change.shared.is_same(of(OTHER, changed(labels={"a": "b"})))
    assert [change.shared.is_owned(one) for one in (of(OTHER), of(MISSING), of(OTHER, **GOING), None)] == [
        *(True, False, False, False)
    ]


def test_released_object_is_taken_where_adopt_says_so_and_has_no_owner_until_then() -> None:
    adopting = decide(WANTED, FREE, owner=OWNER, adopt=Adopt.IF_UNOWNED, fields=None, is_installed=True)
    assert adopting.action is Action.TAKE
    change = decide(WANTED, FREE, owner=OWNER, adopt=Adopt.NEVER, fields=None, is_installed=True)
    assert change.shared is not None
    assert [change.shared.is_owned(one) for one in (FREE, of(OTHER), None)] == [False, False, False]


@pytest.mark.parametrize("annotations", [None, {"a": "b"}])
@pytest.mark.parametrize("labels", [None, {"a": "b"}])
@pytest.mark.parametrize("prune", [None, True, False])
def test_digests_are_those_that_the_other_one_would_write(
    labels: dict[str, str] | None, annotations: dict[str, str] | None, *, prune: bool | None
) -> None:
    """Whatever its overrides say of deleting it."""
    manifest = {**config_map(x="1"), "metadata": {"name": "a", "labels": labels, "annotations": annotations}}
    override = Override(kind="ConfigMap", namespace="ns", name="a", prune=prune)
    written = desired(manifest, owner=OTHER, lasting=True, overrides=(override,)).payload.digest
    assert written in digests_by(desired(manifest, lasting=True), OWNER, OTHER)
    marks = orjson.loads(desired(manifest, lasting=True).payload.body)["metadata"]
    assert {APPLIED_ANNOTATION, OWNER_UID_ANNOTATION} <= marks["annotations"].keys()
    assert OWNER_NAME_LABEL in marks["labels"]
