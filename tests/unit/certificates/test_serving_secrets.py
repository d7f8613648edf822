"""The Secret of a serving certificate: whose it is, what is remembered of it, and what its watch tells."""

import asyncio
import base64
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from rukpak_py.api.names import (
    CERTIFICATE_EXPIRY_ANNOTATION,
    OWNER_UID_ANNOTATION,
    SERVING_CERTIFICATE_LABEL,
    TRUSTED_SINCE_ANNOTATION,
)
from rukpak_py.certificates.secret import (
    StoredSecret,
    new_secret,
    next_pair,
    read_secret,
    staged,
    trusted_since,
)
from rukpak_py.certificates.steps import CertificateSettings, Seen, issue
from rukpak_py.certificates.store import ServingSecrets
from rukpak_py.certificates.wanted import WantedCertificate, secret_key
from rukpak_py.kube.client import Client
from rukpak_py.kube.informer import Informer
from rukpak_py.kube.metadata import LiveObject, decode_metadata
from tests.unit.apply.lives import OTHER, OWNER, REPLICA_SET, key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WANTED = WantedCertificate(secret=secret_key("shop", "cert"), hosts=("hooks.shop.svc",), service=key("hooks"))
ISSUED = issue(WANTED, Seen(), NOW, CertificateSettings())

Manifest = dict[str, Any]


def secret(**metadata: Any) -> Manifest:
    """As the API server answers after it was made."""
    manifest: Manifest = orjson.loads(new_secret(WANTED, OWNER, ISSUED))
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "u", "resourceVersion": "7", **metadata}}


def read(manifest: Manifest) -> StoredSecret | None:
    return read_secret(orjson.dumps(manifest), OWNER)


def patched(manifest: Manifest, patch: bytes) -> Manifest:
    """The object after a merge patch, as far as these patches go."""
    change = orjson.loads(patch)
    annotations = {**manifest["metadata"]["annotations"], **change["metadata"].get("annotations", {})}
    data = {**manifest["data"], **change.get("data", {})}
    return {
        **manifest,
        "metadata": {
            **manifest["metadata"],
            "annotations": {name: value for name, value in annotations.items() if value is not None},
        },
        "data": {name: value for name, value in data.items() if value is not None},
    }


def test_decision_sees_what_was_written() -> None:
    found = read(secret())
    assert found is not None
    assert (found.uid, found.version) == ("u", 7)
    assert found.seen == Seen(certificate=ISSUED.pair.certificate, trust=ISSUED.trust)


def test_a_rotation_is_stored_and_read_again() -> None:
    first = read(secret())
    assert first is not None
    following = issue(WANTED, first.seen, NOW, CertificateSettings())
    manifest = patched(secret(), staged(first, following))
    second = read(patched(manifest, trusted_since(first, NOW)))
    assert second is not None
    assert second.seen.next_certificate == following.pair.certificate
    assert second.seen.trusted_since == NOW
    assert next_pair(orjson.dumps(manifest)) == following.pair


def test_every_write_names_what_was_judged() -> None:
    found = read(secret())
    assert found is not None
    assert orjson.loads(staged(found, ISSUED))["metadata"] == {
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {TRUSTED_SINCE_ANNOTATION: None},
    }


def test_no_key_is_in_what_is_remembered() -> None:
    assert "PRIVATE KEY" not in repr(read(secret()))


def test_secret_left_by_a_deployment_of_another_name_is_taken_where_it_adopts() -> None:
    left = orjson.dumps(secret(ownerReferences=[], labels={SERVING_CERTIFICATE_LABEL: OTHER.name}))
    assert read_secret(left, OWNER) is None
    found = read_secret(left, OWNER, adopts=True)
    assert found is not None
    assert found.is_orphan


def test_orphaned_secret_becomes_ours_and_nothing_of_it_is_used() -> None:
    found = read(secret(ownerReferences=[]))
    assert found is not None
    assert found.is_orphan
    assert found.seen == Seen()


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": [], "labels": {}},
        {"ownerReferences": [], "labels": {SERVING_CERTIFICATE_LABEL: OTHER.name}},
        {"ownerReferences": [OTHER.reference]},
        {"ownerReferences": [REPLICA_SET]},
        {"ownerReferences": [{**OWNER.reference, "controller": False}]},
        {"ownerReferences": [{**OWNER.reference, "kind": "Other"}]},
        {"ownerReferences": [], "labels": {}, "annotations": {OWNER_UID_ANNOTATION: OWNER.uid}},
        {"labels": {}, "annotations": {}},
        {"labels": {**OWNER.labels, SERVING_CERTIFICATE_LABEL: OWNER.name}},
    ],
)
def test_anybody_elses_secret_is_not_ours(metadata: Manifest) -> None:
    """Nor is one that the content brings, although the deployment controls it."""
    assert read(secret(**metadata)) is None


