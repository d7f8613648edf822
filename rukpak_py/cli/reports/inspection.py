"""Description of a bundle for people: one row per fact, lists below their name."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from rukpak_py.cli.reports.report import counted
from rukpak_py.cli.terminal import Style, clean, table
from rukpak_py.core.limits import KIB

Json = dict[str, Any]

_FACTS = (
    ("format", "format"),
    ("package", "package"),
    ("name", "name"),
    ("displayName", "display name"),
    ("version", "version"),
    ("appVersion", "version of the application"),
    ("description", "description"),
    ("provider", "provider"),
    ("capabilities", "capability level"),
    ("replaces", "replaces"),
    ("skips", "skips"),
    ("skipRange", "skip range"),
    ("minKubeVersion", "minimum Kubernetes"),
    ("openshiftVersions", "OpenShift versions"),
    ("kubeVersion", "Kubernetes"),
    ("channels", "channels"),
    ("defaultChannel", "default channel"),
    ("installModes", "install modes"),
    ("deployments", "deployments"),
    ("digest", "digest"),
)


def lines_of(found: Json, style: Style) -> Iterator[str]:
    facts = [(title, _text(found[key])) for key, title in _FACTS if found.get(key)]
    image = found.get("image", {})
    if image.get("digest"):
        facts.append(("image digest", _text(image["digest"])))
    yield from table([*facts, ("size", _size(found))], width=style.width, indent=0)
    for title, rows in _lists(found):
        if rows:
            yield ""
            yield style.paint(title, "bold")
            yield from table(
                [(clean(first), clean(second)) for first, second in rows], width=style.width, indent=2, most=72
            )


def _lists(found: Json) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    yield "APIs", _apis(found["definitions"])
    yield "required APIs", [(_api(one), one["version"]) for one in found.get("required", ())]
    yield "webhooks", [(one["name"], f"{one['type']} of {one['deployment']}") for one in found.get("webhooks", ())]
    yield "other objects", [(one["kind"], str(one["count"])) for one in found["objects"]]
    yield "images", _images(found["images"])
    yield "image labels", list(found.get("image", {}).get("labels", {}).items())
    yield (
        "dependencies",
        [
            (one["type"], orjson.dumps(one["value"]).decode() if "value" in one else "(no value)")
            for one in found.get("dependencies", ())
        ],
    )


def _apis(definitions: Sequence[Json]) -> list[tuple[str, str]]:
    versions = [" ".join(one["versions"]) for one in definitions]
    widest = max(map(len, versions), default=0)
    return [
        (_api(one), f"{version.ljust(widest)}  {one['scope'] or ''}".rstrip())
        for one, version in zip(definitions, versions, strict=True)
    ]


def _images(images: Sequence[Json]) -> list[tuple[str, str]]:
    ways = ["digest" if one["pinned"] else "tag" for one in images]
    widest = max(map(len, ways), default=0)
    return [
        (one["image"], f"{way.ljust(widest)}  {', '.join(one['usedBy'])}")
        for one, way in zip(images, ways, strict=True)
    ]


def _api(definition: Json) -> str:
    return f"{definition['kind']}.{definition['group']}" if definition["group"] else str(definition["kind"])


def _text(value: Any) -> str:
    return clean(", ".join(value) if isinstance(value, list) else str(value))


def _size(found: Json) -> str:
    largest = found["largestFile"]
    told = f"{_bytes(found['bytes'])} in {counted(found['files'], 'file')}"
    return told if largest is None else f"{told}, the largest is {clean(largest['path'])} ({_bytes(largest['bytes'])})"


def _bytes(number: int) -> str:
    if number < KIB:
        return f"{number} B"
    return f"{number / KIB:.1f} KiB" if number < KIB * KIB else f"{number / KIB / KIB:.1f} MiB"
