"""The three little languages of a workflow: `depends`, `when` and `retryStrategy.expression`.

One grammar serves all: `||`, `&&`, comparisons, `!`, parentheses. What a word means differs:

* `depends` (Argo: workflow/common/ancestry.go): a task's result, `a.Failed`; a bare `a` is
  `(a.Succeeded || a.Skipped || a.Daemoned)`.
* `when` (govaluate): the tags are filled in before; a bare word is a text, as if it were quoted.
* `retryStrategy.expression` (expr-lang): `lastRetry.status`, `asInt(lastRetry.exitCode)`, `in [..]`, `contains`.

Anything else is refused, never guessed.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

RESULTS = frozenset({"Succeeded", "Failed", "Errored", "Skipped", "Omitted", "Daemoned", "AnySucceeded", "AllFailed"})
ITEM_RESULTS = frozenset({"AnySucceeded", "AllFailed"})
RETRY_NAMES = frozenset({f"lastRetry.{name}" for name in ("exitCode", "status", "duration", "message")} | {"retries"})

Dialect = Literal["depends", "when", "retry"]
Lookup = Callable[[str], Any]

_OPERATOR = r"(?P<op>&&|\|\||==|!=|<=|>=|[!()<>])"
_NUMBER = r"(?P<number>-?\d{1,15}(?:\.\d{1,15})?)(?![\w.])"
_TEXT = r"""'(?P<single>[^'"\\]*)'|"(?P<double>[^'"\\]*)\""""
_TOKENS: dict[Dialect, re.Pattern[str]] = {
    "depends": re.compile(rf"\s*(?:{_OPERATOR}|(?P<word>[A-Za-z0-9][-A-Za-z0-9]*(?:\.[A-Za-z]+)?)(?![\w.]))"),
    "when": re.compile(rf"\s*(?:{_OPERATOR}|{_NUMBER}|{_TEXT}|(?P<word>[A-Za-z]\w*)(?![\w.]))", re.ASCII),
    "retry": re.compile(
        rf"\s*(?:{_OPERATOR}|(?P<list>[\[\],])|{_NUMBER}|{_TEXT}|(?P<word>[A-Za-z]\w*(?:\.\w+)*)(?![\w.]))", re.ASCII
    ),
}
_COMPARATORS = {"==", "!=", "<", "<=", ">", ">=", "in", "contains"}
_MAX_LENGTH, _MAX_DEPTH = 10_000, 50


class ExpressionError(ValueError):
    """The text is not in the supported language, or its operands do not fit."""


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
            return any(results[task][name] for name in ([result] if result else ["Succeeded", "Skipped", "Daemoned"]))

        return _boolean(_evaluate(self.tree, lookup))


def parse_depends(text: str) -> Depends:
    """Parse `a && (b.Succeeded || c.Failed) || !d`.

    Raises:
        ExpressionError: it is something else.
    """
    tree, words = _parse(text, "depends")
    tasks = [word.partition(".") for word in words]
    for task, _, result in tasks:
        if result and result not in RESULTS:
            raise ExpressionError(f"{task}.{result} is no result; there are {', '.join(sorted(RESULTS))}")
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
    if not text:
        return True
    words = {"true": True, "false": False}
    return _boolean(_evaluate(_parse(text, "when")[0], lambda word: words.get(word, word)))


def check_when(text: str) -> None:
    """Refuse a `when` (any text in place of its tags) that cannot be parsed."""
    _parse(text, "when")


def retry_holds(text: str, variables: Mapping[str, str]) -> bool:
    """Evaluate `retryStrategy.expression` with `lastRetry.*` and `retries`, which are all texts."""
    return _boolean(_evaluate(_parse(text, "retry")[0], lambda word: _retry_word(word, variables)))


def check_retry(text: str) -> None:
    """Refuse a retry expression that cannot be parsed or names something unknown."""
    for word in _parse(text, "retry")[1]:
        _retry_word(word, dict.fromkeys(RETRY_NAMES, ""))


def _retry_word(word: str, variables: Mapping[str, str]) -> Any:
    if word in ("true", "false"):
        return word == "true"
    if word not in variables:
        raise ExpressionError(f"{word} is unknown; there are {', '.join(sorted(RETRY_NAMES))} and asInt(…)")
    return variables[word]


def _parse(text: str, dialect: Dialect) -> tuple[Any, list[str]]:
    parser = _Parser(_tokens(text, dialect), dialect)
    tree = parser.either()
    if parser.tokens:
        raise ExpressionError(f"unexpected {parser.tokens[0][1]!r} in {text!r}")
    return tree, parser.words


def _tokens(text: str, dialect: Dialect) -> list[tuple[str, str]]:
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"longer than {_MAX_LENGTH} characters")
    found, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = _TOKENS[dialect].match(text, position)
        if not match:
            raise ExpressionError(f"not supported at {text[position : position + 20]!r} in {text[:200]!r}")
        kind = match.lastgroup or ""
        word_operator = dialect == "retry" and kind == "word" and match["word"] in ("in", "contains")
        found.append(("op" if word_operator else kind, match[kind]))
        position = match.end()
    return found


class _Parser:
    """Recursive descent; gives a tree of tuples and the words met."""

    def __init__(self, tokens: list[tuple[str, str]], dialect: Dialect) -> None:
        self.tokens = tokens
        self.dialect = dialect
        self.words: list[str] = []
        self.depth = 0

    def accept(self, *operators: str) -> str:
        if self.tokens and self.tokens[0][0] in ("op", "list") and self.tokens[0][1] in operators:
            return self.tokens.pop(0)[1]
        return ""

    def either(self) -> Any:
        tree = self.both()
        while self.accept("||"):
            tree = ("||", tree, self.both())
        return tree

    def both(self) -> Any:
        tree = self.comparison()
        while self.accept("&&"):
            tree = ("&&", tree, self.comparison())
        return tree

    def comparison(self) -> Any:
        left = self.operand()
        if self.dialect != "depends" and (operator := self.accept(*_COMPARATORS)):
            return (operator, left, self.operand())
        return left

    def operand(self) -> Any:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ExpressionError(f"nested deeper than {_MAX_DEPTH}")
        tree = self.inner()
        self.depth -= 1
        return tree

    def inner(self) -> Any:
        if self.accept("!"):
            return ("!", self.operand())
        if self.accept("("):
            return self.closed(self.either(), ")")
        if self.accept("["):
            return ("list", self.closed(self.items(), "]"))
        if not self.tokens or self.tokens[0][0] in ("op", "list"):
            raise ExpressionError(f"something is missing before {self.tokens[0][1] if self.tokens else 'the end'!r}")
        kind, text = self.tokens.pop(0)
        if kind == "word":
            return self.word(text)
        return ("value", float(text) if kind == "number" else text)

    def word(self, text: str) -> Any:
        if self.dialect == "retry" and text == "asInt" and self.accept("("):
            return ("asInt", self.closed(self.operand(), ")"))
        if self.dialect == "when" and text in ("in", "IN"):
            raise ExpressionError("the operator 'in' is not supported")
        self.words.append(text)
        return ("word", text)

    def items(self) -> list[Any]:
        items = [self.operand()]
        while self.accept(","):
            items.append(self.operand())
        return items

    def closed(self, tree: Any, bracket: str) -> Any:
        if not self.accept(bracket):
            raise ExpressionError(f"{bracket!r} is missing")
        return tree


def _evaluate(tree: Any, lookup: Lookup) -> Any:
    match tree:
        case ("value", value):
            return value
        case ("word", word):
            return lookup(word)
        case ("list", items):
            return [_evaluate(item, lookup) for item in items]
        case ("asInt", inner):
            return _integer(_evaluate(inner, lookup))
        case ("!", inner):
            return not _boolean(_evaluate(inner, lookup))
        case ("&&", left, right):
            return _boolean(_evaluate(left, lookup)) and _boolean(_evaluate(right, lookup))
        case ("||", left, right):
            return _boolean(_evaluate(left, lookup)) or _boolean(_evaluate(right, lookup))
        case (operator, left, right):
            return _compare(operator, _evaluate(left, lookup), _evaluate(right, lookup))
    raise ExpressionError("not supported")


def _compare(operator: str, left: Any, right: Any) -> bool:
    if operator in ("==", "!="):
        return _same(left, right) == (operator == "==")
    if operator == "in" and isinstance(right, list):
        return any(_same(left, item) for item in right)
    if operator == "contains" and isinstance(left, str) and isinstance(right, str):
        return right in left
    numbers = type(left) is type(right) is float
    if operator in ("<", "<=", ">", ">=") and (numbers or (isinstance(left, str) and isinstance(right, str))):
        return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator])
    raise ExpressionError(f"{left!r} {operator} {right!r} cannot be compared")


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _integer(value: Any) -> float:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value, re.ASCII):
        return float(value)
    raise ExpressionError(f"asInt({value!r}) is no whole number")


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f"{value!r} is neither true nor false")
    return value
