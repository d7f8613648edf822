"""`spec.config` of a BundleDeployment of class helm, beside the values: how the chart is installed.

A key that is no setting is judged where values are read, in `request`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from rukpak_py.api.install_options import ACCEPT_NEW_SECRETS
from rukpak_py.core.errors import ContentError
from rukpak_py.formats.type_defects import kind_of

CRDS: Final = "crds"
RELEASE_NAME: Final = "releaseName"
SETTINGS: Final = frozenset({ACCEPT_NEW_SECRETS, CRDS, RELEASE_NAME})  # keys of `spec.config`
_RELEASE_NAME_BYTES: Final = 53  # helm's own, and its pattern
_RELEASE_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SECRET_KEY: Final = re.compile(r"(?:[-a-z0-9]+/)?[-.a-z0-9]+/[-._a-zA-Z0-9]+")
_ALLOWED: Final = "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
_SHOWN: Final = 100  # characters of what is wrong


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
