"""`spec.version` and `spec.release` of a ClusterServiceVersion, as they are written again after reading."""

from rukpak_py.core import versions


def canonical(text: str) -> str:
    """`v1.2` as `1.2.0`, or ValueError in Go's words."""
    return str(versions.tolerant(text))


def canonical_release(text: str) -> str:
    """The release, unchanged, or ValueError in Go's words."""
    return versions.release(text)
