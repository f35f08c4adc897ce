"""The verbs of `gpulab`, in the order in which a student meets them."""

import typer

from gpulab.cli import break_, check, connect, new, promote, push, render, report, runs, status

app = typer.Typer(
    name="gpulab",
    help="Push a PyTorch model, get a judged release.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("new")(new.new)
app.command("check")(check.check)
app.command("push")(push.push)
app.command("watch")(runs.watch)
app.command("report")(report.report)
app.command("promote")(promote.promote)
app.command("status")(status.status)
app.command("run")(runs.run)
app.command("cancel")(runs.cancel)
app.command("break")(break_.break_)
app.command("connect")(connect.connect_project)
app.command("render")(render.render)
