"""The three little languages of a workflow: `depends`, `when` and `retryStrategy.expression`.

* `depends` (Argo: workflow/common/ancestry.go): a task's result, `a.Failed`; a bare `a` is
  `(a.Succeeded || a.Skipped || a.Daemoned)`.
* `when` (govaluate): the tags are filled in before; a bare word is a text, as if it were quoted.
* `retryStrategy.expression` (expr-lang): `lastRetry.status`, `asInt(lastRetry.exitCode)`, `in [..]`, `contains`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpulab.engines.local.grammar import ExpressionError, holds, parse

RESULTS = frozenset({"Succeeded", "Failed", "Errored", "Skipped", "Omitted", "Daemoned", "AnySucceeded", "AllFailed"})
ITEM_RESULTS = frozenset({"AnySucceeded", "AllFailed"})
RETRY_NAMES = frozenset({f"lastRetry.{name}" for name in ("exitCode", "status", "duration", "message")} | {"retries"})
_BARE = ("Succeeded", "Skipped", "Daemoned")


@dataclass(frozen=True)
class Depends:
    """A parsed `depends`: which tasks it names (and which of them by an item result), and its logic."""

    tree: Any
    names: tuple[str, ...]
    fan_outs: frozenset[str]

    def holds(self, results: Mapping[str, Mapping[str, bool]]) -> bool:
        """Given each named task's results, should the task run?"""

        def lookup(word: str) -> bool:
            task, _, result = word.partition(".")
            return any(results[task][name] for name in ((result,) if result else _BARE))

        return holds(self.tree, lookup)


def parse_depends(text: str) -> Depends:
    """Parse `a && (b.Succeeded || c.Failed) || !d`.

    Raises:
        ExpressionError: it is something else.
    """
    tree, words = parse(text, "depends")
    tasks = [word.partition(".") for word in words]
    for task, _, result in tasks:
        if result and result not in RESULTS:
            raise ExpressionError(f"{task[:40]}.{result[:40]} is no result; there are {', '.join(sorted(RESULTS))}")
    return Depends(
        tree=tree,
        names=tuple(dict.fromkeys(task for task, _, _ in tasks)),
        fan_outs=frozenset(task for task, _, result in tasks if result in ITEM_RESULTS),
    )


def when_holds(text: str) -> bool:
    """Evaluate a `when` whose tags are filled in; an empty one holds.

    Raises:
        ExpressionError: it does not parse or gives no truth value (the node is then an Error, as in Argo).
    """
    words = {"true": True, "false": False}
    return not text or holds(parse(text, "when")[0], lambda word: words.get(word, word))


def check_when(text: str) -> None:
    """Refuse a `when` (any text in place of its tags) that cannot be parsed."""
    parse(text, "when")


def retry_holds(text: str, variables: Mapping[str, str]) -> bool:
    """Evaluate `retryStrategy.expression` with `lastRetry.*` and `retries`, which are all texts."""
    return holds(parse(text, "retry")[0], lambda word: _retry_word(word, variables))


def check_retry(text: str) -> None:
    """Refuse a retry expression that cannot be parsed or names something unknown."""
    for word in parse(text, "retry")[1]:
        _retry_word(word, dict.fromkeys(RETRY_NAMES, ""))


def _retry_word(word: str, variables: Mapping[str, str]) -> Any:
    if word in ("true", "false"):
        return word == "true"
    if word not in variables:
        raise ExpressionError(f"{word[:40]} is unknown; there are {', '.join(sorted(RETRY_NAMES))} and asInt(…)")
    return variables[word]
