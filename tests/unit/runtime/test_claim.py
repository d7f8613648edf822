"""The claim of a cluster: it counts while it, or the Lease of the operator that made it, still changes."""

import logging
from typing import TYPE_CHECKING, cast

import pytest

from rukpak_py.api.names import OPERATOR_NAMESPACE_ANNOTATION
from rukpak_py.kube.errors import ForbiddenError, StaleError, UnauthorizedError
from rukpak_py.runtime.cluster_claim import CRD, STALE_SECONDS, ClusterClaim
from tests.unit.controllers.fakes import Clock, FakeClient, refusal

if TYPE_CHECKING:
    from rukpak_py.kube.events import EventRecorder

LEASE, KIND = "core.rukpak.io", "CustomResourceDefinition"


class Bench:
    def __init__(self, *, is_kept: bool = True, claimed: str = "") -> None:
        self.client, self.clock = FakeClient(), Clock(0.0)
        annotations = {OPERATOR_NAMESPACE_ANNOTATION: claimed} if claimed else {}
        self.client.put(KIND, {"metadata": {"name": CRD, "annotations": annotations}})
        self.claim = ClusterClaim(
            self.client.as_client(),
            "ours",
            lease=LEASE,
            is_kept=is_kept,
            clock=self.clock,
            recorder=cast("EventRecorder", Recorder()),
        )

    def lease(self, renewed: str, holder: str = "pod-1_10.0.0.1") -> None:
        self.client.put(
            "Lease", {"metadata": {"name": LEASE}, "spec": {"holderIdentity": holder, "renewTime": renewed}}
        )

    @property
    def claimed(self) -> str:
        return str(self.client.objects[KIND, CRD]["metadata"]["annotations"].get(OPERATOR_NAMESPACE_ANNOTATION, ""))


class Recorder:
    def start(self) -> None:
        pass

    def record(self, *_: object, **__: object) -> None:
        pass


async def test_a_cluster_that_is_nobodys_is_claimed() -> None:
    bench = Bench()
    assert await bench.claim.is_ours()
    assert bench.claimed == "ours"


async def test_our_own_claim_costs_one_request() -> None:
    bench = Bench(claimed="ours")
    assert await bench.claim.is_ours()
    assert bench.client.calls == [f"get {KIND} {CRD}"]


async def test_a_claim_lasts_while_its_lease_is_renewed() -> None:
    bench = Bench(claimed="theirs")
    for second in range(int(3 * STALE_SECONDS)):
        bench.clock.now = float(second)
        bench.lease(f"at {second // 20}")
        assert not await bench.claim.is_ours()
    assert bench.claim.problem is not None
    assert 'the operator with the system namespace "theirs" (pod pod-1) leads in this cluster' in bench.claim.problem
    assert bench.claimed == "theirs"


@pytest.mark.parametrize("left", ["held", "released", "gone"])
async def test_a_claim_that_is_not_kept_alive_ends_after_a_minute(left: str) -> None:
    """A Lease may be missing, or released, for a moment only: the claim is new, or its Deployment is rolled out."""
    bench = Bench(claimed="theirs")
    if left != "gone":
        bench.lease("once", holder="pod-1_10.0.0.1" if left == "held" else "")
    assert not await bench.claim.is_ours()
    bench.clock.now += STALE_SECONDS - 1
    assert not await bench.claim.is_ours()
    bench.clock.now += 1
    assert await bench.claim.is_ours()
    assert (bench.claimed, bench.claim.problem) == ("ours", None)


async def test_a_lease_that_comes_begins_the_minute_anew() -> None:
    bench = Bench(claimed="theirs")
    await bench.claim.is_ours()
    bench.clock.now += STALE_SECONDS
    bench.lease("now")
    assert not await bench.claim.is_ours()


async def test_another_client_that_wrote_first_is_seen() -> None:
    """A compare-and-swap: of two operators that begin together one is refused."""
    bench = Bench()
    bench.client.failing["patch"] = refusal(StaleError)
    with pytest.raises(StaleError):
        await bench.claim.is_ours()


async def test_without_a_lease_of_its_own_it_claims_nothing() -> None:
    bench = Bench(is_kept=False)
    assert await bench.claim.is_ours()
    assert bench.claimed == ""


@pytest.mark.parametrize("verb", ["get", "patch"])
async def test_an_operator_without_the_right_leads_and_warns(verb: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its role may be of an older release, or narrower: it led before there were claims."""
    bench = Bench()
    bench.client.failing[verb] = refusal(ForbiddenError)
    assert await bench.claim.is_ours()
    assert [one.levelno for one in caplog.records] == [logging.WARNING]


async def test_claim_that_cannot_be_read_is_not_taken_for_ours() -> None:
    bench = Bench(claimed="theirs")
    bench.client.failing["get"] = refusal(UnauthorizedError)
    with pytest.raises(UnauthorizedError):
        await bench.claim.is_ours()


async def test_claim_of_another_operator_is_logged_once_for_each_leader(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(claimed="theirs")
    for second, holder in enumerate(("pod-1_a", "pod-1_a", "pod-2_a")):
        bench.lease(f"at {second}", holder)
        await bench.claim.is_ours()
    assert len(caplog.messages) == 2
