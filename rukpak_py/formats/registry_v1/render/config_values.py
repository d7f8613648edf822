"""The values of a deployment configuration, checked and typed as the parts of a pod that they will be.

null is not given. What is wrong is told by its path in the configuration, in the words of upstream's schema.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.bundle import Json
from rukpak_py.formats.registry_v1.typed.restore import TypeDefect, restore
from rukpak_py.formats.rules import path_text

DEPLOYMENT_CONFIG: Final = "deploymentConfig"

GO_TYPES: Final[Mapping[str, str]] = {
    "nodeSelector": "map[string]string",
    "tolerations": "[]Toleration",
    "resources": "ResourceRequirements",
    "env": "[]EnvVar",
    "envFrom": "[]EnvFromSource",
    "volumes": "[]Volume",
    "volumeMounts": "[]VolumeMount",
    "affinity": "Affinity",
    "annotations": "map[string]string",
}
_LIKENESS: Final = 0.85  # `selector` is another thing than nodeSelector
_NAMED: Final = ("env", "volumes", "volumeMounts")  # merged by name, so they need one
_JSON_TYPES: Final = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}


def json_type(value: Any) -> str:
    return _JSON_TYPES.get(type(value), "null")


def wrong_type(field: str, value: Any, wanted: str) -> str:
    return f'invalid type for field "{field}": got {json_type(value)}, want {wanted}'


def described(problems: Sequence[str]) -> str:
    lines = [f"  - {problem}" for problem in problems]
    return "\n".join(["multiple errors found:", *lines] if len(lines) > 1 else problems)


def did_you_mean(name: str, known: Iterable[str], *, likeness: float = _LIKENESS) -> str:
    by_lower_case = {one.lower(): one for one in known}
    (near,) = get_close_matches(name.lower(), by_lower_case, n=1, cutoff=likeness) or [""]
    return f'; did you mean "{by_lower_case[near]}"?' if near else ""


def typed_config(config: Mapping[str, Any] | None, *, parity: bool = False) -> Json:
    """The given keys with their values in typed JSON form; unknown members stay, as they do in the bundle's pods."""
    problems = list(problems_of_config(config))
    if problems:
        raise ContentError(f"invalid configuration: {described(problems)}")
    return {key: _restored(key, value, [], keep_unknown=not parity) for key, value in given(config or {})}


def problems_of_config(config: Any) -> Iterator[str]:
    if config is None:
        return
    if not isinstance(config, Mapping):
        yield wrong_type(DEPLOYMENT_CONFIG, config, "object")
        return
    for key, value in given(config):
        yield from _problems_of_value(key, value)
    for key in sorted(config.keys() - GO_TYPES.keys()):
        yield f'unknown field "{key}"' + did_you_mean(key, GO_TYPES)


def given(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key, config[key]) for key in GO_TYPES if config.get(key) is not None)


def _problems_of_value(key: str, value: Any) -> Iterator[str]:
    field = f"{DEPLOYMENT_CONFIG}.{key}"
    wanted = "array" if GO_TYPES[key].startswith("[]") else "object"
    if json_type(value) != wanted:
        yield wrong_type(field, value, wanted)
        return
    defects: list[TypeDefect] = []
    restored = _restored(key, value, defects, keep_unknown=True)
    for defect in defects:
        yield wrong_type(f"{DEPLOYMENT_CONFIG}.{path_text((key, *defect.path))}", defect.got, defect.wanted)
    if key in _NAMED and not defects:
        nameless = (index for index, entry in enumerate(restored) if not entry["name"])
        yield from (f'required field "{field}[{index}].name" is missing' for index in nameless)


def _restored(key: str, value: Any, defects: list[TypeDefect], *, keep_unknown: bool) -> Any:
    return restore(value, GO_TYPES[key], keep_unknown=keep_unknown, wraps=False, defects=defects, unknown=[])
