"""What a task of a DAG becomes: one node, or one for each item of its `withParam` (Argo: dag.go, expandTask)."""

from dataclasses import dataclass, field

from gpulab.engines.local.expressions import when_holds
from gpulab.engines.local.grammar import ExpressionError
from gpulab.engines.local.scope import arguments_of, item_scope, parse_items
from gpulab.engines.local.tags import Scope, TagError, fill, names
from gpulab.engines.protocol import Json


@dataclass(frozen=True)
class Call:
    """One node that a task becomes; `skipped` says why it does not run, `broken` what is wrong with its `when`."""

    name: str
    arguments: dict[str, str | None] = field(default_factory=dict)
    skipped: str = ""
    broken: str = ""


def expand(task: Json, scope: Scope) -> list[Call]:
    """The nodes of a task whose dependencies are over; none for an empty fan-out.

    Raises:
        TagError: an argument or the list of items cannot be put together.
        ExpressionError: its `when` cannot be evaluated.
    """
    when, per_item = task.get("when", ""), "withParam" in task
    late = per_item and any(tag.split(".")[0] == "item" for tag in names(when))
    filled = when if late else fill(when, scope)
    skipped = "" if late or when_holds(filled) else f"when '{filled}' evaluated false"
    if not per_item:
        return [Call(task["name"], skipped=skipped) if skipped else Call(task["name"], arguments_of(task, scope))]
    items = _items(task["withParam"], scope, skipped)
    return [_call(task, index, item, scope, skipped) for index, item in enumerate(items)]


def _items(value: str, scope: Scope, skipped: str) -> list[object]:
    """The fan-out's items; a task that is skipped anyway has none when they cannot be known."""
    if skipped and any(tag.startswith("tasks.") for tag in names(value)):
        return []
    try:
        return parse_items(fill(value, scope))
    except TagError:
        if skipped:
            return []
        raise


def _call(task: Json, index: int, item: object, scope: Scope, skipped: str) -> Call:
    tags, description = item_scope(item)
    inside = {**scope, **tags}
    name = f"{task['name']}({index}:{description.replace('(', '').replace(')', '')})"
    broken, when = "", fill(task.get("when", ""), inside)
    try:
        if not skipped and not when_holds(when):
            skipped = f"when '{when}' evaluated false"
    except ExpressionError as error:
        broken = str(error)
    return Call(name, {} if skipped or broken else arguments_of(task, inside), skipped, broken)
