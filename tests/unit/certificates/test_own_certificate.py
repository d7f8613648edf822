"""The leader makes and rotates the certificates; every replica serves the same; no crash and no race splits them."""

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import orjson
import pytest

from rukpak_py.api.names import CA_KEY, SecretName
from rukpak_py.certificates.own_certificate import CertificateKeeper, KeeperSettings, ServingPair, export_expiry
from rukpak_py.certificates.own_webhooks import OurWebhooks, own_certificate
from rukpak_py.core import x509
from rukpak_py.core.errors import UnavailableError
from rukpak_py.kube.client import Client
from rukpak_py.kube.errors import AlreadyExistsError, ErrorAnswer, NotFoundError, StaleError
from rukpak_py.kube.resources import SECRETS, Resource
from tests.scrapes import samples, value

HOSTS = ("localhost",)
PROPAGATION = timedelta(seconds=60)
MOMENT = timedelta(seconds=1)
WEBHOOKS = OurWebhooks(system_namespace="system")
OUTSIDE = OurWebhooks(system_namespace="system", url="https://localhost:9443")


@dataclass(frozen=True, kw_only=True)
class Secret:
    data: Mapping[str, bytes]
    version: str


class Cluster:
    """Secrets with optimistic locking, one webhook configuration, and a log of the writes."""

    def __init__(self) -> None:
        self.secrets: dict[str, Secret] = {}
        self.configuration: dict[str, Any] | None = WEBHOOKS.configuration()
        self.writes: list[str] = []
        self.fail_after: int | None = None

    def as_client(self) -> Client:
        return cast("Client", self)

    async def get(self, resource: Resource, _namespace: str, name: str) -> bytes:
        await asyncio.sleep(0)  # lets a rival in, as a real request would
        if resource is not SECRETS:
            found: dict[str, Any] | None = self.configuration
        elif name in self.secrets:
            data = {key: base64.b64encode(value).decode() for key, value in self.secrets[name].data.items()}
            found = {"metadata": {"name": name, "resourceVersion": self.secrets[name].version}, "data": data}
        else:
            found = None
        if found is None:
            raise NotFoundError(ErrorAnswer(subject=name, message="not found"))
        return orjson.dumps(found)

    async def create(self, _resource: Resource, _namespace: str, body: bytes) -> None:
        await asyncio.sleep(0)
        manifest = orjson.loads(body)
        name = manifest["metadata"]["name"]
        if name in self.secrets:
            raise AlreadyExistsError(ErrorAnswer(subject=name, message="exists"))
        self._write(name)
        self.secrets[name] = Secret(data=data_of(manifest), version="1")

    async def replace(self, _resource: Resource, _namespace: str, name: str, body: bytes) -> None:
        await asyncio.sleep(0)
        manifest = orjson.loads(body)
        version = manifest["metadata"]["resourceVersion"]
        if self.secrets[name].version != version:
            raise StaleError(ErrorAnswer(subject=name, message="stale"))
        self._write(name)
        self.secrets[name] = Secret(data=data_of(manifest), version=str(int(version) + 1))

    async def patch(self, _resource: Resource, _namespace: str, _name: str, body: bytes, **_: Any) -> None:
        assert self.configuration is not None
        self._write("caBundle")
        for step in orjson.loads(body):
            _, _, index, *path = step["path"].split("/")
            webhook = self.configuration["webhooks"][int(index)]
            if step["op"] == "test":
                assert webhook[path[0]] == step["value"]
            else:
                webhook[path[0]][path[1]] = step["value"]

    async def apply(self, _resource: Resource, _namespace: str, _name: str, body: bytes, **_: Any) -> None:
        self._write("configuration")
        self.configuration = orjson.loads(body)

    def _write(self, what: str) -> None:
        if self.fail_after is not None and len(self.writes) >= self.fail_after:
            raise UnavailableError("the process was killed here")
        self.writes.append(what)

    @property
    def trusted(self) -> bytes:
        return self.secrets[SecretName.CA].data[CA_KEY]

    @property
    def serving(self) -> bytes:
        return self.secrets[SecretName.SERVING].data["tls.crt"]

    def assert_consistent(self) -> None:
        assert any(x509.is_signed_by(self.serving, authority) for authority in x509.split(self.trusted))
        assert self.configuration is not None
        for webhook in self.configuration["webhooks"]:
            assert base64.b64decode(webhook["clientConfig"]["caBundle"]) == self.trusted


