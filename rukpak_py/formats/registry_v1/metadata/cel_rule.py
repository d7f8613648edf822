"""CEL rules of olm.constraint, checked without a CEL library: grammar, names, and whether a boolean comes out.

The environment is OLM's: the variable `properties`, the function `semver_compare`, the standard functions and macros.
Not checked: types of operands and arguments, how many arguments there are, and rules that nest deeper than `_DEPTH`.
What a CEL compiler accepts must never be refused here; the other way round it may happen.
"""

from rukpak_py.formats.registry_v1.metadata.cel_tokens import Token, tokens

UNCHECKED = "Its types are not checked here: try it with the resolver."

_DEPTH = 40  # the parser takes about seven frames a level
_ARITHMETIC = 4  # from here on no operator gives a boolean
_STRENGTHS = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys("+-", _ARITHMETIC),
    **dict.fromkeys("*/%", 5),
}
_MACROS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_TYPES = frozenset({"bool", "bytes", "double", "dyn", "duration", "int", "list", "map", "null_type"})
_TYPES |= {"optional_type", "string", "timestamp", "type", "uint", "google"}
_FUNCTIONS = frozenset({"semver_compare", "size", "has", "matches", *_TYPES})
_METHODS = frozenset(
    {
        *_MACROS,
        *(
            "size",
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "getFullYear",
            "getMonth",
            "getDate",
            "getDayOfMonth",
        ),
        *("getDayOfWeek", "getDayOfYear", "getHours", "getMinutes", "getSeconds", "getMilliseconds"),
    }
)
_BOOLEAN_CALLS = frozenset(
    {"all", "exists", "exists_one", "has", "contains", "startsWith", "endsWith", "matches", "bool"}
)


class _TooDeep(Exception):  # noqa: N818 it never leaves this module
    pass


def check(rule: str) -> None:
    """Raise ValueError when the rule can be no constraint."""
    try:
        is_boolean = _Parser(rule).whole()
    except _TooDeep:
        return
    if not is_boolean:
        raise ValueError("cel expressions must have type Bool")


class _Parser:
    """Recursive descent; every method reads one construct and says whether it may give a boolean."""

    def __init__(self, rule: str) -> None:
        self.tokens = list(tokens(rule))
        self.index = 0
        self.depth = 0
        self.variables = ["properties"]
        self.undeclared: list[Token] = []

    def whole(self) -> bool:
        is_boolean = self.expression()
        if self.token.kind != "end":
            raise self.unexpected()
        for name in self.undeclared[:1]:
            raise ValueError(f"undeclared reference to '{name.text}' at column {name.column}")
        return is_boolean

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    def sees(self, mark: str) -> bool:
        return self.token.kind == "mark" and self.token.text == mark

    def take(self, mark: str) -> bool:
        found = self.sees(mark)
        self.index += found
        return found

    def need(self, mark: str) -> None:
        if not self.take(mark):
            raise self.unexpected()

    def unexpected(self) -> ValueError:
        return ValueError(f"Syntax error: unexpected '{self.token.text}' at column {self.token.column}")

    def expression(self) -> bool:
        self.depth += 1
        if self.depth > _DEPTH:
            raise _TooDeep
        is_boolean = self.binary(1)
        if self.take("?"):
            first = self.binary(1)
            self.need(":")
            is_boolean = self.expression() or first
        self.depth -= 1
        return is_boolean

    def binary(self, weakest: int) -> bool:
        is_boolean = self.unary()
        while self.token.kind == "mark" and (strength := _STRENGTHS.get(self.token.text, 0)) >= weakest:
            self.index += 1
            self.binary(strength + 1)
            is_boolean = strength < _ARITHMETIC
        return is_boolean

    def unary(self) -> bool:
        is_negation, is_minus = self.sees("!"), self.sees("-")
        while self.take("!") or self.take("-"):
            pass
        is_boolean = self.member()
        return is_negation or (is_boolean and not is_minus)

    def member(self) -> bool:
        is_dynamic = self.token.text == "properties"  # what stands in properties has no type
        is_boolean = self.primary()
        while True:
            if self.take("."):
                name = self.name()
                is_boolean = self.call(name, is_method=True) if self.take("(") else not is_dynamic
            elif self.take("["):
                self.expression()
                self.need("]")
                is_boolean = not is_dynamic
            elif self.take("{"):  # a message; its type is not looked up
                self.pairs(are_fields=True)
                is_boolean = False
            else:
                return is_boolean

    def primary(self) -> bool:
        if self.token.kind == "literal":
            self.index += 1
            return self.tokens[self.index - 1].is_boolean
        if self.take("("):
            is_boolean = self.expression()
            self.need(")")
            return is_boolean
        if self.take("["):
            self.elements()
            return False
        if self.take("{"):
            self.pairs(are_fields=False)
            return False
        self.take(".")
        name = self.name()
        if self.take("("):
            return self.call(name, is_method=False)
        if not self.sees("{") and name.text not in self.variables and name.text not in _TYPES:
            self.undeclared.append(name)
        return False

    def name(self) -> Token:
        if self.token.kind != "name":
            raise self.unexpected()
        self.index += 1
        return self.tokens[self.index - 1]

    def call(self, name: Token, *, is_method: bool) -> bool:
        """The arguments; a macro's first one names the variable of the others."""
        if name.text not in (_METHODS if is_method else _FUNCTIONS):
            self.undeclared.append(name)
        is_macro = is_method and name.text in _MACROS
        if is_macro:
            self.variables.append(self.name().text)
            self.need(",")
        self.arguments()
        if is_macro:
            self.variables.pop()
        return name.text in _BOOLEAN_CALLS

    def arguments(self) -> None:
        if self.take(")"):
            return
        self.expression()
        while self.take(","):
            self.expression()
        self.need(")")

    def elements(self) -> None:
        """Of a list; a comma may stand behind the last one, or alone."""
        if self.take(","):
            self.need("]")
            return
        while not self.take("]"):
            self.expression()
            if not self.sees("]"):
                self.need(",")

    def pairs(self, *, are_fields: bool) -> None:
        """Of a map, or the fields of a message, whose names are no variables."""
        while not self.take("}"):
            if are_fields:
                self.name()
            else:
                self.expression()
            self.need(":")
            self.expression()
            if not self.sees("}"):
                self.need(",")
