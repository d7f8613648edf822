"""The user's configuration: `watchNamespace`, where the bundle's install modes leave a choice, and `deploymentConfig`.

The texts are those of upstream's schema. It reports an optional watchNamespace once for each type that it may have;
that noise is kept for parity only, as is the name of upstream's resource.

A deployment configuration is typed as the parts of a pod that it will be; null is not given. Programs hand over values
that are no JSON, and people mistype the name of a field: in a cluster the server decides about it, which may know more
fields than we do; here it is refused, with the name that was probably meant.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from rukpak_py.content.yaml_positions import Path
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.go_types.restore import TypeDefect, restore
from rukpak_py.formats.go_types.shapes import List, Map, Pointer, Shape, Struct, fields, shape
from rukpak_py.formats.json_fields import Json
from rukpak_py.formats.registry_v1.bundle import InstallMode, RegistryBundle
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
_WATCH = "watchNamespace"
_NO_CHOICE = " (there is nothing to choose: the operator supports neither OwnNamespace nor SingleNamespace)"
_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_LENGTH = 63
_LIKENESS_OF_FIELDS: Final = 0.75  # all of them are fields of the same object
_MOST: Final = 20
_INTEGERS: Final = range(-(1 << 63), 1 << 63)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    watch_namespace: str | None = None  # None: the bundle decides
    deployment_config: Json | None = None

    @property
    def watch_namespaces(self) -> tuple[str, ...] | None:
        return None if self.watch_namespace is None else (self.watch_namespace,)


def checked_config(bundle: RegistryBundle, install_namespace: str, value: Any) -> Config:
    if not isinstance(value, dict):
        raise _refusal_of(bundle, f"invalid type: got {json_type(value)}, want object")
    problems = list(_problems(bundle, install_namespace, value))
    if problems:
        raise _refusal_of(bundle, described(problems))
    return Config(watch_namespace=value.get(_WATCH), deployment_config=value.get(DEPLOYMENT_CONFIG))


def _refusal_of(bundle: RegistryBundle, problem: str) -> ContentError:
    prefix = "invalid ClusterExtension configuration: " if bundle.parity else ""
    return ContentError(f"{prefix}invalid configuration: {problem}")


def _problems(bundle: RegistryBundle, install_namespace: str, value: Json) -> Iterator[str]:
    known = {DEPLOYMENT_CONFIG}
    modes = set(bundle.csv.supported_modes)
    if modes & {InstallMode.OWN, InstallMode.SINGLE}:
        known.add(_WATCH)
        if value.get(_WATCH) is not None:
            yield from _problems_of_watch(bundle, modes, install_namespace, value[_WATCH])
        elif InstallMode.ALL not in modes:
            yield f'required field "{_WATCH}" is missing'
    yield from problems_of_config(value.get(DEPLOYMENT_CONFIG))
    for name in sorted(value.keys() - known):
        is_hinted = name == _WATCH and not bundle.parity
        yield f'unknown field "{name}"' + (_NO_CHOICE if is_hinted else did_you_mean(name, known))


def _problems_of_watch(bundle: RegistryBundle, modes: set[str], install_namespace: str, watched: Any) -> Iterator[str]:
    problems = list(_problems_of_name(modes, install_namespace, watched))
    if problems and bundle.parity and InstallMode.ALL in modes:
        yield f'invalid value for field "{_WATCH}"'
        yield wrong_type(_WATCH, watched, "null")
        yield from ["validation failed"] if len(problems) > 1 else []
    yield from problems


def _problems_of_name(modes: set[str], install_namespace: str, watched: Any) -> Iterator[str]:
    if not isinstance(watched, str):
        yield wrong_type(_WATCH, watched, "string")
        return
    misplaced = _misplaced(modes, install_namespace, watched)
    if misplaced:
        yield f"invalid format for field \"{_WATCH}\": '{watched}' is not valid {misplaced}"
        return
    if not watched:
        yield f'field "{_WATCH}" must have minimum length of 1 (len=0)'
    if len(watched) > _LENGTH:
        yield f'field "{_WATCH}" must have maximum length of {_LENGTH} (len={len(watched)})'
    if not re.fullmatch(_PATTERN, watched):
        yield f'field "{_WATCH}" must match pattern "{_PATTERN}"'


def _misplaced(modes: set[str], install_namespace: str, watched: str) -> str:
    """Without an install namespace there is nothing to compare with."""
    choice = modes & {InstallMode.OWN, InstallMode.SINGLE}
    if install_namespace and choice == {InstallMode.OWN} and watched != install_namespace:
        return (
            f'ownNamespaceInstallMode: invalid value "{watched}": must be "{install_namespace}" (the namespace where '
            "the operator is installed) because this operator only supports OwnNamespace install mode"
        )
    if install_namespace and choice == {InstallMode.SINGLE} and watched == install_namespace:
        return (
            f'singleNamespaceInstallMode: invalid value "{watched}": must be different from "{install_namespace}" '
            "(the install namespace) because this operator uses SingleNamespace install mode to watch a different "
            "namespace"
        )
    return ""


def checked_deployment_config(config: Any) -> Json:
    """As JSON; ContentError with everything that cannot be meant."""
    try:
        value = _json(config, ())
    except RecursionError as error:
        raise _refusal("it is nested too deeply") from error
    problems = list(problems_of_config(value)) or list(_typos(value))[:_MOST]
    if problems:
        raise _refusal(described(problems))
    found: Json = value
    return found


def _typos(config: Json) -> Iterator[str]:
    for key, value in given(config):
        unknown: list[Path] = []
        restore(value, GO_TYPES[key], keep_unknown=True, defects=[], unknown=unknown)
        for path in unknown:
            text = f'unknown field "{DEPLOYMENT_CONFIG}.{path_text((key, *path))}"'
            yield text + did_you_mean(
                str(path[-1]), _siblings(shape(GO_TYPES[key]), path), likeness=_LIKENESS_OF_FIELDS
            )


def _siblings(current: Shape, path: Path) -> list[str]:
    """The fields that the type has where the path ends."""
    for part in path[:-1]:
        match _without_pointers(current):
            case List(item) | Map(item):
                current = item
            case Struct(name):
                current = next(field.shape for field in fields(name) if field.name == part)
    current = _without_pointers(current)
    return [field.name for field in fields(current.name)] if isinstance(current, Struct) else []


def _without_pointers(current: Shape) -> Shape:
    return _without_pointers(current.to) if isinstance(current, Pointer) else current


def _json(value: Any, path: Path) -> Any:
    match value:
        case Mapping():
            for key in value:
                if not isinstance(key, str):
                    raise _refusal(f'a key of "{_named(path)}" must be a string, got {type(key).__name__} {key!r}')
            return {str(key): _json(item, (*path, key)) for key, item in value.items()}
        case list() | tuple():
            return [_json(item, (*path, index)) for index, item in enumerate(value)]
        case None | bool() | str():
            return value
        case int() if value in _INTEGERS:
            return value
        case float() if math.isfinite(value):
            return value
        case int() | float():
            wanted = "an integer of 64 bits" if isinstance(value, int) else "a finite number"
            raise _refusal(f'invalid value for field "{_named(path)}": it must be {wanted}')
        case _:
            raise _refusal(f'invalid type for field "{_named(path)}": {type(value).__name__} is no JSON')


def _named(path: Path) -> str:
    return path_text((DEPLOYMENT_CONFIG, *path))


def _refusal(problem: str) -> ContentError:
    return ContentError(f"invalid configuration: {problem}")
