"""A CustomResourceDefinition with its schemas, as content has it or as the cluster does."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import orjson

from rukpak_py.apply.crd_safety.schema import Schema, read_schema
from rukpak_py.core.nesting import ACCEPTED, nests_deeper


class UnreadableDefinitionError(Exception):
    """A CRD that cannot be compared with another one."""


class _Names(msgspec.Struct, frozen=True):
    kind: str = ""
    plural: str = ""


class _Validation(msgspec.Struct, frozen=True, rename={"schema": "openAPIV3Schema"}):
    schema: Any = None


class Version(msgspec.Struct, frozen=True, dict=True, rename={"validation": "schema"}):
    name: str
    served: bool = False
    storage: bool = False
    validation: _Validation | None = None

    @cached_property
    def schema(self) -> Schema:
        return read_schema(self.validation.schema if self.validation is not None else None)


class _Conversion(msgspec.Struct, frozen=True):
    strategy: str = "None"


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    group: str
    scope: str
    names: _Names
    versions: tuple[Version, ...]
    conversion: _Conversion | None = None
    preserve_unknown_fields: bool = False


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    stored_versions: tuple[str, ...] | None = None


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    annotations: dict[str, str] | None = None


class _Crd(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec
    status: Any = None


@dataclass(frozen=True, kw_only=True)
class Definition:
    name: str
    group: str
    kind: str
    plural: str
    scope: str
    versions: Mapping[str, Version]
    converts: bool  # by a webhook
    prunes: bool  # what no schema names
    stored: tuple[str, ...]  # versions that objects may be stored in
    annotations: Mapping[str, str]

    @property
    def storage(self) -> str:
        return next((version.name for version in self.versions.values() if version.storage), "")


def read_definition(crd: bytes | Mapping[str, Any]) -> Definition:
    try:
        document = orjson.loads(crd) if isinstance(crd, bytes) else crd
        if nests_deeper(document, ACCEPTED):
            raise UnreadableDefinitionError("it nests too deeply")
        found = msgspec.convert(document, _Crd)
        stored = msgspec.convert(found.status or {}, _Status).stored_versions
    except (orjson.JSONDecodeError, msgspec.ValidationError) as error:
        raise UnreadableDefinitionError(str(error)) from error
    spec = found.spec
    return Definition(
        name=found.metadata.name,
        group=spec.group,
        kind=spec.names.kind,
        plural=spec.names.plural,
        scope=spec.scope,
        versions={version.name: version for version in spec.versions},
        converts=spec.conversion is not None and spec.conversion.strategy == "Webhook",
        prunes=not spec.preserve_unknown_fields,
        stored=stored or tuple(version.name for version in spec.versions if version.storage),
        annotations=found.metadata.annotations or {},
    )
