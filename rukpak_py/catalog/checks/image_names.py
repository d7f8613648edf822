"""References of container images, as catalogs are checked for them: `[domain/]path[:tag][@algorithm:hex]`.

A first component without a dot, a colon or the name `localhost` is no domain: the image is of docker.io. Texts are
those of the reference library, in the order in which it looks.
"""

import re
from typing import Final

from rukpak_py.core.go_text import quoted

_DEFAULT_DOMAIN: Final = "docker.io"
_OF_DEFAULT_DOMAIN: Final = "library/"
_LONGEST_NAME: Final = 255
_HEX_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
# No repeat can take back what it took: what follows one is never one of its own characters.
_LABEL: Final = "[A-Za-z0-9]++(?:-++[A-Za-z0-9]++)*+"
_DOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})*+(?::[0-9]++)?+/"
_COMPONENT: Final = "[a-z0-9]++(?:(?:\\.|__?|-++)[a-z0-9]++)*+"
_PATH: Final = rf"{_COMPONENT}(?:/{_COMPONENT})*+"
_ALGORITHM: Final = "[A-Za-z][A-Za-z0-9]*+(?:[-_+.][A-Za-z][A-Za-z0-9]*+)*+"
_REFERENCE: Final = re.compile(
    rf"((?:{_DOMAIN})?{_PATH})(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}+)?+"
    rf"(?:@({_ALGORITHM}):([0-9a-fA-F]{{32,}}+))?+"
)
_LOWER_ALGORITHM: Final = re.compile("[a-z0-9]++(?:[.+_-][a-z0-9]++)*+")
_IDENTIFIER: Final = re.compile("[a-f0-9]{64}")


def problem_of_image(text: str) -> str | None:
    """Why the text is no reference of an image; None where it is one, and for an empty text."""
    reason = _reason(text) if text else None
    return f"invalid image pull spec {quoted(text)}: {reason}" if reason is not None else None


def _reason(text: str) -> str | None:
    if _IDENTIFIER.fullmatch(text):
        return f"invalid repository name ({text}), cannot specify 64-byte hexadecimal strings"
    domain, path = _split(text)
    repository = path.partition(":")[0]
    if repository.lower() != repository:
        return "invalid reference format: repository name must be lowercase"
    match = _REFERENCE.fullmatch(f"{domain}/{path}")
    if match is None:
        return "invalid reference format"
    if len(match[1]) > _LONGEST_NAME:
        return "repository name must not be more than 255 characters"
    return _reason_of_digest(match[2], match[3]) if match[2] else None


def _split(text: str) -> tuple[str, str]:
    first, slash, rest = text.partition("/")
    is_domain = bool(slash) and (not {".", ":"}.isdisjoint(first) or first == "localhost")
    domain, path = (first, rest) if is_domain else (_DEFAULT_DOMAIN, text)
    if domain == f"index.{_DEFAULT_DOMAIN}":
        domain = _DEFAULT_DOMAIN
    if domain == _DEFAULT_DOMAIN and "/" not in path:
        path = f"{_OF_DEFAULT_DOMAIN}{path}"
    return domain, path


def _reason_of_digest(algorithm: str, digits: str) -> str | None:
    if algorithm not in _HEX_DIGITS:
        is_known_form = _LOWER_ALGORITHM.fullmatch(algorithm) is not None
        return "unsupported digest algorithm" if is_known_form else "invalid checksum digest format"
    if len(digits) != _HEX_DIGITS[algorithm]:
        return "invalid checksum digest length"
    return "invalid checksum digest format" if digits.lower() != digits else None
