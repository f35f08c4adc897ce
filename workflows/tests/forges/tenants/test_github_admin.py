"""Connecting on GitHub, whose answers are shaped as in its documents (https://docs.github.com/en/rest)."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gpulab.errors import InputError
from gpulab.events import PRODUCTION, PROMOTION_CHECK, TEACHING
from gpulab.forges.github import headers
from gpulab.forges.http import Http, api
from gpulab.tenants.forge_plan import Protection, Tokens
from gpulab.tenants.github_admin import GitHubAdmin

REPOSITORY = "octocat/Hello-World"
HOOK = "https://argo.example/api/v1/events/lab-ci/gpulab"


class GitHub:
    """A repository whose bot may write."""

    def __init__(self) -> None:
        self.hooks: list[dict[str, Any]] = []
        self.has_main = True
        self.protections: dict[str, Any] = {}
        self.organisation = True
        self.bot_may_push = True

    def as_who(self, token: str) -> Http:
        def handler(request: httpx.Request) -> httpx.Response:
            assert request.headers["authorization"] == f"Bearer {token}"
            return self.answer(token, request)

        return api("https://api.github.com", headers(token), httpx.MockTransport(handler))

    def answer(self, who: str, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode().partition("?")[0].removeprefix(f"/repos/{REPOSITORY}")
        body = json.loads(request.content) if request.content else {}
        match (request.method, *path.strip("/").split("/")):
            case ("GET", "user"):
                return httpx.Response(200 if who == "writes" else 401, json={"login": "lab-bot"})
            case (("GET" | "PATCH"), ""):
                rights = {"admin": who == "admin", "push": who == "writes" and self.bot_may_push}
                return httpx.Response(200, json={"full_name": REPOSITORY, "permissions": rights})
            case ("GET", "branches", "main"):
                return httpx.Response(200 if self.has_main else 404, json={})
            case ("PUT", "branches", branch, "protection"):
                if body["restrictions"] and not self.organisation:
                    said = "Only organization repositories can have users and team restrictions"
                    return httpx.Response(422, json={"message": "Validation Failed", "errors": [{"message": said}]})
                self.protections[branch] = body
                return httpx.Response(200, json=body)
            case ("DELETE", "branches", branch, "protection"):
                return httpx.Response(204 if self.protections.pop(branch, None) else 404)
            case ("GET", "hooks"):
                return httpx.Response(200, json=self.hooks)
            case ("POST", "hooks"):
                self.hooks.append(body | {"id": len(self.hooks) + 1})
                return httpx.Response(201, json=self.hooks[-1])
            case ("PATCH", "hooks", number):
                next(one for one in self.hooks if one["id"] == int(number)).update(body)
                return httpx.Response(200, json={})
            case ("DELETE", "hooks", number):
                self.hooks = [one for one in self.hooks if one["id"] != int(number)]
                return httpx.Response(204)
        raise AssertionError(f"{request.method} {path}")


@pytest.fixture
def github() -> GitHub:
    return GitHub()


@pytest.fixture
def admin(github: GitHub) -> Callable[[Tokens], GitHubAdmin]:
    return lambda given: GitHubAdmin(github.as_who("admin"), REPOSITORY, given, github.as_who)


Admin = Callable[[Tokens], GitHubAdmin]


def test_a_given_token_wins_and_a_kept_one_stays(admin: Admin) -> None:
    assert admin(Tokens("writes", "reads")).bot("gpulab-lab", Tokens("old", "old")) == (
        "lab-bot",
        Tokens("writes", "reads"),
    )
    assert admin(Tokens()).bot("gpulab-lab", Tokens("writes", "reads"))[1] == Tokens("writes", "reads")


def test_what_a_person_must_do_is_said(admin: Admin, github: GitHub) -> None:
    with pytest.raises(InputError, match=r"two fine-grained tokens .* \(--bot-token-file\)"):
        admin(Tokens("writes")).bot("gpulab-lab", Tokens())
    with pytest.raises(InputError, match="does not work \\(401"):
        admin(Tokens("expired", "reads")).bot("gpulab-lab", Tokens())
    github.bot_may_push = False
    with pytest.raises(InputError, match="lab-bot may not write to octocat/Hello-World: make it a collaborator"):
        admin(Tokens("writes", "reads")).bot("gpulab-lab", Tokens())


def test_protections(admin: Admin, github: GitHub) -> None:
    admin(Tokens()).protect(Protection(PRODUCTION, check=PROMOTION_CHECK))
    admin(Tokens()).protect(Protection(TEACHING, pusher="lab-bot"))
    production, teaching = github.protections["deploy%2Fproduction"], github.protections["deploy%2Fteaching"]
    assert production["required_status_checks"] == {"strict": True, "checks": [{"context": PROMOTION_CHECK}]}
    assert production["required_pull_request_reviews"] == {"required_approving_review_count": 0}
    assert teaching["restrictions"] == {"users": ["lab-bot"], "teams": [], "apps": []}
    assert teaching["required_pull_request_reviews"] is None
    for one in (production, teaching):
        assert (one["enforce_admins"], one["allow_force_pushes"], one["allow_deletions"]) == (True, False, False)


def test_a_persons_repository_cannot_restrict_pushes_and_that_is_said(admin: Admin, github: GitHub) -> None:
    github.organisation = False
    assert "not protected" in admin(Tokens()).protect(Protection(TEACHING, pusher="lab-bot"))
    assert admin(Tokens()).protect(Protection(PRODUCTION, check=PROMOTION_CHECK)).endswith(": protected")


def test_a_repository_without_main_is_told_to_get_one(admin: Admin, github: GitHub) -> None:
    github.has_main = False
    with pytest.raises(InputError, match="git push origin main"):
        admin(Tokens()).look()


def test_there_is_one_hook_and_then_none(admin: Admin, github: GitHub) -> None:
    for secret in ("one", "two"):
        admin(Tokens()).hook(HOOK, secret, "token")
    github.hooks += [{"id": 9, "config": {"url": HOOK}}, {"id": 10, "config": {"url": "https://ci.example"}}]
    admin(Tokens()).hook(HOOK, "three", "token")
    config = {"url": HOOK, "content_type": "json", "secret": "three", "insecure_ssl": "0"}
    wanted = {"name": "web", "active": True, "events": ["push", "pull_request"], "config": config, "id": 1}
    assert github.hooks == [wanted, {"id": 10, "config": {"url": "https://ci.example"}}]
    assert admin(Tokens()).remove_hook(HOOK).endswith("removed")
    assert [one["id"] for one in github.hooks] == [10]


def test_somebody_who_is_no_administrator_is_refused(github: GitHub) -> None:
    with pytest.raises(InputError, match="not its administrator's"):
        GitHubAdmin(github.as_who("writes"), REPOSITORY, Tokens(), github.as_who).look()
