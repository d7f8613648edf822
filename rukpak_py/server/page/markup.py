"""HTML as values. A string is always text: the one way to put markup into an element is another element.

* Text and attributes are escaped, and what would move the cursor or turn the direction of writing around is shown as
  its escape.
* A link to anything but http, https or a relative address loses its address.
* What is written is well-formed XML, too, so a parser of XML can check it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from rukpak_py.core.visible import clean_text

Value = str | int | bool | None
_VOID = frozenset({"input", "link", "meta"})
_ADDRESSES = frozenset({"href", "src", "action"})
_SCHEMES = frozenset({"", "http", "https"})
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


@dataclass(frozen=True, slots=True)
class Element:
    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple["Element | str", ...]

    def __str__(self) -> str:
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        attributes = "".join(f' {name}="{escaped(value)}"' for name, value in self.attributes)
        if self.tag in _VOID:
            yield f"<{self.tag}{attributes}/>"
            return
        yield f"<{self.tag}{attributes}>"
        for child in self.children:
            if isinstance(child, Element):
                yield from child.pieces()
            else:
                yield escaped(child)
        yield f"</{self.tag}>"


Child = Element | str | None


def element(tag: str, *children: Child | Iterable[Child], **attributes: Value) -> Element:
    """`class_` is the attribute class, `aria_label` is aria-label. None and False: no such attribute; True: without a
    value.
    """
    named = ((name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    return Element(tag, tuple(_attributes(named)), tuple(_flat(children)))


def escaped(text: str) -> str:
    return clean_text(text).translate(_ESCAPES)


def _attributes(named: Iterable[tuple[str, Value]]) -> Iterator[tuple[str, str]]:
    for name, value in named:
        if value is None or value is False or (name in _ADDRESSES and not _is_harmless(str(value))):
            continue
        yield name, "" if value is True else str(value)


def _is_harmless(address: str) -> bool:
    try:
        return urlsplit(address).scheme.lower() in _SCHEMES and clean_text(address) == address
    except ValueError:
        return False


def _flat(children: Iterable[Child | Iterable[Child]]) -> Iterator[Element | str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Element | str):
            yield child
        else:
            yield from _flat(child)


def document(root: Element) -> bytes:
    return f"<!DOCTYPE html>\n{root}\n".encode()
