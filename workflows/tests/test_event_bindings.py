"""The local forge and Argo's server start the same for the same event: one table of webhook payloads, asked of both."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from gpulab.events import (
    NOTHING_RELEASED,
    Event,
    PullRequestEvent,
    PushEvent,
    Submission,
    promotion_run,
    push_run,
    select,
    sync_run,
)
from gpulab.pipelines.settings import Settings
from gpulab.rendering.workflows import binding_documents

SHA, OTHER, ZEROS = "0123456789abcdef0123456789abcdef01234567", "f" * 40, "0" * 40
PROJECT = "gpu-lab-1"
BINDINGS = binding_documents(PROJECT, Settings())
Payload = dict[str, Any]


def push(ref: str, after: Any = SHA, message: str = "Change the model", **fields: Any) -> Payload:
    """As GitHub sends it, as far as anybody looks at it."""
    head = {"id": after, "message": message, "author": {"name": "s", "email": "s@localhost"}}
    return {
        "ref": ref,
        "before": OTHER,
        "after": after,
        "deleted": after == ZEROS,
        "head_commit": None if after == ZEROS else head,
        "pusher": {"name": "s"},
        **fields,
    }


def branch(name: str, **fields: Any) -> Payload:
    return push(f"refs/heads/{name}", **fields)


def gitea(name: str, **fields: Any) -> Payload:
    """Gitea has no `deleted`, `created`, `forced` and no `pusher.name`."""
    payload = branch(name, **fields)
    return {key: value for key, value in payload.items() if key != "deleted"} | {"pusher": {"login": "s"}}


def pull(base: str, head: Any = SHA, action: str = "opened") -> Payload:
    return {"action": action, "number": 7, "pull_request": {"head": {"sha": head}, "base": {"ref": base}}}


def pushes(name: str) -> str:
    return push_run(SHA, f"refs/heads/{name}")


LONGEST = "a" * 200
PUSHES: list[tuple[Payload, str | None]] = [
    (branch("main"), pushes("main")),
    (gitea("main"), pushes("main")),
    (branch("main", head_commit=None), pushes("main")),
    (branch("main", before=ZEROS, created=True), pushes("main")),
    (branch("main", forced=True), pushes("main")),
    (branch("topic"), pushes("topic")),
    (gitea("topic"), pushes("topic")),
    (branch("feature/rope-base_2.0"), pushes("feature/rope-base_2.0")),
    (branch(LONGEST), pushes(LONGEST)),
    (branch("main2"), pushes("main2")),
    (branch("Main"), pushes("Main")),
    (branch("deployment"), pushes("deployment")),
    (branch("promoted/x"), pushes("promoted/x")),
    (branch("my/deploy/teaching"), pushes("my/deploy/teaching")),
    (branch("-x"), pushes("-x")),
    (branch("main", pusher={"name": "gpulab"}), pushes("main")),
    (branch("main", head_commit={"message": "Release", "author": {"name": "gpulab"}}), pushes("main")),
    # what starts a sync
    (branch("deploy/teaching"), sync_run("teaching", SHA)),
    (branch("deploy/production"), sync_run("production", SHA)),
    (gitea("deploy/production"), sync_run("production", SHA)),
    (branch("deploy/teaching", message="[skip ci] an environment is not skipped"), sync_run("teaching", SHA)),
    (branch("deploy/teaching", head_commit=None), sync_run("teaching", SHA)),
    (branch("deploy/teaching", after=NOTHING_RELEASED), None),
    (gitea("deploy/production", after=NOTHING_RELEASED), None),
    # the platform's other branches
    (branch("deploy"), None),
    (branch("deploy/staging"), None),
    (branch("deploy/teaching/x"), None),
    (branch("deploy/Teaching"), None),
    (branch("Deploy/teaching"), None),
    (branch("DEPLOY/production"), None),
    (branch("promote/0123456789ab"), None),
    (branch("promote"), None),
    (branch("Promote/x"), None),
    # deletions
    (branch("main", after=ZEROS), None),
    (branch("topic", after=ZEROS), None),
    (gitea("topic", after=ZEROS), None),
    (branch("deploy/teaching", after=ZEROS), None),
    (push("refs/tags/v1", after=ZEROS), None),
    # no branches
    (push("refs/tags/v1"), None),
    (push("refs/tags/main"), None),
    (push("refs/notes/commits"), None),
    (push("refs/pull/1/head"), None),
    (push("refs/heads/"), None),
    (push("main"), None),
    (push(""), None),
    (push("refs/heads"), None),
    (push("xrefs/heads/main"), None),
    # hostile names
    (branch("$(TOKEN)"), None),
    (branch("{{=6*7}}"), None),
    (branch("{{workflow.uid}}"), None),
    (branch("main\n"), None),
    (branch("main\nrefs/heads/x"), None),
    (branch("größe"), None),
    (branch("ｍain"), None),
    (branch("a b"), None),
    (branch('a"b'), None),
    (branch("a'b"), None),
    (branch("`id`"), None),
    (branch("a;b"), None),
    (branch("a\\b"), None),
    (branch("a" * 201), None),
    # hostile commits
    (branch("main", after=SHA[:12]), None),
    (branch("main", after=SHA + "0"), None),
    (branch("main", after=SHA.upper()), None),
    (branch("main", after=f"{SHA}\n"), None),
    (branch("main", after="HEAD"), None),
    (branch("main", after=""), None),
    # skipped
    (branch("main", message="[skip ci] words only"), None),
    (branch("main", message="words only [ci skip]"), None),
    (branch("main", message="words [SKIP CI] only\n\nbody"), None),
    (gitea("topic", message="words [skip ci]\n"), None),
    (branch("main", message="words\n\nthe body says [skip ci]"), pushes("main")),
    (branch("main", message="skip ci"), pushes("main")),
    (branch("main", message="[skip-ci]"), pushes("main")),
    (branch("main", message="[skip  ci]"), pushes("main")),
    (branch("main", message=""), pushes("main")),
]
PULLS: list[tuple[Payload, str | None]] = [
    (pull("deploy/production"), promotion_run(SHA)),
    (pull("deploy/production", action="synchronize"), promotion_run(SHA)),
    (pull("deploy/production", action="synchronized"), promotion_run(SHA)),
    (pull("deploy/production", action="reopened"), promotion_run(SHA)),
    (pull("deploy/production", action="closed"), None),
    (pull("deploy/production", action="labeled"), None),
    (pull("deploy/teaching"), None),
    (pull("main"), None),
    (pull("deploy/production\n"), None),
    (pull("Deploy/production"), None),
    (pull("deploy/production", head="main"), None),
    (pull("deploy/production", head=SHA[:39]), None),
    (pull("deploy/production", head=f"{SHA}\n"), None),
]
TABLE = [
    *(("push", payload, name) for payload, name in PUSHES),
    *(("pull_request", payload, name) for payload, name in PULLS),
]


def event_of(kind: str, payload: Payload) -> Event | None:
    """The same event as the local forge would tell it; None when it tells none (a closed pull request)."""
    if kind == "push":
        message = (payload["head_commit"] or {}).get("message", "")
        return PushEvent(payload["ref"], payload["before"], payload["after"], message)
    if payload["action"] not in ("opened", "reopened", "synchronize", "synchronized"):
        return None
    request = payload["pull_request"]
    return PullRequestEvent(payload["number"], request["base"]["ref"], request["head"]["sha"])


def locally(kind: str, payload: Payload) -> list[tuple[str, str, dict[str, str]]]:
    event = event_of(kind, payload)
    chosen = select(event, PROJECT) if event else None
    return [(chosen.pipeline, chosen.name, chosen.parameters)] if isinstance(chosen, Submission) else []


class Nil:
    """expr-lang's nil: it has no fields but by `?.`, and `??` replaces it."""

    def __getattr__(self, _name: str) -> "Nil":
        return self

    def __or__(self, other: object) -> object:
        return other


