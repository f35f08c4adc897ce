"""`lab.toml` from bytes to `Lab`: every problem at once, one line each, never a traceback."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gpulab.contract.explain import distinct, explain
from gpulab.contract.finding import LAB, ContractError, Finding
from gpulab.contract.lab import Lab
from gpulab.contract.rules import broken_rules
from gpulab.contract.text_file import read_text
from gpulab.contract.toml_file import parse_toml

TABLES: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(field.rebuild_annotation())
    for name, field in Lab.model_fields.items()
    if name != "schema_version"
}


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
    return validate_lab(parse_toml(text, LAB))


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


def _valid_tables(document: Mapping[str, Any]) -> dict[str, Any]:
    tables = {}
    for name, adapter in TABLES.items():
        try:
            tables[name] = adapter.validate_python(document.get(name))
        except ValidationError:
            continue
    return tables
