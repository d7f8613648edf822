"""Defects of label selectors and node selectors."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rukpak_py.formats import dns
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.object_rules.parts import Defect, Part, Sort

_WITH_VALUES: Final = frozenset({"In", "NotIn"})
_WITHOUT_VALUES: Final = frozenset({"Exists", "DoesNotExist"})
_WITH_NUMBER: Final = frozenset({"Gt", "Lt"})


def label_requirement(part: Part) -> Iterator[Defect]:
    yield from _requirement(part, _WITH_VALUES | _WITHOUT_VALUES)


def node_requirement(part: Part) -> Iterator[Defect]:
    yield from _requirement(part, _WITH_VALUES | _WITHOUT_VALUES | _WITH_NUMBER)


def _requirement(part: Part, operators: frozenset[str]) -> Iterator[Defect]:
    operator, values = part.text("operator"), part.items("values")
    if not operator:
        return  # told as missing
    if operator not in operators:
        known = ", ".join(sorted(operators))
        if part.struct != "NodeSelectorRequirement":  # else told as an unknown value
            yield part.defect(Sort.CHOICE, f'operator is "{operator[:60]}", and may be {known}', "operator")
    elif operator in _WITH_VALUES and not values:
        yield part.defect(Sort.UNION, f"values are required for the operator {operator}", "values")
    elif operator in _WITHOUT_VALUES and values:
        yield part.defect(Sort.UNION, f"the operator {operator} takes no values", "values")
    elif operator in _WITH_NUMBER and len(values) != 1:
        yield part.defect(Sort.FORM, f"the operator {operator} takes one value", "values")
    for index, value in enumerate(values):
        if isinstance(value, str) and operator in _WITH_VALUES:
            for reason in dns.label_value(value):
                yield part.defect(Sort.NAME, f'value "{value[:80]}": {reason}', "values", index)


def label_selector(part: Part) -> Iterator[Defect]:
    yield from labels(part, part.mapping("matchLabels"), "matchLabels")


def labels(part: Part, found: Json, *path: str) -> Iterator[Defect]:
    for key, value in found.items():
        for reason in dns.qualified_name(key):
            yield part.defect(Sort.NAME, f'label "{key[:80]}": {reason}', *path, key, on_key=True)
        if isinstance(value, str):
            for reason in dns.label_value(value):
                yield part.defect(Sort.NAME, f'value "{value[:80]}" of label {key[:80]}: {reason}', *path, key)


def selects_template(part: Part) -> Iterator[Defect]:
    """A workload selects the pods that it makes."""
    selector = part.value.get("selector")
    if not isinstance(selector, dict) or not isinstance(part.value.get("template"), dict):
        return
    wanted, own = part.mapping("selector", "matchLabels"), part.mapping("template", "metadata", "labels")
    if not wanted and not selector.get("matchExpressions"):
        yield part.defect(Sort.REFERENCE, "selector is empty, and must select the pods of the template", "selector")
    for key, value in wanted.items():
        if own.get(key) != value:
            message = f"selector asks for the label {key}: {value}, which the pods of the template do not have"
            yield part.defect(
                Sort.REFERENCE,
                message,
                "selector",
                "matchLabels",
                key,
                hint="Give spec.template.metadata.labels the labels of spec.selector.matchLabels.",
            )
    expressions = selector.get("matchExpressions")
    for index, one in enumerate(expressions if isinstance(expressions, list) else []):
        if isinstance(one, dict) and not _is_met(one, own):
            message = f"selector asks for pods that the template does not make: {one.get('key')} {one.get('operator')}"
            yield part.defect(Sort.REFERENCE, message, "selector", "matchExpressions", index)


def _is_met(requirement: Json, own: Json) -> bool:
    key, values = str(requirement.get("key")), requirement.get("values") or []
    met: Mapping[Any, Callable[[], bool]] = {
        "In": lambda: own.get(key) in values,
        "NotIn": lambda: own.get(key) not in values,
        "Exists": lambda: key in own,
        "DoesNotExist": lambda: key not in own,
    }
    operator = str(requirement.get("operator"))
    return operator not in met or not isinstance(values, list) or met[operator]()


def toleration(part: Part) -> Iterator[Defect]:
    operator, key = part.text("operator") or "Equal", part.text("key")
    if not key and operator != "Exists":
        yield part.defect(Sort.UNION, "operator must be Exists where key is empty", "operator")
    if operator == "Exists" and part.text("value"):
        yield part.defect(Sort.UNION, "value must be empty where operator is Exists", "value")
    if part.value.get("tolerationSeconds") is not None and part.text("effect") != "NoExecute":
        yield part.defect(Sort.UNION, "effect must be NoExecute where tolerationSeconds is set", "effect")
    for reason in dns.label_value(part.text("value")) if operator == "Equal" else []:
        yield part.defect(Sort.NAME, f'value "{part.text("value")[:80]}": {reason}', "value")


def spread_constraint(part: Part) -> Iterator[Defect]:
    if part.value.get("minDomains") is not None and part.text("whenUnsatisfiable") != "DoNotSchedule":
        yield part.defect(Sort.UNION, "minDomains needs whenUnsatisfiable: DoNotSchedule", "minDomains")
