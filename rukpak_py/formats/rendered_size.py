"""How many and how large the objects of one bundle become: limits for each of them, and for all together.

An object that is too large is found out before it is written as JSON, so a few kilobytes of content never take the
memory of what they would become.
"""

from typing import Any

from rukpak_py.core.json_text import least_json_bytes
from rukpak_py.core.limits import Limits
from rukpak_py.core.objects import NotJsonError, Object, canonical_json

_SHOWN = 100  # characters of a kind or a name


class RenderedSize:
    """Give it every object of the bundle, in any order; ContentError once a limit is exceeded."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._total = 0
        self._count = 0

    def render(self, manifest: dict[str, Any]) -> Object:
        self._begin(manifest)
        rendered = Object.from_manifest(manifest)
        self._add(manifest, len(rendered.json))
        return rendered

    def check(self, manifest: dict[str, Any]) -> None:
        """The same, for who renders later: that the manifest cannot be written as JSON is told then."""
        self._begin(manifest)
        try:
            json = canonical_json(manifest)
        except NotJsonError:
            return
        self._add(manifest, len(json))

    def _begin(self, manifest: dict[str, Any]) -> None:
        self._count += 1
        if self._count > self._limits.rendered_objects:
            raise self._limits.exceeded("rendered_objects", "the number of objects of the bundle")
        self._demand_small(manifest, least_json_bytes(manifest, stop_at=self._limits.object_bytes))

    def _add(self, manifest: dict[str, Any], size: int) -> None:
        self._demand_small(manifest, size)
        self._total += size
        if self._total > self._limits.rendered_bytes:
            raise self._limits.exceeded("rendered_bytes", "the JSON of all objects of the bundle")

    def _demand_small(self, manifest: dict[str, Any], size: int) -> None:
        if size > self._limits.object_bytes:
            raise self._limits.exceeded("object_bytes", f"the JSON of {_named(manifest)}")


def _named(manifest: dict[str, Any]) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    shown = (str(text)[:_SHOWN] for text in (manifest.get("kind"), name) if isinstance(text, str) and text)
    return " ".join(shown) or "an object"
