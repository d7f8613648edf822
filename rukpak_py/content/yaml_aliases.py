"""Bounds for YAML aliases: whether a file may have any, when they are too many, and how many bytes they become.

A copy shares its strings with the anchored value, so it takes little memory; but each copy is written out as JSON. So
these bytes are counted before an alias is copied, with one budget for all files of a bundle.
"""

import re
from typing import Any

from rukpak_py.core.json_text import least_json_bytes
from rukpak_py.core.limits import Limits

# A token does not begin right behind one of these characters. All others count, so that `*` in prose may be taken for
# an alias and never the other way round. The name is what libyaml takes for one.
_BEHIND = rb"""(?<![A-Za-z0-9_.*/"'\\(])"""
_ANCHOR = re.compile(_BEHIND + rb"&[A-Za-z0-9_-]")
_ALIAS = re.compile(_BEHIND + rb"\*[A-Za-z0-9_-]")
CONTAINERS = frozenset({dict, list})
_UTF16 = b"\0"  # no other encoding of YAML has it
# go-yaml's allowance: up to LOW steps 99 % of them may lie below aliases, falling to 10 % at HIGH.
_ALIAS_STEPS_FREE = 100
_STEPS_FREE = 1000
_LOW = 400_000
_HIGH = 4_000_000


def may_have_aliases(data: bytes) -> bool:
    """A cheap look at the bytes: false only for a file that has none."""
    return _UTF16 in data or bool(_ALIAS.search(data) and _ANCHOR.search(data))


def is_excessive(alias_steps: int, steps: int) -> bool:
    """go-yaml's rule against alias bombs, on the numbers of nodes decoded below aliases and in all."""
    if alias_steps <= _ALIAS_STEPS_FREE or steps <= _STEPS_FREE:
        return False
    beyond = min(max(steps - _LOW, 0) / (_HIGH - _LOW), 1.0)
    return alias_steps / steps > 0.99 - 0.89 * beyond


class AliasBudget:
    """The bytes of JSON that the aliases of one bundle may become."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.rendered_bytes

    def price(self, value: Any) -> int:
        """Bytes that each copy of the value takes; counted no further than the bytes that may still be copied."""
        return least_json_bytes(value, stop_at=self._left)

    def spend(self, size: int) -> None:
        """For one more copy; ContentError when it does not fit any more."""
        self._left -= size
        if self._left < 0:
            raise self._limits.exceeded("rendered_bytes", "YAML with its aliases expanded")


def copy_of(value: Any, depth: int, limits: Limits) -> Any:
    """The value as it stands at this depth of another container; its strings are shared."""
    if type(value) not in CONTAINERS:
        return value
    root = type(value)()
    todo = [(value, root, depth)]
    while todo:
        source, copy, level = todo.pop()
        if level >= limits.yaml_depth:
            raise limits.exceeded("yaml_depth", "nesting of YAML with aliases expanded")
        for key, item in source.items() if type(source) is dict else enumerate(source):
            if type(item) in CONTAINERS:
                twin = type(item)()
                todo.append((item, twin, level + 1))
            else:
                twin = item
            if type(copy) is dict:
                copy[key] = twin
            else:
                copy.append(twin)
    return root
