"""Objects as a stream of YAML documents, written as kubectl writes them: block style, sequences not indented.

What is written reads back as the same values, in the Kubernetes dialect, in YAML 1.2 and in PyYAML: what any of them
takes for something else than text is quoted. The same values give the same bytes; keys keep their order. Nothing is
folded, and texts of several lines are literal blocks where that is exact. One iterative loop, as values may be deep.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from rukpak_py.content.yaml_scalars import without_surrogates

_STEP = "  "
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # in any case of letters
# With these a plain scalar cannot begin, or it may be a number, a date, or a merge key.
_NO_STARTS = frozenset("-?:,[]{}#&*!|>'\"%@`=<~.+0123456789 ") | {""}
_QUANTITY_OR_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[mkshMGTP]|[KMGTPE]i)|[0-9]+\.[0-9]+\.[0-9]+")
_BEFORE_TEXT = re.compile(r"\n(?=[^\n])")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONGEST_KEY = 1000  # parsers look for the colon within 1024 characters
_CACHED_LENGTH = 80


def dump_all(objects: Iterable[Any]) -> Iterator[str]:
    """One text per document, each with its separator in front."""
    texts: dict[str, str] = {}
    for value in objects:
        yield "".join(["---\n", *_lines(value, texts)])


def _lines(root: Any, texts: dict[str, str]) -> Iterator[str]:
    """`texts` remembers how short texts are written."""
    if not (root and isinstance(root, dict | list)):
        yield f"{_scalar(root, texts, _STEP)}\n"
        return
    # (what is left of the container, whether it is a mapping, what its next line begins with, and its further lines)
    around: list[tuple[Iterator[Any], bool, str, str]] = [(_members(root), isinstance(root, dict), "", "")]
    while around:
        members, is_mapping, lead, indent = around.pop()
        for member in members:
            if is_mapping:
                key, value = member
                name = texts.get(key) or _text(key, texts)
                head = f"{lead}{name}:" if len(name) < _LONGEST_KEY else f"{lead}? {name}\n{indent}:"
            else:
                value = member
                head = f"{lead}-"
            lead = indent
            if value and (type(value) is dict or type(value) is list):
                around.append((members, is_mapping, lead, indent))
                if not is_mapping:
                    around.append((_members(value), type(value) is dict, f"{head} ", indent + _STEP))
                    break
                yield f"{head}\n"
                inner = indent + _STEP if type(value) is dict else indent
                around.append((_members(value), type(value) is dict, inner, inner))
                break
            yield f"{head} {_scalar(value, texts, indent + _STEP)}\n"


def _members(container: Any) -> Iterator[Any]:
    return iter(container.items() if isinstance(container, dict) else container)


def _scalar(value: Any, texts: dict[str, str], indent: str) -> str:
    if type(value) is str:
        return texts.get(value) or (_block(value, indent) if _is_block(value) else _text(value, texts))
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def _float(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError(f"{number} has no place in JSON")
    text = repr(number)
    return text if "." in text else text.replace("e", ".0e")  # without a point PyYAML reads a text


def _text(text: str, texts: dict[str, str]) -> str:
    """On one line; plain where every reader takes it for the same text."""
    if not text.isprintable():
        written = f'"{"".join(_escaped(character) for character in without_surrogates(text))}"'
    elif _is_plain(text):
        written = text
    elif '"' in text or "\\" in text:
        written = "'" + text.replace("'", "''") + "'"
    else:
        written = f'"{text}"'
    if len(text) <= _CACHED_LENGTH:
        texts[text] = written
    return written


def _is_plain(text: str) -> bool:
    if text[:1] in _NO_STARTS:
        return _QUANTITY_OR_VERSION.fullmatch(text) is not None
    return ": " not in text and " #" not in text and text[-1] not in ": " and text.lower() not in _WORDS


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_block(text: str) -> bool:
    return "\n" in text and text[0] not in " \t\n" and text.replace("\n", "").replace("\t", "").isprintable()


def _block(text: str, indent: str) -> str:
    body = text.removesuffix("\n")
    chomping = "-" if body == text else "+" if body.endswith("\n") else ""
    body = _BEFORE_TEXT.sub(f"\n{indent}", body)
    return f"|{chomping}\n{indent}{body}"
