"""How content is installed, as a value: what is rendered and applied follows from the content's digest and these.

`digest` leaves out what has its default, so a new option changes the digest of nobody who does not use it. What is
installed is kept with the options it was installed with: `recorded` is their form in `status.history`, `restore` the
way back. A configuration too large for a status is recorded as a digest; once the spec has another one it is lost.
Values from Secrets and ConfigMaps are recorded as digests only. Where the key of those is lost, what the same names
hold is taken for what was installed (`recognised`): nobody can tell, and nothing may be installed anew without need.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import (
    BundleDeploymentSpec,
    Installation,
    Override,
    RecordedOptions,
    RecordedValues,
)
from rukpak_py.api.names import PLAIN_CLASS
from rukpak_py.api.reading import to_json
from rukpak_py.api.schema import ApiType
from rukpak_py.core.keyed_digests import are_comparable
from rukpak_py.core.limits import KIB
from rukpak_py.core.objects import ObjectKey, canonical_json

NO_OVERRIDE = Override(kind="", name="")
_FLAGS = {"true": True, "false": False}
RECORDED_CONFIG_BYTES = 64 * KIB  # as canonical JSON; five installations must fit in one status


class InstallOptions(ApiType, frozen=True, kw_only=True):
    """`install_namespace`, `watch_namespaces` and the class empty: the default. `overrides` and `watch_namespaces` are
    sorted; `config` None: no configuration. `values_from`: what the configuration refers to, as it was found.
    """

    install_namespace: str = ""
    create_namespace: bool = False
    provisioner_class_name: str = ""
    watch_namespaces: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    config: dict[str, Any] | None = None
    values_from: tuple[RecordedValues, ...] = ()

    @property
    def provisioner_class(self) -> str:
        return self.provisioner_class_name or PLAIN_CLASS

    @property
    def digest(self) -> str:
        """Empty when every option has its default."""
        options = to_json(replace(self, values_from=identities(self.values_from)))
        return _sha256(options) if options else ""


def options_of(spec: BundleDeploymentSpec) -> InstallOptions:
    """Equal for specs that mean the same."""
    return InstallOptions(
        install_namespace=spec.install_namespace,
        create_namespace=spec.create_namespace,
        provisioner_class_name=spec.provisioner_class if spec.provisioner_class != PLAIN_CLASS else "",
        watch_namespaces=tuple(sorted(spec.watch_namespaces)),
        overrides=tuple(sorted(filter(_has_effect, spec.overrides), key=_object)),
        config=spec.config or None,
    )


def recorded(options: InstallOptions) -> RecordedOptions:
    config, config_digest = options.config, ""
    if config is not None and len(canonical_json(config)) > RECORDED_CONFIG_BYTES:
        config, config_digest = None, _sha256(config)
    return RecordedOptions(
        install_namespace=options.install_namespace,
        create_namespace=options.create_namespace,
        provisioner_class_name=options.provisioner_class_name,
        watch_namespaces=options.watch_namespaces,
        overrides=options.overrides,
        config=config,
        config_digest=config_digest,
        values_from=options.values_from,
    )


def restore(options: RecordedOptions, spec_options: InstallOptions) -> InstallOptions | None:
    """The options as they were. None: the configuration is known by its digest only, and the spec has another one."""
    config = options.config
    if options.config_digest:
        config = spec_options.config
        if config is None or _sha256(config) != options.config_digest:
            return None
    return InstallOptions(
        install_namespace=options.install_namespace,
        create_namespace=options.create_namespace,
        provisioner_class_name=options.provisioner_class_name,
        watch_namespaces=options.watch_namespaces,
        overrides=options.overrides,
        config=config,
        values_from=options.values_from,
    )


def identities(values: Iterable[RecordedValues]) -> tuple[RecordedValues, ...]:
    """Without what does not tell one installation from another."""
    return tuple(replace(one, current_digest="") for one in values)


def mean_the_same(one: RecordedOptions | None, other: RecordedOptions | None) -> bool:
    """Whether they are of one installation, which was recorded again."""
    return _identity(one) == _identity(other)


def recognised(found: Sequence[RecordedValues], installed: Iterable[RecordedValues]) -> tuple[RecordedValues, ...]:
    """Values as they are now, those of them as they were recorded that are what is installed."""
    known = {(one.kind, one.name, one.key): one for one in installed}
    return tuple(_recognised(one, known.get((one.kind, one.name, one.key))) for one in found)


def _identity(options: RecordedOptions | None) -> RecordedOptions | None:
    return replace(options, values_from=identities(options.values_from)) if options is not None else None


def _recognised(found: RecordedValues, installed: RecordedValues | None) -> RecordedValues:
    if installed is None:
        return found
    latest = installed.current_digest or installed.digest
    if latest == found.digest:
        return installed
    return found if are_comparable(latest, found.digest) else replace(installed, current_digest=found.digest)


def installed_options(entry: Installation, spec_options: InstallOptions) -> InstallOptions | None:
    """The options of an entry of the history; those of the spec where the entry is older than recorded options."""
    if entry.options is not None:
        return restore(entry.options, spec_options)
    return replace(spec_options, config=entry.config) if entry.config else spec_options


def config_digest(config: Mapping[str, Any] | None) -> str:
    """Empty for none."""
    return _sha256(config) if config else ""


def override_of(overrides: Iterable[Override], key: ObjectKey, *, install_namespace: str) -> Override:
    """What the overrides say of an object. One that names the namespace comes before one that leaves it out."""
    found = [one for one in overrides if matches(one, key, install_namespace=install_namespace)]
    return max(found, key=lambda one: one.namespace == key.namespace, default=NO_OVERRIDE)


def matches(override: Override, key: ObjectKey, *, install_namespace: str) -> bool:
    """Whether the override may be about this object."""
    if (override.group, override.kind, override.name) != (key.group, key.kind, key.name):
        return False
    return override.namespace == key.namespace or (not override.namespace and key.namespace == install_namespace)


def flag(annotations: Mapping[str, str], name: str, *, override: bool | None = None) -> bool | None:
    """What an override says, else the annotation of this name; None: nothing."""
    return override if override is not None else _FLAGS.get(annotations.get(name, ""))


def _has_effect(override: Override) -> bool:
    return override.prune is not None or override.force is not None


def _object(override: Override) -> tuple[str, str, str, str]:
    return override.group, override.kind, override.namespace, override.name


def _sha256(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
