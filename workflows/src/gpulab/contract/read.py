"""`lab.toml` from bytes to `Lab`: every problem at once, one line each, never a traceback."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gpulab.contract.explain import distinct, explain
from gpulab.contract.finding import LAB, ContractError, Finding, wrong
from gpulab.contract.lab import Lab
from gpulab.contract.rules import broken_rules
from gpulab.contract.text_file import read_text
from gpulab.contract.words import shown

TABLES: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(field.rebuild_annotation())
    for name, field in Lab.model_fields.items()
    if name != "schema_version"
}

_SYNTAX_HINTS = (
    (r"Cannot overwrite|Cannot declare|twice|already|immutable", "Delete one of the two: a key or table stands once."),
    (r"Unescaped|escape", r"Type: a backslash twice, \\, or the text in 'single quotes'."),
    (r"Invalid value", 'Type: text in "double quotes", true or false in lower case, numbers without quotes.'),
    (r"Illegal character|Unterminated|Expected '\"'", 'Type: the closing quote on the same line, key = "text".'),
    (r"Unclosed array|Expected '\]'", "Type: the closing ] on the same line."),
    (r"Expected '='|Invalid statement|Invalid initial", 'Type: key = "value", a [table], or a comment after #.'),
)


def read_lab(project: Path) -> Lab:
    """The contract of a project folder.

    Raises:
        ContractError: there is no such file, or it breaks the contract.
    """
    missing = "Go to the project's folder (cd), or make a new project: gpulab new"
    return parse_lab(read_text(project / LAB, LAB, missing=missing, too_large="Delete what is not the contract."))


def parse_lab(text: str) -> Lab:
    """The contract from the text of `lab.toml`.

    Raises:
        ContractError: it is not TOML, or it breaks the contract.
    """
    return validate_lab(parse_toml(text))


def validate_lab(document: Mapping[str, Any]) -> Lab:
    """The contract from parsed TOML.

    Raises:
        ContractError: with every problem of every table.
    """
    problems: list[Finding] = []
    lab = None
    try:
        lab = Lab.model_validate(dict(document))
    except ValidationError as error:
        problems += [explain(detail, document) for detail in distinct(error.errors(include_url=False))]
    problems += broken_rules(_valid_tables(document))
    if lab is None or problems:
        raise ContractError(dict.fromkeys(problems))
    return lab


def parse_toml(text: str) -> dict[str, Any]:
    """Parsed TOML.

    Raises:
        ContractError: one problem, with the line.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ContractError([_syntax(str(error), text)]) from None
    except RecursionError:
        raise ContractError([wrong("", "lists are nested too deeply", "Delete the inner brackets.")]) from None
    except ValueError as error:
        raise ContractError([wrong("", f"not TOML: {error}", "Type: a shorter number.")]) from None


def _valid_tables(document: Mapping[str, Any]) -> dict[str, Any]:
    tables = {}
    for name, adapter in TABLES.items():
        try:
            tables[name] = adapter.validate_python(document.get(name))
        except ValidationError:
            continue
    return tables


def _syntax(message: str, text: str) -> Finding:
    at = re.search(r"\(at (?:line (\d+), column (\d+)|end of document)\)", message)
    line = int(at[1]) if at and at[1] else text.count("\n") + 1
    lines = text.splitlines() or [""]
    reason = re.sub(r"\s*\(at [^)]*\)$", "", message)
    hint = next(
        (hint for pattern, hint in _SYNTAX_HINTS if re.search(pattern, reason)), "See https://toml.io for the form."
    )
    if text.startswith("\ufeff"):
        hint = "Save the file as UTF-8 without a byte-order mark (BOM)."
    found = lines[min(line, len(lines)) - 1].strip()
    return wrong(f"line {line}", f"not TOML: {reason}, found {shown(found)}", hint)