class Text(str):
    """expr-lang's string: `matches` is written `@`, `??` is written `|`."""

    def __matmul__(self, pattern: str) -> bool:
        strict = pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern  # Go's `$` is the very end of the text
        return re.search(strict, self) is not None

    def __or__(self, _other: object) -> "Text":
        return self

    def __getitem__(self, index: Any) -> "Text":
        return Text(super().__getitem__(index))


class Object:
    """A JSON object with fields."""

    def __init__(self, fields: Payload) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        value = self._fields.get(name)
        return Object(value) if isinstance(value, dict) else Text(value) if isinstance(value, str) else Nil()


class Sprig:
    """The two functions of sprig that are used."""

    substr = staticmethod(lambda start, end, text: text[start:end])
    sha256sum = staticmethod(lambda text: hashlib.sha256(text.encode()).hexdigest())


WORDS = {"&&": " and ", "||": " or ", "matches": " @ ", "?.": ".", "??": " | ", "not": " not "}
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|&&|\|\||\?\.|\?\?|\w+|.', re.DOTALL)


def evaluate(expression: str, kind: str, payload: Payload) -> Any:
    """The part of expr-lang that the bindings use, by way of Python's grammar.

    The real expr-lang 1.17 gives the same for every row of the table (compared once, in Go).
    """
    python = "".join(
        f"Text({json.loads(token)!r})" if token.startswith('"') else WORDS.get(token, token)
        for token in TOKEN.findall(expression)
    )
    names = {"payload": Object(payload), "metadata": {"x-github-event": [kind]}, "discriminator": "gpulab"}
    return eval(python, {"__builtins__": {}, "Text": Text, "sprig": Sprig, **names})  # noqa: S307  our own YAML


def in_argo(kind: str, payload: Payload) -> Iterator[tuple[str, str, dict[str, str]]]:
    for document in BINDINGS:
        spec = document["spec"]
        if evaluate(spec["event"]["selector"], kind, payload) is True:
            submit = spec["submit"]
            pipeline = submit["workflowTemplateRef"]["name"].rpartition("-v0")[0]
            parameters = {
                one["name"]: str(evaluate(one["valueFrom"]["event"], kind, payload))
                for one in submit["arguments"]["parameters"]
            }
            yield pipeline, str(evaluate(submit["metadata"]["name"], kind, payload)), parameters


@pytest.mark.parametrize(("kind", "payload", "name"), TABLE, ids=[str(row) for row in range(len(TABLE))])
def test_both_start_the_same(kind: str, payload: Payload, name: str | None) -> None:
    chosen = locally(kind, payload)
    assert [one[1] for one in chosen] == ([name] if name else []), payload
    assert list(in_argo(kind, payload)) == chosen, payload


def test_every_binding_is_reached_and_no_other_event_starts_anything() -> None:
    started = {pipeline for kind, payload, _ in TABLE for pipeline, _, _ in in_argo(kind, payload)}
    assert started == {"push", "sync", "verify-promotion"}
    assert len(TABLE) >= 60
    for kind in ("ping", "create", "delete", "workflow_run"):
        assert list(in_argo(kind, branch("main"))) == []
