"""Values as Go's verb %#v prints them, for error texts, and floats as its format `g` does."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from rukpak_py.core.go_text import quoted

_INT64_MAX = (1 << 63) - 1
_CONSTANTS = {None: "interface {}(nil)", True: "true", False: "false"}


def go_literal(value: Any) -> str:
    """Lists and mappings (of any keys) hold interfaces; iterative, because values come from files."""
    pieces: list[str] = []
    todo: list[tuple[bool, Any]] = [(False, value)]  # (is text already, text or value)
    while todo:
        is_text, item = todo.pop()
        if is_text:
            pieces.append(item)
        elif isinstance(item, list):
            inner = [part for entry in item for part in ((True, ", "), (False, entry))]
            todo += reversed([(True, "[]interface {}{"), *inner[1:], (True, "}")])
        elif isinstance(item, dict):
            inner = [
                part
                for key in sorted(item, key=_order)
                for part in ((True, ", "), (False, key), (True, ":"), (False, item[key]))
            ]
            todo += reversed([(True, "map[interface {}]interface {}{"), *inner[1:], (True, "}")])
        else:
            pieces.append(_scalar(item))
    return "".join(pieces)


def _order(key: Any) -> tuple[bool, bool, Any]:
    """Nothing first, then by type; which of several types is first depends on Go's linker."""
    return key is not None, not isinstance(key, str), key if isinstance(key, str) else _scalar(key)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return float_g(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if value <= _INT64_MAX else hex(value)
    return _CONSTANTS[value]


def float_g(number: float, read: Callable[[str], float] = float) -> str:
    """The shortest text that `read` (by its width) takes for the number again."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    for precision in range(17):
        mantissa, _, power = f"{number:.{precision}e}".partition("e")
        if read(f"{mantissa}e{power}") == number:
            break
    exponent = int(power)
    if -4 <= exponent < 6:
        return f"{Decimal(f'{mantissa}e{power}'):f}"
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
