"""Leaves out fields that a server does not know, at the paths that it names: `.spec.containers[name="a"].nonsense`.

POST would drop such fields of built-in kinds with a warning; server-side apply answers 500. A bundle written for a
newer Kubernetes must not fail for a field that an older one would have ignored.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from rukpak_py.core.objects import canonical_json

_STEP = re.compile(r"""\.([^.\[\]]++) | \[ ((?:[^\]"]++|"(?:[^"\\]++|\\.)*+")*+) \]""", re.VERBOSE)
_INDEX = re.compile(r"[0-9]{1,9}")
# What is no pair is taken, too, and dropped: a search that failed would begin again at each of its characters.
_PAIR = re.compile(r"""([^=,]++|)(?:=("(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[^,]*+))?+""")

FieldStep = str | int | dict[str, Any]


def without_fields(body: bytes, paths: Iterable[str]) -> bytes:
    manifest: dict[str, Any] = orjson.loads(body)
    for path in paths:
        steps = list(_steps(path))
        value: Any = manifest
        for step in steps[:-1]:
            value = _descend(value, step)
        if steps and isinstance(value, dict) and isinstance(steps[-1], str):
            value.pop(steps[-1], None)
    return canonical_json(manifest)


def _descend(value: Any, step: FieldStep) -> Any:
    match step, value:
        case str(), dict():
            return value.get(step)
        case int(), list() if step < len(value):
            return value[step]
        case dict(), list():
            return next((item for item in value if _has(item, step)), None)
        case _:
            return None


def _has(item: Any, wanted: dict[str, Any]) -> bool:
    return isinstance(item, dict) and bool(wanted) and all(item.get(name) == value for name, value in wanted.items())


def _steps(path: str) -> Iterator[FieldStep]:
    """The steps of the path; none when it is not wholly understood: half of it would lead elsewhere."""
    for name, selector in _parts(path):
        if name:
            yield name
        elif _INDEX.fullmatch(selector):
            yield int(selector)
        else:
            yield {pair[1]: _value(pair[2]) for pair in _PAIR.finditer(selector) if pair[2] is not None}


def _parts(path: str) -> list[tuple[str, str]]:
    """Split the path into steps: of each its name, or what stands in its brackets."""
    parts = []
    position = 0
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return []
        parts.append((step[1] or "", step[2] or ""))
        position = step.end()
    return parts


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
