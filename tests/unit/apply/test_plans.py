"""A plan says what is done with every object and why; properties that hold for any cluster, and each decision."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rukpak_py.api.deployment_spec import Adopt, Override
from rukpak_py.api.names import (
    APPLIED_ANNOTATION,
    HELM_RELEASE_ANNOTATION,
    OWNER_NAME_LABEL,
    OWNER_UID_ANNOTATION,
    PRUNE_ANNOTATION,
    RELEASED_ANNOTATION,
)
from rukpak_py.apply.marks import released_mark
from rukpak_py.apply.observed_object import ObservedObject
from rukpak_py.apply.order import ApplyPhase
from rukpak_py.apply.plan import WRITES, Action, Plan, decide, decide_once, make_plan
from rukpak_py.apply.removed_objects import PrunePolicy
from rukpak_py.core.objects import GroupVersionKind, ObjectKey
from tests.manifests import config_map
from tests.unit.apply.lives import (
    LABELS_OF_OTHER,
    OTHER,
    OUR_LABELS,
    OWNER,
    REPLICA_SET,
    desired,
    key,
    live,
    namespace,
    owned,
)

WANTED = desired(config_map(x="1"))
CURRENT: dict[str, Any] = {"annotations": {APPLIED_ANNOTATION: WANTED.payload.digest}}
OUTDATED: dict[str, Any] = {"annotations": {APPLIED_ANNOTATION: "sha256:former"}}
BY_TOOL = {"app.kubernetes.io/managed-by": "kustomize"}
GOING: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
NAMES = "abcd"
RELEASE: dict[str, Any] = {"annotations": {HELM_RELEASE_ANNOTATION: OWNER.name, APPLIED_ANNOTATION: ""}}
LABELS_OF_MISSING = {**OUR_LABELS, OWNER_NAME_LABEL: "renamed"}
RELEASED = {RELEASED_ANNOTATION: released_mark(OWNER.uid, key(), "u", "")}
DECISIONS: list[tuple[str, dict[str, Any] | None, Action, Action, Action]] = [
    ("free", None, Action.CREATE, Action.CREATE, Action.CREATE),
    ("ours and current", owned(**CURRENT), Action.LEAVE, Action.LEAVE, Action.LEAVE),
    ("ours and outdated", owned(**OUTDATED), Action.UPDATE, Action.UPDATE, Action.UPDATE),
    ("ours without its annotation", owned(), Action.UPDATE, Action.UPDATE, Action.UPDATE),
    ("ours and going", owned(**CURRENT, **GOING), Action.WAIT, Action.WAIT, Action.WAIT),
    ("ours and drifted", owned(**CURRENT, managedFields=[]), Action.CORRECT, Action.CORRECT, Action.CORRECT),
    ("ours, by the original operator", owned(**RELEASE), Action.TAKE, Action.TAKE, Action.TAKE),
    ("ours, by the original operator, and going", owned(**RELEASE, **GOING), Action.WAIT, Action.WAIT, Action.WAIT),
    ("ours by label", {"labels": OUR_LABELS}, Action.TAKE, Action.TAKE, Action.TAKE),
    ("ours by label and going", {"labels": OUR_LABELS, **GOING}, Action.WAIT, Action.WAIT, Action.WAIT),
    ("released by us", {"annotations": RELEASED}, Action.TAKE_BACK, Action.TAKE_BACK, Action.TAKE_BACK),
    ("released by us and going", {"annotations": RELEASED, **GOING}, Action.WAIT, Action.WAIT, Action.WAIT),
    ("nobody's", {}, Action.REFUSE, Action.TAKE, Action.TAKE),
    ("nobody's and going", GOING, Action.REFUSE, Action.WAIT, Action.WAIT),
    ("a missing deployment's", {"labels": LABELS_OF_MISSING}, Action.REFUSE, Action.TAKE, Action.TAKE),
    ("another tool's", {"labels": BY_TOOL}, Action.REFUSE, Action.REFUSE, Action.TAKE),
    ("another deployment's", owned(by=OTHER), Action.REFUSE, Action.REFUSE, Action.REFUSE),
    ("another deployment's by label", {"labels": LABELS_OF_OTHER}, Action.REFUSE, Action.REFUSE, Action.REFUSE),
    ("another controller's", {"ownerReferences": [REPLICA_SET]}, Action.REFUSE, Action.REFUSE, Action.REFUSE),
]


@pytest.mark.parametrize(
    ("fields", "never", "if_unowned", "force"), [pytest.param(*rest, id=name) for name, *rest in DECISIONS]
)
def test_decision_follows_from_object_and_adopt(
    fields: dict[str, Any] | None, never: Action, if_unowned: Action, force: Action
) -> None:
    there = live(**{"name": "a", **fields}) if fields is not None else None
    known = live(**owned(**CURRENT)).fields
    for adopt, expected in ((Adopt.NEVER, never), (Adopt.IF_UNOWNED, if_unowned), (Adopt.FORCE, force)):
        change = decide(WANTED, there, owner=OWNER, adopt=adopt, fields=known, missing_deployments={"renamed"})
        assert change.action is expected
        assert bool(change.reason) is (expected not in {Action.CREATE, Action.LEAVE})


ONCE = desired(config_map(x="1"), lasting=True, create_only=True)


@pytest.mark.parametrize(
    ("fields", "action"),
    [(None, Action.CREATE_ONCE), ({}, Action.SPARE), (GOING, Action.WAIT), (owned(), Action.SPARE)],
)
def test_object_that_is_only_created_is_left_alone_once_it_exists(
    fields: dict[str, Any] | None, action: Action
) -> None:
    assert decide_once(ONCE, live(**{"name": "a", **fields}) if fields is not None else None).action is action


def test_object_that_is_only_created_has_no_owner_and_ours_is_released() -> None:
    """Whatever an override says: it is in the content still."""
    assert orjson.loads(ONCE.payload.body)["metadata"] == {"name": "a", "namespace": "ns"}
    ours = live(**owned("a"))
    override = Override(kind="ConfigMap", namespace="ns", name="a", prune=True)
    policy = PrunePolicy(overrides=(override,), create_only={ours.key})
    plan = make_plan(
        [ONCE],
        live={ours.key: ours},
        owned={ours.key: ours},
        fields={},
        owner=OWNER,
        adopt=Adopt.NEVER,
        prune_policy=policy,
    )
    assert (plan.writes, plan.prune, plan.release) == ((), (), (ours,))


def test_object_that_this_process_did_not_apply_is_corrected_to_be_sure() -> None:
    change = decide(WANTED, live(**owned(**CURRENT)), owner=OWNER, adopt=Adopt.NEVER, fields=None)
    assert change.action is Action.CORRECT


def test_current_object_is_applied_again_on_request_without_drift() -> None:
    there = live(**owned(**CURRENT))
    change = decide(WANTED, there, owner=OWNER, adopt=Adopt.NEVER, fields=there.fields, again=True)
    assert change.action is Action.AGAIN
    edited = decide(WANTED, there, owner=OWNER, adopt=Adopt.NEVER, fields="others", again=True)
    assert edited.action is Action.CORRECT


def test_a_namespace_that_was_there_before_us_is_taken_so_that_it_outlives_us() -> None:
    want = desired(namespace())
    gvk = GroupVersionKind("", "v1", "Namespace")
    nobodys = live("a", gvk=gvk, namespace="")
    taken = decide(want, nobodys, owner=OWNER, adopt=Adopt.IF_UNOWNED, fields=None)
    assert (taken.action, taken.payload) == (Action.TAKE, want.payload_when_taken)
    after = live(
        "a",
        gvk=gvk,
        namespace="",
        labels=OUR_LABELS,
        annotations={OWNER_UID_ANNOTATION: OWNER.uid, APPLIED_ANNOTATION: want.payload_when_taken.digest},
    )
    again = decide(want, after, owner=OWNER, adopt=Adopt.NEVER, fields=after.fields)
    assert (again.action, again.payload) == (Action.LEAVE, want.payload_when_taken)


def test_object_that_outlived_a_former_deployment_of_our_name_outlives_us_too() -> None:
    want, gvk = desired(namespace()), GroupVersionKind("", "v1", "Namespace")
    former = live("a", gvk=gvk, namespace="", labels=OUR_LABELS, annotations={OWNER_UID_ANNOTATION: "former"})
    change = decide(want, former, owner=OWNER, adopt=Adopt.NEVER, fields=None)
    assert (change.action, change.payload) == (Action.TAKE, want.payload_when_taken)
    orphaned = live("a", gvk=gvk, namespace="", labels=OUR_LABELS)
    assert decide(want, orphaned, owner=OWNER, adopt=Adopt.NEVER, fields=None).payload == want.payload


def test_a_claim_that_comes_back_outlives_us() -> None:
    """The claim may have been there before us, or its owner said that it must stay."""
    gvk = GroupVersionKind("", "v1", "PersistentVolumeClaim")
    want = desired({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}})
    mark = released_mark(OWNER.uid, key("a", gvk), "u", "")
    back = decide(
        want, live("a", gvk=gvk, annotations={RELEASED_ANNOTATION: mark}), owner=OWNER, adopt=Adopt.NEVER, fields=None
    )
    assert (back.action, back.payload) == (Action.TAKE_BACK, want.payload_when_taken)
    assert want.payload_when_taken != want.payload


def test_a_namespace_that_we_made_goes_with_us() -> None:
    want = desired(namespace())
    assert decide(want, None, owner=OWNER, adopt=Adopt.NEVER, fields=None).payload == want.payload
    assert want.payload != want.payload_when_taken


LIVES = st.sampled_from(
    [
        None,
        owned(),
        owned(**CURRENT),
        owned(**CURRENT, **GOING),
        owned(**OUTDATED),
        owned(by=OTHER),
        owned(annotations={PRUNE_ANNOTATION: "false"}),
        {"labels": OUR_LABELS},
        {"labels": OUR_LABELS, "annotations": {OWNER_UID_ANNOTATION: OWNER.uid}},
        {"labels": OUR_LABELS, "annotations": {OWNER_UID_ANNOTATION: OTHER.uid}},
        {"labels": OUR_LABELS, "ownerReferences": [REPLICA_SET]},
        {"labels": LABELS_OF_OTHER},
        {"labels": LABELS_OF_MISSING},
        {"labels": BY_TOOL},
        owned(**RELEASE),
        {},
    ]
)
CLUSTERS = st.fixed_dictionaries(dict.fromkeys(NAMES, LIVES))


def there(cluster: dict[str, dict[str, Any] | None]) -> dict[ObjectKey, ObservedObject]:
    lives = [live(**{**fields, "name": name}) for name, fields in cluster.items() if fields is not None]
    return {one.key: one for one in lives}


def planned(wanted: set[str], lives: dict[ObjectKey, ObservedObject], adopt: Adopt, *, trusted: bool) -> Plan:
    return make_plan(
        [desired(config_map(name, x="1")) for name in sorted(wanted, reverse=True)],
        live=lives,
        owned=lives,  # hostile: everything that exists is offered for pruning
        fields={key: one.fields for key, one in lives.items()} if trusted else {},
        owner=OWNER,
        adopt=adopt,
        missing_deployments={"renamed"},
    )


@given(wanted=st.sets(st.sampled_from(NAMES)), cluster=CLUSTERS, adopt=st.sampled_from(Adopt), trusted=st.booleans())
def test_any_plan_keeps_its_promises(
    wanted: set[str], cluster: dict[str, dict[str, Any] | None], adopt: Adopt, *, trusted: bool
) -> None:
    lives = there(cluster)
    plan = planned(wanted, lives, adopt, trusted=trusted)

    assert {change.key.name for change in plan.changes} == wanted, "every desired object is judged once"
    assert len(plan.changes) == len(wanted)
    for one in plan.prune:
        assert one.owner_uid == OWNER.uid, "pruned by uid"
        assert one.controller is not None, "labels and annotations alone never make an object pruned"
        assert not one.outlives
        assert one.prune is not False
        assert one.key.name not in wanted, "nothing is both wanted and pruned"
    for one in plan.release:
        assert one.owner_uid == OWNER.uid
        assert one.key.name not in wanted
    assert not {one.key for one in plan.prune} & {one.key for one in plan.release}
    for change in plan.writes:
        assert change.action in WRITES
        assert change.live is None or not change.live.is_deleted
        if change.action is Action.CREATE:
            assert change.key not in lives
        if change.action is Action.TAKE:
            assert change.live is not None
            if not change.live.is_from_upstream:
                assert change.live.owner_uid != OWNER.uid
                assert change.live.controller is None, "nothing is taken from a controller"
            else:
                assert change.live.owner_uid in {"", OWNER.uid}
    for change in plan.refused:
        assert change.live is not None
        assert change.live.owner_uid != OWNER.uid, "what is ours is never refused"
    assert len(plan.writes) + len(plan.refused) + plan.count(Action.WAIT) + plan.count(Action.LEAVE) == len(wanted)


@given(st.sets(st.sampled_from(NAMES)))
def test_the_plan_of_an_unchanged_deployment_writes_nothing(wanted: set[str]) -> None:
    lives = there(
        {
            name: owned(annotations={APPLIED_ANNOTATION: desired(config_map(name, x="1")).payload.digest})
            for name in wanted
        }
    )
    plan = planned(wanted, lives, Adopt.NEVER, trusted=True)
    assert plan.count(Action.LEAVE) == len(wanted)
    assert (plan.writes, plan.prune, plan.release, plan.refused) == ((), (), (), ())


@given(st.permutations(["c", "a", "b"]))
def test_the_order_of_the_content_does_not_matter(order: list[str]) -> None:
    def plan(names: list[str]) -> Plan:
        wants = [desired(config_map(name)) for name in names] + [desired(namespace(name)) for name in names]
        return make_plan(wants, live={}, owned={}, fields={}, owner=OWNER, adopt=Adopt.NEVER)

    changes = plan(order).changes
    assert changes == plan(["a", "b", "c"]).changes
    phases = [change.desired.phase for change in changes]
    assert phases == sorted(phases) == [ApplyPhase.NAMESPACES] * 3 + [ApplyPhase.CONFIG] * 3


def test_pruning_goes_the_other_way() -> None:
    kinds = [
        ("", "v1", "Namespace"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        ("", "v1", "ServiceAccount"),
        ("", "v1", "ConfigMap"),
        ("", "v1", "Service"),
        ("apps", "v1", "Deployment"),
        ("shop.example.org", "v1", "Basket"),
    ]
    allowed: dict[str, Any] = {"annotations": {PRUNE_ANNOTATION: "true"}}
    lives = [live(gvk=GroupVersionKind(*kind), **owned(**allowed)) for kind in kinds]
    plan = make_plan([], live={}, owned={one.key: one for one in lives}, fields={}, owner=OWNER, adopt=Adopt.NEVER)
    assert [one.gvk.kind for one in plan.prune] == [kind for _, _, kind in reversed(kinds)]
