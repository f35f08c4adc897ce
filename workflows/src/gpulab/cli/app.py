"""The verbs of `gpulab`, in the order in which a student meets them; only the typed one is imported."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import typer

VERBS = {
    "new": "gpulab.cli.new:new",
    "check": "gpulab.cli.check:check",
    "hardware": "gpulab.cli.hardware:hardware",
    "push": "gpulab.cli.push:push",
    "watch": "gpulab.cli.runs:watch",
    "report": "gpulab.cli.report:report",
    "promote": "gpulab.cli.promote:promote",
    "rollback": "gpulab.cli.rollback:rollback",
    "status": "gpulab.cli.status:status",
    "run": "gpulab.cli.runs:run",
    "cancel": "gpulab.cli.runs:cancel",
    "break": "gpulab.cli.break_:break_",
    "reconcile": "gpulab.cli.reconcile:reconcile",
    "connect": "gpulab.cli.connect:connect_project",
    "project": "gpulab.cli.project_connect:project",
    "trigger": "gpulab.cli.trigger:trigger",
    "setup": "gpulab.cli.develop:setup",
    "fix": "gpulab.cli.develop:fix",
    "test": "gpulab.cli.develop:test",
    "demo": "gpulab.cli.demo:demo",
    "render": "gpulab.cli.render:render",
    "doctor": "gpulab.cli.doctor:doctor",
    "platform": "gpulab.cli.platform:platform",
}
"""Verb → `module:function`."""


def app(arguments: list[str]) -> typer.Typer:
    """The application for one command line: with the typed verb alone, or with all for the help."""
    typed = next((word for word in arguments if not word.startswith("-")), "")
    made = typer.Typer(
        name="gpulab",
        help="Push a PyTorch model, get a judged release.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    made.callback()(_keep_verbs)
    if typed in VERBS:
        module, _, function = VERBS[typed].partition(":")
        made.command(typed)(getattr(import_module(module), function))
    else:
        for name, target in VERBS.items():
            made.command(name, help=described(target))(_keep_verbs)
    return made


def described(target: str) -> str:
    """The docstring of `module:function`, read from its file: the list of verbs needs no verb's imports."""
    module, _, function = target.partition(":")
    spec = find_spec(module)
    tree = ast.parse(Path(spec.origin).read_bytes() if spec and spec.origin else b"")
    found = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return next((ast.get_docstring(node) or "" for node in found), "")


def _keep_verbs() -> None:
    """Push a PyTorch model, get a judged release."""
