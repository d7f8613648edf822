"""`spec.config` of a BundleDeployment of class helm, beside the values: how the chart is installed.

A key that is no setting is judged where values are read, in `request`.

`valuesFrom` names Secrets and ConfigMaps and no namespace: whose rights a deployment has decides the place.
Names are checked here, because they become part of a request. Nothing in here knows what the objects hold.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rukpak_py.api.deployment_spec import VALUES_FROM_AT_MOST
from rukpak_py.api.install_options import ACCEPT_NEW_SECRETS
from rukpak_py.api.own_secrets import own_by_name
from rukpak_py.core.errors import ContentError
from rukpak_py.core.text import joined
from rukpak_py.formats.type_defects import kind_of

CRDS: Final = "crds"
RELEASE_NAME: Final = "releaseName"
SETTINGS: Final = frozenset({ACCEPT_NEW_SECRETS, CRDS, RELEASE_NAME})  # keys of `spec.config`
_RELEASE_NAME_BYTES: Final = 53  # helm's own, and its pattern
_RELEASE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SECRET_KEY: Final = re.compile(r"(?:[-a-z0-9]+/)?[-.a-z0-9]+/[-._a-zA-Z0-9]+")
_ALLOWED: Final = "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
_SHOWN: Final = 100  # characters of what is wrong
VALUES_FROM: Final = "valuesFrom"  # the key of `spec.config`
KINDS: Final = ("Secret", "ConfigMap")
DEFAULT_KEY: Final = "values.yaml"
_PLACE: Final = f"spec.config.{VALUES_FROM}"
_FIELDS: Final = ("kind", "name", "key", "optional")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")


class CrdsMode(StrEnum):
    """Treatment of a chart's `crds/`."""

    CREATE = "Create"  # helm's way: created where they are missing, and never changed
    CREATE_REPLACE = "CreateReplace"  # applied and corrected like other objects
    SKIP = "Skip"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartSettings:
    crds: CrdsMode = CrdsMode.CREATE_REPLACE
    release_name: str = ""  # empty: that of the BundleDeployment
    accept_new_secrets: frozenset[str] = frozenset()  # `secret/key`, or with its namespace before it

    def release_for(self, deployment: str) -> str:
        """ContentError where the name of the BundleDeployment cannot be that of a release."""
        if self.release_name:
            return self.release_name
        if defect := _defect_of(deployment):
            raise ContentError(
                f"the name of the BundleDeployment cannot be the name of the release, because it {defect}; "
                f"set spec.config.{RELEASE_NAME}"
            )
        return deployment


def settings_of(config: Mapping[str, Any]) -> ChartSettings:
    return ChartSettings(
        crds=_crds(config.get(CRDS)),
        release_name=_release_name(config.get(RELEASE_NAME)),
        accept_new_secrets=_accepted(config.get(ACCEPT_NEW_SECRETS)),
    )


def _crds(value: object) -> CrdsMode:
    if value is None:
        return CrdsMode.CREATE_REPLACE
    if isinstance(value, str) and value in tuple(CrdsMode):
        return CrdsMode(value)
    raise ContentError(f"spec.config.{CRDS} must be one of {', '.join(CrdsMode)}, got {_shown(value)}")


