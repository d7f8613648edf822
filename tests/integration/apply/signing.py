"""The signer in a room: a clock that a test moves, content with webhooks, and a client that says what it was asked."""

import base64
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

import orjson

from rukpak_py.api.names import INJECT_CA_ANNOTATION, SERVING_CERTIFICATE_ANNOTATION
from rukpak_py.apply.desired import Desired
from rukpak_py.apply.target import Target
from rukpak_py.certificates.deployments import CertificateMemory, CertificateResult, ServingCertificates
from rukpak_py.certificates.secret import CertificateOwner
from rukpak_py.certificates.store import ServingSecrets
from rukpak_py.certificates.wanted import RenderedObject, WantedCertificates, wanted_certificates
from rukpak_py.core.ca_bundles import callers
from rukpak_py.core.objects import ObjectKey
from rukpak_py.core.x509 import KeyPair
from rukpak_py.kube.calls import Call, HttpAnswer
from rukpak_py.kube.client import Client
from rukpak_py.kube.config import load_connection
from rukpak_py.kube.errors import ErrorAnswer, NotFoundError, ServerUnavailableError
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.resources import SECRETS
from tests.integration.apply.room import Manifest, Room
from tests.integration.apply.things import brought, definition
from tests.waiting import PATIENCE_SECONDS

ADMISSION = "admissionregistration.k8s.io/v1"


class RecordingClient(Client):
    """Remembers the calls that it makes, and has no connection any more after so many writes."""

    calls: list[str]
    writes_left: float = inf

    async def _send(self, call: Call) -> HttpAnswer:
        if call.method != "GET":
            if self.writes_left <= 0:
                raise ServerUnavailableError(ErrorAnswer(subject=call.verb, message="no connection"))
            self.writes_left -= 1
        self.calls.append(f"{call.verb} {call.resource.plural if call.resource is not None else call.path}")
        return await super()._send(call)


class Signing:
    def __init__(self, room: Room, client: RecordingClient) -> None:
        self.room = room
        self.client = client
        self.now = datetime.now(UTC)
        self.woken: list[str] = []
        self.is_being_deleted = False  # the deployment, though no watch has shown it yet
        self.secrets = ServingSecrets(client, on_change=self.woken.append)
        self.certificates, self.memory = self._fresh(), CertificateMemory()
        self.wanted = WantedCertificates()

    def _fresh(self) -> ServingCertificates:
        return ServingCertificates(
            self.secrets,
            observe=self.room.inventory.observe,
            still_exists=self._still_exists,
            clock=lambda: self.now,
        )

    async def _still_exists(self, owner: CertificateOwner) -> bool:
        return owner == self.room.owner and not self.is_being_deleted

    def restart(self) -> None:
        """Another process takes over: it remembers nothing."""
        self.certificates, self.memory = self._fresh(), CertificateMemory()

    @property
    def target(self) -> Target:
        room = self.room
        return Target(
            owner=room.owner,
            last_applied=room.state.applied,
            resource_of=room.kinds.resource_of(),
            client=self.client,
        )

    @property
    def informer(self) -> Informer:
        (informer,) = self.secrets.informers()
        return informer

    @property
    def is_in_step(self) -> bool:
        """Whether the watch has shown all that was written."""
        return all(self._has_been_shown(key) for key in self.wanted.certificates)

    def _has_been_shown(self, key: ObjectKey) -> bool:
        written, shown = self.secrets.get(key), self.informer.get(key)
        return written is not None and shown is not None and shown.metadata.version >= written.version

    async def install(self, *manifests: Manifest) -> None:
        """Install the manifests in the order of a reconcile."""
        room = self.room
        desired, resolution = await room.desire(*manifests)
        await room.listed(resolution)
        self.wanted = self.wanted_of(desired)
        owned = room.inventory.owned_by(room.owner.uid)
        released = await self.certificates.release(self.target, self.wanted, owned, self.memory)
        assert released.is_complete, released
        issued = await self.certificates.issue_missing(self.target, self.wanted, owned, self.memory)
        assert issued.is_complete, issued
        await brought(room, *manifests)
        looked = await self.look()
        assert looked.is_complete, looked

    @staticmethod
    def wanted_of(desired: Iterable[Desired]) -> WantedCertificates:
        return wanted_certificates(RenderedObject(one.key, one.head.gvk, one.payload.body) for one in desired)

    async def look(self) -> CertificateResult:
        owned = self.room.inventory.owned_by(self.room.owner.uid)
        return await self.certificates.reconcile(self.target, self.wanted, owned, self.memory)

    async def calls_of_a_look(self) -> list[str]:
        self.client.calls.clear()
        result = await self.look()
        assert result.is_complete, result
        return sorted(self.client.calls)

    def later(self, **time: float) -> None:
        self.now += timedelta(**time)

    async def secret(self, name: str) -> Manifest | None:
        try:
            found: Manifest = orjson.loads(await self.room.client.get(SECRETS, self.room.namespace, name))
        except NotFoundError:
            return None
        return found

    async def data(self, name: str) -> dict[str, bytes]:
        secret = await self.secret(name)
        assert secret is not None
        return {key: base64.b64decode(value) for key, value in secret["data"].items()}

    async def pair(self, name: str) -> KeyPair:
        data = await self.data(name)
        return KeyPair(certificate=data["tls.crt"], key=data["tls.key"])

    async def trusted_by(self, manifest: Manifest) -> list[bytes]:
        return [caller.ca_bundle for caller in callers(await self.room.read(manifest))]


@asynccontextmanager
async def signing(room: Room, kubeconfig: Path) -> AsyncIterator[Signing]:
    client = RecordingClient(await load_connection(kubeconfig))
    client.calls = []
    async with client:
        opened = Signing(room, client)
        opened.informer.start()
        await opened.informer.wait_synced(PATIENCE_SECONDS)
        yield opened
        await opened.informer.stop()


def service(name: str, secret: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "annotations": {SERVING_CERTIFICATE_ANNOTATION: secret}},
        "spec": {"ports": [{"port": 443}]},
    }


def configuration(room: Room, kind: str, secret: str, *webhooks: str) -> Manifest:
    """The configuration of webhooks that are never called: the group of their rules does not exist."""
    rule = {
        "apiGroups": [f"{room.owner.name}.test"],
        "apiVersions": ["v1"],
        "resources": ["x"],
        "operations": ["CREATE"],
    }
    return {
        "apiVersion": ADMISSION,
        "kind": kind,
        "metadata": _asking(room, f"{room.owner.name}-{kind.lower()}", secret),
        "webhooks": [
            {
                "name": f"{name}.{room.owner.name}.test",
                "clientConfig": _client(room),
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "rules": [rule],
            }
            for name in webhooks
        ],
    }


def converted(room: Room, group: str, secret: str) -> Manifest:
    manifest = definition(group)
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": _client(room), "conversionReviewVersions": ["v1"]},
    }
    return {
        **manifest,
        "metadata": _asking(room, manifest["metadata"]["name"], secret),
        "spec": {**manifest["spec"], "conversion": conversion},
    }


def _client(room: Room) -> dict[str, Any]:
    return {"service": {"namespace": room.namespace, "name": "hooks"}}


def _asking(room: Room, name: str, secret: str) -> dict[str, Any]:
    return {"name": name, "annotations": {INJECT_CA_ANNOTATION: f"{room.namespace}/{secret}"}}
