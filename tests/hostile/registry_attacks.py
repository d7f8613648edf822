"""The attacks of a hostile registry, by name, and the image that each of them serves."""

import gzip
import hashlib
import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

REPOSITORY: Final = "team/demo"
TAG: Final = "v1"
FILES: Final = {"manifests/a.yaml": b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"}
MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar+gzip"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"


class Attack(Enum):
    """Behaviour of the registry in place of a correct answer; the value is its name on the command line."""

    NONE = "none"
    """Nothing: a good registry."""

    SLOW_STATUS = "slow-status"
    """The first line of every answer comes byte by byte."""

    SLOW_HEADERS = "slow-headers"
    """Headers come byte by byte, one after the other."""

    SLOW_TOKEN = "slow-token"
    """It asks for a token, and its token service sends one byte by byte."""

    SLOW_MANIFEST = "slow-manifest"
    """The manifest comes byte by byte."""

    SLOW_CONFIG = "slow-config"
    """The configuration of the image comes byte by byte."""

    SLOW_LAYER = "slow-layer"
    """The layer comes byte by byte."""

    SLOW_LAYER_CUT = "slow-layer-cut"
    """The layer comes byte by byte, and the connection ends after each few: what is read on is as slow."""

    STALLED_LAYER = "stalled-layer"
    """A large layer comes at once, but for its last byte, which never comes."""

    SILENT = "silent"
    """It takes requests and never says a word."""

    SEGMENTS = "segments"
    """A layer in segments of one byte, as quickly as they can be sent."""

    CHUNKS = "chunks"
    """A layer in chunks of one byte (`Transfer-Encoding: chunked`): a hundred times the work of an honest one."""

    REDIRECTS = "redirects"
    """Every blob is elsewhere, for ever."""

    REDIRECT_BODY = "redirect-body"
    """A redirect whose body never ends."""

    REDIRECT_INVALID = "redirect-invalid"
    """A redirect to what is not a URL."""

    REDIRECT_LONG = "redirect-long"
    """A redirect to a URL of 60 kB."""

    HEADERS = "headers"
    """Many megabytes of headers."""

    COOKIES = "cookies"
    """Cookies in the forms that the library takes quadratic time for."""

    UNWELL = "unwell"
    """503 with a body that never ends."""

    CHALLENGE_16K = "challenge-16k"
    """A `WWW-Authenticate` of 16 kB: one word, and no parameter behind it."""

    CHALLENGE_60K = "challenge-60k"
    """The same of 60 kB."""

    CHALLENGE_QUOTES = "challenge-quotes"
    """60 kB of quotes that open and never close."""

    CHALLENGE_BACKSLASHES = "challenge-backslashes"
    """60 kB of backslashes, which a careless pattern takes for letters."""

    CHALLENGE_COMMAS = "challenge-commas"
    """60 kB of commas, with a scheme behind each."""

    TOKEN_HUGE = "token-huge"
    """A token without an end."""

    TOKEN_DEEP = "token-deep"
    """A token answer of brackets only."""

    ERRORS_HUGE = "errors-huge"
    """404 with a message of many kilobytes."""

    ERRORS_DEEP = "errors-deep"
    """404 with an answer of brackets only."""

    REASON_HUGE = "reason-huge"
    """A reason phrase of 60 kB."""

    STATUS_HUGE = "status-huge"
    """60 kB in place of a status line."""

    RETRY_AFTER_HUGE = "retry-after-huge"
    """429 with a `Retry-After` of 60 kB."""

    MANIFEST_ENDLESS = "manifest-endless"
    """A manifest without an end."""

    MANIFEST_ENTRIES = "manifest-entries"
    """A manifest with a hundred thousand layers."""

    LAYER_ENDLESS = "layer-endless"
    """A layer that goes on after the size that its manifest names."""

    LAYER_BOMB = "layer-bomb"
    """A layer that unpacks to a thousand times its size."""

    LAYER_DAMAGED = "layer-damaged"
    """A layer of other bytes than its digest names."""

    CLOSING = "closing"
    """A connection for each answer, in an image of hundreds of layers."""


CHALLENGES: Final[dict[Attack, str]] = {
    Attack.CHALLENGE_16K: "Bearer " + "a" * 16_000,
    Attack.CHALLENGE_60K: "Bearer " + "a" * 60_000,
    Attack.CHALLENGE_QUOTES: "Bearer " + 'a="' * 20_000,
    Attack.CHALLENGE_BACKSLASHES: "Bearer " + "\\" * 60_000,
    Attack.CHALLENGE_COMMAS: "Bearer " + ",bearer" * 8_500,
}

_LARGE: Final = {
    Attack.SLOW_LAYER: 200_000,
    Attack.SLOW_LAYER_CUT: 200_000,
    Attack.CHUNKS: 40_000,
    Attack.STALLED_LAYER: 4_000_000,
}  # bytes of the layer
# Whole answers to whatever is asked for: status, headers and body.
ANSWERS: Final[dict[Attack, tuple[int, list[tuple[str, str]], bytes]]] = {
    **{attack: (401, [("WWW-Authenticate", header)], b"") for attack, header in CHALLENGES.items()},
    Attack.COOKIES: (200, [("Set-Cookie", "a=b"), ("Set-Cookie2", "a;" * 30_000)], b"{}"),
    Attack.ERRORS_HUGE: (404, [], json.dumps({"errors": [{"message": "m" * 60_000}]}).encode()),
    Attack.ERRORS_DEEP: (404, [], b"[" * 60_000),
    Attack.RETRY_AFTER_HUGE: (429, [("Retry-After", "1 Jan " * 10_000)], b""),
    Attack.REDIRECT_INVALID: (307, [("Location", "http://[::1/x")], b""),
    Attack.REDIRECT_LONG: (307, [("Location", f"http://{'a' * 60_000}/x")], b""),
}
# Bytes that are sent as they are.
RAW: Final = {
    Attack.REASON_HUGE: b"HTTP/1.1 404 " + b"r" * 60_000 + b"\r\nContent-Length: 0\r\n\r\n",
    Attack.STATUS_HUGE: b"s: " * 20_000 + b"\r\n\r\n",
    Attack.HEADERS: b"HTTP/1.1 200 OK\r\n"
    + b"".join(b"X-%d: " % number + b"a" * 65_000 + b"\r\n" for number in range(99)),
}


@dataclass(frozen=True, kw_only=True)
class Image:
    """Documents of an image, by digest and by tag."""

    documents: dict[str, bytes]
    blobs: dict[str, bytes]
    layer: str
    config: str


def image_for(attack: Attack) -> Image:
    noise = os.urandom(_LARGE.get(attack, 0))
    bomb = bytes(10_000_000) if attack is Attack.LAYER_BOMB else b""
    tars = [_tar({**FILES, "usr/noise": noise, "usr/bomb": bomb} if noise or bomb else FILES)]
    tars += [_tar({"usr/x": b"%d" % number}) for number in range(300 if attack is Attack.CLOSING else 0)]
    packed = [gzip.compress(tar, mtime=0) for tar in tars]
    config = json.dumps({"rootfs": {"type": "layers", "diff_ids": [digest_of(tar) for tar in tars]}}).encode()
    layers = [_descriptor(data, _LAYER) for data in packed]
    if attack is Attack.MANIFEST_ENTRIES:
        layers *= 20_000
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": _descriptor(config, _CONFIG), "layers": layers}
    data = json.dumps(manifest).encode()
    return Image(
        documents={TAG: data, digest_of(data): data},
        blobs={digest_of(blob): blob for blob in [config, *packed]},
        layer=digest_of(packed[0]),
        config=digest_of(config),
    )


def _descriptor(data: bytes, media_type: str) -> dict[str, str | int]:
    return {"mediaType": media_type, "digest": digest_of(data), "size": len(data)}


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _tar(files: dict[str, bytes]) -> bytes:
    return b"".join(_members(files))


def _members(files: dict[str, bytes]) -> Iterator[bytes]:
    for path, content in files.items():
        member = tarfile.TarInfo(path)
        member.size = len(content)
        yield member.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)
