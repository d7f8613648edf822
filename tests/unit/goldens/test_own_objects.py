"""The operator's own objects: Secrets, the Lease, the webhook configuration, Events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import orjson
import pytest

from rukpak_py.api.names import OPERATOR_LEASE
from rukpak_py.certificates import own_webhooks
from rukpak_py.certificates.own_certificate import apply_configuration
from rukpak_py.certificates.own_webhooks import OurWebhooks
from rukpak_py.certificates.secret import pair_data
from rukpak_py.cli.cluster import running
from rukpak_py.controllers import digest_key
from rukpak_py.controllers.digest_key import DigestKeySecret
from rukpak_py.core.keyed_digests import KEY_BYTES, DigestKey
from rukpak_py.core.objects import GroupVersionKind
from rukpak_py.core.x509 import KeyPair
from rukpak_py.kube.client import Client
from rukpak_py.kube.events import EventRecorder, EventSubject, Note
from rukpak_py.kube.lease import Holder
from rukpak_py.kube.resources import Resource
from rukpak_py.kube.secrets import OwnSecrets
from tests.unit.goldens.pinned import check, use_pinned_names


@dataclass
class Server:
    """Remembers what is written."""

    written: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    managers: list[str] = field(default_factory=list)

    async def create(self, resource: Resource, _namespace: str, body: bytes) -> None:
        self.written.append((resource.plural, orjson.loads(body)))

    async def apply(self, resource: Resource, _namespace: str, _name: str, body: bytes, **how: Any) -> None:
        self.written.append((resource.plural, orjson.loads(body)))
        self.managers.append(how["field_manager"])

    def as_client(self) -> Client:
        return cast("Client", self)


class NoSecrets(OwnSecrets):
    def __init__(self) -> None:
        self.created: dict[str, Mapping[str, bytes]] = {}

    async def read(self, _name: str) -> None: ...

    async def create(self, name: str, data: Mapping[str, bytes]) -> bool:
        self.created[name] = data
        return True


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    use_pinned_names(monkeypatch, digest_key, own_webhooks)


async def test_secrets_of_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    server, secrets = Server(), NoSecrets()
    await OwnSecrets(server.as_client(), "system").create("any", {"a": b"x"})
    monkeypatch.setattr(DigestKey, "new", lambda: DigestKey(bytes(KEY_BYTES)))
    await DigestKeySecret(secrets).get()
    key = {name: {field: len(value) for field, value in data.items()} for name, data in secrets.created.items()}
    found = {
        "written": [list(one) for one in server.written],
        "fields of a certificate": sorted(pair_data(KeyPair(certificate=b"c", key=b"k"))),
        "bytes of the key of digests": key,
    }
    check("Secrets of the operator", found)


async def test_the_webhook_configuration() -> None:
    server = Server()
    manifest = OurWebhooks(system_namespace="system").configuration(b"ca")
    await apply_configuration(server.as_client(), manifest)
    check("webhook configuration", {"written": [list(one) for one in server.written]})


def test_the_lease() -> None:
    holder = Holder(pod="core-1", address="10.0.0.1")
    check("Lease", {"name": OPERATOR_LEASE, "holder": holder.identity})


def test_the_field_manager_of_the_command_line() -> None:
    check("field manager of rukpakctl", {"name": running.FIELD_MANAGER})


def test_events() -> None:
    subject = EventSubject(gvk=GroupVersionKind("core.rukpak.io", "v1alpha1", "Bundle"), name="shop-1", uid="uid-1")
    note = Note(about=subject, type="Warning", reason="R", message="m", at=datetime(2026, 1, 1, tzinfo=UTC))
    event = EventRecorder(Server().as_client(), component="component", instance="core-1")._event(note)
    event["metadata"]["name"] = event["metadata"]["name"].partition(".")[0]  # what follows is random
    check("Events", event)
