"""The canonical form of rendered objects, and its two digests, as the corpus' README defines them.

Strict evens out only what typed Go encoding adds without meaning; lenient also drops empty members and compares
quantities as the numbers that they denote.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_SUFFIXES = {
    **{suffix: Fraction(1000) ** power for suffix, power in zip(["n", "u", "m", ""], range(-3, 1), strict=True)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(r"([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([a-zA-Z]*))$")


def digest(objects: Iterable[Json], *, lenient: bool = False) -> str:
    lines = sorted(line_of(obj, lenient=lenient) for obj in objects)
    return hashlib.sha256("\n".join(text for _, text in lines).encode()).hexdigest()


def line_of(obj: Json, *, lenient: bool = False) -> tuple[tuple[str, ...], str]:
    form = canonical(obj, lenient=lenient)
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    metadata = form.get("metadata") or {}
    parts = (form.get("apiVersion"), form.get("kind"), metadata.get("namespace"), metadata.get("name"))
    return tuple(str(part or "") for part in parts), text


def canonical(obj: Json, *, lenient: bool = False) -> Json:
    form: Json = _plain({key: value for key, value in obj.items() if key != "status"})
    if form.get("kind") == "Deployment":
        _without_noise(form)
        if lenient:
            _with_numbers(form)
    return _without_empty(form) if lenient else form


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(item) for k, item in value.items() if not (k == "creationTimestamp" and item is None)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(Decimal(repr(value))) if abs(value) < 1e21 else int(value)
    return value


def _pod(deployment: Json) -> Json:
    return (((deployment.get("spec") or {}).get("template") or {}).get("spec")) or {}


def _containers(deployment: Json, *fields: str) -> Iterable[Json]:
    for field in fields:
        yield from _pod(deployment).get(field) or []


def _without_noise(deployment: Json) -> None:
    if (deployment.get("spec") or {}).get("strategy") == {}:
        del deployment["spec"]["strategy"]
    for container in _containers(deployment, *_CONTAINERS):
        if container.get("resources") == {}:
            del container["resources"]


def _with_numbers(deployment: Json) -> None:
    for container in _containers(deployment, "containers", "initContainers"):
        for field in ("limits", "requests"):
            quantities = (container.get("resources") or {}).get(field) or {}
            quantities.update({name: _number(quantity) for name, quantity in quantities.items()})
        for variable in container.get("env") or []:
            reference = (variable.get("valueFrom") or {}).get("resourceFieldRef") or {}
            if "divisor" in reference:
                number = _number(reference.pop("divisor"))
                reference.update({} if number == "0" else {"divisor": number})
    for volume in _pod(deployment).get("volumes") or []:
        directory = volume.get("emptyDir") or {}
        if "sizeLimit" in directory:
            directory["sizeLimit"] = _number(directory["sizeLimit"])


def _number(quantity: Any) -> str:
    match = _QUANTITY.fullmatch(str(quantity))
    if match is None:
        return str(quantity)
    number, exponent, suffix = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix]
    return str(Fraction(number) * scale)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        members = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in members.items() if item not in (None, False, 0, "", {}, [])}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value
