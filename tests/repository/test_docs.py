"""The documentation: its links lead somewhere, and every error text that it explains is one that gpulab can say."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = next(path for path in ROOT.iterdir() if path.name.startswith("{{"))
PAGES = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("gitops/*.md"), *ROOT.glob("images/*.md")))
TROUBLE = ROOT / "docs" / "troubleshooting.md"
SOURCES = ("workflows/src", "workflows/tools", "model-tests/src", "hooks")


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Every text of a module, `…` where it puts a value in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)


def values_of(table: Any) -> Iterator[str]:
    """Every text of a TOML document."""
    if isinstance(table, dict):
        for value in table.values():
            yield from values_of(value)
    elif isinstance(table, str):
        yield re.sub(r"\{\w+\}", "…", table)


@cache
def said() -> str:
    """All that gpulab can say, one text a line."""
    found = [(TEMPLATE / "Makefile").read_text(encoding="utf-8")]
    for folder in SOURCES:
        for file in (ROOT / folder).rglob("*.py"):
            source = file.read_text(encoding="utf-8")
            found += texts_of(ast.parse(source))
    messages = ROOT / "model-tests/src/model_tests/messages/en.toml"
    found += values_of(tomllib.loads(messages.read_text(encoding="utf-8")))
    return "\n".join(found)


def explained() -> list[str]:
    """The first column of the tables: a text between the outermost backquotes."""
    rows = re.findall(r"^\| (`.+?`) \| ", TROUBLE.read_text(encoding="utf-8"), re.MULTILINE)
    return [row[1:-1] for row in rows]


def test_the_tables_are_read() -> None:
    lines = TROUBLE.read_text(encoding="utf-8").splitlines()
    assert len(explained()) == sum(line.startswith("| `") for line in lines) > 30


@pytest.mark.parametrize("text", explained())
def test_an_explained_text_is_one_that_gpulab_says(text: str) -> None:
    assert re.sub(r"[…\s]", "", text), "nothing but placeholders"
    assert text in said()


def slug(heading: str) -> str:
    """GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def links(page: Path) -> Iterator[tuple[str, str]]:
    """(path, anchor) of every link to a place in this repository, code left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name} links to {path}#{anchor}"
