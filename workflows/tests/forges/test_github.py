"""GitHub, whose answers are shaped as in its documents (https://docs.github.com/en/rest); content from real git."""

import json
from typing import Any

import httpx
import pytest
from gpulab.errors import InputError, PlatformError
from gpulab.events import PRODUCTION, PROMOTION_CHECK
from gpulab.forges import Status
from gpulab.forges.clone import Clone
from gpulab.forges.github import GitHubApi, headers
from gpulab.forges.hosted import HostedForge
from gpulab.forges.http import Http, api
from gpulab.forges.local.git import Git
from gpulab.forges.start import store_start

REPOSITORY = "octocat/Hello-World"


class GitHub:
    """Enough of GitHub to answer the questions that are asked, on a bare repository."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self.statuses: dict[str, list[dict[str, Any]]] = {}
        self.pulls: list[dict[str, Any]] = []
        self.unknown = 2  # so many times `mergeable` is null
        self.mergeable = True
        self.lose_answer = False
        self.asked: list[tuple[str, str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer token"
        assert request.headers["x-github-api-version"] == "2022-11-28"
        body = json.loads(request.content) if request.content else None
        path = request.url.path.removeprefix(f"/repos/{REPOSITORY}/")
        self.asked.append((request.method, path, body))
        match (request.method, *path.split("/")):
            case ("POST", "statuses", sha):
                return self.create_status(sha, body)
            case ("GET", "commits", sha, "status"):
                latest = list({one["context"]: one for one in self.statuses.get(sha, [])}.values())
                return httpx.Response(200, json={"state": "success", "sha": sha, "statuses": latest})
            case ("GET", "pulls"):
                state = request.url.params["state"]
                return httpx.Response(200, json=[one for one in self.pulls if state in ("all", one["state"])])
            case ("POST", "pulls"):
                return self.create_pull(body)
            case ("PATCH", "pulls", number):
                pull = self.pulls[int(number) - 1]
                pull.update({"title": body["title"], "body": body["body"]})
                return httpx.Response(200, json=pull)
            case ("GET", "pulls", number):
                return httpx.Response(200, json=self.one(int(number)))
            case ("PUT", "pulls", number, "merge"):
                return self.merge(int(number), body)
        raise AssertionError(f"{request.method} {path}")

    def create_status(self, sha: str, body: dict[str, Any]) -> httpx.Response:
        assert len(body["description"]) <= 140
        self.statuses.setdefault(sha, []).append({"id": 1, "target_url": None, "creator": {"login": "bot"}, **body})
        return httpx.Response(201, json=self.statuses[sha][-1])

    def create_pull(self, body: dict[str, Any]) -> httpx.Response:
        if any(one["state"] == "open" and one["head"]["ref"] == body["head"] for one in self.pulls):
            said = [{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists"}]
            return httpx.Response(422, json={"message": "Validation Failed", "errors": said})
        repo = {"full_name": REPOSITORY}
        head = {"ref": body["head"], "sha": self.git.commit_id(f"refs/heads/{body['head']}"), "repo": repo}
        made = {"number": len(self.pulls) + 1, "state": "open", "title": body["title"], "body": body["body"]}
        more = {"head": head, "base": {"ref": body["base"], "repo": repo}, "merged_at": None}
        self.pulls.append(made | more)
        return httpx.Response(201, json=self.pulls[-1])

    def one(self, number: int) -> dict[str, Any]:
        pull = self.pulls[number - 1]
        self.unknown -= 1
        known = None if self.unknown >= 0 else self.mergeable
        return pull | {"merged": pull["merged_at"] is not None, "mergeable": known, "merge_commit_sha": pull.get("sha")}

    def merge(self, number: int, body: dict[str, Any]) -> httpx.Response:
        pull = self.pulls[number - 1]
        assert body["merge_method"] == "merge"
        if body["sha"] != pull["head"]["sha"]:
            return httpx.Response(409, json={"message": "Head branch was modified. Review and try the merge again."})
        base = self.git.commit_id(f"refs/heads/{pull['base']['ref']}") or ""
        tree = self.git.text("rev-parse", f"{body['sha']}^{{tree}}")
        commit = self.git.text("commit-tree", tree, "-p", base, "-p", body["sha"], "-m", f"Merge #{number}")
        self.git.run("update-ref", f"refs/heads/{pull['base']['ref']}", commit)
        pull.update(state="closed", merged_at="2026-01-01T00:00:00Z", sha=commit)
        if self.lose_answer:
            raise httpx.ReadTimeout("lost")
        return httpx.Response(200, json={"sha": commit, "merged": True, "message": "Pull Request successfully merged"})


@pytest.fixture
def github(bare: Git) -> GitHub:
    bare.run("update-ref", f"refs/heads/{PRODUCTION}", store_start(bare))
    return GitHub(bare)


@pytest.fixture
def forge(github: GitHub) -> HostedForge:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    client = api("https://api.github.com", headers("token"), httpx.MockTransport(github)).client
    http = Http(client, sleep, lambda: now[0])
    return HostedForge(
        Clone(github.git.folder.as_uri()), GitHubApi(http, REPOSITORY, "https://argo.example/workflows/lab-ci")
    )


def proposed(forge: HostedForge) -> int:
    head = forge.commit("promote/1", {"a": b"1"}, "one", None)
    forge.set_status(head, Status(PROMOTION_CHECK, "success", "yes", "promotion-1"))
    return forge.open_pull_request(PRODUCTION, "promote/1", "title", "body").number


def test_statuses(forge: HostedForge, github: GitHub) -> None:
    forge.set_status("a" * 40, Status("gpulab/push", "pending", "x" * 200, "push-1"))
    forge.set_status("a" * 40, Status("gpulab/push", "success", "done", "push-2"))
    github.statuses["a" * 40].append({"context": "ci/other", "state": "success", "description": None})
    assert forge.statuses("a" * 40) == {
        "gpulab/push": Status("gpulab/push", "success", "done", "push-2"),
        "ci/other": Status("ci/other", "success", "", ""),
    }
    assert github.asked[0][2]["target_url"] == "https://argo.example/workflows/lab-ci/push-1"


def test_a_merge_is_a_commit_on_the_base_with_the_heads_tree(forge: HostedForge, github: GitHub) -> None:
    number = proposed(forge)
    head = forge.pull_requests()[0].head
    merged = forge.merge(number)
    assert merged == forge.head(PRODUCTION) != head
    assert forge.files(merged) == ["a"]
    assert forge.history(PRODUCTION) == [merged]
    assert forge.is_ancestor(head, merged)
    assert [pull.state for pull in forge.pull_requests()] == ["merged"]
    assert ("PUT", "pulls/1/merge", {"merge_method": "merge", "sha": head}) in github.asked


def test_a_merge_whose_answer_is_lost_is_a_merge(forge: HostedForge, github: GitHub) -> None:
    number = proposed(forge)
    github.lose_answer = True
    assert forge.merge(number) == forge.head(PRODUCTION)
    assert [method for method, _, _ in github.asked].count("PUT") == 1


def test_a_head_that_changed_after_the_look_is_not_merged(forge: HostedForge, github: GitHub) -> None:
    number = proposed(forge)
    pull = forge.pull_requests()[0]
    github.pulls[0]["head"]["sha"] = "b" * 40
    with pytest.raises(InputError, match="Head branch was modified"):
        forge.api.merge(pull)
    assert (number, forge.head(PRODUCTION)) == (1, None)


@pytest.mark.parametrize(("mergeable", "unknown"), [(False, 1), (True, 1000)])
def test_what_conflicts_or_is_never_found_out_is_said(
    forge: HostedForge, github: GitHub, mergeable: bool, unknown: int
) -> None:
    number = proposed(forge)
    github.mergeable, github.unknown = mergeable, unknown
    with pytest.raises(InputError, match="conflicts with its base, or the forge cannot tell yet"):
        forge.merge(number)


def test_a_fork_with_a_branch_of_the_same_name_is_another_pull_request(forge: HostedForge, github: GitHub) -> None:
    proposed(forge)
    github.pulls[0]["head"]["repo"] = {"full_name": "mallory/Hello-World"}
    assert forge.pull_requests()[0].branch == "mallory/Hello-World:promote/1"
    with pytest.raises(PlatformError, match="already exists"):
        forge.open_pull_request(PRODUCTION, "promote/1", "title", "body")


def test_opening_twice_changes_the_text(forge: HostedForge, github: GitHub) -> None:
    number = proposed(forge)
    again = forge.open_pull_request(PRODUCTION, "promote/1", "better", "text")
    assert (again.number, again.title, len(github.pulls)) == (number, "better", 1)
