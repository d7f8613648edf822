"""Documents of manifests as Kubernetes' own builder reads them: an object with a kind, a list, or a defect.

A document with `items` is a list whatever its kind. An item without kind and apiVersion takes them from its list. Which
provisioner class other content is for is told by what its files look like: nothing is parsed for advice.
"""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

import orjson

from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS, REGISTRY_CLASS
from rukpak_py.content.tree import Tree
from rukpak_py.core.errors import ContentError
from rukpak_py.core.json_text import least_json_bytes
from rukpak_py.formats.helm.layout import CHART, has_chart
from rukpak_py.formats.type_defects import kind_of

SUFFIXES: Final = ("yaml", "yml", "json")
_KIND: Final = re.compile(rb"""^(?:\{\s*)?["']?kind["']?\s*:""", re.MULTILINE)
_CSV: Final = b"ClusterServiceVersion"
MANIFESTS = "manifests"  # the directory of both formats
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_KEYS_SHOWN = 3
_LONGEST_KEY = 40  # characters
_LONGEST_INHERITED = 512  # a group has up to 253 characters, a version and a kind 63
_GO_KINDS = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def manifests_at_root(files: Mapping[str, bytes]) -> list[str]:
    return [path for path, data in files.items() if "/" not in path and path.endswith(SUFFIXES) and _KIND.search(data)]


def advice_on_chart(tree: Tree) -> str | None:
    if not has_chart(tree):
        return None
    return f"{CHART} makes the content a Helm chart: set both provisioner classes to {HELM_CLASS}"


def advice_on_plain(files: Mapping[str, bytes]) -> str | None:
    """None where there are no manifests, or those of an OLM bundle."""
    found = _manifests_of(files)
    if not found or _has_csv(files, found):
        return None
    return f"for plain manifests set both provisioner classes to {PLAIN_CLASS}"


def advice_on_olm(files: Mapping[str, bytes]) -> str | None:
    if not _has_csv(files, _manifests_of(files)):
        return None
    return f"for an OLM bundle set both provisioner classes to {REGISTRY_CLASS}"


def _manifests_of(files: Mapping[str, bytes]) -> list[str]:
    return [path for path in files if path.startswith(f"{MANIFESTS}/")] or manifests_at_root(files)


def _has_csv(files: Mapping[str, bytes], paths: Iterable[str]) -> bool:
    return any(_CSV in files[path] for path in paths)


def has_kind(document: dict[str, Any]) -> bool:
    """Go's answer to an apiVersion with two slashes, which is none, is an empty kind."""
    kind, api_version = document.get("kind"), document.get("apiVersion")
    return isinstance(kind, str) and kind != "" and not (isinstance(api_version, str) and api_version.count("/") > 1)


def not_an_object(document: object) -> str:
    """The original's text, which its users know."""
    kind = _GO_KINDS.get(type(document), "null")
    return f"json: cannot unmarshal {kind} into Go value of type unstructured.detector"


def items_of(manifest: dict[str, Any]) -> list[Any] | None:
    """The items of a list with what they take from it, or None for a manifest that is no list."""
    if "items" not in manifest:
        return None
    items = manifest["items"]
    if not isinstance(items, list | None):
        raise ContentError(f"items must be a list, got {kind_of(items)}")
    return [_item(item, manifest) for item in items or []]


def checked_items_of(document: Any) -> list[Any] | None:
    """The same of any document, or ContentError where it is no manifest, in the original's words."""
    if not isinstance(document, dict):
        raise ContentError(not_an_object(document))
    if not has_kind(document):
        raise ContentError(f"Object 'Kind' is missing in '{excerpt(document)}'")
    return items_of(document)


def subdirectory(path: str) -> str:
    return (
        f'subdirectories are not allowed within the "{MANIFESTS}" directory of the bundle image filesystem: '
        f'found "{path}"'
    )


def excerpt(document: dict[str, Any]) -> str:
    """Enough to find the document; not all of it, which upstream prints: it may be a Secret.

    Where that would be nothing, the first keys stand without their values.
    """
    metadata = document.get("metadata")
    shown: dict[str, Any] = {key: document[key] for key in ("apiVersion", "kind") if _is_short(document.get(key))}
    if isinstance(metadata, dict):
        shown["metadata"] = {key: metadata[key] for key in ("name", "namespace") if _is_short(metadata.get(key))}
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode() if shown else _keys_of(document)


def _keys_of(document: dict[str, Any]) -> str:
    names = [f"{json.dumps(str(key)[:_LONGEST_KEY])}: …" for key in islice(document, _KEYS_SHOWN)]
    more = ["…"] if len(document) > _KEYS_SHOWN else []
    return f"{{{', '.join([*names, *more])}}}"


def advice_on_foreign(path: str, data: bytes) -> str | None:
    """Advice on a file that cannot be parsed and was probably never meant to be a manifest."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    is_text = b"\0" not in data or data.startswith(_UTF16_MARKS)
    if is_text and stem and (not dot or suffix.lower() in SUFFIXES) and not name.startswith("."):
        return None
    return f"Remove {path}, or move it out of {path.removesuffix(name)}: every file there is read as manifests."


def where_manifests_are(tree: Tree) -> str | None:
    """Advice when not the bundle was given but a directory around it, its manifests alone, or a chart."""
    if (chart := advice_on_chart(tree)) is not None:
        return chart
    parents = [path.removesuffix(f"/{MANIFESTS}") for path in tree.directories if path.endswith(f"/{MANIFESTS}")]
    depth = min((path.count("/") for path in parents), default=0)
    nearest = sorted(path for path in parents if path.count("/") == depth)
    if len(nearest) == 1:
        return f"{nearest[0]}/ holds {MANIFESTS}/: give that directory, or an archive of what is in it."
    if nearest:
        return f"Give one bundle: {', '.join(f'{path}/' for path in nearest[:5])} hold {MANIFESTS}/."
    files = manifests_at_root(tree)
    return advice_on_lone_manifest(files[0]) if files else None


def advice_on_lone_manifest(file: str) -> str:
    return f"{file} is a manifest: put the manifests into a directory {MANIFESTS}/, and give its parent."


def _item(item: Any, parent: dict[str, Any]) -> Any:
    if item is None:
        item = {}
    if isinstance(item, dict) and not _text(item.get("kind")) and not _text(item.get("apiVersion")):
        kind, version = parent["kind"].removesuffix("List"), parent.get("apiVersion", "")
        # They must be short, or a small list becomes a large one.
        if len(kind) + least_json_bytes(version, stop_at=_LONGEST_INHERITED) > _LONGEST_INHERITED:
            raise ContentError("the kind and the apiVersion of a list are too long for its items to take them")
        return {**item, "kind": kind, "apiVersion": version}
    return item


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 253
