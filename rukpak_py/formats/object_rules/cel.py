"""Expressions of CEL, as far as they are read: strings, brackets, operators. The API server parses the rest.

Libraries that parse CEL are no dependency: they cost more than all rules together, in time to import or in size.
"""

import re
from typing import Final

_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}
_ALONE: Final = {"=": "==", "&": "&&", "|": "||", "and": "&&", "or": "||", "not": "!"}  # no operators
_UNKNOWN: Final = frozenset(";$#@~^\\")
# A string, or its beginning without an end; a word or number; an operator.
_SYMBOL: Final = re.compile(r"(?P<string>[rRbB]{0,2}[\"'`])|(?P<word>\w++)|==|!=|<=|>=|&&|\|\||.", re.DOTALL)
_ENDS: Final = frozenset({"==", "!=", "<=", ">=", "&&", "||", *"<>+-*/%!.,?:", "in"})  # with which nothing ends
_OPERAND: Final = re.compile(r"[\w\"'`]")


def problem_of_expression(expression: str) -> str:
    """Name what no expression of CEL may have: a string without an end, brackets that do not fit, no operator."""
    opened: list[str] = []
    position, last = 0, ""
    while position < len(expression):
        if expression[position].isspace():
            position += 1
            continue
        if expression.startswith("//", position):
            position = (expression.find("\n", position) + 1) or len(expression)
            continue
        symbol = _symbol(expression, position)
        if not symbol:
            return "a string has no end"
        if problem := _problem_of(symbol, last, opened):
            return problem
        position, last = position + len(symbol), symbol
    if opened:
        return f"the bracket {opened[-1]} is not closed"
    return f"it ends with {last}" if last in _ENDS else ""


def _symbol(expression: str, position: int) -> str:
    """A symbol; empty for a string without an end."""
    match = _SYMBOL.match(expression, position)
    if match is None:
        return expression[position]
    if match["string"] is None:
        return match[0]
    is_raw = match[0].endswith("`") or "r" in match[0].lower()
    return expression[position : max(_end_of_string(expression, match.end() - 1, is_raw=is_raw), position)]


def _problem_of(symbol: str, last: str, opened: list[str]) -> str:
    is_between = _ends_operand(last)
    if symbol in _ALONE and (not symbol.isalpha() or is_between):
        return f"{symbol} is not an operator of CEL: write {_ALONE[symbol]}"
    if symbol in _UNKNOWN:
        return f"the character {symbol} has no meaning"
    if is_between and symbol != "in" and _OPERAND.match(symbol):
        return f"there is no operator before {symbol[:40]}"
    if symbol in {"(", "[", "{"}:
        opened.append(symbol)
    elif symbol in _BRACKETS and (not opened or opened.pop() != _BRACKETS[symbol]):
        return f"the bracket {symbol} closes nothing"
    return ""


def _ends_operand(symbol: str) -> bool:
    """Whether an operator, or a bracket, must follow."""
    return symbol not in {"", "in"} and (
        symbol in _BRACKETS or symbol[-1] in "\"'`" or symbol[-1].isalnum() or symbol[-1] == "_"
    )


def _end_of_string(expression: str, start: int, *, is_raw: bool) -> int:
    quote = expression[start]
    mark = quote * 3 if quote != "`" and expression.startswith(quote * 3, start) else quote
    position = start + len(mark)
    while position < len(expression):
        if expression.startswith(mark, position):
            return position + len(mark)
        position += 2 if expression[position] == "\\" and not is_raw else 1
    return -1
