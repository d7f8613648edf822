"""One object for each identity, where upstream emits both and leaves it to chance which of them stays.

A bundle may ship what is generated as well: its ServiceAccount stays as it is shipped; its Service gets the ports and
the selector without which webhooks are not reached. Everything else must be identical, or it is the author's to decide.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from rukpak_py.core.errors import ContentError
from rukpak_py.core.objects import GroupVersionKind, ObjectKey, canonical_json
from rukpak_py.formats.json_fields import Json


class MergedObject(NamedTuple):
    manifest: Json
    file: str = ""  # that ships it; generated objects have none


def merged(entries: Iterable[MergedObject]) -> list[Json]:
    """In the order in which each identity first appears; what has no name yet (generateName) has none."""
    kept: dict[tuple[str, ...], MergedObject] = {}
    for number, entry in enumerate(entries):
        key = _identity(entry.manifest)
        key = key if key[-1] else (str(number),)
        kept[key] = _combined(kept[key], entry) if key in kept else entry
    return [entry.manifest for entry in kept.values()]


def _identity(manifest: Json) -> tuple[str, ...]:
    metadata = manifest.get("metadata") or {}
    names = (manifest.get("apiVersion"), manifest.get("kind"), metadata.get("namespace"), metadata.get("name"))
    return tuple(str(name or "") for name in names)


def _combined(first: MergedObject, second: MergedObject) -> MergedObject:
    if canonical_json(first.manifest) == canonical_json(second.manifest):
        return first if first.file else second
    shipped, generated = (first, second) if first.file else (second, first)
    if shipped.file and not generated.file:
        match shipped.manifest.get("apiVersion"), shipped.manifest.get("kind"):
            case "v1", "ServiceAccount":
                return shipped
            case "v1", "Service":
                return MergedObject(_service(shipped.manifest, generated.manifest), shipped.file)
    raise ContentError(_difference(first, second))


def _difference(first: MergedObject, second: MergedObject) -> str:
    api_version, kind, namespace, name = _identity(first.manifest)
    named = ObjectKey(GroupVersionKind.parse(api_version, kind).group, kind, namespace, name)
    places = list(dict.fromkeys(entry.file or "what is generated for the CSV" for entry in (first, second)))
    where = f"in {places[0]} and in {places[1]}" if len(places) == 2 else f"twice in {places[0]}"
    return f"{named} is defined differently {where}; keep one of the two, or give one another name"


def _service(shipped: Json, generated: Json) -> Json:
    spec = _mapping(shipped.get("spec"))
    wanted = generated["spec"]
    served = {port["port"] for port in wanted["ports"]}
    others = [port for port in _listing(spec.get("ports")) if _mapping(port).get("port") not in served]
    named = [{"name": str(port.get("port")), **port} if isinstance(port, dict) else port for port in others]
    return {
        **shipped,
        "metadata": _metadata(_mapping(shipped.get("metadata")), generated["metadata"]),
        "spec": {**spec, **wanted, "ports": [*wanted["ports"], *named]},
    }


def _metadata(shipped: Json, generated: Json) -> Json:
    joined = {
        field: {**_mapping(shipped.get(field)), **generated.get(field, {})} for field in ("labels", "annotations")
    }
    return {**shipped, **{field: values for field, values in joined.items() if values}}


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _listing(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
