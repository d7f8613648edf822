"""Typed locations: a path that is there, an image of a registry, or an error that says what to give instead.

A path that is there as it was typed is that path. Else `oci:DIR`, `oci-archive:FILE`, `docker-archive:FILE` and
`dir:DIR`, the names that skopeo gives to such paths, may stand before it; what it is, its content says. Behind these a
`:NAME` or an `@sha256:…` says which image of several is meant. `docker://IMAGE` is an image of a registry, and so is
what names no path, but a registry, a tag or a digest.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from rukpak_py.core.errors import ContentError
from rukpak_py.sources.image.descriptors import ANY, WantedPlatform
from rukpak_py.sources.image.reference import ImageReference, parse_image

_TRANSPORTS = frozenset({"oci", "oci-archive", "docker-archive", "dir"})
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL | re.IGNORECASE)
_OF_REGISTRIES = frozenset({"docker", "oci"})
_ELSEWHERE = re.compile(r"(docker-daemon|containers-storage):[\w./:@-]+", re.ASCII)
_DIGEST = re.compile(r"(?P<before>.+)@(?P<digest>sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})", re.DOTALL)
_SUFFIX_OF_FILE = re.compile(r"\.(tar|tgz|gz|bz2|xz|zst|zip|ya?ml|json|txt|md)$")
MISSING = "there is no such file or directory"


@dataclass(frozen=True, kw_only=True)
class Location:
    path: Path
    wanted: WantedPlatform = ANY


def locate(typed: str) -> Location | ImageReference:
    """ContentError, without what was typed, when there is nothing."""
    if _is_there(typed):
        return Location(path=Path(typed))
    transport, _, rest = typed.partition(":")
    if transport not in _TRANSPORTS or rest.startswith("//"):
        if (image := _in_registry(typed)) is not None:
            return image
        raise ContentError(_why_missing(typed))
    if (location := _behind_transport(rest)) is None:
        raise ContentError(MISSING)
    return location


def _behind_transport(rest: str) -> Location | None:
    """The path is as short as it can be, as for skopeo; without a name it may hold colons."""
    if _is_there(rest):
        return Location(path=Path(rest))
    match = _DIGEST.fullmatch(rest)
    path, digest = (match["before"], match["digest"]) if match else (rest, "")
    if digest and _is_there(path):
        return Location(path=Path(path), wanted=WantedPlatform(digest=digest))
    for colon in re.finditer(":", path):
        before, name = path[: colon.start()], path[colon.end() :]
        if _is_there(before):
            return Location(path=Path(before), wanted=WantedPlatform(name=name, digest=digest))
    return None


def _is_there(path: str) -> bool:
    if "\0" in path:
        return False
    try:
        os.stat(path)  # noqa: PTH116 - a Path would be another one than what was typed; and `exists` hides refusals
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _in_registry(typed: str) -> ImageReference | None:
    url = _URL.fullmatch(typed)
    if url and url["scheme"].lower() in _OF_REGISTRIES:
        return parse_image(url["rest"])
    if url or _ELSEWHERE.fullmatch(typed) or os.path.islink(typed):  # noqa: PTH114 - see _is_there
        return None
    return parse_image(typed) if _may_be_image(typed) and _is_explicit(typed) else None


def _why_missing(typed: str) -> str:
    if url := _URL.fullmatch(typed):
        image = url["rest"] if _may_be_image(url["rest"]) else "IMAGE"
        return f"a URL is not read: download what is there, and give the file. {_for_image(image)}"
    if _ELSEWHERE.fullmatch(typed):
        return f"is not on disk: save it with `skopeo copy {typed} oci:DIR` and give DIR"
    if os.path.islink(typed):  # noqa: PTH114 - see _is_there
        return f"is a link to {os.readlink(typed)!r}, which is not there"  # noqa: PTH115 - see _is_there
    return f"{MISSING}. {_for_image(typed)}" if _looks_like_image(typed) else MISSING


def _for_image(image: str) -> str:
    return f"For an image of a registry give docker://{image}"


def _is_explicit(typed: str) -> bool:
    """Whether the text names a registry, a tag or a digest."""
    first, slash, _ = typed.partition("/")
    if "@" in typed or ":" in typed.rpartition("/")[2]:
        return True
    return bool(slash) and ("." in first or ":" in first or first == "localhost") and _looks_like_image(typed)


def _looks_like_image(typed: str) -> bool:
    """Whether it may be an image, and is not like a path of which the last part is missing."""
    directory, slash, _ = typed.partition("/")
    return _may_be_image(typed) and bool(slash) and not _SUFFIX_OF_FILE.search(typed) and not _is_there(directory)


def _may_be_image(text: str) -> bool:
    try:
        parse_image(text)
    except ContentError:
        return False
    return True
