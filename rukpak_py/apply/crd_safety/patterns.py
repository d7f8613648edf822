"""Patterns of schemas, as API servers match them: RE2, in linear time, anywhere in the text."""

from functools import lru_cache

import re2

MEMORY = 8 << 20  # bytes of a compiled pattern and its states


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> "re2._Regexp | None":
    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def is_readable(pattern: str) -> bool:
    return _compiled(pattern) is not None


def matches(pattern: str, value: str) -> bool:
    """A pattern that cannot be compiled matches nothing."""
    compiled = _compiled(pattern)
    return compiled is not None and compiled.search(value) is not None
