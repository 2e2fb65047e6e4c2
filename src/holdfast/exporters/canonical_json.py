"""Write JSON in the canonical form of RFC 8785. Portable AI Memory computes its checksum over this form."""

import json
import math
from typing import Any

MAX_INTEGER = 2**53 - 1
"""Largest integer that the canonical form represents exactly."""


def canonical(value: Any) -> str:
    """Return a value as canonical JSON: sorted keys, no spaces, and numbers as JavaScript prints them."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Return a number as JavaScript prints it. Python prints the same digits, but writes exponents differently."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits(abs(value))
    point = len(digits) + exponent
    if 0 < point <= 21:  # the limits of JavaScript
        whole = digits[:point].ljust(point, "0")
        return f"{sign}{whole}{'.' if digits[point:] else ''}{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def _digits(value: float) -> tuple[str, int]:
    """Return the significant digits of a positive number, and a power of ten: 1.5 gives "15" and -1.

    The number equals the digits times ten to that power.
    """
    assert math.isfinite(value)
    mantissa, _, power = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    exponent = int(power or 0) - len(fraction)
    stripped = digits.rstrip("0")
    return stripped, exponent + len(digits) - len(stripped)
