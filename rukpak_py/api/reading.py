"""From the JSON of the API server to the types, and back.

Unknown fields are ignored. What does not fit the types at all was stored under other rules than ours: `ContentError`.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from rukpak_py.api.bundle import Bundle
from rukpak_py.api.bundle_deployment import BundleDeployment
from rukpak_py.api.bundle_instance import BundleInstance
from rukpak_py.core.errors import ContentError

_Kind = TypeVar("_Kind")


def read_bundle(body: bytes | Mapping[str, Any]) -> Bundle:
    return _read(body, Bundle)


def read_bundle_deployment(body: bytes | Mapping[str, Any]) -> BundleDeployment:
    return _read(body, BundleDeployment)


def read_bundle_instance(body: bytes | Mapping[str, Any]) -> BundleInstance:
    return _read(body, BundleInstance)


def to_json(value: msgspec.Struct) -> dict[str, Any]:
    """The value as the API server stores it; what equals its default is left out."""
    document: dict[str, Any] = msgspec.to_builtins(value)
    return document


def _read(body: bytes | Mapping[str, Any], kind: type[_Kind]) -> _Kind:
    try:
        if isinstance(body, bytes):
            return msgspec.json.decode(body, type=kind)
        return msgspec.convert(body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ContentError(f"{kind.__name__} cannot be read: {error}") from error
