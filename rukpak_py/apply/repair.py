"""Leaves out fields that a server does not know, at the paths that it names: `.spec.containers[name="a"].nonsense`.

POST would drop such fields of built-in kinds with a warning; server-side apply answers 500. A bundle written for a
newer Kubernetes must not fail for a field that an older one would have ignored.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from rukpak_py.core.objects import canonical_json

STEP = re.compile(r"""\.([^.\[\]]+) | \[ ((?:[^\]"]|"(?:[^"\\]|\\.)*")*) \]""", re.VERBOSE)
PATH = re.compile(rf"(?:{STEP.pattern})*", re.VERBOSE)
INDEX = re.compile(r"[0-9]{1,9}")
PAIR = re.compile(r"""([^=,]*)=("(?:[^"\\]|\\.)*"|[^,]*)""")

Step = str | int | dict[str, Any]


def without_fields(body: bytes, paths: Iterable[str]) -> bytes:
    manifest: dict[str, Any] = orjson.loads(body)
    for path in paths:
        _remove(manifest, list(_steps(path)))
    return canonical_json(manifest)


def _remove(value: Any, steps: list[Step]) -> None:
    for step in steps[:-1]:
        value = _descend(value, step)
    if steps and isinstance(value, dict) and isinstance(steps[-1], str):
        value.pop(steps[-1], None)


def _descend(value: Any, step: Step) -> Any:
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


def _steps(path: str) -> Iterator[Step]:
    """Nothing for a path that is not wholly understood: half of it would lead elsewhere."""
    for name, selector in STEP.findall(path) if PATH.fullmatch(path) else ():
        if name:
            yield name
        elif INDEX.fullmatch(selector):
            yield int(selector)
        else:
            yield {key: _value(text) for key, text in PAIR.findall(selector)}


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
