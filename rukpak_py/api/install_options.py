"""How content is installed, as a value: what is rendered and applied follows from the content's digest and these.

`digest` leaves out options that have their default, so a new option changes no digest where it is not used. Installed
content keeps the options it was installed with: `recorded` is their form in `status.history`, `restore` the way back.
A configuration is recorded as a string of JSON, because a merge patch of a status drops the nulls of an
object. Former releases recorded an object: two configurations of which one is such an object are the same when they
are without their nulls. A configuration too large for a status is recorded as its digest alone; once the spec has
another one it is lost. Values from Secrets and ConfigMaps are recorded as digests only. Where the key of those is lost,
what the same names hold is taken for what was installed (`recognised`): nothing may be installed anew without need.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rukpak_py.api.bundle_deployment import Installation, RecordedOptions, RecordedValues
from rukpak_py.api.deployment_spec import BundleDeploymentSpec, Override, Patch
from rukpak_py.api.names import HELM_CLASS, PLAIN_CLASS
from rukpak_py.api.reading import to_json
from rukpak_py.api.schema import ApiType
from rukpak_py.core.keyed_digests import are_comparable
from rukpak_py.core.limits import KIB
from rukpak_py.core.objects import ObjectKey, canonical_json

ACCEPT_NEW_SECRETS = "acceptNewSecrets"  # of the configuration of a chart: what an upgrade may do, and not how
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
    patches: tuple[Patch, ...] = ()
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
        overrides=tuple(sorted(map(_in_order, filter(_has_effect, spec.overrides)), key=_object)),
        patches=spec.patches,
        config=_installed_config(spec),
    )


def _installed_config(spec: BundleDeploymentSpec) -> dict[str, Any] | None:
    """Without what only allows an upgrade: that alone makes no other installation of what is installed."""
    config = spec.config or {}
    if spec.provisioner_class == HELM_CLASS:
        config = {key: value for key, value in config.items() if key != ACCEPT_NEW_SECRETS}
    return config or None


def recorded(options: InstallOptions) -> RecordedOptions:
    text = canonical_json(options.config).decode() if options.config is not None else ""
    return RecordedOptions(
        install_namespace=options.install_namespace,
        create_namespace=options.create_namespace,
        provisioner_class_name=options.provisioner_class_name,
        watch_namespaces=options.watch_namespaces,
        overrides=options.overrides,
        patches=options.patches,
        values_json=text if len(text.encode()) <= RECORDED_CONFIG_BYTES else "",
        config_digest=config_digest(options.config),
        values_from=options.values_from,
    )


def restore(options: RecordedOptions, spec_options: InstallOptions) -> InstallOptions | None:
    """The options as they were. None: the configuration is known by its digest only, and the spec has another one."""
    if records_config(options, spec_options.config):
        config = spec_options.config  # with the nulls that a former release lost
    elif _is_only_digest(options):
        return None
    else:
        config = options.inline_config
    return InstallOptions(
        install_namespace=options.install_namespace,
        create_namespace=options.create_namespace,
        provisioner_class_name=options.provisioner_class_name,
        watch_namespaces=options.watch_namespaces,
        overrides=options.overrides,
        patches=options.patches,
        config=config,
        values_from=options.values_from,
    )


def records_config(options: RecordedOptions, config: Mapping[str, Any] | None) -> bool:
    """Whether they were recorded with this configuration."""
    if options.config is not None:
        return bool(without_nulls(options.config) == without_nulls(config or {}))
    return recorded_config_digest(options) == config_digest(config)


def recorded_config_digest(options: RecordedOptions) -> str:
    """Empty: there was no configuration."""
    return options.config_digest or config_digest(options.inline_config)


def with_config_digest(options: RecordedOptions) -> RecordedOptions:
    """The same with the digest of the configuration instead of the configuration."""
    return replace(options, config=None, values_json="", config_digest=recorded_config_digest(options))


def without_nulls(value: Any) -> Any:
    """The value as a merge patch stores it, without nulls."""
    match value:
        case dict():
            return {name: without_nulls(one) for name, one in value.items() if one is not None}
        case list():
            return [without_nulls(one) for one in value if one is not None]
        case _:
            return value


def identities(values: Iterable[RecordedValues]) -> tuple[RecordedValues, ...]:
    """Without what does not tell one installation from another."""
    return tuple(replace(one, current_digest="") for one in values)


def mean_the_same(one: RecordedOptions | None, other: RecordedOptions | None) -> bool:
    """Whether they are of one installation, which was recorded again."""
    if one is None or other is None:
        return one is other
    return _but_config(one) == _but_config(other) and _same_config(one, other)


def recognised(found: Sequence[RecordedValues], installed: Iterable[RecordedValues]) -> tuple[RecordedValues, ...]:
    """Values as they are now, those of them as they were recorded that are what is installed."""
    known = {_place(one): one for one in installed}
    return tuple(_recognised(one, known.get(_place(one))) for one in found)


def _but_config(options: RecordedOptions) -> RecordedOptions:
    return replace(options, config=None, values_json="", config_digest="", values_from=identities(options.values_from))


def _same_config(one: RecordedOptions, other: RecordedOptions) -> bool:
    """Compare two configurations by digest. A former release recorded no digest beside an object without its nulls."""
    if (one.config is None) == (other.config is None) or _is_only_digest(one) or _is_only_digest(other):
        return recorded_config_digest(one) == recorded_config_digest(other)
    return bool(without_nulls(one.inline_config or {}) == without_nulls(other.inline_config or {}))


def _is_only_digest(options: RecordedOptions) -> bool:
    return bool(options.config_digest) and options.inline_config is None


def _place(one: RecordedValues) -> tuple[str, str, str, str]:
    return one.namespace, one.kind, one.name, one.key


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
    if not entry.config or without_nulls(entry.config) == without_nulls(spec_options.config):
        return spec_options
    return replace(spec_options, config=entry.config)


def config_digest(config: Mapping[str, Any] | None) -> str:
    """Empty for none."""
    return _sha256(config) if config else ""


def override_of(overrides: Iterable[Override], key: ObjectKey, *, install_namespace: str) -> Override:
    """The override of an object. One that names the namespace comes before one that leaves it out."""
    found = [one for one in overrides if matches(one, key, install_namespace=install_namespace)]
    return max(found, key=lambda one: one.namespace == key.namespace, default=NO_OVERRIDE)


def matches(override: Override, key: ObjectKey, *, install_namespace: str) -> bool:
    """Whether the override may be about this object."""
    if (override.group, override.kind, override.name) != (key.group, key.kind, key.name):
        return False
    return override.namespace == key.namespace or (not override.namespace and key.namespace == install_namespace)


def flag(annotations: Mapping[str, str], name: str, *, override: bool | None = None) -> bool | None:
    """The flag by an override, else by the annotation of this name; None where neither sets it."""
    return override if override is not None else _FLAGS.get(annotations.get(name, ""))


def _has_effect(override: Override) -> bool:
    return override.prune is not None or override.force is not None or bool(override.ignore)


def _in_order(override: Override) -> Override:
    return replace(override, ignore=tuple(sorted(set(override.ignore))))


def _object(override: Override) -> tuple[str, str, str, str]:
    return override.group, override.kind, override.namespace, override.name


def _sha256(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()
