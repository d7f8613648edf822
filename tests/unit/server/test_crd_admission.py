"""Updates of CRDs are refused for stored objects, and pass with a warning when these cannot be looked at."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any, cast

import pytest

from rukpak_py.api.names import OWNER_KIND_LABEL, SAFE_CRD_UPGRADE_ANNOTATION
from rukpak_py.core.limits import Limits
from rukpak_py.kube.answers import Page, read_page
from rukpak_py.kube.calls import HttpAnswer
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import ErrorAnswer, ForbiddenError, NotFoundError
from rukpak_py.kube.resources import Resource
from rukpak_py.server import crd_admission
from rukpak_py.server.crd_admission import CrdUpdates
from rukpak_py.server.review import AdmissionRequest, ReviewError, read_review
from tests.manifests import crd

Document = dict[str, Any]

NAME = "things.a.test"
TEXT = {"type": "string"}
DENIED = (
    'failed to validate safety of UPDATE for CRD "things.a.test" (NOTE: to disable this validation, set the '
    '"core.rukpak.io/safe-crd-upgrade-validation" annotation to "false"): '
)
OBJECTS = 'error validating existing CRs against new CRD\'s schema for "things.a.test": '
LOST = "spec.color: a value that the schema does not have is dropped"
UNCHECKED = 'CRD "things.a.test" was updated without a check of its stored objects: '


class Cluster:
    """A CRD and its objects. `wait` is awaited before objects are listed."""

    def __init__(self, live: Document | None, *objects: Document, error: Exception | None = None) -> None:
        self.live = live
        self.objects = objects
        self.error = error
        self.free = asyncio.Event()
        self.free.set()
        self.asked: list[str] = []
        self.lists = 0

    async def get(self, _: Resource, _namespace: str, name: str) -> bytes:
        self.asked.append(name)
        if self.live is None:
            raise NotFoundError(ErrorAnswer(subject=f"get {name}", status=404))
        return json.dumps(self.live).encode()

    async def list_page(self, resource: Resource, **_: Any) -> Page:
        self.lists += 1
        await self.free.wait()
        if self.error is not None:
            raise self.error
        body = json.dumps({"metadata": {"resourceVersion": "1"}, "items": self.objects}).encode()
        return read_page(resource, HttpAnswer(status=200, body=body, headers={}), full=True)

    def as_client(self) -> Client:
        return cast("Client", self)

    def updates(self, *, reads_values: bool = False, **given: Any) -> CrdUpdates:
        return CrdUpdates(self.as_client(), reads_values=reads_values, **given)


OURS = {OWNER_KIND_LABEL: "BundleDeployment"}
OFF = {SAFE_CRD_UPGRADE_ANNOTATION: "false"}


def definition(
    properties: Document,
    *versions: str,
    labels: Document = OURS,
    annotations: Document | None = None,
    **spec: Any,
) -> Document:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties, **spec}}}
    made = crd("a.test", *versions, schema=schema)
    made["metadata"] |= {"labels": labels, "annotations": annotations or {}}
    return made | {"status": {"storedVersions": [versions[0] if versions else "v1"]}}


def thing(name: str = "one", **spec: Any) -> Document:
    metadata = {"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "1"}
    return {"apiVersion": "a.test/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def update(new: Any, *, operation: str = "UPDATE", resource: str = "customresourcedefinitions") -> AdmissionRequest:
    asked = {"group": "apiextensions.k8s.io", "version": "v1", "resource": resource}
    request = {"uid": "u", "operation": operation, "name": NAME, "resource": asked} | ({"object": new} if new else {})
    return read_review(
        json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    )


OLD = definition({"color": TEXT, "size": TEXT})
DECISIONS: dict[str, tuple[Document | None, Document, Sequence[Document], Sequence[str], Sequence[str]]] = {
    "nothing changes": (OLD, OLD, [thing(color="red")], [], []),
    "no object suffers": (OLD, definition({"color": TEXT}), [thing(color="red")], [], []),
    "not on the cluster": (None, definition({}), [thing(color="red")], [], []),
    "not ours": (definition({"color": TEXT}, labels={}), definition({}), [thing(color="red")], [], []),
    "of another operator": (
        definition({"color": TEXT}, labels={OWNER_KIND_LABEL: "Other"}),
        definition({}),
        [thing(color="red")],
        [],
        [],
    ),
    "the label goes with the update": (
        OLD,
        definition({"size": TEXT}, labels={}),
        [thing(color="red")],
        [f"{DENIED}{OBJECTS}{LOST} (version v1, 1 object: shop/one)"],
        [],
    ),
    "newly required": (
        OLD,
        definition({"color": TEXT, "size": TEXT}, required=["color"]),
        [thing(size="x"), thing("two", color="x")],
        [f"{DENIED}{OBJECTS}spec.color: Required value (version v1, 1 object: shop/one)"],
        [],
    ),
    "a stored version goes": (
        OLD,
        definition({"color": TEXT, "size": TEXT}, "v2"),
        [],
        [f"{DENIED}cannot remove stored versions [v1]"],
        [],
    ),
    "switched off by the update": (
        OLD,
        definition({}, annotations=OFF),
        [thing(color="red")],
        [],
        [],
    ),
    "switched off on the live one": (
        definition({"color": TEXT}, annotations=OFF),
        definition({}),
        [thing(color="red")],
        [],
        [],
    ),
    "CEL": (
        OLD,
        definition({"color": TEXT | {"x-kubernetes-validations": [{"rule": "true"}]}, "size": TEXT}),
        [thing(color="red")],
        [],
        ["v1: spec.color: x-kubernetes-validations were added or changed; CEL rules are not checked"],
    ),
}


@pytest.mark.parametrize(("live", "new", "objects", "denials", "warnings"), DECISIONS.values(), ids=DECISIONS.keys())
async def test_update_is_judged_by_what_is_stored(
    live: Document | None, new: Document, objects: Any, denials: list[str], warnings: list[str]
) -> None:
    decision = await Cluster(live, *objects).updates().judge(update(new))
    assert (list(decision.denials), list(decision.warnings)) == (denials, warnings)


SECRET = thing(color="hunter2", list=["a", "a"])
OF_VALUES: dict[str, Document] = {
    "a pattern below oneOf": {"oneOf": [{"properties": {"color": {"pattern": "^h"}}}]},
    "not": {"not": {"properties": {"color": {"enum": ["hunter2"]}}}},
    "a number of fields": {"minProperties": 3},
}


@pytest.mark.parametrize("rule", OF_VALUES.values(), ids=OF_VALUES.keys())
async def test_no_answer_to_any_client_depends_on_values(rule: Document) -> None:
    """A client that reaches the port could read every object by asking often enough."""
    live = definition({"color": TEXT, "list": {"type": "array", "items": TEXT}})
    new = definition({"color": TEXT, "list": {"type": "array", "items": TEXT}}, **rule)
    answers = {
        await Cluster(live, one).updates().judge(update(new))
        for one in (SECRET, thing(color="other", list=[]), thing(color="x", list=["a", "b", "c"]))
    }
    assert len(answers) == 1
    assert all(re.search("not checked", warning) for answer in answers for warning in answer.warnings)
    assert all(not answer.denials and answer.warnings for answer in answers)


async def test_patterns_and_enums_are_judged_for_the_api_server_alone() -> None:
    new = definition({"color": TEXT | {"enum": ["blue"]}, "size": TEXT})
    cluster = Cluster(OLD, thing(color="red"))
    stranger = await cluster.updates().judge(update(new))
    assert (stranger.warnings, cluster.lists) == (("v1: spec.color: an enum was added; not checked",), 0)
    known = await cluster.updates(reads_values=True).judge(update(new))
    assert known.warnings == (
        'spec.color: Unsupported value: supported values: "blue" (version v1, 1 object: shop/one)',
    )


async def test_composition_is_judged_for_the_api_server() -> None:
    new = definition({"color": TEXT, "size": TEXT}, oneOf=[{"required": ["color"]}])
    decision = await Cluster(OLD, thing(size="x")).updates(reads_values=True).judge(update(new))
    assert "spec: must fit one and only one schema of oneOf" in decision.denials[0]


async def test_old_crd_is_the_one_of_the_cluster_whatever_the_review_says() -> None:
    cluster = Cluster(None, thing(color="red"))
    review = update(definition({}))
    assert not (await cluster.updates().judge(review)).denials
    assert (cluster.asked, cluster.lists) == ([NAME], 0)


def forbidden() -> ForbiddenError:
    return ForbiddenError(ErrorAnswer(subject="list Thing", status=403, message="may not list things"))


UNREADABLE: dict[str, tuple[Document, str]] = {
    "no spec": ({"metadata": {"name": NAME}}, "Object missing required field `spec`"),
    "too large": (definition({"a" * 4_000_000: TEXT}), "the CRD exceeds the limit of 3 MiB"),
    "too many parts": (definition({f"a{number}": {} for number in range(60_000)}), "more than 100000 parts"),
}


@pytest.mark.parametrize(("new", "why"), UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_update_that_cannot_be_compared_passes_with_a_warning(new: Document, why: str) -> None:
    decision = await Cluster(OLD).updates(limits=Limits()).judge(update(new))
    assert not decision.denials
    assert len(decision.warnings) == 1
    assert decision.warnings[0].startswith(UNCHECKED)
    assert why in decision.warnings[0]


async def test_objects_that_may_not_be_listed_are_a_warning() -> None:
    cluster = Cluster(OLD, error=forbidden())
    decision = await cluster.updates().judge(update(definition({})))
    why = "its objects could not be listed: list Thing: may not list things"
    assert (decision.denials, decision.warnings) == ((), (UNCHECKED + why,))


async def test_bug_of_ours_is_a_warning_and_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(OLD, error=ZeroDivisionError())
    decision = await cluster.updates().judge(update(definition({})))
    assert decision.warnings == (f"{UNCHECKED}the check failed; see the log of the operator",)
    assert "this is a bug" in caplog.text


async def test_update_passes_with_a_warning_at_the_deadline() -> None:
    cluster = Cluster(OLD, thing(color="red"))
    cluster.free.clear()
    decision = await cluster.updates(seconds=0.05).judge(update(definition({})))
    assert (decision.denials, decision.warnings) == ((), (f"{UNCHECKED}this took more than 0.05 s",))


async def test_one_review_is_judged_at_a_time_and_others_wait_until_their_deadline() -> None:
    cluster = Cluster(OLD, thing(color="red"))
    cluster.free.clear()
    updates = cluster.updates(seconds=0.2)
    first = asyncio.create_task(updates.judge(update(definition({}))))
    others = [asyncio.create_task(updates.judge(update(definition({})))) for _ in range(20)]
    await asyncio.sleep(0.05)
    assert cluster.lists == 1
    decisions = await asyncio.gather(first, *others)
    assert all("this took more than" in one.warnings[0] for one in decisions)
    cluster.free.set()
    assert (await updates.judge(update(definition({})))).denials, "the turn was given back"


async def test_client_that_goes_away_ends_its_review() -> None:
    cluster = Cluster(OLD, thing(color="red"))
    cluster.free.clear()
    updates = cluster.updates()
    gone = asyncio.create_task(updates.judge(update(definition({}))))
    await asyncio.sleep(0.05)
    gone.cancel()
    await asyncio.wait({gone})
    cluster.free.set()
    assert (await updates.judge(update(definition({})))).denials


async def test_other_operations_and_resources() -> None:
    cluster = Cluster(OLD)
    assert not (await cluster.updates().judge(update(definition({}), operation="CREATE"))).denials
    assert not cluster.asked
    with pytest.raises(ReviewError, match="validates customresourcedefinitions, not"):
        await cluster.updates().judge(update(definition({}), resource="other"))
    with pytest.raises(ReviewError, match="the review has no object"):
        await cluster.updates().judge(update(None))


async def test_answers_are_short_whatever_is_sent() -> None:
    fields = {f"{'a' * 5000}{number}": TEXT for number in range(20)}
    cluster = Cluster(definition(fields), thing())
    decision = await cluster.updates().judge(update(definition(fields, required=list(fields))))
    assert all(len(one) <= crd_admission.DENIAL_CHARACTERS for one in decision.denials)
    rules = {name: TEXT | {"x-kubernetes-validations": [{"rule": "true"}]} for name in fields}
    decision = await cluster.updates().judge(update(definition(rules)))
    assert len(decision.warnings) == crd_admission.WARNINGS
    assert all(len(one) <= crd_admission.WARNING_CHARACTERS for one in decision.warnings)
