"""`spec.config.valuesFrom`: where values stand that are not in the BundleDeployment itself.

Secrets and ConfigMaps of the system namespace alone: neither content nor deployment picks a place. Names are checked
here, because they become part of a request. Nothing in here knows what the objects hold.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rukpak_py.api.deployment_spec import VALUES_FROM_AT_MOST
from rukpak_py.api.own_secrets import own_by_name
from rukpak_py.core.errors import ContentError
from rukpak_py.core.text import joined
from rukpak_py.formats.type_defects import kind_of

VALUES_FROM: Final = "valuesFrom"  # the key of `spec.config`
KINDS: Final = ("Secret", "ConfigMap")
DEFAULT_KEY: Final = "values.yaml"
_PLACE: Final = f"spec.config.{VALUES_FROM}"
_FIELDS: Final = ("kind", "name", "key", "optional")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_SHOWN: Final = 100  # characters of what is wrong


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
            "is in the system namespace"
        )
    given = {name: value for name, value in entry.items() if value is not None}
    kind, optional = given.get("kind"), given.get("optional", False)
    if kind not in KINDS:
        raise ContentError(f"{where}.kind must be {' or '.join(KINDS)}, got {_shown(kind)}")
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
    raise ContentError(f"{where} must be the {what}, got {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    return "nothing" if value is None else kind_of(value)
