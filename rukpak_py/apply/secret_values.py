"""Values of Secrets, as they are and as they would be, to find out which an upgrade changes. No value is told.

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

from rukpak_py.core.objects import Object, ObjectKey
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
        """The entry of `spec.config.acceptNewSecrets` for it; `namespace`: of the release, which is left out."""
        around = "" if self.secret.namespace == namespace else f"{self.secret.namespace}/"
        return f"{around}{self.secret.name}/{self.key}"


def changed_values(live: Values, wanted: Values) -> list[ChangedValue]:
    """The values of keys that both have, where they differ."""
    return [
        ChangedValue(secret=secret, key=key, live=was[key], wanted=value)
        for secret, was in sorted(live.items())
        for key, value in sorted(wanted.get(secret, {}).items())
        if key in was and was[key] != value
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Renderings of the content to compare with an upgrade.

    `before` is the rendering of what is installed that was kept, and `installed` another one of it; both are empty
    where they cannot be had. `wanted` is another rendering of what is wanted.
    """

    before: Values = field(default_factory=dict, repr=False)
    installed: Values = field(default_factory=dict, repr=False)
    wanted: Values = field(default_factory=dict, repr=False)

    def is_generated(self, one: ChangedValue) -> bool:
        """Whether a rendering generated the value, of what is installed or of what is wanted: no user has asked for it.

        The live value stands for a rendering that was not kept. An admission webhook may have replaced it, so what
        comes out as it is wanted twice is not generated either.
        """
        again = _value(self.installed, one)
        before = _value(self.before, one)
        if again is not None and again not in {one.live if before is None else before, one.wanted}:
            return True
        once_more = _value(self.wanted, one)
        return once_more is not None and once_more != one.wanted


def secrets_of(objects: Iterable[Object], namespace: str) -> Values:
    """`namespace`: of those that name none."""
    secrets = [one for one in objects if is_secret(one.head.key)]
    return {_at_home(one.head.key, namespace): values_of(one.json) for one in secrets}


def _at_home(key: ObjectKey, namespace: str) -> ObjectKey:
    return key if key.namespace else key._replace(namespace=namespace)


def _value(values: Values, one: ChangedValue) -> bytes | None:
    return values.get(one.secret, {}).get(one.key)


def is_secret(key: ObjectKey) -> bool:
    return (key.group, key.kind) == SECRETS.group_kind


def values_of(body: bytes) -> dict[str, bytes]:
    """The values of a Secret, given as JSON."""
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