def data_of(manifest: dict[str, Any]) -> dict[str, bytes]:
    return {key: base64.b64decode(value) for key, value in manifest["data"].items()}


class Clock:
    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def elapsed(self) -> float:
        return self.now.timestamp()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keeper(cluster: Cluster, clock: Clock) -> CertificateKeeper:
    return new_keeper(cluster, clock)


def new_keeper(
    cluster: Cluster, clock: Clock, hosts: tuple[str, ...] = HOSTS, webhooks: OurWebhooks = WEBHOOKS
) -> CertificateKeeper:
    settings = KeeperSettings(
        interval=600, waiting=0.001, retry=0.001, propagation=PROPAGATION.total_seconds(), spacing=0.001
    )
    return CertificateKeeper(
        replace(own_certificate("system"), hosts=hosts),
        client=cluster.as_client(),
        webhooks=webhooks,
        clock=clock,
        elapsed=clock.elapsed,
        settings=settings,
    )


async def due_for_a_new_authority(cluster: Cluster, clock: Clock, keeper: CertificateKeeper) -> bytes:
    """The authority is due after 243 days, the serving certificate is young; the answer is the latter."""
    await keeper.keep(leading=True)
    clock.now += timedelta(days=200)
    await keeper.keep(leading=True)
    clock.now += timedelta(days=44)
    return cluster.serving


async def test_the_leader_makes_everything_in_one_pass(cluster: Cluster, keeper: CertificateKeeper) -> None:
    await keeper.keep(leading=True)
    assert cluster.writes == [SecretName.SIGNER, SecretName.CA, "caBundle", SecretName.SERVING]
    assert keeper.problem() is None
    cluster.assert_consistent()


async def test_the_key_of_the_authority_is_not_where_clients_read(cluster: Cluster, keeper: CertificateKeeper) -> None:
    await keeper.keep(leading=True)
    assert set(cluster.secrets[SecretName.CA].data) == {"ca.crt"}
    assert b"PRIVATE" not in cluster.trusted


async def test_a_second_pass_writes_nothing(cluster: Cluster, keeper: CertificateKeeper) -> None:
    await keeper.keep(leading=True)
    cluster.writes.clear()
    await keeper.keep(leading=True)
    assert cluster.writes == []


async def test_a_follower_waits_and_never_writes(cluster: Cluster, clock: Clock, keeper: CertificateKeeper) -> None:
    follower = new_keeper(cluster, clock)
    await follower.keep(leading=False)
    assert follower.problem() is not None
    await keeper.keep(leading=True)
    cluster.writes.clear()
    await follower.keep(leading=False)
    assert follower.problem() is None
    assert cluster.writes == []


async def test_rivals_end_with_the_same_authority(cluster: Cluster, clock: Clock) -> None:
    rivals = [new_keeper(cluster, clock) for _ in range(3)]
    await asyncio.gather(*(rival.keep(leading=True) for rival in rivals))
    await rivals[0].keep(leading=True)
    cluster.assert_consistent()
    assert cluster.writes.count(SecretName.SIGNER) == 1
    assert len(x509.split(cluster.trusted)) == 1


