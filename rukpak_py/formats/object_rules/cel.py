"""Expressions of CEL, as far as they are read: texts and brackets. Whether the rest parses, the API server tells."""

from typing import Final

_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}


def unbalanced(expression: str) -> str:
    """Name what no expression of CEL may have: text without an end, brackets that do not fit."""
    opened: list[str] = []
    position = 0
    while position < len(expression):
        character = expression[position]
        if character in "\"'":
            is_raw = expression[max(position - 1, 0) : position].lower() == "r"
            position = _end_of_text(expression, position, is_raw=is_raw)
            if position < 0:
                return "a string has no end"
            continue
        if expression.startswith("//", position):
            position = (expression.find("\n", position) + 1) or len(expression)
            continue
        if character in "([{":
            opened.append(character)
        elif character in _BRACKETS and (not opened or opened.pop() != _BRACKETS[character]):
            return f"the bracket {character} closes nothing"
        position += 1
    return f"the bracket {opened[-1]} is not closed" if opened else ""


def _end_of_text(expression: str, start: int, *, is_raw: bool) -> int:
    quote = expression[start]
    mark = quote * 3 if expression.startswith(quote * 3, start) else quote
    position = start + len(mark)
    while position < len(expression):
        if expression.startswith(mark, position):
            return position + len(mark)
        position += 2 if expression[position] == "\\" and not is_raw else 1
    return -1
