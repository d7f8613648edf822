"""What the schemas of a chart's values refer to outside of themselves.

Helm would fetch that: from web servers, and from files of the machine it runs on. Here nothing is fetched, so values
are not checked by schemas when one of a chart's schemas needs another document; many charts name one that is for
editors. A document that a schema holds under its `$id` is its own.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from rukpak_py.formats.helm.chart import SCHEMA, Chart

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef", "$schema")
_KNOWN: Final = ("http://json-schema.org/", "https://json-schema.org/")


def outside_references(chart: Chart) -> list[str]:
    """Of the chart and its subcharts; each once."""
    found: dict[str, None] = {}
    for one in chart.with_subcharts():
        found |= dict.fromkeys(_outside(one.files.get(SCHEMA, b"")))
    return list(found)


def _outside(data: bytes) -> Iterator[str]:
    try:
        schema = orjson.loads(data or b"{}")
    except orjson.JSONDecodeError:
        return  # helm says so
    own = {identity.rstrip("#") for identity in _texts(schema, ("$id", "id"))}
    for reference in _texts(schema, _REFERENCES):
        document = reference.partition("#")[0]
        if document and document not in own and not document.startswith(_KNOWN):
            yield document


def _texts(schema: Any, keys: tuple[str, ...]) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as mapping:
                yield from (mapping[key] for key in keys if isinstance(mapping.get(key), str))
                waiting += mapping.values()
            case list() as items:
                waiting += items
            case _:
                continue
