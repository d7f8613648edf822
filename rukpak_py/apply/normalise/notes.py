"""Notes on one manifest: warnings collected on the way, and the error for a value of the wrong type.

A text names the object and the path, never the value: a Secret's values pass through here too.
"""

from dataclasses import dataclass, field
from typing import Any

from rukpak_py.core.errors import ContentError

_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
    (str, "a string"),
    (dict, "a mapping"),
    (list, "a list"),
)


@dataclass(frozen=True, kw_only=True)
class Notes:
    """`subject` is the object as a user knows it, for example `Deployment shop/web`."""

    subject: str
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        self.warnings.append(f"{self.subject}: {text}")

    def error(self, text: str) -> ContentError:
        return ContentError(f"{self.subject}: {text}")

    def mapping(self, value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(value, path, "a mapping")
        for key in value:
            if not isinstance(key, str):
                raise self.error(f"{path} has a key that is {_type_name(key)}; keys must be strings")
        return value

    def items(self, value: object, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._wrong(value, path, "a list")
        return value

    def text(self, value: object, path: str) -> str:
        if not isinstance(value, str):
            raise self._wrong(value, path, "a string")
        return value

    def text_map(self, value: object, path: str) -> dict[str, str]:
        return {key: self.text(item, f"{path}[{key}]") for key, item in self.mapping(value, path).items()}

    def _wrong(self, value: object, path: str, wanted: str) -> ContentError:
        return self.error(f"{path} must be {wanted}, got {_type_name(value)}")


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    return next((name for kind, name in _NAMES if isinstance(value, kind)), type(value).__name__)
