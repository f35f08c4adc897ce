"""A TOML file that a person wrote: parsed, or one line that says where it is wrong and what to type."""

import re
import tomllib
from typing import Any

from gpulab.contract.finding import ContractError, Finding
from gpulab.contract.words import shown

_SYNTAX_HINTS = (
    (r"Cannot overwrite|Cannot declare|twice|already|immutable", "Delete one of the two: a key or table stands once."),
    (r"Unescaped|escape", r"Type: a backslash twice, \\, or the text in 'single quotes'."),
    (r"Invalid value", 'Type: text in "double quotes", true or false in lower case, numbers without quotes.'),
    (r"Illegal character|Unterminated|Expected '\"'", 'Type: the closing quote on the same line, key = "text".'),
    (r"Unclosed array|Expected '\]'", "Type: the closing ] on the same line."),
    (r"Expected '='|Invalid statement|Invalid initial", 'Type: key = "value", a [table], or a comment after #.'),
)


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """Parsed TOML; `name` is what messages call the file.

    Raises:
        ContractError: one problem, with the line.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ContractError([_syntax(name, str(error), text)]) from None
    except RecursionError:
        raise ContractError(
            [Finding("error", name, "", "lists are nested too deeply", "Delete the inner brackets.")]
        ) from None
    except ValueError as error:
        raise ContractError([Finding("error", name, "", f"not TOML: {error}", "Type: a shorter number.")]) from None


def _syntax(name: str, message: str, text: str) -> Finding:
    at = re.search(r"\(at (?:line (\d+), column (\d+)|end of document)\)", message)
    line = int(at[1]) if at and at[1] else text.count("\n") + 1
    lines = text.split("\n")
    reason = re.sub(r"\s*\(at [^)]*\)$", "", message)
    hint = next(
        (hint for pattern, hint in _SYNTAX_HINTS if re.search(pattern, reason)), "See https://toml.io for the form."
    )
    if text.startswith("\ufeff"):
        hint = "Save the file as UTF-8 without a byte-order mark (BOM)."
    found = lines[min(line, len(lines)) - 1].strip()
    return Finding("error", name, f"line {line}", f"not TOML: {reason}, found {shown(found)}", hint)
