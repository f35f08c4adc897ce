import dataclasses

import pytest
from gpulab.events import context_of, promotion_run, push_run, sync_run
from gpulab.forges.protocol import PullRequest, State, Status
from gpulab.reconcile import Action, Facts, Run, Say, Start, missed
from hypothesis import given, settings
from hypothesis import strategies as st

A, B, C = "a" * 40, "b" * 40, "c" * 40
MAIN = "refs/heads/main"
RUN = push_run(A, MAIN)
SYNC = "gpulab/sync-teaching"


def facts(**changes: object) -> Facts:
    base = Facts(project="lab", heads={"main": A}, messages={}, runs=(), statuses={})
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def said(context: str = "gpulab/push", state: State = "success", run: str = RUN) -> dict[str, Status]:
    return {context: Status(context, state, "…", run)}


def pull(head: str, state: str = "open", base: str = "deploy/production") -> PullRequest:
    return PullRequest(1, "t", "b", base, "promote/x", head, state)  # type: ignore[arg-type]


HANDLED = facts(runs=[Run(RUN, live=False, passed=True)], statuses={A: said()}, released=[A], contained=frozenset([A]))
NOTHING = {
    "all is well": HANDLED,
    "it runs": facts(runs=[Run(RUN, live=True)]),
    "it waits": facts(runs=[Run(RUN, live=True)], statuses={A: said(state="pending")}),
    "a second attempt runs": facts(
        runs=[Run(RUN, live=False), Run(f"{RUN}-2", live=True)], statuses={A: said(state="pending", run=f"{RUN}-2")}
    ),
    "it failed": facts(runs=[Run(RUN, live=False)], statuses={A: said(state="failure")}),
    "its record is long gone": facts(statuses={A: said()}),
    "teaching was rolled back": facts(
        runs=[Run(RUN, live=False, passed=True)], statuses={A: said()}, released=[B, A], contained=frozenset([B])
    ),
    "a skipped head was told": facts(messages={A: "x [skip ci]"}, statuses={A: said(state="error", run="")}),
    "a merged pull request": dataclasses.replace(HANDLED, pulls=[pull(C, "merged")]),
    "a pull request to main": dataclasses.replace(HANDLED, pulls=[pull(C, base="main")]),
    "a branch of the platform": dataclasses.replace(HANDLED, heads={"main": A, "promote/x": C, "deploy/staging": C}),
    "nothing at all": facts(heads={}),
}


@pytest.mark.parametrize("case", NOTHING)
def test_what_is_well_is_left_alone(case: str) -> None:
    assert missed(NOTHING[case]) == []


STARTED = {
    "a head without a run": (facts(), RUN),
    "a branch without a run": (
        dataclasses.replace(HANDLED, heads={"main": A, "topic": B}),
        push_run(B, "refs/heads/topic"),
    ),
    "a release without a sync": (
        dataclasses.replace(HANDLED, heads={"main": A, "deploy/teaching": B}),
        sync_run("teaching", B),
    ),
    "a pull request without a check": (dataclasses.replace(HANDLED, pulls=[pull(C)]), promotion_run(C)),
    "passed, never released, head again": (
        dataclasses.replace(HANDLED, released=[B], contained=frozenset([B])),
        f"{RUN}-2",
    ),
    "released before, teaching runs what main lost": (
        dataclasses.replace(HANDLED, released=[B, A], contained=frozenset()),
        f"{RUN}-2",
    ),
}


@pytest.mark.parametrize("case", STARTED)
def test_what_was_never_started_is_started(case: str) -> None:
    given_facts, name = STARTED[case]
    actions = missed(given_facts)
    assert [action.submission.name for action in actions if isinstance(action, Start)] == [name]
    assert len(actions) == 1
    assert actions[0].why


CLOSED = {
    "pending, and no run": (facts(statuses={A: said(state="pending")}), A),
    "pending, and its run has ended": (facts(runs=[Run(RUN, live=False)], statuses={A: said(state="pending")}), A),
    "its run ended without a word": (facts(runs=[Run(RUN, live=False)]), A),
    "pending on a commit that no branch has": (
        dataclasses.replace(HANDLED, statuses=HANDLED.statuses | {C: said(state="pending")}),
        C,
    ),
    "a sync that was lost": (
        dataclasses.replace(HANDLED, statuses={A: said() | said(SYNC, "pending", "sync-gone")}),
        A,
    ),
    "a skipped head": (facts(messages={A: "x [ci skip]\n\nbody"}), A),
    "a ref outside the pattern": (dataclasses.replace(HANDLED, heads={"main": A, "$(TOKEN)": C}), C),
}


@pytest.mark.parametrize("case", CLOSED)
def test_what_will_never_end_is_closed_as_the_platforms_trouble(case: str) -> None:
    given_facts, revision = CLOSED[case]
    actions = missed(given_facts)
    assert [(one.revision, one.status.state) for one in actions if isinstance(one, Say)] == [(revision, "error")]
    assert len(actions) == 1


def after(before: Facts, actions: list[Action]) -> Facts:
    """The world when everything was done: a started run lives, and its commit's status says so."""
    runs, statuses = list(before.runs), {commit: dict(known) for commit, known in before.statuses.items()}
    for action in actions:
        if isinstance(action, Say):
            statuses.setdefault(action.revision, {})[action.status.context] = action.status
            continue
        due, context = action.submission, context_of(action.submission)
        assert due.name not in [run.name for run in runs]
        runs.append(Run(due.name, live=True))
        statuses.setdefault(due.parameters["revision"], {})[context] = Status(context, "pending", "queued", due.name)
    return dataclasses.replace(before, runs=runs, statuses=statuses)


COMMITS = st.sampled_from([A, B, C])
BRANCHES = st.sampled_from(["main", "topic", "deploy/teaching", "deploy/production", "promote/x", "$(x)"])
NAMES = st.sampled_from([RUN, f"{RUN}-2", push_run(B, MAIN), sync_run("teaching", B), promotion_run(C), "push-gone"])
CONTEXTS = st.sampled_from(["gpulab/push", "gpulab/check", SYNC, "gpulab/sync-production", "gpulab/verify-promotion"])
STATUSES = st.builds(Status, CONTEXTS, st.sampled_from(["pending", "success", "failure", "error"]), st.just("…"), NAMES)


@settings(max_examples=400)
@given(
    heads=st.dictionaries(BRANCHES, COMMITS),
    messages=st.dictionaries(COMMITS, st.sampled_from(["x", "[skip ci]"])),
    runs=st.lists(st.builds(Run, NAMES, st.booleans(), st.booleans()), unique_by=lambda run: run.name),
    statuses=st.dictionaries(
        COMMITS, st.lists(STATUSES).map(lambda known: {status.context: status for status in known})
    ),
    pulls=st.lists(st.builds(pull, COMMITS, st.sampled_from(["open", "merged", "closed"])), max_size=2),
    released=st.lists(COMMITS, max_size=3),
    contained=st.frozensets(COMMITS),
)
def test_mending_twice_is_mending_once(**changes: object) -> None:
    before = facts(**changes)
    mended = after(before, missed(before))
    assert missed(mended) == []
