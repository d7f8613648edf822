"""Files of manifests to single manifests, as kubectl's builder reads them: streams, lists, and its words for defects.

A document with `items` is a list whatever its kind, and is replaced by its items, lists among them included, breadth
first. An item without kind and apiVersion takes them from its list.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import orjson

from rukpak_py.content import yaml
from rukpak_py.core.errors import ContentError
from rukpak_py.core.limits import Limits

_GO_KINDS = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def read_manifests(file: str, data: bytes, limits: Limits) -> Iterator[dict[str, Any]]:
    try:
        documents = yaml.load_all(data, limits=limits)
    except ContentError as error:
        raise ContentError(f"error parsing {file}: {error}") from error
    for document in documents:
        if document is not None:
            yield from _flattened(file, document)


def _flattened(file: str, document: Any) -> Iterator[dict[str, Any]]:
    pending = deque([document])
    while pending:
        manifest = _with_kind(file, pending.popleft())
        if "items" not in manifest:
            yield manifest
            continue
        items = manifest["items"]
        if not isinstance(items, list | None):
            raise _undecodable(
                file,
                f"json: cannot unmarshal {_GO_KINDS[type(items)]} into Go struct field "
                "decodeList.items of type []json.RawMessage",
            )
        pending.extend(_item(item, manifest) for item in items or [])


def _item(item: Any, parent: dict[str, Any]) -> Any:
    if isinstance(item, dict) and not item.get("kind") and not item.get("apiVersion"):
        return {**item, "kind": parent["kind"].removesuffix("List"), "apiVersion": parent.get("apiVersion", "")}
    return item


def _with_kind(file: str, document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        found = _GO_KINDS.get(type(document), "null")
        raise _undecodable(file, f"json: cannot unmarshal {found} into Go value of type unstructured.detector")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    # A version with two slashes is no version, and Go's answer to that is an empty kind.
    if not isinstance(kind, str) or not kind or (isinstance(api_version, str) and api_version.count("/") > 1):
        raise _undecodable(file, f"Object 'Kind' is missing in '{_excerpt(document)}'")
    return document


def _excerpt(document: dict[str, Any]) -> str:
    """Enough to find the document; not all of it, which upstream prints: it may be a Secret."""
    metadata = document.get("metadata")
    shown: dict[str, Any] = {key: document[key] for key in ("apiVersion", "kind") if _is_short(document.get(key))}
    if isinstance(metadata, dict):
        shown["metadata"] = {key: metadata[key] for key in ("name", "namespace") if _is_short(metadata.get(key))}
    return orjson.dumps(shown, option=orjson.OPT_SORT_KEYS).decode()


def _is_short(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 253


def _undecodable(file: str, problem: str) -> ContentError:
    return ContentError(f'unable to decode "{file}": {problem}')
