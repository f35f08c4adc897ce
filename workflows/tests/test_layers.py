"""Dependencies point one way (CONTRIBUTING, rule 1), and the command line imports no torch."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "gpulab"
MODEL_TESTS = Path(__file__).parents[2] / "model-tests" / "src" / "model_tests"

LAYERS = [
    {"errors", "__init__", "names", "retry_after", "system"},
    {"files", "home", "events", "kubernetes", "node_names", "weights"},
    {"contract", "faults", "hardware"},
    {"rendering"},
    {"checking", "images", "forges"},
    {"clusters"},
    {"kubernetes_platform", "platform", "platform_settings", "reconcile"},
    {"steps"},
    {"pipelines", "promotion", "promotion_text", "rollback"},
    {"engines", "tenants"},
    {"course", "doctor", "upgrade"},
    {"cli"},
]
"""From the bottom up; a module imports from its own layer or one below."""

ALLOWED = {
    ("rendering", "pipelines"): "`rendering.workflows` renders what the pipelines build",
    ("images", "engines"): "`images.resolver` answers the local engine in its own type",
    ("forges", "engines"): "the hook starts runs",
    ("forges", "cli"): "the hook shows runs as the command line does",
}


def imports(file: Path) -> Iterator[str]:
    """The names of all modules that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def layer(name: str) -> int:
    return next(rank for rank, names in enumerate(LAYERS) if name in names)


def test_every_import_points_down() -> None:
    wrong = set()
    for file in SOURCE.rglob("*.py"):
        own = part(".".join(("gpulab", *file.relative_to(SOURCE).with_suffix("").parts)))
        for module in imports(file):
            if module.split(".")[0] == "gpulab" and layer(part(module)) > layer(own):
                wrong.add((own, part(module)))
    assert wrong == set(ALLOWED)


def test_model_tests_knows_nothing_of_gpulab() -> None:
    assert [file for file in MODEL_TESTS.rglob("*.py") if any(one.startswith("gpulab") for one in imports(file))] == []


@pytest.mark.parametrize(
    "module", ["gpulab.cli.push", "gpulab.cli.promote", "gpulab.cli.check", "gpulab.pipelines.catalogue"]
)
def test_no_torch_is_imported(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
