"""The verbs of `gpulab`, in the order in which a student meets them; only the typed one is imported."""

from importlib import import_module

import typer

VERBS = {
    "new": "gpulab.cli.new:new",
    "check": "gpulab.cli.check:check",
    "push": "gpulab.cli.push:push",
    "watch": "gpulab.cli.runs:watch",
    "report": "gpulab.cli.report:report",
    "promote": "gpulab.cli.promote:promote",
    "status": "gpulab.cli.status:status",
    "run": "gpulab.cli.runs:run",
    "cancel": "gpulab.cli.runs:cancel",
    "break": "gpulab.cli.break_:break_",
    "connect": "gpulab.cli.connect:connect_project",
    "render": "gpulab.cli.render:render",
}
"""Verb → `module:function`."""


def app(arguments: list[str]) -> typer.Typer:
    """The application for one command line: with the typed verb alone, or with all for the help."""
    typed = [arguments[0]] if arguments and arguments[0] in VERBS else list(VERBS)
    made = typer.Typer(
        name="gpulab",
        help="Push a PyTorch model, get a judged release.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    made.callback()(_keep_verbs)
    for name in typed:
        module, _, function = VERBS[name].partition(":")
        made.command(name)(getattr(import_module(module), function))
    return made


def _keep_verbs() -> None:
    """Push a PyTorch model, get a judged release."""
