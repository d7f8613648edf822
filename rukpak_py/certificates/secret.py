"""Secrets with certificates as values: which are ours, what a decision sees of them, and what is written.

Ours is a Secret that the deployment controls by its uid and that carries a mark of the signer, but not the labels of
what the content brings. One that carries the mark for a deployment of this name (of any, where it adopts), and that
has no controller, was orphaned or restored from a backup: it becomes ours, but nothing of it is used. Anything else
belongs to another owner: nothing of it is used and nothing of it is overwritten.

Private keys pass through here from an answer to a write and stand in no value that is kept.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from rukpak_py.api.metadata import is_deployment
from rukpak_py.api.names import (
    CA_KEY,
    CERTIFICATE_EXPIRY_ANNOTATION,
    OWNER_KIND_LABEL,
    SERVING_CERTIFICATE_LABEL,
    TRUSTED_SINCE_ANNOTATION,
)
from rukpak_py.certificates.steps import Issued, Seen
from rukpak_py.certificates.wanted import WantedCertificate
from rukpak_py.core import x509
from rukpak_py.core.errors import ConflictError
from rukpak_py.core.objects import canonical_json
from rukpak_py.core.x509 import KeyPair
from rukpak_py.kube.metadata import Metadata
from rukpak_py.kube.secrets import StoredObject

CURRENT = ("tls.crt", "tls.key")
NEXT = ("next.crt", "next.key")
_TYPE = "kubernetes.io/tls"
_OTHER_ISSUERS = ("cert-manager.io/", "service.beta.openshift.io/", "service.alpha.openshift.io/")  # annotations


class CertificateOwner(Protocol):
    """The deployment that a certificate is for."""

    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def ca_manager(self) -> str: ...
    @property
    def reference(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSecret:
    uid: str
    version: int
    seen: Seen  # without the callers
    is_deleted: bool
    is_orphan: bool = False


def is_issued_for(metadata: Metadata, owner: CertificateOwner) -> bool:
    controller = metadata.controller
    is_marked = SERVING_CERTIFICATE_LABEL in metadata.labels or CERTIFICATE_EXPIRY_ANNOTATION in metadata.annotations
    return (
        controller is not None
        and is_deployment(controller)
        and controller.uid == owner.uid
        and is_marked
        and OWNER_KIND_LABEL not in metadata.labels
    )


def is_served_by_another(metadata: Metadata) -> bool:
    """Whether another issuer writes into the Secret now, because the deployment was told to use that one."""
    return any(name.startswith(_OTHER_ISSUERS) for name in metadata.annotations)


def _is_orphan(metadata: Metadata, owner: CertificateOwner, *, adopts: bool) -> bool:
    made_for = metadata.labels.get(SERVING_CERTIFICATE_LABEL)
    return (
        not metadata.owner_references
        and (made_for == owner.name or (adopts and made_for is not None))
        and OWNER_KIND_LABEL not in metadata.labels
    )


def read_secret(json: bytes, owner: CertificateOwner, *, adopts: bool = False) -> StoredSecret | None:
    """None when it is not ours: then no byte of its data was looked at.

    `adopts`: what a deployment of another name left is taken, too.
    """
    stored = StoredObject.decode(json)
    metadata = stored.metadata
    if _is_orphan(metadata, owner, adopts=adopts):
        return StoredSecret(
            uid=metadata.uid,
            version=metadata.version,
            seen=Seen(),
            is_deleted=metadata.is_deleted,
            is_orphan=True,
        )
    if not is_issued_for(metadata, owner):
        return None
    data = stored.secret_data()
    seen = Seen(
        certificate=certificate_in(pair_in(data)),
        next_certificate=certificate_in(pair_in(data, NEXT)),
        trust=data.get(CA_KEY, b""),
        trusted_since=_time(metadata.annotations.get(TRUSTED_SINCE_ANNOTATION, "")),
        is_labelled=metadata.labels.get(SERVING_CERTIFICATE_LABEL) == owner.name,
    )
    return StoredSecret(uid=metadata.uid, version=metadata.version, seen=seen, is_deleted=metadata.is_deleted)


def next_pair(json: bytes) -> KeyPair:
    return pair_in(StoredObject.decode(json).secret_data(), NEXT)


def not_ours(wanted: WantedCertificate) -> ConflictError:
    return ConflictError(
        f"{wanted.secret} exists and was not made for this BundleDeployment; {wanted.service} asks for its certificate "
        "there: delete the Secret; what it signed stays trusted"
    )


def new_secret(wanted: WantedCertificate, owner: CertificateOwner, issued: Issued) -> bytes:
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": _TYPE,
        "metadata": {
            "name": wanted.secret.name,
            "namespace": wanted.secret.namespace,
            "labels": {SERVING_CERTIFICATE_LABEL: owner.name},
            "annotations": _expiry(issued.pair.certificate),
            "ownerReferences": [owner.reference],
        },
        "data": _encoded({**pair_data(issued.pair), CA_KEY: issued.trust}),
    }
    return canonical_json(manifest)


def issued_again(secret: StoredSecret, owner: CertificateOwner, issued: Issued) -> bytes:
    return _patch(
        secret,
        owners=[owner.reference] if secret.is_orphan else None,
        labels={SERVING_CERTIFICATE_LABEL: owner.name},
        annotations={**_expiry(issued.pair.certificate), TRUSTED_SINCE_ANNOTATION: None},
        data={**pair_data(issued.pair), **dict.fromkeys(NEXT), CA_KEY: issued.trust},
    )


def staged(secret: StoredSecret, issued: Issued) -> bytes:
    data = {**pair_data(issued.pair, NEXT), CA_KEY: issued.trust}
    return _patch(secret, annotations={TRUSTED_SINCE_ANNOTATION: None}, data=data)


def switched(secret: StoredSecret, pair: KeyPair) -> bytes:
    return _patch(
        secret,
        annotations={**_expiry(pair.certificate), TRUSTED_SINCE_ANNOTATION: None},
        data={**pair_data(pair), **dict.fromkeys(NEXT)},
    )


def labelled(secret: StoredSecret, owner: CertificateOwner) -> bytes:
    return _patch(secret, labels={SERVING_CERTIFICATE_LABEL: owner.name})


def trusting(secret: StoredSecret, trust: bytes) -> bytes:
    return _patch(secret, data={CA_KEY: trust})


def trusted_since(secret: StoredSecret, now: datetime | None) -> bytes:
    value = now.astimezone(UTC).isoformat() if now is not None else None
    return _patch(secret, annotations={TRUSTED_SINCE_ANNOTATION: value})


def _patch(
    secret: StoredSecret,
    *,
    owners: Sequence[Mapping[str, Any]] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str | None] | None = None,
    data: Mapping[str, bytes | None] | None = None,
) -> bytes:
    """A merge patch of the object that was judged, in the version that was judged."""
    metadata: dict[str, Any] = {"uid": secret.uid, "resourceVersion": str(secret.version)}
    if owners:
        metadata["ownerReferences"] = owners
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    return canonical_json({"metadata": metadata, **({"data": _encoded(data)} if data else {})})


def pair_data(pair: KeyPair, names: tuple[str, str] = CURRENT) -> dict[str, bytes]:
    return dict(zip(names, (pair.certificate, pair.key), strict=True))


def pair_in(data: Mapping[str, bytes], names: tuple[str, str] = CURRENT) -> KeyPair:
    certificate, key = (data.get(name, b"") for name in names)
    return KeyPair(certificate=certificate, key=key)


def certificate_in(pair: KeyPair) -> bytes:
    """Empty when the certificate or its key is missing or ruined."""
    return pair.certificate if x509.is_pair(pair) else b""


def _expiry(certificate: bytes) -> dict[str, str | None]:
    end = x509.expiry(certificate)
    return {CERTIFICATE_EXPIRY_ANNOTATION: end.isoformat() if end is not None else None}


def _encoded(data: Mapping[str, bytes | None]) -> dict[str, str | None]:
    return {key: base64.b64encode(value).decode() if value is not None else None for key, value in data.items()}


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
