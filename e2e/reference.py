"""docs/reference.md: every field of our kinds, made from the CRDs, so that it cannot say anything else than they do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADER = """\
# Reference

Generated from `config/crds` by `make generate`; do not edit. Every field of every kind. `*` marks a required one.
What a condition's reason means stands in [troubleshooting](troubleshooting.md).

The fields are those of the whole API, so that manifests can rely on them; not all of it is served yet. Today: the
source `configMaps`, the class `core-rukpak-io-plain`, and no `contentURL`. [The state of things](../README.md#status).
"""
RULES = ("x-kubernetes-validations", "oneOf")
SMALLEST_STRUCTURE = 2  # fields; smaller ones are simply listed again
LONGEST_PATTERN = 60  # a longer one explains nothing
TOP_LEVEL = ("spec", "status")
LIMITS = {"maxLength": "at most {} characters", "minLength": "at least {} characters", "pattern": "matches `{}`"}
LIMITS |= {"minimum": "at least {}", "maximum": "at most {}", "maxItems": "at most {} items"}


def page(crds: Path) -> str:
    documents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in crds.glob("*.yaml")]
    known: dict[str, str] = {}
    kinds = sorted(documents, key=lambda crd: str(crd["spec"]["names"]["kind"]))
    return "\n".join([HEADER, *(_section(crd, known) for crd in kinds)])


def _section(crd: dict[str, Any], known: dict[str, str]) -> str:
    kind, group = crd["spec"]["names"]["kind"], crd["spec"]["group"]
    (version,) = crd["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    lines = [f"## {kind}", "", f"`{group}/{version['name']}`, {crd['spec']['scope'].lower()}-scoped."]
    if schema.get("description"):
        lines += ["", schema["description"]]
    for name in TOP_LEVEL:
        if name not in schema["properties"]:
            continue
        lines += ["", f"### {kind} `{name}`", "", "| field | type | meaning |", "| --- | --- | --- |"]
        lines += _rows(schema["properties"][name], prefix="", root=f"{kind}.{name}.", known=known)
        rules = list(_rules(schema["properties"][name]))
        if rules:
            lines += ["", "Refused by the API server:", "", *(f"* `{rule}`" for rule in rules)]
    return "\n".join([*lines, ""])


def _rows(schema: dict[str, Any], *, prefix: str, root: str, known: dict[str, str]) -> Iterator[str]:
    required = set(schema.get("required", []))
    for name, field in schema.get("properties", {}).items():
        place, mark = f"{prefix}{name}", "*" if name in required else ""
        inner, suffix = (field["items"], "[].") if "items" in field else (field, ".")
        told = _told_before(inner, root + place, known)
        same = f" Its fields: those of `{told}`." if told else ""
        yield f"| `{place}`{mark} | {_type(field)} | {_meaning(field)}{same} |"
        if not told:
            yield from _rows(inner, prefix=f"{place}{suffix}", root=root, known=known)


def _told_before(schema: dict[str, Any], place: str, known: dict[str, str]) -> str:
    """Where the same fields were listed already; the same structures appear in specs, templates, status and history."""
    if len(schema.get("properties", {})) < SMALLEST_STRUCTURE:
        return ""
    fields = json.dumps(_without_rules(schema["properties"]), sort_keys=True)
    first = known.setdefault(fields, place)
    return "" if first == place else first


def _without_rules(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _without_rules(value) for key, value in node.items() if key not in RULES}
    return node


def _type(field: dict[str, Any]) -> str:
    kind = field.get("type", "anything")
    if kind == "array":
        return f"list of {_type(field['items'])}"
    return f"map of {_type(values)}" if isinstance(values := field.get("additionalProperties"), dict) else str(kind)


def _meaning(field: dict[str, Any]) -> str:
    parts = [" ".join(str(field.get("description", "")).split())]
    if "enum" in field:
        parts.append("One of " + ", ".join(f"`{value}`" for value in field["enum"]) + ".")
    limits = [text.format(field[name]) for name, text in LIMITS.items() if _tells(name, field)]
    if limits:
        parts.append(f"({'; '.join(limits)})")
    if "default" in field and not isinstance(field["default"], dict):
        parts.append(f"Default: `{field['default']}`.")
    return " ".join(part for part in parts if part).replace("|", r"\|")


def _tells(limit: str, field: dict[str, Any]) -> bool:
    return limit in field and not (limit == "pattern" and len(field[limit]) > LONGEST_PATTERN)


def _rules(schema: dict[str, Any]) -> Iterator[str]:
    """The texts of the CEL rules, each once, in the order of the schema."""
    seen: set[str] = set()
    pending = [schema]
    while pending:
        node = pending.pop(0)
        for rule in node.get("x-kubernetes-validations", []):
            text = rule.get("message") or rule["rule"]
            if text not in seen:
                seen.add(text)
                yield text
        pending += [*node.get("properties", {}).values(), *([node["items"]] if "items" in node else [])]
