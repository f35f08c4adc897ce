"""The grammar that the small languages of a workflow share: `||`, `&&`, comparisons, `!`, parentheses, lists.

What a word means is up to the language; anything beyond the grammar is refused, never guessed.
"""

import re
from collections.abc import Callable
from typing import Any, Literal

Dialect = Literal["depends", "when", "retry"]

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
_COMPARATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "contains")
_MAX_LENGTH, _MAX_DEPTH = 10_000, 50


class ExpressionError(ValueError):
    """The text is not in the supported language, or its operands do not fit."""


def parse(text: str, dialect: Dialect) -> tuple[Any, list[str]]:
    """A tree of tuples for `evaluate`, and the words in it.

    Raises:
        ExpressionError: it is something else.
    """
    parser = _Parser(_tokens(text, dialect), dialect)
    tree = parser.either()
    if parser.tokens:
        raise ExpressionError(f"unexpected {parser.tokens[0][1][:40]!r} in {text[:200]!r}")
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
    """Recursive descent."""

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


def holds(tree: Any, lookup: Callable[[str], Any]) -> bool:
    """The truth value of a parsed expression; what is not needed is not evaluated.

    Args:
        lookup: the value of a word: a text, a bool or a float.

    Raises:
        ExpressionError: it has none, or operands do not fit together.
    """
    return _boolean(_evaluate(tree, lookup))


def _evaluate(tree: Any, lookup: Callable[[str], Any]) -> Any:
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
            return not holds(inner, lookup)
        case ("&&", left, right):
            return holds(left, lookup) and holds(right, lookup)
        case ("||", left, right):
            return holds(left, lookup) or holds(right, lookup)
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
    raise ExpressionError(f"{str(left)[:40]!r} {operator} {str(right)[:40]!r} cannot be compared")


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _integer(value: Any) -> float:
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}", value, re.ASCII):
        return float(value)
    raise ExpressionError(f"asInt({str(value)[:40]!r}) is no whole number")


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ExpressionError(f"{str(value)[:40]!r} is neither true nor false")
    return value