def _release_name(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise ContentError(f"spec.config.{RELEASE_NAME} must be a release name, got {_shown(value)}")
    if defect := _defect_of(value):
        raise ContentError(f"spec.config.{RELEASE_NAME} {_shown(value)} is not a valid release name: it {defect}")
    return value


def _accepted(value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise ContentError(f"spec.config.{ACCEPT_NEW_SECRETS} must be a list of SECRET/KEY, got {_shown(value)}")
    for at, one in enumerate(value):
        if not isinstance(one, str) or not _SECRET_KEY.fullmatch(one):
            raise ContentError(
                f"spec.config.{ACCEPT_NEW_SECRETS}[{at}] must be SECRET/KEY, or NAMESPACE/SECRET/KEY for one outside of"
                f" the release namespace, got {_shown(one)}"
            )
    return frozenset(value)


def _defect_of(name: str) -> str:
    if len(name.encode()) > _RELEASE_NAME_BYTES:
        return f"has {len(name.encode())} bytes; helm allows {_RELEASE_NAME_BYTES}"
    return "" if _RELEASE_NAME.fullmatch(name) else f"must consist of {_ALLOWED}"


def _shown(value: object) -> str:
    return repr(value[:_SHOWN]) if isinstance(value, str) else kind_of(value)


@dataclass(frozen=True, kw_only=True, slots=True)
class ValuesReference:
    kind: str
    name: str
    key: str = DEFAULT_KEY
    is_optional: bool = False

    @property
    def is_secret(self) -> bool:
        """Values of a ConfigMap can be read by anybody who may list those."""
        return self.kind == "Secret"


def references_of(config: Mapping[str, Any]) -> tuple[ValuesReference, ...]:
    """In their order. ContentError names every entry that is wrong."""
    entries = config.get(VALUES_FROM)
    if entries is None:
        return ()
    if not isinstance(entries, list):
        raise ContentError(f"{_PLACE} must be a list, got {kind_of(entries)}")
    if len(entries) > VALUES_FROM_AT_MOST:
        raise ContentError(f"{_PLACE} has {len(entries)} entries; at most {VALUES_FROM_AT_MOST} are allowed")
    references, wrong = [], []
    for number, entry in enumerate(entries):
        try:
            references.append(_reference(entry, place(number)))
        except ContentError as error:
            wrong.append(str(error))
    if wrong:
        raise ContentError(joined(wrong))
    return tuple(references)


def refers_to(config: Mapping[str, Any] | None, kind: str, name: str) -> bool:
    """Whether any entry may be about this object; entries that are wrong say nothing."""
    entries = (config or {}).get(VALUES_FROM)
    return isinstance(entries, list) and any(
        isinstance(entry, Mapping) and (entry.get("kind"), entry.get("name")) == (kind, name) for entry in entries
    )


def place(number: int) -> str:
    return f"{_PLACE}[{number}]"


def _reference(entry: object, where: str) -> ValuesReference:
    if not isinstance(entry, Mapping):
        raise ContentError(f"{where} must be an object, got {kind_of(entry)}")
    unknown = sorted(str(name)[:_SHOWN] for name in entry.keys() - set(_FIELDS))
    if unknown:
        raise ContentError(
            f"{where} has the unknown field {unknown[0]!r}; an entry has kind, name, key and optional, and the object "
            "is in the system namespace, or with spec.serviceAccountName in spec.installNamespace"
        )
    given = {name: value for name, value in entry.items() if value is not None}
    kind, optional = given.get("kind"), given.get("optional", False)
    if kind not in KINDS:
        raise ContentError(f"{where}.kind must be {' or '.join(KINDS)}, got {_shown_or_nothing(kind)}")
    if not isinstance(optional, bool):
        raise ContentError(f"{where}.optional must be true or false, got {kind_of(optional)}")
    name = _text(given.get("name"), _NAME, f"{where}.name", f"name of a {kind}")
    if kind == "Secret" and (own := own_by_name(name)):
        raise ContentError(f"{where}.name: {own}")
    return ValuesReference(
        kind=kind,
        name=name,
        key=_text(given.get("key", DEFAULT_KEY), _KEY, f"{where}.key", f"key of a {kind}"),
        is_optional=optional,
    )


def _text(value: object, pattern: re.Pattern[str], where: str, what: str) -> str:
    if isinstance(value, str) and pattern.fullmatch(value):
        return value
    raise ContentError(f"{where} must be the {what}, got {_shown_or_nothing(value)}")


def _shown_or_nothing(value: object) -> str:
    return "nothing" if value is None else _shown(value)
