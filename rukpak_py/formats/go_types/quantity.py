"""Resource quantities as Kubernetes writes them again after reading them: `1000m` is `1`, `1024Mi` is `1Gi`.

A quantity is digits with a point, and a suffix: powers of 1000 (`m`, `k`), of 1024 (`Ki`), or of ten (`e3`). Numbers
finer than a nano are rounded away from zero; binary ones end at 63 bits. Go keeps the text as it was written where its
quick way of reading finds nothing to even out (`01`, `+5`, `1.e3`), and so do we. The exponent is never multiplied out:
cost grows with the text alone.
"""

import re
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from enum import Enum, auto

from rukpak_py.core import gojson

_MALFORMED = "not a quantity"
_PARTS = re.compile(r"([+-]?)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?[0-9]*+)", re.ASCII)
_POWER = re.compile(r"[eE]([+-]?[0-9]+)", re.ASCII)
# What Go's TrimSpace removes from the JSON text; other white space is escaped there and stays.
_SPACE = " \x85\xa0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NANO = -9
_LARGEST_BINARY = (1 << 63) - 1
_QUICK_DIGITS = 18  # that fit 64 bits whatever they are
_QUICK_BINARY_DIGITS = {10: 11, 20: 8, 30: 5, 40: 2}  # the same, times the power of two


class _Form(Enum):
    DECIMAL = auto()
    EXPONENT = auto()
    BINARY = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Quantity:
    digits: str  # without leading zeros, before and behind the point
    fraction: str
    form: _Form
    power: int  # of two or of ten
    negative: bool

    @property
    def scale(self) -> int:
        return self.power - len(self.fraction)

    @property
    def is_zero(self) -> bool:
        return not (self.digits + self.fraction).strip("0")


def canonical(value: object) -> str:
    """The text that Kubernetes writes for the value of a manifest, or ValueError."""
    text = value.strip(_SPACE) if isinstance(value, str) else gojson.encode(value).decode()
    quantity = _parse(text)
    if quantity.is_zero:
        return "0"
    return text if _is_kept(quantity) else _even(quantity)


def amount(value: object) -> Decimal:
    """The number that the value of a manifest stands for, or ValueError."""
    text = value.strip(_SPACE) if isinstance(value, str) else gojson.encode(value).decode()
    quantity = _parse(text)
    if quantity.is_zero:
        return Decimal(0)
    number = _number(quantity, _context(quantity))
    return -number if quantity.negative else number


def _parse(text: str) -> _Quantity:
    match = _PARTS.fullmatch(text) if text else None
    if match is None:
        raise ValueError(_MALFORMED)
    sign, digits, fraction, suffix = match.groups()
    form, power = _suffix(suffix)
    if not digits and not fraction and not _is_quick(form, power):
        raise ValueError(_MALFORMED)  # Go's quick way takes nothing for zero, its thorough way does not
    digits = digits.lstrip("0")
    return _Quantity(digits=digits, fraction=fraction or "", form=form, power=power, negative=sign == "-")


def _suffix(text: str) -> tuple[_Form, int]:
    if text in _DECIMAL.values():
        return _Form.DECIMAL, next(power for power, suffix in _DECIMAL.items() if suffix == text)
    if text in _BINARY:
        return _Form.BINARY, _BINARY.index(text) * 10
    match = _POWER.fullmatch(text)
    if match is None:
        raise ValueError(_MALFORMED)
    return _Form.EXPONENT, _exponent(match[1])


def _exponent(text: str) -> int:
    """Parse an exponent, which must fit 64 bits; Go keeps the lower 32 of them."""
    sign, digits = text[: -len(text.lstrip("+-"))], text.lstrip("+-").lstrip("0")
    number = int(sign + (digits or "0")) if len(digits) <= 19 else 1 << 64
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(_MALFORMED)
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _is_quick(form: _Form, power: int) -> bool:
    return power in _QUICK_BINARY_DIGITS if form is _Form.BINARY else power >= _NANO


def _is_kept(quantity: _Quantity) -> bool:
    digits = quantity.digits + quantity.fraction
    if quantity.form is _Form.BINARY:
        quick = len(digits) <= _QUICK_BINARY_DIGITS.get(quantity.power, 0) and not quantity.fraction
        return quick and int(digits) % 8 != 0
    quick = len(digits) <= _QUICK_DIGITS and _is_quick(quantity.form, quantity.scale)
    return quick and quantity.scale % 3 == 0 and quantity.digits != "" and not digits.endswith("000")


def _even(quantity: _Quantity) -> str:
    context = _context(quantity)
    sign = "-" if quantity.negative else ""
    number = _rounded(_number(quantity, context), context)
    if quantity.form is not _Form.BINARY:
        return sign + _decimal(number, quantity.form)
    number = min(number, Decimal(_LARGEST_BINARY))
    is_whole = number == number.to_integral_value()
    return sign + (_binary(int(number)) if is_whole and number >= 1024 else _decimal(number, quantity.form))


def _context(quantity: _Quantity) -> Context:
    digits = len(quantity.digits) + len(quantity.fraction)
    return Context(prec=digits + 20, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=ROUND_UP)


def _number(quantity: _Quantity, context: Context) -> Decimal:
    number = Decimal(quantity.digits + quantity.fraction)
    if quantity.form is _Form.BINARY:
        number = context.multiply(number, Decimal(1 << quantity.power))
        return context.scaleb(number, -len(quantity.fraction))
    return context.scaleb(number, quantity.scale)


def _rounded(number: Decimal, context: Context) -> Decimal:
    if number.adjusted() < _NANO:
        return Decimal((0, (1,), _NANO))
    _, _, exponent = number.as_tuple()
    if isinstance(exponent, int) and exponent < _NANO:
        return context.quantize(number, Decimal((0, (1,), _NANO)))
    return number


def _binary(number: int) -> str:
    power = 0
    while number % 1024 == 0:
        number, power = number // 1024, power + 1
    return f"{number}{_BINARY[power]}"


def _decimal(number: Decimal, form: _Form) -> str:
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    kept = text.rstrip("0")
    power = int(exponent) + len(text) - len(kept)
    kept += "0" * (power % 3)
    power -= power % 3
    if form is _Form.EXPONENT and power:
        return f"{kept}e{power}"
    return kept + _DECIMAL.get(power, "")  # beyond E Go finds no suffix and writes none
