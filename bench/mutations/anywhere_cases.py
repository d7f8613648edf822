"""Mistakes at a place that chance decides: these cases do not know which field they break."""

import copy
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from bench.mutations.changes import Change, Document, cases

Slot: TypeAlias = tuple[Any, Any]  # a container, and the key or index in it


def _some(is_fit: Callable[[Any, Any], bool], replace: Callable[[Any, Any, Random], None]) -> Change:
    def change(document: Document, random: Random) -> bool:
        fit = [(around, key) for around, key in _slots(document) if is_fit(key, around[key])]
        if not fit:
            return False
        around, key = random.choice(fit)
        replace(around, key, random)
        return True

    return change


def _slots(root: Any) -> Iterator[Slot]:
    """Outside of metadata, of data, and of the schemas of CRDs, which have cases of their own."""
    pairs = enumerate(root) if isinstance(root, list) else root.items() if isinstance(root, dict) else ()
    for key, value in list(pairs):
        if key in {"apiVersion", "kind", "metadata", "data", "schema", "status", "description"}:
            continue
        yield root, key
        yield from _slots(value)


def _set(around: Any, key: Any, value: Any) -> None:
    around[key] = value


def _repeat(around: Any, key: Any, random: Random) -> None:
    around[key].append(copy.deepcopy(random.choice(around[key])))


def _is_enumerated(key: Any, value: Any) -> bool:
    return isinstance(value, str) and isinstance(key, str) and value.isalpha() and value[0].isupper()


def _is_number(_: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


CASES = (
    *cases(
        "type anywhere",
        "any",
        {
            "number as string": _some(_is_number, lambda around, key, _: _set(around, key, str(around[key]))),
            "boolean as string": _some(
                lambda _, value: isinstance(value, bool),
                lambda around, key, _: _set(around, key, str(around[key]).lower()),
            ),
            "string as number": _some(
                lambda _, value: isinstance(value, str),
                lambda around, key, random: _set(around, key, random.choice([1, 8080, 1.5])),
            ),
            "string as boolean": _some(
                lambda _, value: isinstance(value, str), lambda around, key, _: _set(around, key, True)
            ),
            "string as list": _some(
                lambda _, value: isinstance(value, str), lambda around, key, _: _set(around, key, [around[key]])
            ),
            "string as mapping": _some(
                lambda _, value: isinstance(value, str), lambda around, key, _: _set(around, key, {"name": around[key]})
            ),
            "list as mapping": _some(
                lambda _, value: isinstance(value, list) and bool(value),
                lambda around, key, _: _set(
                    around, key, around[key][0] if isinstance(around[key][0], dict) else {"a": "b"}
                ),
            ),
            "list as string": _some(
                lambda _, value: isinstance(value, list) and bool(value) and isinstance(value[0], str),
                lambda around, key, _: _set(around, key, " ".join(map(str, around[key]))),
            ),
            "mapping as list": _some(
                lambda _, value: isinstance(value, dict), lambda around, key, _: _set(around, key, [around[key]])
            ),
            "mapping as string": _some(
                lambda _, value: isinstance(value, dict) and bool(value),
                lambda around, key, _: _set(around, key, next(iter(around[key]))),
            ),
            "number as fraction": _some(_is_number, lambda around, key, _: _set(around, key, around[key] + 0.5)),
        },
    ),
    *cases(
        "dropped anywhere",
        "any",
        {
            "field": _some(lambda key, _: isinstance(key, str), lambda around, key, _: around.pop(key)),
            "name": _some(
                lambda key, _: key in {"name", "key", "path", "port", "type"}, lambda around, key, _: around.pop(key)
            ),
            "empty string": _some(
                lambda key, value: isinstance(key, str) and isinstance(value, str),
                lambda around, key, _: _set(around, key, ""),
            ),
            "empty list": _some(
                lambda _, value: isinstance(value, list) and bool(value), lambda around, key, _: _set(around, key, [])
            ),
        },
    ),
    *cases(
        "values anywhere",
        "any",
        {
            "negative": _some(_is_number, lambda around, key, _: _set(around, key, -1 - abs(around[key]))),
            "large": _some(_is_number, lambda around, key, _: _set(around, key, around[key] + 2**31)),
            "lower case": _some(
                _is_enumerated, lambda around, key, _: _set(around, key, around[key][0].lower() + around[key][1:])
            ),
            "letter lost": _some(_is_enumerated, lambda around, key, _: _set(around, key, around[key][:-1])),
            "item twice": _some(
                lambda _, value: isinstance(value, list) and bool(value) and isinstance(value[0], dict), _repeat
            ),
            "space": _some(
                lambda key, value: isinstance(value, str) and key in {"name", "key", "topologyKey", "namespace"},
                lambda around, key, _: _set(around, key, f"{around[key]} x"),
            ),
        },
    ),
)
