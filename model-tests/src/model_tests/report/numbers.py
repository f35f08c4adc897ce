"""Numbers as a reader wants them: few digits, no surprises with null, NaN or the very large."""

import math

MISSING = "–"
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def as_float(value: object) -> float:
    """Return a number as float, NaN for anything that is none; a too large integer becomes infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number(value: object, digits: int = 3) -> str:
    """Return a number with `digits` significant digits; None or a container becomes a dash, text stays."""
    if value is None or isinstance(value, dict | list):
        return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    found = as_float(value)
    if math.isnan(found):
        return "NaN"
    if math.isinf(found):
        return "∞" if found > 0 else "−∞"
    return _finite(value, found, digits).replace("-", "−")


def _finite(value: int | float, found: float, digits: int) -> str:
    if isinstance(value, int) and abs(value) < 10**12:
        return f"{value:,}"
    if not found:
        return "0"
    if not 1e-3 <= abs(found) < 1e6:
        mantissa, exponent = f"{found:.{digits - 1}e}".split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPT)}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(found))))
    shown = f"{found:,.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def versus(value: object, bound: object) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart."""
    pairs = [(number(value, digits), number(bound, digits)) for digits in (3, 5, 8, 12, 16)]
    apart = [pair for pair in pairs if pair[0] != pair[1]]
    return apart[0] if apart and value != bound else pairs[0]


def size(value: object) -> str:
    """Return a number of bytes with a binary unit."""
    found = as_float(value)
    if not math.isfinite(found):
        return MISSING
    power = 0
    while abs(found) >= 1024 and power < len(_UNITS) - 1:
        found, power = found / 1024, power + 1
    return f"{number(int(found) if power == 0 else found)} {_UNITS[power]}"


def shape(value: object) -> str:
    """Return a tensor's shape as 4 × 64 × 128, "" when there is none."""
    if not isinstance(value, list) or not value:
        return ""
    return " × ".join(number(item) for item in value)
