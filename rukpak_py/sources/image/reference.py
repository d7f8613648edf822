"""The name of an image, as people write it, with what is left out by custom: docker.io, library/, latest."""

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import Final

from rukpak_py.core.errors import ContentError
from rukpak_py.sources.urls import DEFAULT_PORTS

_DEFAULT_REGISTRY: Final = "docker.io"
_DEFAULT_TAG: Final = "latest"
_REFERENCE: Final = re.compile(
    r"(?:(?P<registry>localhost|\[[0-9a-fA-F:]+\](?=:)|[\w-]+(?:\.[\w-]+)+|[\w.-]+(?=:\d+/))(?P<port>:\d{1,5})?/)?"
    r"(?P<repository>[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*)"
    r"(?::(?P<tag>\w[\w.-]{0,127}))?",
    re.ASCII,
)
PLAIN_HTTP_VARIABLE: Final = "RUKPAK_PLAIN_HTTP_REGISTRIES"
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_LONGEST_REPOSITORY: Final = 255
_HIGHEST_PORT: Final = 65535
_PORT: Final = re.compile(r":\d{1,5}$", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ImageReference:
    registry: str  # with its port
    repository: str
    tag: str
    digest: str = ""  # in place of the tag

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}{f'@{self.digest}' if self.digest else f':{self.tag}'}"

    def at(self, digest: str) -> "ImageReference":
        """The same image for ever."""
        return replace(self, digest=digest)

    @property
    def host(self) -> str:
        """The registry's host, without port and brackets."""
        return _PORT.sub("", self.registry).strip("[]")

    @property
    def port(self) -> int:
        """The port of the registry, that of TLS where the reference has none."""
        found = _PORT.search(self.registry)
        return int(found[0][1:]) if found else DEFAULT_PORTS["https"]

    @property
    def is_on_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_reference(text: str) -> ImageReference:
    """A reference by tag; ContentError for what is none."""
    if "@" in text:
        raise ContentError(f"{text[:300]!r} names an image by digest: its content makes the digest, give a tag")
    found = _REFERENCE.fullmatch(text)
    is_too_long = found is not None and len(found["repository"]) > _LONGEST_REPOSITORY
    if found is None or is_too_long or not _is_host(found["registry"]) or not _is_port(found["port"]):
        raise ContentError(
            f"{text[:300]!r} is not a valid image name: give REGISTRY/REPOSITORY:TAG, in lower case but for the tag"
        )
    registry = f"{found['registry'] or _DEFAULT_REGISTRY}{found['port'] or ''}"
    repository = found["repository"]
    if registry == _DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    return ImageReference(registry=registry, repository=repository, tag=found["tag"] or _DEFAULT_TAG)


def _is_host(text: str | None) -> bool:
    """Whether the text may be a host: an address is needed in brackets."""
    try:
        return text is None or not text.startswith("[") or bool(ipaddress.IPv6Address(text.strip("[]")))
    except ValueError:
        return False


def _is_port(text: str | None) -> bool:
    return text is None or 0 < int(text[1:]) <= _HIGHEST_PORT


def parse_image(text: str) -> ImageReference:
    """A reference by tag or by digest, as in a Pod; with both of them the digest counts."""
    name, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise ContentError(
            f"{text[:300]!r} is not a valid image name: what follows its @ is not a digest (sha256, sha512)"
        )
    return replace(parse_reference(name), digest=digest)


def is_digest(text: str) -> bool:
    return _DIGEST.fullmatch(text) is not None


def parse_registries(text: str) -> frozenset[str]:
    """Hosts with their ports, commas between them; ContentError for what is none."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    for name in names:
        if parse_reference(f"{name}/x").registry != name:
            raise ContentError(f"{name[:100]!r} is not a valid registry: give HOST or HOST:PORT")
    return frozenset(names)