async def test_the_serving_certificate_is_rotated_alone(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    trusted, serving = cluster.trusted, cluster.serving
    clock.now += timedelta(days=61)
    await keeper.keep(leading=True)
    assert cluster.trusted == trusted
    assert cluster.serving != serving
    cluster.assert_consistent()


async def test_a_new_authority_is_trusted_before_it_is_served(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    clock.now += timedelta(days=200)
    await keeper.keep(leading=True)
    old, serving = cluster.trusted, cluster.serving
    clock.now += timedelta(days=44)  # the authority is due after 243 days, the serving certificate is young
    await keeper.keep(leading=True)
    newer, *former = x509.split(cluster.trusted)
    assert former == [old]
    assert cluster.serving == serving
    cluster.assert_consistent()
    clock.now += PROPAGATION - MOMENT
    for _ in range(2):  # its own patch and many others may wake it
        await keeper.keep(leading=True)
        assert cluster.serving == serving
    clock.now += MOMENT
    await keeper.keep(leading=True)
    assert x509.is_signed_by(cluster.serving, newer)
    clock.now += timedelta(days=125)  # the old one expires after 365
    await keeper.keep(leading=True)
    assert x509.split(cluster.trusted) == [newer]
    cluster.assert_consistent()


async def test_trust_that_had_to_be_repaired_settles_anew(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    serving = await due_for_a_new_authority(cluster, clock, keeper)
    await keeper.keep(leading=True)
    clock.now += PROPAGATION
    assert cluster.configuration is not None
    del cluster.configuration["webhooks"][0]["clientConfig"]["caBundle"]
    await keeper.keep(leading=True)
    assert cluster.serving == serving
    clock.now += PROPAGATION
    await keeper.keep(leading=True)
    assert cluster.serving != serving


async def test_a_new_leader_does_not_know_since_when_the_trust_is_in_place(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    serving = await due_for_a_new_authority(cluster, clock, keeper)
    await keeper.keep(leading=True)
    clock.now += PROPAGATION
    successor = new_keeper(cluster, clock)
    await successor.keep(leading=True)
    assert cluster.serving == serving
    clock.now += PROPAGATION
    await successor.keep(leading=True)
    assert cluster.serving != serving
    cluster.assert_consistent()


async def test_due_certificate_waits_for_the_new_authority_and_expired_one_does_not(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    serving = cluster.serving
    clock.now += timedelta(days=70)  # the serving certificate is due after 60, and expires after 90
    del cluster.secrets[SecretName.SIGNER]
    await keeper.keep(leading=True)
    assert cluster.serving == serving
    clock.now += timedelta(days=30)
    await new_keeper(cluster, clock).keep(leading=True)
    assert cluster.serving != serving
    cluster.assert_consistent()


@pytest.mark.parametrize("written", range(4))
async def test_a_crash_between_two_writes_is_healed(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper, written: int
) -> None:
    cluster.fail_after = written
    with pytest.raises(UnavailableError):
        await keeper.keep(leading=True)
    cluster.fail_after = None
    await new_keeper(cluster, clock).keep(leading=True)
    cluster.assert_consistent()


@pytest.mark.parametrize("name", list(SecretName))
@pytest.mark.parametrize("junk", [{}, {"ca.crt": b"x", "tls.crt": b"x", "tls.key": b"x"}])
async def test_a_ruined_secret_is_repaired(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper, name: SecretName, junk: dict[str, bytes]
) -> None:
    await keeper.keep(leading=True)
    cluster.secrets[name] = Secret(data=junk, version="7")
    await keeper.keep(leading=True)
    await keeper.keep(leading=True)
    cluster.assert_consistent()


async def test_other_keys_of_a_secret_survive(cluster: Cluster, clock: Clock, keeper: CertificateKeeper) -> None:
    cluster.secrets[SecretName.CA] = Secret(data={"mine": b"1"}, version="7")
    await keeper.keep(leading=True)
    assert cluster.secrets[SecretName.CA].data["mine"] == b"1"


async def test_a_ruined_serving_secret_never_replaces_what_a_follower_serves(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    follower = new_keeper(cluster, clock)
    await follower.keep(leading=False)
    cluster.secrets[SecretName.SERVING] = Secret(data={"tls.crt": b"x"}, version="7")
    await follower.keep(leading=False)
    assert follower.problem() is None


async def test_a_new_host_name_gets_a_new_certificate(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    await new_keeper(cluster, clock, ("localhost", "192.0.2.1")).keep(leading=True)
    assert x509.covers(cluster.serving, ["localhost", "192.0.2.1"])


async def test_a_wiped_ca_bundle_is_filled_again(cluster: Cluster, keeper: CertificateKeeper) -> None:
    await keeper.keep(leading=True)
    assert cluster.configuration is not None
    del cluster.configuration["webhooks"][1]["clientConfig"]["caBundle"]
    cluster.writes.clear()
    await keeper.keep(leading=True)
    assert cluster.writes == ["caBundle"]
    cluster.assert_consistent()


async def test_a_missing_configuration_is_no_failure(cluster: Cluster, keeper: CertificateKeeper) -> None:
    cluster.configuration = None
    await keeper.keep(leading=True)
    assert keeper.problem() is None


async def test_the_loop_survives_failures_and_can_be_woken(
    cluster: Cluster, keeper: CertificateKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.fail_after = 0
    passes: asyncio.Queue[None] = asyncio.Queue()
    loaded = asyncio.Event()

    def is_leader() -> bool:
        passes.put_nowait(None)
        return True

    async with asyncio.timeout(10):
        task = asyncio.create_task(keeper.run(is_leader, loaded.set))
        for _ in range(3):
            await passes.get()
        assert "killed here" in caplog.text
        cluster.fail_after = None
        await loaded.wait()
        while not passes.empty():
            passes.get_nowait()
        keeper.wake()
        await passes.get()  # long before the interval of a minute is over
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_everything_lost_at_once_is_served_until_a_new_authority_is_relied_on(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    serving, old = cluster.serving, cluster.trusted
    cluster.secrets.clear()
    cluster.writes.clear()
    await keeper.keep(leading=True)
    assert cluster.writes == [SecretName.SIGNER, SecretName.CA, "caBundle", SecretName.SERVING]
    assert cluster.serving == serving
    assert x509.split(cluster.trusted)[1:] == [old]
    cluster.assert_consistent()
    clock.now += PROPAGATION
    await keeper.keep(leading=True)
    assert cluster.serving != serving
    cluster.assert_consistent()


async def test_a_follower_that_takes_over_keeps_what_it_serves_trusted(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    serving, follower = cluster.serving, new_keeper(cluster, clock)
    await follower.keep(leading=False)
    cluster.secrets.clear()
    await follower.keep(leading=True)
    assert cluster.serving == serving
    cluster.assert_consistent()


async def test_a_lost_bundle_forgets_authorities_that_nothing_needs(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    """The way to get rid of an authority whose key leaked."""
    await keeper.keep(leading=True)
    old = cluster.trusted
    cluster.secrets.clear()
    await keeper.keep(leading=True)
    del cluster.secrets[SecretName.CA]
    await keeper.keep(leading=True)
    assert old in x509.split(cluster.trusted), "it has signed what is served"
    clock.now += PROPAGATION
    await keeper.keep(leading=True)
    del cluster.secrets[SecretName.CA]
    await keeper.keep(leading=True)
    assert old not in x509.split(cluster.trusted)
    cluster.assert_consistent()


async def test_a_follower_loads_nothing_that_clients_do_not_trust(
    cluster: Cluster, clock: Clock, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    stranger = x509.issue_serving(x509.issue_ca(clock.now), HOSTS, clock.now)
    data = {"tls.crt": stranger.certificate, "tls.key": stranger.key}
    follower = new_keeper(cluster, clock)
    cluster.secrets[SecretName.SERVING] = Secret(data=data, version="7")
    await follower.keep(leading=False)
    problem = follower.problem()
    assert problem is not None
    assert problem.startswith("waiting for the leader to renew Secret rukpak-serving")
    await keeper.keep(leading=True)
    await follower.keep(leading=False)
    assert follower.pair is not None
    assert follower.pair.certificate == cluster.serving


async def test_webhooks_of_others_keep_their_authority(cluster: Cluster, keeper: CertificateKeeper) -> None:
    assert cluster.configuration is not None
    theirs = {"name": "theirs.example", "clientConfig": {"url": "https://theirs.example", "caBundle": "dGhlaXJz"}}
    cluster.configuration["webhooks"].append(theirs)
    await keeper.keep(leading=True)
    assert cluster.configuration["webhooks"].pop()["clientConfig"]["caBundle"] == "dGhlaXJz"
    cluster.assert_consistent()


async def test_outside_the_cluster_the_leader_makes_the_configuration(cluster: Cluster, clock: Clock) -> None:
    cluster.configuration = None
    keeper = new_keeper(cluster, clock, webhooks=OUTSIDE)
    await keeper.keep(leading=True)
    assert cluster.writes == [SecretName.SIGNER, SecretName.CA, "configuration", SecretName.SERVING]
    cluster.assert_consistent()
    cluster.writes.clear()
    await keeper.keep(leading=True)
    assert cluster.writes == []
    lost: list[dict[str, Any] | None] = [None, {"webhooks": []}]
    for cluster.configuration in lost:
        await keeper.keep(leading=True)
        cluster.assert_consistent()


async def test_a_new_leader_applies_the_configuration_of_its_release(cluster: Cluster, clock: Clock) -> None:
    for _ in range(2):
        cluster.writes.clear()
        await new_keeper(cluster, clock, webhooks=OUTSIDE).keep(leading=True)
        assert "configuration" in cluster.writes
        cluster.assert_consistent()


async def test_reason_of_a_wait_is_logged_once(
    cluster: Cluster, keeper: CertificateKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    passes, leads = 0, False
    ready = asyncio.Event()

    def is_leader() -> bool:
        nonlocal passes, leads
        passes += 1
        leads = passes > 5
        return leads

    async with asyncio.timeout(10):
        task = asyncio.create_task(keeper.run(is_leader, ready.set))
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert caplog.text.count("waiting for the leader to write Secret rukpak-serving") == 1
    assert caplog.messages[-1] == "certificates: ready"


async def test_client_that_undoes_every_write_makes_the_passes_slow(cluster: Cluster, clock: Clock) -> None:
    settings = KeeperSettings(interval=600, waiting=0, retry=600, spacing=0)
    want = own_certificate("system")
    keeper = CertificateKeeper(want, client=cluster.as_client(), webhooks=WEBHOOKS, settings=settings)
    passes = 0

    def undo() -> None:
        nonlocal passes
        passes += 1
        assert cluster.configuration is not None
        del cluster.configuration["webhooks"][0]["clientConfig"]["caBundle"]
        keeper.wake()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await keeper.run(lambda: True, undo)
    assert passes <= 20


async def test_expiries_are_exported_once_there_is_something_to_serve(
    cluster: Cluster, keeper: CertificateKeeper
) -> None:
    await keeper.keep(leading=True)
    served = x509.expiry(cluster.secrets[SecretName.SERVING].data["tls.crt"])
    authority = x509.expiry(cluster.secrets[SecretName.SIGNER].data["tls.crt"])
    assert served is not None
    assert authority is not None
    name = "rukpak_certificate_expiry_timestamp_seconds"
    assert value(name, name=SecretName.SERVING) == served.timestamp()
    assert value(name, name=SecretName.CA) == authority.timestamp()


async def test_without_a_trusted_issuer_no_authority_expires(cluster: Cluster, keeper: CertificateKeeper) -> None:
    """A time of 1970 would be an alert about a certificate that has expired."""
    await keeper.keep(leading=True)
    assert keeper.pair is not None
    export_expiry(ServingPair(pair=keeper.pair, trust=b""))
    (labels,) = samples("rukpak_certificate_expiry_timestamp_seconds")
    assert dict(labels) == {"name": SecretName.SERVING}
