"""A registry for tests that is as odd as a test wants it."""

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.unit.images import Entry, layer
from tests.unit.web_servers import Answer, Asked, Server

REPOSITORY = "team/demo"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
DOCKER_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"

Files = Mapping[str, bytes | Entry]


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def unpacked(data: bytes) -> bytes:
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


@dataclass
class Contents:
    """The contents of the registry: documents with their types and blobs, both by digest, and tags."""

    documents: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def blob(self, data: bytes, media_type: str, **fields: Any) -> dict[str, Any]:
        self.blobs[digest_of(data)] = data
        return {"mediaType": media_type, "digest": digest_of(data), "size": len(data), **fields}

    def document(self, content: Any, media_type: str, *, tag: str = "", **fields: Any) -> dict[str, Any]:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.documents[digest_of(data)] = (media_type, data)
        if tag:
            self.documents[tag] = (media_type, data)
        return {"mediaType": media_type, "digest": digest_of(data), "size": len(data), **fields}

    def image(self, *layers: Files, tag: str = "", kind: str = OCI_MANIFEST, **fields: Any) -> dict[str, Any]:
        layer_type = OCI_LAYER if kind == OCI_MANIFEST else DOCKER_LAYER
        packed = [(layer_type, gzip.compress(layer(files), mtime=0)) for files in layers]
        return self.image_of(packed, tag=tag, kind=kind, **fields)

    def image_of(
        self,
        layers: Sequence[tuple[str, bytes]],
        *,
        diff_ids: Sequence[str] | None = None,
        tag: str = "",
        kind: str = OCI_MANIFEST,
        members: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Add an image of layers with their types; what is not gzipped has to come with its `diff_ids`."""
        digests = [digest_of(unpacked(data)) for _, data in layers] if diff_ids is None else list(diff_ids)
        configuration = {"rootfs": {"type": "layers", "diff_ids": digests}, "config": {"Labels": labels}}
        config = self.blob(json.dumps(configuration).encode(), OCI_CONFIG)
        manifest = {
            "schemaVersion": 2,
            "mediaType": kind,
            "config": config,
            "layers": [self.blob(data, media_type) for media_type, data in layers],
            **(members or {}),
        }
        return self.document(manifest, kind, tag=tag, **fields)

    def index(self, *manifests: dict[str, Any], tag: str = "", kind: str = OCI_INDEX, **fields: Any) -> dict[str, Any]:
        return self.document(
            {"schemaVersion": 2, "mediaType": kind, "manifests": list(manifests)}, kind, tag=tag, **fields
        )

    def answer(self, asked: Asked) -> Answer:
        """Answer as a registry that everyone may read."""
        _, _, rest = asked.path.partition(f"/v2/{REPOSITORY}/")
        kind, _, name = rest.partition("/")
        if kind == "manifests" and name in self.documents:
            media_type, data = self.documents[name]
            return Answer(200, {"Content-Type": media_type, "Docker-Content-Digest": digest_of(data)}, data)
        if kind == "blobs" and name in self.blobs:
            return part_of(self.blobs[name], asked)
        if rest or asked.path != "/v2/":
            return Answer(404, body=b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}')
        return Answer(200)


def part_of(data: bytes, asked: Asked) -> Answer:
    wanted = asked.headers.get("Range", "")
    if not wanted:
        return Answer(200, body=data)
    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
    return Answer(206, {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"}, data[start:])


def asked_for(server: Server) -> list[str]:
    """The documents and blobs that were asked for, without tokens and TLS that was tried."""
    start = f"/v2/{REPOSITORY}/"
    return [asked.path.removeprefix(start) for asked in server.asked if asked.path.startswith(start)]
