"""What Secrets hold, as it is and as it would be: to find out which values an upgrade changes. No value is told.

What is renewed at each rendering is volatile: no user has asked for what an upgrade makes of it. Certificates and
private keys in PEM are no passwords: who trusts them comes from the same rendering, and is renewed with them.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from rukpak_py.core.objects import ObjectKey
from rukpak_py.kube.resources import SECRETS

_PEM: Final = re.compile(rb"\s*+-----BEGIN (?:CERTIFICATE|(?:[A-Z]{1,10} ){0,3}PRIVATE KEY)-----")

Values = Mapping[ObjectKey, Mapping[str, bytes]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedValue:
    secret: ObjectKey
    key: str
    live: bytes = field(repr=False)
    wanted: bytes = field(repr=False)

    @property
    def is_certificate(self) -> bool:
        return all(_PEM.match(value) for value in (self.live, self.wanted))

    def __str__(self) -> str:
        return f"{self.secret}, key {self.key}"

    def entry(self, namespace: str) -> str:
        """As `spec.config.acceptNewSecrets` lists it; `namespace`: of the release, which is left out."""
        around = "" if self.secret.namespace == namespace else f"{self.secret.namespace}/"
        return f"{around}{self.secret.name}/{self.key}"


def changed_values(live: Values, wanted: Values) -> list[ChangedValue]:
    """Of keys that both have."""
    return [
        ChangedValue(secret=secret, key=key, live=was[key], wanted=value)
        for secret, was in sorted(live.items())
        for key, value in sorted(wanted.get(secret, {}).items())
        if key in was and was[key] != value
    ]


def volatile_values(changed: Iterable[ChangedValue], again: Values, *, wanted: bool) -> list[ChangedValue]:
    """Those that come out differently when they are rendered again.

    `again`: what is installed, rendered once more; or, with `wanted`, what is wanted.
    """
    return [
        one
        for one in changed
        if (value := again.get(one.secret, {}).get(one.key)) is not None
        and value != (one.wanted if wanted else one.live)
    ]


def is_secret(key: ObjectKey) -> bool:
    return (key.group, key.kind) == SECRETS.group_kind


def values_of(body: bytes) -> dict[str, bytes]:
    """Of a Secret as JSON."""
    manifest = json.loads(body)
    given: dict[str, Any] = manifest.get("stringData") or {}
    return dict(_decoded(manifest.get("data") or {})) | {
        key: text.encode(errors="surrogatepass") for key, text in given.items() if isinstance(text, str)
    }


def _decoded(data: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    for key, text in data.items():
        if isinstance(text, str):
            with suppress(ValueError):  # the API server refuses it
                yield key, b64decode("".join(text.split()), validate=True)
