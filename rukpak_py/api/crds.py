"""The CustomResourceDefinitions, generated from the types: `python -m rukpak_py.api.crds config/crds`.

Two things do not follow from a type alone. `oneOf` stands in the schema of Bundles only, because clients match the
API server's text for it; templates get the same rule as CEL. Length limits of names stand beside the types.

Schemas are structural OpenAPI v3: inlined, no references. Those of a status come without CEL rules: status is ours to
write, and it repeats what older rules accepted.
"""

import inspect
import sys
from pathlib import Path
from typing import Any

import yaml
from msgspec import inspect as types

from rukpak_py.api.bundle import Bundle, BundleSpec, BundleStatus
from rukpak_py.api.bundle_deployment import BundleDeployment, BundleDeploymentStatus
from rukpak_py.api.bundle_instance import BundleInstance, BundleInstanceStatus
from rukpak_py.api.deployment_spec import BundleDeploymentSpec
from rukpak_py.api.names import (
    BUNDLE_DEPLOYMENT_KIND,
    BUNDLE_DEPLOYMENT_NAME_LENGTH,
    BUNDLE_DEPLOYMENT_PLURAL,
    BUNDLE_INSTANCE_KIND,
    BUNDLE_INSTANCE_PLURAL,
    BUNDLE_KIND,
    BUNDLE_NAME_LENGTH,
    BUNDLE_PLURAL,
    CATEGORY,
    GROUP,
    VERSION,
    SourceType,
)

Schema = dict[str, Any]
HEADER = "# Generated from rukpak_py/api by `make generate`; do not edit.\n"
_MEMBERS = [str(member) for member in SourceType]
_READY = '.status.conditions[?(@.type=="Ready")]'


def schema_of(kind: type, *, rules: bool) -> Schema:
    return _schema(types.type_info(kind), rules=rules)


def _schema(kind: types.Type, *, rules: bool) -> Schema:
    match kind:
        case types.Metadata():
            extra = dict(kind.extra_json_schema or {})
            inner = _schema(kind.type, rules=rules)
            inner.pop("description", None)
            return {"description": extra.pop("description"), **inner, **extra}
        case types.UnionType():  # only ever `X | None`: the field may be absent, it is never null
            return _schema(next(one for one in kind.types if not isinstance(one, types.NoneType)), rules=rules)
        case types.StructType():
            return _struct(kind, rules=rules)
        case types.VarTupleType():
            return {"type": "array", "items": _schema(kind.item_type, rules=rules)}
        case types.DictType():
            if isinstance(kind.value_type, types.AnyType):
                return {"type": "object"}
            return {"type": "object", "additionalProperties": _scalar(kind.value_type)}
        case _:
            return _scalar(kind)


def _scalar(kind: types.Type) -> Schema:
    match kind:
        case types.EnumType():
            return {"type": "string", "enum": [member.value for member in kind.cls]}
        case types.StrType():
            return {"type": "string"}
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer"}
        case _:
            raise TypeError(f"no OpenAPI schema for {kind}")


def _struct(kind: types.StructType, *, rules: bool) -> Schema:
    schema: Schema = {"description": inspect.cleandoc(kind.cls.__doc__ or ""), "type": "object"}
    required = [field.encode_name for field in kind.fields if field.required]
    if required:
        schema["required"] = required
    if kind.fields:
        schema["properties"] = {field.encode_name: _schema(field.type, rules=rules) for field in kind.fields}
    if rules and (found := getattr(kind.cls, "rules", ())):
        schema["x-kubernetes-validations"] = [rule._asdict() for rule in found]
    return schema


def crds() -> dict[str, dict[str, Any]]:
    """The definitions by file name."""
    return {
        f"{GROUP}_{BUNDLE_PLURAL}.yaml": _bundle(),
        f"{GROUP}_{BUNDLE_DEPLOYMENT_PLURAL}.yaml": _deployment(
            _names(BUNDLE_DEPLOYMENT_KIND, BUNDLE_DEPLOYMENT_PLURAL, "bd", "bds"),
            BundleDeployment,
            BundleDeploymentStatus,
        ),
        f"{GROUP}_{BUNDLE_INSTANCE_PLURAL}.yaml": _deployment(
            _names(BUNDLE_INSTANCE_KIND, BUNDLE_INSTANCE_PLURAL, "bi", "bis"), BundleInstance, BundleInstanceStatus
        ),
    }


