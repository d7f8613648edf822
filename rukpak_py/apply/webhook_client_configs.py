"""What a manifest says about webhooks that are called for it, without the schemas of a CRD: they may be megabytes."""

from typing import Any

import msgspec
import orjson


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Spec(msgspec.Struct):
    service: Any = None
    conversion: Any = None


class _Outline(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    webhooks: Any = None
    spec: _Spec | None = None


_DECODER = msgspec.json.Decoder(_Outline)


def caller_outline(body: bytes) -> dict[str, Any]:
    """A manifest with these fields only; one that has something else in their place, or is small, comes whole."""
    found: dict[str, Any]
    try:
        outline = _DECODER.decode(body)
    except msgspec.ValidationError:
        outline = None
    whole = outline is None or outline.kind == "APIService"
    found = orjson.loads(body) if whole else msgspec.to_builtins(outline)
    return found
