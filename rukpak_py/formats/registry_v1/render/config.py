"""The user's configuration: `watchNamespace`, where the bundle's install modes leave a choice, and `deploymentConfig`.

The texts are those of upstream's schema. It reports an optional watchNamespace once for each type that it may have;
that noise is kept for parity only, as is the name of upstream's resource.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rukpak_py.core.errors import ContentError
from rukpak_py.formats.registry_v1.bundle import InstallMode, Json, RegistryBundle
from rukpak_py.formats.registry_v1.render.config_values import (
    DEPLOYMENT_CONFIG,
    described,
    did_you_mean,
    json_type,
    problems_of_config,
    wrong_type,
)

_WATCH = "watchNamespace"
_NO_CHOICE = " (there is nothing to choose: the operator supports neither OwnNamespace nor SingleNamespace)"
_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_LENGTH = 63


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    watch_namespace: str | None = None  # None: the bundle decides
    deployment_config: Json | None = None

    @property
    def watch_namespaces(self) -> tuple[str, ...] | None:
        return None if self.watch_namespace is None else (self.watch_namespace,)


def checked_config(bundle: RegistryBundle, install_namespace: str, value: Any) -> Config:
    if not isinstance(value, dict):
        raise _refusal(bundle, f"invalid type: got {json_type(value)}, want object")
    problems = list(_problems(bundle, install_namespace, value))
    if problems:
        raise _refusal(bundle, described(problems))
    return Config(watch_namespace=value.get(_WATCH), deployment_config=value.get(DEPLOYMENT_CONFIG))


def _refusal(bundle: RegistryBundle, problem: str) -> ContentError:
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
