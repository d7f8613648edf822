"""Templates of image references, for bundles that come from directories: `example.com/{{.Package}}:{{.Version}}`.

Of the language of Go's templates this is the part that such a reference needs: package, name and version of a bundle.
"""

import re
from dataclasses import dataclass
from typing import Final

from rukpak_py.catalog.model import Bundle
from rukpak_py.core.errors import ContentError

_PIECE: Final = re.compile(r"\{\{\s*+\.(Package|Name|Version)\s*+\}\}|([^{]++|\{(?!\{))")
_FORM: Final = "write {{.Package}}, {{.Name}} and {{.Version}} into it, nothing else in double braces"


@dataclass(frozen=True)
class ImageTemplate:
    pieces: tuple[tuple[str, str], ...]  # the name of a field, or text

    @classmethod
    def parse(cls, text: str) -> "ImageTemplate":
        pieces: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            piece = _PIECE.match(text, position)
            if piece is None:
                raise ContentError(f"the template of image references {text!r} cannot be used: {_FORM}")
            pieces.append((piece[1] or "", piece[2] or ""))
            position = piece.end()
        return cls(tuple(pieces))

    def image_of(self, bundle: Bundle) -> str:
        fields = {"Package": bundle.package, "Name": bundle.name, "Version": bundle.version}
        return "".join(fields[field] if field else text for field, text in self.pieces)
