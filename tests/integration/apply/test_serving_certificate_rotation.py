"""A rotation, walked through with a clock of its own: no handshake is refused at any moment of it."""

from dataclasses import dataclass, field

from rukpak_py.core import x509
from rukpak_py.core.x509 import KeyPair
from tests.handshakes import handshake
from tests.integration.apply.room import Manifest, Room
from tests.integration.apply.signing import Signing, configuration, converted, service

VALIDATING = "ValidatingWebhookConfiguration"
SECRET = "hooks-cert"
STAGED = {"tls.crt", "tls.key", "ca.crt", "next.crt", "next.key"}
SETTLED = {"tls.crt", "tls.key", "ca.crt"}


@dataclass(kw_only=True)
class Pods:
    """Pods of the bundle: one that reloads at once, and one that serves what it started with until it expires."""

    signer: Signing
    callers: list[Manifest]
    served: list[KeyPair] = field(default_factory=list)

    async def are_trusted(self) -> None:
        pair = await self.signer.pair(SECRET)
        if pair not in self.served:
            self.served.append(pair)
        for manifest in self.callers:
            for trust in await self.signer.trusted_by(manifest):
                for serving in self.served:
                    handshake(serving, trust, f"hooks.{self.signer.room.namespace}.svc")


async def test_no_step_of_a_rotation_refuses_a_handshake(signer: Signing, room: Room, group: str) -> None:
    # Handshakes go by the real clock: the first certificate is old enough, and both are valid now.
    signer.later(days=-250)
    callers = [configuration(room, VALIDATING, SECRET, "a", "b"), converted(room, group, SECRET)]
    await signer.install(service("hooks", SECRET), *callers)
    pods = Pods(signer=signer, callers=callers)
    await pods.are_trusted()
    due = (await signer.look()).look_again_seconds
    assert due is not None
    assert 243 < due / 86400 < 244, "two thirds of a year"

    signer.later(seconds=due)
    staged = await signer.look()
    assert set(await signer.data(SECRET)) == STAGED
    assert len(staged.injected) == 2
    assert staged.look_again_seconds == 60.0
    await pods.are_trusted()
    assert await signer.calls_of_a_look() == []

    signer.later(seconds=30)
    signer.restart()
    waiting = await signer.look()
    assert waiting.look_again_seconds == 30.0, "what was recorded survives a restart"
    assert not waiting.injected
    await pods.are_trusted()

    signer.later(seconds=30)
    assert (await signer.look()).rotated
    assert set(await signer.data(SECRET)) == SETTLED
    await pods.are_trusted()
    assert len(pods.served) == 2
    trust = (await signer.data(SECRET))["ca.crt"]
    assert len(x509.split(trust)) == 2
    assert await signer.calls_of_a_look() == []

    # The former certificate expires before its CA does, and then no caller trusts it any more.
    signer.later(days=365 - 243.3 + 1.1)
    assert (await signer.look()).is_complete
    trust = (await signer.data(SECRET))["ca.crt"]
    assert len(x509.split(trust)) == 1
    assert set(await signer.trusted_by(callers[0])) == {trust}
    pods.served = pods.served[1:]
    await pods.are_trusted()


async def test_a_process_that_dies_after_every_write_refuses_no_handshake(signer: Signing, room: Room) -> None:
    signer.later(days=-250)
    callers = [configuration(room, kind, SECRET, "a") for kind in (VALIDATING, "MutatingWebhookConfiguration")]
    await signer.install(service("hooks", SECRET), *callers)
    pods = Pods(signer=signer, callers=callers)
    await pods.are_trusted()
    signer.later(days=250)
    deaths = 0
    while len(pods.served) < 2:
        signer.restart()
        signer.client.writes_left = 1
        result = await signer.look()
        await pods.are_trusted()
        deaths += bool(result.failures)
        signer.later(seconds=0 if result.failures else result.look_again_seconds or 0)
    # Stored, injected twice, recorded; the switch is the last write, and nothing follows it.
    assert deaths == 3
    assert set(await signer.data(SECRET)) == SETTLED


async def test_a_caller_that_lost_the_next_ca_starts_the_wait_again(signer: Signing, room: Room) -> None:
    manifest = configuration(room, VALIDATING, SECRET, "a")
    await signer.install(service("hooks", SECRET), manifest)
    signer.later(days=250)
    assert (await signer.look()).look_again_seconds == 60.0
    signer.later(seconds=59)
    live = await room.read(manifest)
    del live["webhooks"][0]["clientConfig"]["caBundle"]
    await room.another_client_patches(manifest, {"webhooks": live["webhooks"]})
    await room.seen(manifest)
    result = await signer.look()
    assert result.injected
    assert result.look_again_seconds == 60.0
    assert set(await signer.data(SECRET)) == STAGED


async def test_a_renamed_service_gets_another_certificate_at_once(signer: Signing, room: Room) -> None:
    manifest = configuration(room, VALIDATING, SECRET, "a")
    await signer.install(service("hooks", SECRET), manifest)
    former = await signer.pair(SECRET)
    await signer.install(service("renamed", SECRET), manifest)
    (trust,) = await signer.trusted_by(manifest)
    handshake(await signer.pair(SECRET), trust, f"renamed.{room.namespace}.svc")
    handshake(former, trust, f"hooks.{room.namespace}.svc")
