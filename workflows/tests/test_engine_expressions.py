"""`depends`, `when` and retry expressions: Python's truth table, and one own error for everything else."""

from typing import Any

import pytest
from gpulab.engines.local.expressions import (
    RESULTS,
    check_retry,
    check_when,
    parse_depends,
    retry_holds,
    when_holds,
)
from gpulab.engines.local.grammar import ExpressionError
from hypothesis import example, given
from hypothesis import strategies as st

TASKS = ("a", "b-1", "verify")
PLAIN = sorted(RESULTS)
HOSTILE = st.one_of(
    st.text(max_size=60),
    st.text("ab.-&|!=<>()[]'\", {}$\\\n01", max_size=60),
    st.sampled_from(["", " ", "(" * 5000, "!" * 5000, "a" * 20000, "a && " * 3000, "{{=6*7}}", "$(TOKEN)", "a == 'x"]),
)

Pair = tuple[str, Any]
"""An expression as text, and as a Python function of the same variables."""


def combined(atoms: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    def extend(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        return st.one_of(
            st.builds(lambda x: (f"!({x[0]})", lambda v: not x[1](v)), inner),
            st.builds(lambda x, y: (f"({x[0]} && {y[0]})", lambda v: x[1](v) and y[1](v)), inner, inner),
            st.builds(lambda x, y: (f"({x[0]}||{y[0]})", lambda v: x[1](v) or y[1](v)), inner, inner),
            st.builds(
                lambda x, y, z: (f"({x[0]} || {y[0]} && {z[0]})", lambda v: x[1](v) or (y[1](v) and z[1](v))),
                *(inner, inner, inner),
            ),
        )

    return st.recursive(atoms, extend, max_leaves=12)


def result_atom(task: str, result: str) -> Pair:
    if not result:
        return task, lambda v: any(v[task][one] for one in ("Succeeded", "Skipped", "Daemoned"))
    return f"{task}.{result}", lambda v: v[task][result]


@given(
    combined(st.builds(result_atom, st.sampled_from(TASKS), st.sampled_from(["", *PLAIN]))),
    st.fixed_dictionaries({task: st.fixed_dictionaries({r: st.booleans() for r in PLAIN}) for task in TASKS}),
)
def test_depends_has_pythons_truth_table(pair: Pair, results: dict[str, dict[str, bool]]) -> None:
    parsed = parse_depends(pair[0])
    assert parsed.holds(results) == pair[1](results)
    assert set(parsed.names) <= set(TASKS)


WORDS = ("Succeeded", "Failed", "x1")


def compare(left: str, operator: str, right: str, quoted: bool) -> Pair:
    truth = {"==": left == right, "!=": left != right, "<": left < right, ">=": left >= right}[operator]
    shown = f"'{left}'" if quoted else left
    return f'{shown} {operator} "{right}"', lambda _: truth


@given(
    combined(
        st.one_of(
            st.builds(
                compare,
                st.sampled_from(WORDS),
                st.sampled_from(["==", "!=", "<", ">="]),
                st.sampled_from(WORDS),
                st.booleans(),
            ),
            st.builds(lambda x, y: (f"{x} < {y}", lambda _: x < y), st.integers(0, 99), st.integers(0, 99)),
            st.sampled_from([("true", lambda _: True), ("false", lambda _: False)]),
        )
    )
)
def test_when_has_pythons_truth_table(pair: Pair) -> None:
    assert when_holds(pair[0]) == pair[1](None)


STATUS = st.sampled_from(["Error", "Failed"])


@given(
    combined(
        st.one_of(
            STATUS.map(lambda s: (f"lastRetry.status == '{s}'", lambda v: v["lastRetry.status"] == s)),
            st.integers(-1, 4).map(
                lambda n: (f"asInt(lastRetry.exitCode) == {n}", lambda v: int(v["lastRetry.exitCode"]) == n)
            ),
            st.lists(st.integers(-1, 4), min_size=1, max_size=3).map(
                lambda ns: (f"asInt(lastRetry.exitCode) in {ns}", lambda v: int(v["lastRetry.exitCode"]) in ns)
            ),
            st.sampled_from(["pod deleted", "x"]).map(
                lambda t: (f'lastRetry.message contains "{t}"', lambda v: t in v["lastRetry.message"])
            ),
            st.just(("asInt(retries) < 2", lambda v: int(v["retries"]) < 2)),
        )
    ),
    st.fixed_dictionaries(
        {
            "lastRetry.status": STATUS,
            "lastRetry.exitCode": st.integers(-1, 4).map(str),
            "lastRetry.message": st.sampled_from(["", "pod deleted", "x"]),
            "retries": st.integers(0, 3).map(str),
        }
    ),
)
def test_retry_expressions_have_pythons_truth_table(pair: Pair, variables: dict[str, str]) -> None:
    check_retry(pair[0])
    assert retry_holds(pair[0], variables) == pair[1](variables)


@given(HOSTILE)
@example("asInt('9' ")
def test_any_text_gives_a_truth_value_or_the_own_error(text: str) -> None:
    for evaluate in (parse_depends, check_when, check_retry, when_holds, lambda t: retry_holds(t, {"retries": t})):
        try:
            evaluate(text)
        except ExpressionError as error:
            assert len(str(error)) < 400


@pytest.mark.parametrize(
    "text",
    ["a.Done", "a &&", "a and b", "a == b", "(a", "a b", "a.Succeeded.x", "a_b", "'a'", "a || || b", "!", "a && {{x}}"],
)
def test_other_depends_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_depends(text)


@pytest.mark.parametrize(
    "text",
    [
        *("a", "a == b == c", "a-b == c", "1 + 1 == 2", "x in y", "1a == 1", "a.b == c", "'a' =~ 'b'", "a == 'it''s'"),
        *("== b", "true && x", "!x", "1 < a", "'a\\'b' == a", "(true", "true ? true : false", "{{item}} == a"),
    ],
)
def test_other_whens_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        when_holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "lastRetry.code == 1",
        "asInt('x') == 1",
        "len(lastRetry.message) > 2",
        "workflow.status == 'x'",
        "retries + 1 == 2",
        "lastRetry.message matches 'x'",
        "[1] == 1 in",
        "asInt(1.5) == 1",
        "lastRetry.exitCode",
        "sprig.upper('a') == 'A'",
    ],
)
def test_other_retry_expressions_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        retry_holds(text, {"lastRetry.message": "", "lastRetry.exitCode": "1", "retries": "0"})


def test_a_text_is_no_number() -> None:
    assert not when_holds("'1' == 1")
    assert not retry_holds("lastRetry.exitCode == 3", {"lastRetry.exitCode": "3"})


def test_an_empty_when_holds() -> None:
    assert when_holds("")
