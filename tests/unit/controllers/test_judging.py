"""Proofs that the policies have judged a state, and what becomes of the record; the guard is a double."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from rukpak_py.api.bundle_deployment import BundleDeployment, Judged
from rukpak_py.api.metadata import ObjectMeta, OwnerReference
from rukpak_py.api.names import (
    API_VERSION,
    BUNDLE_INSTANCE_KIND,
    OWNER_KIND_LABEL,
    OWNER_NAME_LABEL,
    RECONCILE_AT_ANNOTATION,
)
from rukpak_py.controllers.judging import Judging, Verdict, metadata_digest, state_of, with_gap, with_proof
from rukpak_py.controllers.policy_guard import Era, Standing
from rukpak_py.controllers.result.causes import Cause
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.resources import BUNDLE_DEPLOYMENTS
from tests.unit.controllers.fakes import FakeDigestKeys
from tests.unit.controllers.values import deployment

NOW = 1000.0
CHANGED = 1_700_000_000.0  # 2023-11-14T22:13:20Z
LATER, EARLIER = "2023-11-14T22:13:26Z", "2023-11-14T22:13:25Z"
POLICIES = "policies"
KEYS = FakeDigestKeys()


def standing(*problems: str, number: int = 0, since: float = NOW - 60.0) -> Standing:
    return Standing(began=NOW, era=Era(POLICIES, number), since=since, changed=CHANGED, problems=problems)


class Guard:
    def __init__(self, now: Standing) -> None:
        self.latest: Standing | None = None
        self.now, self.checks = now, 0

    async def standing(self, *, after: float) -> Standing:
        self.checks += 1
        self.latest = self.now
        return self.now


class Server:
    """Server whose GETs show one object."""

    def __init__(self) -> None:
        self.live = Metadata()
        self.reads = 0

    async def get_metadata(self, *_: Any) -> Metadata:
        self.reads += 1
        return self.live


class Bench:
    def __init__(self, now: Standing) -> None:
        self.guard, self.server, self.time = Guard(now), Server(), NOW
        client: Any = self.server
        guard: Any = self.guard
        self.judging = Judging(client, guard, KEYS, clock=lambda: self.time)

    async def judge(
        self,
        one: BundleDeployment,
        judged: Judged | None = None,
        *,
        has_account: bool = True,
        mirrored: ObjectMeta | None = None,
    ) -> Verdict:
        metadata = one.metadata
        self.server.live = self.server.live if self.server.live.name else live(metadata)
        return await self.judging.judge(BUNDLE_DEPLOYMENTS, one, judged, has_account=has_account, mirrored=mirrored)


def live(metadata: ObjectMeta) -> Metadata:
    return Metadata(
        name=metadata.name,
        uid=metadata.uid,
        generation=metadata.generation,
        resource_version=metadata.resource_version,
        sent_annotations=dict(metadata.annotations),
        sent_labels=dict(metadata.labels),
        sent_owner_references=list(metadata.owner_references),
    )


def one(note: str = "a", *, version: int = 5, created: str = EARLIER, **more: Any) -> BundleDeployment:
    metadata = ObjectMeta(
        name="shop",
        uid="uid",
        generation=2,
        resource_version=str(version),
        creation_timestamp=created,
        annotations={"note": note},
        **more,
    )
    return BundleDeployment(metadata=metadata, spec=deployment().spec)


def record(of: BundleDeployment, policies: str = POLICIES) -> Judged:
    state = state_of(of.metadata)
    judged = Judged(generation=state.generation, metadata=state.metadata, policies=policies)
    return with_proof(judged, of.metadata.uid, KEYS.key)


def gap(judged: Judged | None = None) -> Judged:
    return with_proof(with_gap(judged), "uid", KEYS.key)


def cause(verdict: Verdict) -> Cause | None:
    return verdict.fact.cause if verdict.fact is not None else None


@pytest.mark.parametrize(
    ("judged", "created", "number", "is_judged"),
    [
        (record(one()), EARLIER, 1, True),
        (record(one(), "others"), EARLIER, 1, True),
        (record(one("b")), EARLIER, 0, True),
        (record(one("b")), EARLIER, 1, False),
        (record(one("b"), "others"), EARLIER, 0, False),
        (record(one("b"), ""), EARLIER, 0, False),
        (None, LATER, 0, True),
        (None, EARLIER, 0, False),
        (gap(), LATER, 0, False),
        (record(one("b"), ""), LATER, 0, False),
    ],
    ids=[
        "this state is recorded",
        "this state is recorded, with other policies",
        "no gap since another state",
        "a gap that this process saw since another state",
        "other policies since another state",
        "a gap that a former process saw",
        "created after the policies had settled",
        "created before",
        "created in a gap",
        "created later, and changed in a gap",
    ],
)
async def test_proof(judged: Judged | None, created: str, number: int, *, is_judged: bool) -> None:
    bench = Bench(standing(number=number))
    verdict = await bench.judge(one(created=created), judged)
    assert cause(verdict) == (None if is_judged else Cause.NOT_JUDGED)


async def test_a_state_that_is_judged_is_recorded_with_the_policies_and_asked_for_once() -> None:
    bench = Bench(standing())
    verdict = await bench.judge(one(created=LATER))
    assert verdict == Verdict(judged=record(one()))
    assert await bench.judge(one(created=LATER, version=6), record(one())) == Verdict()
    assert (bench.guard.checks, bench.server.reads) == (1, 0)


async def test_a_former_record_is_renewed_once_the_policies_have_settled_and_the_server_shows_the_same() -> None:
    bench = Bench(standing(since=NOW - 1.0))
    former = record(one(), "others")
    assert await bench.judge(one(), former) == Verdict(look_at=NOW + 4.0)
    bench.time = NOW + 4.0
    assert await bench.judge(one(), former) == Verdict(judged=record(one()))
    assert bench.server.reads == 1


async def test_a_former_record_is_not_renewed_while_an_event_is_on_its_way() -> None:
    bench = Bench(standing())
    bench.server.live = live(one("b", version=6).metadata)
    assert await bench.judge(one(), record(one(), "others")) == Verdict()
    assert cause(await bench.judge(one("b", version=6), record(one(), "others"))) is Cause.NOT_JUDGED


async def test_written_again_it_is_judged() -> None:
    bench = Bench(standing(number=1))
    first = await bench.judge(one())
    assert (cause(first), first.judged) == (Cause.NOT_JUDGED, gap())
    assert cause(await bench.judge(one(version=6), gap())) is Cause.NOT_JUDGED  # a status was written
    assert cause(await bench.judge(one("older", version=4), gap())) is Cause.NOT_JUDGED
    assert await bench.judge(one("b", version=7), gap()) == Verdict(judged=record(one("b")))


async def test_change_by_the_garbage_collector_is_no_write_that_the_policies_have_judged() -> None:
    bench = Bench(standing(number=1))
    await bench.judge(one())
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="p", uid="p")
    changes: list[dict[str, Any]] = [{"owner_references": (owner,)}, {"finalizers": ("orphan",)}]
    for version, collected in enumerate(changes, start=7):
        assert cause(await bench.judge(one(version=version, **collected), gap())) is Cause.NOT_JUDGED


async def test_written_again_before_another_gap_it_is_not() -> None:
    bench = Bench(standing(number=1))
    await bench.judge(one())
    bench.guard.now = standing(number=2)
    assert cause(await bench.judge(one("b", version=7), gap())) is Cause.NOT_JUDGED


async def test_while_the_policies_settle_it_is_too_early_to_say() -> None:
    bench = Bench(standing(number=1, since=NOW - 1.0))
    verdict = await bench.judge(one())
    assert (cause(verdict), verdict.look_at, bench.server.reads) == (Cause.POLICY_MISSING, NOW + 4.0, 0)


@pytest.mark.parametrize(
    ("judged", "marked"),
    [(None, gap()), (record(one()), record(one(), "")), (record(one(), ""), UNSET)],
    ids=["never judged", "judged", "known"],
)
async def test_a_gap_is_marked_in_the_status(judged: Judged | None, marked: Any) -> None:
    verdict = await Bench(standing("a policy does not exist")).judge(one(created=LATER), judged)
    assert (cause(verdict), verdict.judged) == (Cause.POLICY_MISSING, marked)


@pytest.mark.parametrize(("age", "is_judged"), [(126.0, True), (124.0, False)])
async def test_a_first_account_is_judged_where_the_policies_are_older_than_any_lag(
    age: float, *, is_judged: bool
) -> None:
    bench = Bench(standing(since=NOW - age))
    bench.judging.noticed("uid", is_free=True)
    bench.judging.noticed("uid", is_free=False)
    bench.time += 1000.0  # it is looked at late
    assert cause(await bench.judge(one("b", version=6))) == (None if is_judged else Cause.NOT_JUDGED)


async def test_a_first_account_proves_nothing_of_what_is_written_in_a_later_gap() -> None:
    bench = Bench(standing(since=NOW - 126.0))
    bench.judging.noticed("uid", is_free=True)
    bench.judging.noticed("uid", is_free=False)
    assert cause(await bench.judge(one("b", version=6))) is None
    bench.time += 1000.0
    bench.guard.now, bench.guard.latest = standing(number=1, since=bench.time - 500.0), None
    bench.judging.noticed("uid", is_free=False)
    assert cause(await bench.judge(one("c", version=7), record(one("b"), ""))) is Cause.NOT_JUDGED


async def test_an_account_that_was_taken_away_is_forgotten_when_that_was_judged() -> None:
    bench = Bench(standing())
    for _ in range(2):  # the status may be written later
        assert await bench.judge(one("b"), record(one()), has_account=False) == Verdict(judged=None)


async def test_a_proof_is_needed_until_the_end_of_an_account_was_judged_whatever_the_status_says() -> None:
    bench = Bench(standing(number=1))
    assert not bench.judging.is_asked("uid")
    await bench.judge(one("b"), has_account=False)  # a user has cleared the record
    assert bench.judging.is_asked("uid")
    await bench.judge(one("b"), record(one("b")), has_account=False)
    await bench.judge(one("b"), has_account=False)
    assert not bench.judging.is_asked("uid")


@pytest.mark.parametrize(
    "change",
    [{"generation": 3}, {"metadata": "other"}, {"policies": "other"}, {"proof": ""}],
    ids=["generation", "metadata", "policies", "proof"],
)
async def test_a_record_that_another_user_wrote_proves_nothing(change: dict[str, Any]) -> None:
    bench = Bench(standing())
    forged = msgspec.structs.replace(record(one()), **change)
    verdict = await bench.judge(one(), forged)
    assert (cause(verdict), verdict.judged) == (Cause.NOT_JUDGED, gap())


async def test_a_record_of_another_object_proves_nothing() -> None:
    of_other = with_proof(record(one()), "another-uid", KEYS.key)
    assert cause(await Bench(standing()).judge(one(), of_other)) is Cause.NOT_JUDGED


def child(note: str = "a", *, version: int = 5, generation: int = 2, asked: str = "", **more: Any) -> BundleDeployment:
    """The BundleDeployment of a BundleInstance."""
    owner = OwnerReference(api_version=API_VERSION, kind=BUNDLE_INSTANCE_KIND, name="shop", uid="i", controller=True)
    found = one(note, version=version, **{"owner_references": (owner,), **more})
    annotations = {**found.metadata.annotations, RECONCILE_AT_ANNOTATION: asked}
    return msgspec.structs.replace(
        found, metadata=msgspec.structs.replace(found.metadata, generation=generation, annotations=annotations)
    )


LABELS = {OWNER_KIND_LABEL: BUNDLE_INSTANCE_KIND, OWNER_NAME_LABEL: "shop"}


@pytest.mark.parametrize(
    "before",
    [
        {},
        {"labels": LABELS, "owner_references": ()},
        {"labels": LABELS, "owner_references": (OwnerReference(api_version="v1", kind="Pod", name="p", uid="p"),)},
    ],
    ids=["its spec, labels and requests", "its owner", "an owner of its own"],
)
async def test_a_mirror_that_the_operator_writes_is_not_judged_by_that(before: dict[str, Any]) -> None:
    bench = Bench(standing(number=1))
    assert cause(await bench.judge(child(**before))) is Cause.NOT_JUDGED
    mirrored = child(version=6, generation=3, asked="now", labels=LABELS)
    assert cause(await bench.judge(mirrored, gap())) is Cause.NOT_JUDGED
    collected = child(version=7, generation=3, asked="now", owner_references=())
    assert cause(await bench.judge(collected, gap())) is Cause.NOT_JUDGED
    by_user = child("b", version=8, generation=3, asked="now", labels=LABELS)
    assert cause(await bench.judge(by_user, gap())) is None


@pytest.mark.parametrize(
    ("note", "of_instance", "is_judged"),
    [("a", True, True), ("b", True, False), ("a", False, False)],
    ids=["mirror of a judged instance", "other metadata", "the instance is not judged"],
)
async def test_a_mirror_with_judged_metadata_is_judged_with_its_instance(
    note: str, *, of_instance: bool, is_judged: bool
) -> None:
    bench = Bench(standing(number=1))
    instance = BundleDeployment(metadata=ObjectMeta(name="shop", uid="i", generation=7), spec=deployment().spec)
    await bench.judge(instance, record(instance) if of_instance else None)
    known = record(child(generation=2), "")
    verdict = await bench.judge(child(note, generation=3, version=6), known, mirrored=instance.metadata)
    assert cause(verdict) == (None if is_judged else Cause.NOT_JUDGED)


def test_proof_of_a_record_is_what_former_processes_wrote() -> None:
    judged = Judged(generation=2, metadata="m", policies="p")
    assert (
        with_proof(judged, "uid", KEYS.key).proof
        == "hmac-sha256:dc2692db:f40030629582db59785d7904c0a396c2cea6b414f6983ae132bf13ec7188f5c7"
    )


def test_digest_of_metadata_is_what_former_processes_recorded() -> None:
    owner = OwnerReference(api_version="v1", kind="ConfigMap", name="a", uid="u")
    digest = metadata_digest({"a": "b"}, {"c": "d"}, [owner], ["e/f"])
    assert digest == "881417bfaa7126099ab61b6ed097955732f006b4d9537852519c8d99ae6a9efe"