def test_a_secret_without_its_label_is_still_ours() -> None:
    found = read(secret(labels={}))
    assert found is not None
    assert not found.seen.is_labelled


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
@pytest.mark.parametrize("value", [b"", b"junk", None])
def test_a_certificate_without_its_key_counts_as_none(name: str, value: bytes | None) -> None:
    manifest = secret()
    manifest["data"][name] = base64.b64encode(value).decode() if value is not None else ""
    found = read(manifest)
    assert found is not None
    assert found.seen.certificate == b""


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "9" * 100])
def test_time_that_the_operator_did_not_write_is_no_time(text: str) -> None:
    annotations = {CERTIFICATE_EXPIRY_ANNOTATION: "", TRUSTED_SINCE_ANNOTATION: text}
    found = read(secret(annotations=annotations))
    assert found is not None
    assert found.seen.trusted_since is None


class Watched:
    """A watch that shows what a test says."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.secrets = ServingSecrets(Client.__new__(Client), on_change=self.woken.append)
        self.known: LiveObject | None = None

    def shows(self, version: int, uid: str = "u") -> None:
        new = live(version, uid)
        self.secrets._changed(WANTED.secret, self.known, new)
        self.known = new

    def shows_none(self) -> None:
        self.secrets._changed(WANTED.secret, self.known, None)
        self.known = None


def live(version: int, uid: str = "u") -> LiveObject:
    manifest = secret(uid=uid, resourceVersion=str(version), managedFields=[{"manager": "x", "fieldsV1": {}}])
    return LiveObject(key=WANTED.secret, metadata=decode_metadata(orjson.dumps(manifest)))


def test_our_own_writes_wake_no_deployment() -> None:
    watched = Watched()
    watched.secrets.observe(WANTED.secret, live(7).metadata)
    watched.shows(6)
    watched.shows(7)
    assert watched.woken == []
    watched.shows(8)
    assert watched.woken == [OWNER.uid]


def test_a_deletion_wakes_and_an_old_one_does_not() -> None:
    watched = Watched()
    watched.shows(6, uid="former")
    watched.secrets.observe(WANTED.secret, live(9).metadata)
    watched.woken.clear()
    watched.shows_none()
    assert watched.woken == []
    assert watched.secrets.get(WANTED.secret) is not None
    watched.shows(9)
    watched.shows_none()
    assert watched.woken == [OWNER.uid]
    assert watched.secrets.get(WANTED.secret) is None


def test_a_restored_server_is_believed() -> None:
    watched = Watched()
    watched.shows(9)
    watched.shows(3)
    found = watched.secrets.get(WANTED.secret)
    assert found is not None
    assert found.version == 3


def test_nothing_is_kept_that_would_keep_the_bytes_of_a_secret_alive() -> None:
    watched = Watched()
    watched.secrets.observe(WANTED.secret, live(7).metadata)
    ((_, metadata),) = watched.secrets.of(OWNER.uid)
    assert metadata.sent_managed_fields is None


class WatchedNamespaces:
    """Secrets that are watched by namespace; no watch is really begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[str] = []
        self.stopped: list[str] = []

        async def stop(informer: Informer) -> None:
            self.stopped.append(informer._namespace)

        monkeypatch.setattr(Informer, "start", lambda informer: self.started.append(informer._namespace))
        monkeypatch.setattr(Informer, "stop", stop)
        self.secrets = ServingSecrets(Client.__new__(Client), on_change=lambda _: None, by_namespace=True)


async def test_namespace_is_watched_once_for_all_deployments_until_the_last_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = WatchedNamespaces(monkeypatch)
    assert not list(watched.secrets.informers())
    assert watched.secrets.may_be_unseen("one")
    watched.secrets.watch("one", ["a", "b"])
    watched.secrets.watch("two", ["a"])
    assert watched.started == ["a", "b"]
    assert not watched.secrets.may_be_unseen("one")
    watched.secrets.ended("one")
    await asyncio.sleep(0)
    assert watched.stopped == ["b"]
    watched.secrets.ended("two")
    await watched.secrets.close()
    assert watched.stopped == ["b", "a"]
    assert not list(watched.secrets.informers())


async def test_one_watch_of_all_namespaces_serves_every_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Informer, "start", lambda _: pytest.fail("it is the leader's to start"))
    secrets = ServingSecrets(Client.__new__(Client), on_change=lambda _: None)
    (informer,) = secrets.informers()
    secrets.watch("one", ["a"])
    assert list(secrets.informers()) == [informer]
    assert not secrets.is_synced("a")
    informer.synced.set()
    assert secrets.is_synced("a")
    assert not secrets.may_be_unseen("one")
