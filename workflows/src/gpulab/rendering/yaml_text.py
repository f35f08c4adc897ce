"""Write YAML that every parser reads the same way.

Hera's own `to_yaml` corrupts unbalanced `{{` and leaves `1e3` unquoted, which Go's YAML reads as a number
(argoproj-labs/hera#1607), so the dictionary is dumped here: no line is ever wrapped, text that looks like a number,
boolean, null or date is quoted, and multi-line text is a literal block.
"""

import re
from typing import Any

import yaml

LOOKS_LIKE_SOMETHING_ELSE = re.compile(
    r"""
    [-+]?[0-9._][0-9a-fA-FxXoO._:eE+-]*     # numbers of YAML 1.1 and 1.2, dates, times, short commit ids
    | [-+]?\.(inf|Inf|INF|nan|NaN|NAN)
    | y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|true|True|TRUE|false|False|FALSE|null|Null|NULL|~|
    """,
    re.VERBOSE,
)


class RenderError(Exception):
    """The text would not read back as what was given."""


class _Dumper(yaml.SafeDumper):
    """Indents lists under their key and follows no aliases."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    if "\n" in value:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    style = "'" if LOOKS_LIKE_SOMETHING_ELSE.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(document: Any) -> str:
    """The YAML text of one document; keys keep their order.

    Raises:
        RenderError: parsing the text does not give the document back.
    """
    text = yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=2**31, allow_unicode=True)
    if yaml.safe_load(text) != document:
        raise RenderError("the rendered YAML does not read back as what was rendered")
    return str(text)


def to_yaml_stream(documents: list[Any]) -> str:
    """Several documents, `---` between them."""
    return "---\n".join(to_yaml(one) for one in documents)