def render(crd: dict[str, Any]) -> str:
    return HEADER + yaml.safe_dump(crd, sort_keys=False, width=120, allow_unicode=True)


def _bundle() -> dict[str, Any]:
    spec = schema_of(BundleSpec, rules=True)
    source = spec["properties"]["source"]
    source["oneOf"] = [{"required": [member]} for member in _MEMBERS]
    source["properties"]["git"]["properties"]["ref"]["oneOf"] = [
        {"required": [name]} for name in ("branch", "commit", "tag")
    ]
    return _crd(
        names=_names(BUNDLE_KIND, BUNDLE_PLURAL),
        description=Bundle.__doc__ or "",
        name_length=BUNDLE_NAME_LENGTH,
        spec=spec,
        status=schema_of(BundleStatus, rules=False),
        columns=[
            _column("Type", ".spec.source.type"),
            _column("Phase", ".status.phase"),
            _AGE,
            _column("Provisioner", ".spec.provisionerClassName", wide=True),
            _column("Resolved Source", ".status.resolvedSource", wide=True),
            _column("Ready", f"{_READY}.status"),
            _column("Message", f"{_READY}.message", wide=True),
        ],
    )


def _deployment_spec() -> Schema:
    spec = schema_of(BundleDeploymentSpec, rules=True)
    source = spec["properties"]["template"]["properties"]["spec"]["properties"]["source"]
    given = ", ".join(f"has(self.{member})" for member in _MEMBERS)
    one_member = {
        "rule": f"[{given}].filter(given, given).size() == 1",
        "message": f"bundle.spec.source must have exactly one of {', '.join(_MEMBERS)}",
    }
    source["x-kubernetes-validations"].insert(0, one_member)
    return spec


def _deployment(
    names: dict[str, Any],
    kind: type[BundleDeployment | BundleInstance],
    status: type[BundleDeploymentStatus | BundleInstanceStatus],
) -> dict[str, Any]:
    """The CRD of BundleDeployments, or that of BundleInstances, their former name."""
    return _crd(
        names=names,
        description=kind.__doc__ or "",
        name_length=BUNDLE_DEPLOYMENT_NAME_LENGTH,
        spec=_deployment_spec(),
        status=schema_of(status, rules=False),
        columns=_DEPLOYMENT_COLUMNS,
    )


def _names(kind: str, plural: str, *short: str) -> dict[str, Any]:
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return names | ({"shortNames": [*short]} if short else {})


def _column(name: str, path: str, *, wide: bool = False, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "type": kind, "jsonPath": path} | ({"priority": 1} if wide else {})


_AGE = _column("Age", ".metadata.creationTimestamp", kind="date")
_DEPLOYMENT_COLUMNS = [
    _column("Ready", f"{_READY}.status"),
    _column("Reason", f"{_READY}.reason"),
    _column("Content", ".status.content.name"),
    _column("Version", ".status.version"),
    _column("App Version", ".status.content.appVersion"),
    _column("Upgrade", ".status.pendingUpgrade.reason"),
    _AGE,
    _column("Active Bundle", ".status.activeBundle", wide=True),
    _column("Install State", '.status.conditions[?(@.type=="Installed")].reason', wide=True),
    _column("Provisioner", ".spec.provisionerClassName", wide=True),
    _column("Message", f"{_READY}.message"),
]


def _crd(
    *,
    names: dict[str, Any],
    description: str,
    name_length: int,
    spec: Schema,
    status: Schema,
    columns: list[dict[str, Any]],
) -> dict[str, Any]:
    # kstatus reads a status of an older generation as "in progress": so no new object ever looks ready
    status["default"] = {"observedGeneration": -1}
    schema = {
        "description": description,
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": "Version of the API.", "type": "string"},
            "kind": {"description": "Kind of the object.", "type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": name_length}}},
            "spec": spec,
            "status": status,
        },
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": columns,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": names | {"categories": [CATEGORY]},
            "scope": "Cluster",
            "versions": [version],
        },
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, crd in crds().items():
        (folder / name).write_text(render(crd), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
