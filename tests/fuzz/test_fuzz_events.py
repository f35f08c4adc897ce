"""Refs, payloads and what git tells a hook: only a full commit id and a matched ref get through, as plain data."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from generating import HOSTILE, cases, disturbed, edited, snippets, values
from gpulab.errors import PlatformError
from gpulab.events import ENVIRONMENTS, Event, PullRequestEvent, PushEvent, Refusal, Submission, select
from gpulab.files import write_json
from gpulab.forges.local.hook import updates
from gpulab.forges.local.outbox import take
from gpulab.home import Home
from hypothesis import given
from hypothesis import strategies as st

SHA = "0123456789abcdef0123456789abcdef01234567"
REFS = ["refs/heads/main", "refs/heads/deploy/teaching", "refs/heads/deploy/production", "refs/heads/promote/x",
        "refs/heads/Deploy/teaching", "refs/tags/v1", "refs/heads/feature/a.b_c", "refs/notes/x", "HEAD"]  # fmt: skip
SAFE = re.compile(r"[A-Za-z0-9._/-]*")
PARAMETERS = {
    "push": {"project", "revision", "ref"},
    "sync": {"project", "revision", "environment"},
    "verify-promotion": {"project", "revision"},
}
refs = st.sampled_from(REFS).flatmap(edited) | st.sampled_from(REFS) | snippets
commits = st.just(SHA) | edited(SHA) | st.sampled_from(["0" * 40, SHA.upper(), SHA + "\n", "HEAD", ""]) | snippets
pushes = st.builds(PushEvent, refs, commits, commits, snippets)
pulls = st.builds(PullRequestEvent, st.integers(), refs, commits)

pytestmark = pytest.mark.usefixtures("nothing_executed")


def check(event: Event) -> None:
    chosen = select(event, "lab-1")
    if isinstance(chosen, Refusal):
        assert chosen.reason
        assert "\n" not in chosen.reason
        return
    assert isinstance(chosen, Submission)
    assert set(chosen.parameters) == PARAMETERS[chosen.pipeline]
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", chosen.name)
    assert re.fullmatch(r"[0-9a-f]{40}", chosen.parameters["revision"])
    assert all(SAFE.fullmatch(value) for value in chosen.parameters.values())
    assert chosen.parameters.get("environment", "teaching") in ENVIRONMENTS
    if chosen.pipeline == "push":
        assert not chosen.parameters["ref"].lower().startswith(("refs/heads/deploy/", "refs/heads/promote/"))


@cases(1500)
@given(pushes | pulls)
def test_an_event_starts_a_known_workflow_with_safe_values_or_is_refused(event: Event) -> None:
    check(event)


@cases(300)
@given(edited(f"{'0' * 40} {SHA} refs/heads/main\n{SHA} {'0' * 40} refs/heads/x\n"))
def test_whatever_a_hook_reads(text: str) -> None:
    for event in updates(text.encode(errors="surrogatepass")):
        check(event)


DOCUMENT = {"kind": "push", "ref": "refs/heads/deploy/teaching", "before": "0" * 40, "after": SHA, "message": "x"}


@pytest.fixture(scope="module")
def outbox(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("outbox"))


@cases(300)
@given(disturbed(DOCUMENT) | values)
def test_a_damaged_event_is_put_aside_and_the_next_one_is_delivered(outbox: Home, document: Any) -> None:
    outbox.events.mkdir(exist_ok=True)
    for file in outbox.events.rglob("*.json"):
        file.unlink()
    text = json.dumps(document, default=repr)
    (outbox.events / "1.json").write_text(text)
    write_json(outbox.events / "2.json", DOCUMENT)
    delivered: list[Event] = []

    def deliver(event: Event) -> None:
        check(event)
        delivered.append(event)

    for _ in range(4):
        take(outbox, deliver)
    assert delivered[-1] == PushEvent("refs/heads/deploy/teaching", "0" * 40, SHA, "x")
    assert [*outbox.events.glob("*.json")] == []


def test_the_snippets_hold_what_shells_and_templates_expand() -> None:
    assert any("$(" in text for text in HOSTILE)
    assert any("{{" in text for text in HOSTILE)
    with pytest.raises(PlatformError):
        write_json(Path("/dev/null/x"), {})
