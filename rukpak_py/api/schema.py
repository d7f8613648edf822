"""Descriptions and bounds of the API's types, beyond their Python types.

Descriptions and bounds stand beside each field and end up in the CRDs. Bounds are the API server's to enforce:
decoding ignores them, and ignores unknown fields, so that objects stored under older rules stay readable.
"""

from typing import Any, NamedTuple

from msgspec import Meta, Struct


class CelRule(NamedTuple):
    """A CEL rule of the CRD, with the text that a refused user reads."""

    rule: str
    message: str


class ApiType(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The encoding that all types of the API share. A subclass may list CEL rules in a ClassVar `rules`."""


def doc(description: str, **schema: Any) -> Meta:
    """A field's description for users and its further OpenAPI keywords; `_` in a keyword stands for `-`."""
    extra = {name.replace("_", "-"): value for name, value in schema.items()}
    return Meta(description=description, extra_json_schema=extra or None)
