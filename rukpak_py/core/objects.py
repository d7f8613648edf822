"""Kubernetes objects as values: the JSON bytes plus the small head that decisions look at.

Bytes are decoded where a step needs a field that the head lacks, and nowhere else.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import orjson

from rukpak_py.core.errors import ContentError

ADMISSION_GROUP = "admissionregistration.k8s.io"
RBAC_GROUP = "rbac.authorization.k8s.io"
OWN_GROUP = "core.rukpak.io"
OWN_KINDS = frozenset({"Bundle", "BundleDeployment", "BundleInstance"})  # messages name them without their group


class GroupKind(NamedTuple):
    group: str
    kind: str

    def __str__(self) -> str:
        """`Secret`, `Secret.ecr.example.com`: a kind of another group than the core one may be of several."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersionKind(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str, kind: str) -> Self:
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)


class ObjectKey(NamedTuple):
    """The identity of an object in a cluster; the version is how it is spelt, not what it is.

    As a string it is what every message calls the object: `ConfigMap shop/settings`, `Deployment.apps/shop/web`. The
    kinds of our own group go without it, because messages name them so often: `BundleDeployment shop`.
    """

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        if not self.group or (self.group == OWN_GROUP and self.kind in OWN_KINDS):
            return f"{self.kind} {place}"
        return f"{self.group_kind}/{place}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The key that has this name in messages; None for anything else."""
        is_core = " " in name
        group_kind, _, place = name.partition(" " if is_core else "/")
        kind, _, group = group_kind.partition(".")
        namespace, _, last = place.rpartition("/")
        if not kind or not last or is_core is bool(group):
            return None
        return cls(OWN_GROUP if is_core and kind in OWN_KINDS else group, kind, namespace, last)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    gvk: GroupVersionKind
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.gvk.group, self.gvk.kind, self.namespace, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Object:
    """One manifest. `json` is canonical: keys sorted, no blanks."""

    head: Head
    json: bytes

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> Self:
        """A manifest is a mapping with a `kind`; what else it lacks shows as empty text in the head."""
        metadata = manifest.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        head = Head(
            gvk=GroupVersionKind.parse(_text(manifest.get("apiVersion")), _text(manifest.get("kind"))),
            namespace=_text(metadata.get("namespace")),
            name=_text(metadata.get("name")),
        )
        return cls(head=head, json=canonical_json(manifest))

    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = orjson.loads(self.json)
        return manifest


class NotJsonError(ContentError):
    """A value that JSON cannot hold: it nests too deeply, or a number needs more than 64 bits."""


def canonical_json(value: object) -> bytes:
    """The same value gives the same bytes in every process; `NotJsonError` for what JSON cannot hold.

    A copy, because many results are kept: orjson's own has the room that it was written in, ten times what it needs.
    """
    try:
        return bytes(memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)))
    except TypeError as error:
        raise NotJsonError(f"an object cannot be written as JSON: {error}") from error


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
