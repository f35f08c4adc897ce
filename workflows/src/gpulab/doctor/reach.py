"""What is asked of webhook, forge, registry and artifact store, and what an answer means.

The event is a ping: signed as the forge signs, it reaches Argo's server and matches no binding, so that nothing starts.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpulab.doctor.access import CONNECT
from gpulab.doctor.check import Check, Level

PING = json.dumps({"zen": "gpulab doctor: this event starts nothing"}).encode()
SETTING = "Correct platform.env of your overlay, then: gpulab platform upgrade"


@dataclass(frozen=True)
class Values:
    """A tenant's secrets, for as long as its questions are asked."""

    webhook: str = field(repr=False)
    token: str = field(repr=False)
    account: str = field(repr=False)


@dataclass(frozen=True)
class Request:
    """One HTTP question.

    Attributes:
        name: of the check.
        url: without credentials.
        good: the status codes that are right.
        fix: what to do about any other answer.
        elsewhere: no answer is a warning, since only the cluster has to reach it.
    """

    name: str
    url: str
    good: frozenset[int]
    fix: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = b""
    elsewhere: bool = False


def of_platform(settings: Mapping[str, str]) -> Iterator[Request]:
    """Registry and artifact store; without login both answer something."""
    if registry := settings.get("GPULAB_REGISTRY", ""):
        url = f"{_scheme(settings, 'REGISTRY')}://{registry.partition('/')[0]}/v2/"
        yield Request("registry", url, frozenset({200, 401}), SETTING, elsewhere=True)
    if store := settings.get("GPULAB_S3_ENDPOINT", ""):
        url = f"{_scheme(settings, 'S3')}://{store}/"
        yield Request("artifact store", url, frozenset({200, 307, 400, 403, 404}), SETTING, elsewhere=True)


def of_tenant(project: str, config: Mapping[str, str], hook: str, values: Values) -> Iterator[Request]:
    """The forge's token, and three events of which one is rightly signed.

    Args:
        config: the tenant's ConfigMap `gpulab`.
        hook: where the forge sends the project's events.
    """
    name = f"tenant {project}: "
    repository = f"{config.get('GPULAB_FORGE_API', '').rstrip('/')}/repos/{config.get('GPULAB_FORGE_REPOSITORY', '')}"
    login = {"Authorization": f"token {values.token}"}
    yield Request(f"{name}forge token", repository, frozenset({200}), CONNECT, headers=login)
    # an empty secret would make Argo's server take every event
    for title, secret, good in (
        ("a signed event", values.webhook, 200),
        ("an event signed with another secret", "x", 401),
    ):
        headers = {
            "X-GitHub-Event": "ping",
            "Content-Type": "application/json",
            "X-Hub-Signature-256": signature(secret),
        }
        yield Request(f"{name}webhook, {title}", hook, frozenset({good}), CONNECT, "POST", headers, PING)
    headers = {"X-GitHub-Event": "ping", "Content-Type": "application/json"}
    if config.get("GPULAB_FORGE_KIND") == "gitea":  # see GiteaAdmin.hook
        bearer = headers | {"Authorization": f"Bearer {values.account}"}
        yield Request(f"{name}webhook, an event with its token", hook, frozenset({200}), CONNECT, "POST", bearer, PING)
    yield Request(f"{name}webhook, an event without signature", hook, frozenset({401}), CONNECT, "POST", headers, PING)


def signature(secret: str, body: bytes = PING) -> str:
    """As GitHub and Gitea sign: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def judge(request: Request, answer: int | str) -> Check:
    """What a status code means; a text says why there was none."""
    if isinstance(answer, str):
        level: Level = "WARN" if request.elsewhere else "FAIL"
        return Check(level, request.name, f"{request.url} cannot be reached from here: {answer}", request.fix)
    if answer in request.good:
        return Check("PASS", request.name, f"{answer}, as it should be")
    allowed = " or ".join(str(one) for one in sorted(request.good))
    return Check("FAIL", request.name, f"{request.url} answers {answer}, should be {allowed}", request.fix)


def _scheme(settings: Mapping[str, str], what: str) -> str:
    return "http" if settings.get(f"GPULAB_{what}_INSECURE") == "true" else "https"
