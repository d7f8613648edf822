"""Expressions of CEL, as far as they are read: strings, brackets, operators. The API server parses the rest.

Libraries that parse CEL are no dependency: they cost more than all rules together, in time to import or in size.
"""

from typing import Final

_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_PAIRS: Final = ("==", "!=", "<=", ">=", "&&", "||")
_ALONE: Final = {"=": "==", "&": "&&", "|": "||"}  # no operators, but halves of these
_UNKNOWN: Final = frozenset(";$#@~^\\")
_BETWEEN: Final = frozenset("<>+-*/%!.,?:")  # with the pairs: no expression ends with one


def problem_of_expression(expression: str) -> str:
    """Name what no expression of CEL may have: a string without an end, brackets that do not fit, half an operator."""
    opened: list[str] = []
    position, last = 0, ""
    while position < len(expression):
        if expression[position].isspace():
            position += 1
            continue
        if expression.startswith("//", position):
            position = (expression.find("\n", position) + 1) or len(expression)
            continue
        last = _token(expression, position)
        if not last:
            return "a string has no end"
        if problem := _problem_of_token(last, opened):
            return problem
        position += len(last)
    if opened:
        return f"the bracket {opened[-1]} is not closed"
    return f"it ends with {last}" if last in _BETWEEN or last in _PAIRS else ""


def _token(expression: str, position: int) -> str:
    """A string, a pair, or one character; empty for a string without an end."""
    character = expression[position]
    if character in "\"'`":
        is_raw = character == "`" or expression[max(position - 1, 0) : position].lower() == "r"
        return expression[position : max(_end_of_string(expression, position, is_raw=is_raw), position)]
    pair = expression[position : position + 2]
    return pair if pair in _PAIRS else character


def _problem_of_token(token: str, opened: list[str]) -> str:
    if token in _ALONE:
        return f"{token} is no operator: write {_ALONE[token]}"
    if token in _UNKNOWN:
        return f"the character {token} has no meaning"
    if token in {"(", "[", "{"}:
        opened.append(token)
    elif token in _BRACKETS and (not opened or opened.pop() != _BRACKETS[token]):
        return f"the bracket {token} closes nothing"
    return ""


def _end_of_string(expression: str, start: int, *, is_raw: bool) -> int:
    quote = expression[start]
    mark = quote * 3 if quote != "`" and expression.startswith(quote * 3, start) else quote
    position = start + len(mark)
    while position < len(expression):
        if expression.startswith(mark, position):
            return position + len(mark)
        position += 2 if expression[position] == "\\" and not is_raw else 1
    return -1
