"""What a fact knows beyond its cause and its objects, typed, and the text that is made of it, last.

Two details that are equal tell the same: the identity of what is told is a digest of the class's name and the fields.
A class that is renamed is therefore told once more after an upgrade of the operator. `text` is what a condition says;
`brief` is the line for Ready and for the Event. Neither masks anything: `conclude` does, before anything is cut.
"""

from collections.abc import Sequence

from msgspec import Struct

from rukpak_py.api.conditions import first_line
from rukpak_py.core.objects import ObjectKey

Objects = Sequence[ObjectKey]


class Detail(Struct, frozen=True, kw_only=True, tag=True):
    def text(self, objects: Objects, /) -> str:
        raise NotImplementedError

    def brief(self, objects: Objects, /) -> str:
        return first_line(self.text(objects))


class NoDetail(Detail, frozen=True, kw_only=True):
    """The text is empty: for facts that nobody reads."""

    def text(self, _: Objects, /) -> str:
        return ""


class Words(Detail, frozen=True, kw_only=True):
    """The words of an error, a server or a source. `line`: for where one line has room, if not the first."""

    words: str
    line: str = ""

    def text(self, _: Objects, /) -> str:
        return self.words

    def brief(self, _: Objects, /) -> str:
        return first_line(self.line or self.words)


NO_DETAIL = NoDetail()
