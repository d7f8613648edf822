"""References of images, by the grammar of container runtimes: a kubelet starts no container with any other."""

import re
from typing import Final

_NAME: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d+)?/|\[[0-9a-fA-F:]+\](?::\d+)?/)?"
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*",
    re.ASCII,
)
_TAG: Final = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_HEX: Final = re.compile("[0-9a-f]+")
_ONLY_HEX: Final = re.compile("[0-9a-f]{64}")  # taken for the id of a local image
_SCHEME: Final = re.compile("[A-Za-z][A-Za-z0-9+-]{0,20}://")
_DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST: Final = 255


def reason_against(image: str) -> str:
    """Why the text is not a reference; empty where it is one."""
    rest, at, digest = image.partition("@")
    name, colon, tag = rest.rpartition(":") if ":" in rest.rpartition("/")[2] else (rest, "", "")
    if scheme := _SCHEME.match(image):
        return f"it must not begin with {scheme[0]}"
    if image != image.strip():
        return "there are blanks around it"
    if not _NAME.fullmatch(name):
        lower = name.lower()
        return "the repository must be in lower case" if _NAME.fullmatch(lower) else f"'{name[:200]}' is not a name"
    if len(name) > _LONGEST:
        return f"the name has more than {_LONGEST} characters"
    if colon and not _TAG.fullmatch(tag):
        return f"'{tag[:200]}' is not a tag"
    if not at:
        return "it is a digest without a name" if _ONLY_HEX.fullmatch(image) else ""
    return _reason_against_digest(digest)


def _reason_against_digest(digest: str) -> str:
    algorithm, _, digits = digest.partition(":")
    if algorithm not in _DIGITS:
        return f"the digest must begin with {', '.join(f'{one}:' for one in _DIGITS)}"
    if not _HEX.fullmatch(digits):
        return "the digits of a digest are 0-9 and a-f"
    if len(digits) != _DIGITS[algorithm]:
        return f"a {algorithm} digest has {_DIGITS[algorithm]} digits, got {len(digits)}"
    return ""
