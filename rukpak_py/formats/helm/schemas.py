"""Which schemas of a chart's values helm may check: those that need nothing from elsewhere.

Helm fetches what a schema refers to, from web servers and from files of the machine it runs on. Here nothing is
fetched: values are not checked by schemas at all when one of the chart's or its subcharts' schemas asks for another
document, or cannot be read exactly as helm reads it.

* A reference that begins with `#` stays in its document, whatever `$id` says there: the libraries of helm look for it
  in what they have in hand. Any other is taken for one to elsewhere, also where an `$id` seems to name the document:
  libraries take `$id` for an identity only in some places.
* An `$id` with a fragment is refused: up to helm 3.17 the document is then looked for without it, and fetched.
* The drafts of JSON Schema itself are part of helm: all of them as `$schema`, three of them for other references.
* Helm takes a byte order mark off, makes U+FFFD of what is no UTF-8, and nests deeper than our reader does. Only what
  our reader takes as it stands is the same for both.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from rukpak_py.formats.helm.chart import SCHEMA, Chart

_SCHEMA: Final = "$schema"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_IDENTITIES: Final = ("$id", "id")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_DRAFTS: Final = frozenset(
    f"{scheme}://json-schema.org/{draft}"
    for scheme in ("http", "https")
    for draft in (
        "schema",
        "draft-04/schema",
        "draft-06/schema",
        "draft-07/schema",
        "draft/2019-09/schema",
        "draft/2020-12/schema",
    )
)


_REFERABLE: Final = frozenset(f"http://json-schema.org/draft-0{number}/schema" for number in (4, 6, 7))


def why_unchecked(chart: Chart) -> list[str]:
    """Why values are not checked by the schemas of the chart and its subcharts, each reason once; empty: they are."""
    reasons: dict[str, None] = {}
    for one in chart.with_subcharts():
        reasons |= dict.fromkeys(_reasons(one.files.get(SCHEMA, b"").removeprefix(_BYTE_ORDER_MARK)))
    return list(reasons)


def _reasons(data: bytes) -> Iterator[str]:
    if not data.strip():
        return  # there is none; or it is empty, and helm says so
    try:
        schema = orjson.loads(data)
    except orjson.JSONDecodeError:
        yield f"a {SCHEMA} cannot be read as JSON in UTF-8"
        return
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as mapping:
                yield from _outside(mapping)
                waiting += mapping.values()
            case list() as items:
                waiting += items
            case _:
                continue


def _outside(mapping: dict[str, Any]) -> Iterator[str]:
    """References of a schema to other documents, without those of its parts."""
    for key in (_SCHEMA, *_REFERENCES, *_IDENTITIES):
        reference = mapping.get(key)
        if not isinstance(reference, str) or reference.startswith("#"):
            continue
        document, _, fragment = reference.partition("#")
        drafts = _DRAFTS if key == _SCHEMA else _REFERABLE
        if fragment if key in _IDENTITIES else document not in drafts:
            yield document
