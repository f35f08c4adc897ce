import re

import pytest
from gpulab.events import PullRequestEvent, PushEvent, Refusal, Submission, attempt, context_of, push_run, select
from hypothesis import given
from hypothesis import strategies as st

SHA = "0123456789abcdef0123456789abcdef01234567"
ZEROS = "0" * 40


def pushed(ref: str = "refs/heads/main", after: str = SHA) -> PushEvent:
    return PushEvent(ref=ref, before=ZEROS, after=after)


def test_a_push_to_main_starts_the_push_pipeline() -> None:
    chosen = select(pushed(), "lab")
    assert isinstance(chosen, Submission)
    assert chosen.pipeline == "push"
    assert chosen.parameters == {"project": "lab", "revision": SHA, "ref": "refs/heads/main"}


@pytest.mark.parametrize("environment", ["teaching", "production"])
def test_a_deploy_branch_starts_its_sync(environment: str) -> None:
    chosen = select(pushed(f"refs/heads/deploy/{environment}"), "lab")
    assert isinstance(chosen, Submission)
    assert (chosen.pipeline, chosen.parameters["environment"]) == ("sync", environment)


@pytest.mark.parametrize(
    "event",
    [
        pushed(after=ZEROS),
        pushed(after=SHA[:12]),
        pushed(after=SHA.upper()),
        pushed(after=f"{SHA}\n"),
        pushed("refs/tags/v1"),
        pushed("refs/heads/promote/x"),
        pushed("refs/heads/deploy/staging"),
        pushed("refs/heads/deploy/"),
        pushed("refs/heads/$(TOKEN)"),
        pushed("refs/heads/{{=6*7}}"),
        pushed("refs/heads/{{workflow.uid}}"),
        pushed("refs/heads/main\n"),
        pushed("refs/heads/" + "a" * 201),
        pushed("refs/heads/größe"),
        PullRequestEvent(1, "main", SHA),
        PullRequestEvent(1, "deploy/production", "main"),
    ],
)
def test_what_is_not_expected_starts_nothing_and_says_why(event: PushEvent | PullRequestEvent) -> None:
    chosen = select(event, "lab")
    assert isinstance(chosen, Refusal)
    assert chosen.reason


def test_a_branch_is_checked_under_a_status_of_its_own() -> None:
    chosen = select(pushed("refs/heads/topic"), "lab")
    assert isinstance(chosen, Submission)
    assert (chosen.pipeline, context_of(chosen)) == ("push", "gpulab/check")
    main = select(pushed(), "lab")
    assert isinstance(main, Submission)
    assert context_of(main) == "gpulab/push"


@pytest.mark.parametrize("event", [PushEvent("refs/heads/main", ZEROS, SHA, "[skip ci] x"), pushed("refs/heads/größe")])
def test_who_waits_for_a_verdict_is_told_why_there_is_none(event: PushEvent) -> None:
    chosen = select(event, "lab")
    assert isinstance(chosen, Refusal)
    assert chosen.tell
    assert len(chosen.reason) <= 140


@pytest.mark.parametrize(
    ("name", "number"),
    [("push-a-1", 1), ("push-a-1-2", 2), ("push-a-1-10", 10), ("push-a-1-0", 0), ("push-a-12", 0), ("push-a-1-2-3", 0)],
)
def test_attempts_are_counted_from_one(name: str, number: int) -> None:
    assert attempt(name, "push-a-1") == number


@given(st.text(max_size=80), st.text(max_size=50))
def test_no_text_gets_into_parameters_unmatched(ref: str, after: str) -> None:
    chosen = select(PushEvent(ref, ZEROS, after), "lab")
    if isinstance(chosen, Submission):
        assert re.fullmatch("[0-9a-f]{40}", chosen.parameters["revision"])
        assert re.fullmatch(r"refs/heads/[A-Za-z0-9._/-]+", chosen.parameters.get("ref", "refs/heads/x"))


def test_a_run_is_named_after_commit_and_branch() -> None:
    assert push_run(SHA, "refs/heads/main") == push_run(SHA, "refs/heads/main")
    assert push_run(SHA, "refs/heads/main") != push_run(SHA, "refs/heads/other")
    assert re.fullmatch(r"[a-z0-9-]{1,63}", push_run(SHA, "refs/heads/main"))
