"""The order of bundles: by version, then by release. No release is lower than any; build metadata does not count.

A key is made once per bundle, because comparing versions is what a resolver does most.
"""

from dataclasses import dataclass
from functools import lru_cache

from rukpak_py.catalog.model import Bundle
from rukpak_py.core.versions import Version, release, strict

Identifiers = tuple[tuple[bool, int, str], ...]
Precedence = tuple[int, int, int, bool, Identifiers]
Order = tuple[Precedence, Identifiers]


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleVersion:
    version: Version
    precedence: Precedence  # of the version alone, as ranges compare it
    release: Identifiers = ()

    @property
    def order(self) -> Order:
        return self.precedence, self.release


def precedence(version: Version) -> Precedence:
    identifiers = _identifiers(version.prerelease or "")
    return version.major, version.minor, version.patch, not identifiers, identifiers


def parse_version(text: str) -> Version | None:
    try:
        return strict(text)
    except ValueError:
        return None


def bundle_version(bundle: Bundle) -> BundleVersion | None:
    """The version and release of a bundle; None: it has none, or one that is not valid."""
    return _parsed(bundle.version, bundle.release)


@lru_cache(maxsize=16_384)  # channels share bundles, and every channel is asked by itself
def _parsed(text: str, release_text: str) -> BundleVersion | None:
    version = parse_version(text)
    if version is None:
        return None
    try:
        identifiers = _identifiers(release(release_text) if release_text else "")
    except ValueError:
        return None
    return BundleVersion(version=version, precedence=precedence(version), release=identifiers)


def _identifiers(text: str) -> Identifiers:
    """Numbers are lower than words; numbers compare by value, words by their bytes."""
    parts = text.split(".") if text else ()
    return tuple((False, int(part), "") if part.isdecimal() else (True, 0, part) for part in parts)
