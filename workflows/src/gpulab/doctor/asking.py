"""Ask over HTTP, from here; a secret is read for its question and kept nowhere."""

import base64
from collections.abc import Iterator

import httpx
import yaml

from gpulab.doctor.check import Check
from gpulab.doctor.reach import Request, Values, judge, of_platform, of_tenant
from gpulab.doctor.snapshot import Snapshot
from gpulab.doctor.tenants import tenant_of
from gpulab.kubernetes import Api, ApiError, path_of
from gpulab.pipelines.settings import Settings
from gpulab.tenants.plan import CLIENTS
from gpulab.tenants.rbac import WEBHOOK
from gpulab.tenants.settings import PLATFORM, PLATFORM_NAMESPACE, hook_url

TIMEOUT = httpx.Timeout(10.0, connect=5.0)


def reached(api: Api, seen: Snapshot) -> Iterator[Check]:
    """One line per question to the platform's and each tenant's services."""
    settings = seen.data(PLATFORM, PLATFORM_NAMESPACE)
    with httpx.Client(timeout=TIMEOUT) as http:
        for request in of_platform(settings):
            yield judge(request, status(http, request))
        for project in seen.projects():
            if seen.platform is not None:
                hook = hook_url(seen.platform, tenant_of(seen, project))
                yield from _tenant(api, seen, http, hook, project)


def _tenant(api: Api, seen: Snapshot, http: httpx.Client, hook: str, project: str) -> Iterator[Check]:
    config = seen.data(Settings().config_map, f"{project}-ci")
    try:
        values = values_of(api, f"{project}-ci")
    except (ApiError, KeyError, ValueError, TypeError) as error:
        why = f"its Secrets cannot be read ({type(error).__name__}), so no event was sent"
        yield Check("WARN", f"tenant {project}: webhook", why, "Log in as somebody who may read them.")
        return
    for request in of_tenant(project, config, hook, values):
        yield judge(request, status(http, request))


def values_of(api: Api, namespace: str) -> Values:
    """The webhook's secret, the forge's token, and Argo's for the webhook.

    Raises:
        ApiError: they may not be read.
        KeyError: a key is missing.
    """
    client = yaml.safe_load(_value(api, namespace, CLIENTS, WEBHOOK))
    account = _value(api, namespace, f"{WEBHOOK}.service-account-token", "token")
    return Values(str(client["secret"]), _value(api, namespace, "gpulab-forge", "token"), account)


def _value(api: Api, namespace: str, name: str, key: str) -> str:
    found = api.get(path_of("v1", "Secret", namespace, name)) or {}
    return base64.b64decode(found["data"][key]).decode()


def status(http: httpx.Client, request: Request) -> int | str:
    """The status code, or why there was none."""
    try:
        return http.request(request.method, request.url, headers=request.headers, content=request.body).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"{type(error).__name__}: {error}"
