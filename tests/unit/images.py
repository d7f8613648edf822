"""Images for tests: layers as tars, and what skopeo and `docker save` make of them."""

import gzip
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@dataclass(frozen=True)
class Entry:
    type: bytes
    link: str = ""


def symlink(target: str) -> Entry:
    return Entry(tarfile.SYMTYPE, target)


def hard_link(target: str) -> Entry:
    return Entry(tarfile.LNKTYPE, target)


def directory() -> Entry:
    return Entry(tarfile.DIRTYPE)


def layer(entries: Mapping[str, bytes | Entry]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for path, entry in entries.items():
            member = tarfile.TarInfo(path)
            if isinstance(entry, Entry):
                member.type, member.linkname = entry.type, entry.link
                tar.addfile(member)
            else:
                member.size = len(entry)
                tar.addfile(member, io.BytesIO(entry))
    return data.getvalue()


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Layout:
    """The files of an OCI layout, by path."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def blob(self, data: bytes, **fields: Any) -> dict[str, Any]:
        digest = digest_of(data)
        self.files[f"blobs/{digest.replace(':', '/')}"] = data
        return {"digest": digest, "size": len(data), **fields}

    def image(
        self, layers: Sequence[Mapping[str, bytes | Entry]], labels: Mapping[str, str] | None = None, **fields: Any
    ) -> dict[str, Any]:
        blobs = [self.blob(gzip.compress(layer(entries), mtime=0)) for entries in layers]
        config = self.blob(json.dumps({"rootfs": {"diff_ids": []}, "config": {"Labels": labels}}).encode())
        return self.document({"schemaVersion": 2, "config": config, "layers": blobs}, **fields)

    def document(self, content: Any, **fields: Any) -> dict[str, Any]:
        return self.blob(json.dumps(content).encode(), **fields)

    def index(self, *manifests: dict[str, Any]) -> "Layout":
        self.files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": list(manifests)}).encode()
        return self


def docker_archive(
    layers: Sequence[Mapping[str, bytes | Entry]], labels: Mapping[str, str] | None = None
) -> dict[str, bytes | Entry]:
    """As old versions of docker write it: an equal layer is a link to its first copy."""
    files: dict[str, bytes | Entry] = {}
    paths: list[str] = []
    digests: list[str] = []
    for number, entries in enumerate(layers):
        data = layer(entries)
        path = f"{number:064}/layer.tar"
        first = next((paths[other] for other, digest in enumerate(digests) if digest == digest_of(data)), None)
        files[path] = data if first is None else symlink(f"../{first}")
        paths.append(path)
        digests.append(digest_of(data))
    configuration = {"rootfs": {"type": "layers", "diff_ids": digests}, "config": {"Labels": labels}}
    files["config.json"] = json.dumps(configuration).encode()
    manifest = [{"Config": "config.json", "RepoTags": ["example.com/demo:1"], "Layers": paths}]
    return files | {"manifest.json": json.dumps(manifest).encode()}


def zstd_compressed(data: bytes, *, window_log: int | None = None) -> bytes:
    options = {} if window_log is None else {int(zstd.CompressionParameter.window_log): window_log}
    compressor = zstd.ZstdCompressor(options=options)
    return compressor.compress(data) + compressor.flush()
