"""Ask an OCI registry whether it holds an image.

See https://github.com/opencontainers/distribution-spec/blob/main/spec.md and, for tokens,
https://distribution.github.io/distribution/spec/auth/token/.
"""

import base64
import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from gpulab.errors import PlatformError
from gpulab.images.layout import INDEX, MANIFEST

ACCEPT = ", ".join(
    (
        MANIFEST,
        INDEX,
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    )
)
TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


def split(repository: str) -> tuple[str, str]:
    """`host:port/a/b` as host and path; Docker Hub's short names are written out."""
    first, _, rest = repository.partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return "registry-1.docker.io", repository if rest else f"library/{repository}"


def credentials(config: Path, host: str) -> tuple[str, str] | None:
    """User and password of a registry in a Docker config file; None when there are none, or no file.

    Raises:
        PlatformError: the file is there and is none.
    """
    if not config.is_file():
        return None
    try:
        entries = json.loads(config.read_text(encoding="utf-8")).get("auths", {})
        entry = next((entries[name] for name in entries if _host(name) == host), None)
        return _login(entry) if entry else None
    except (ValueError, AttributeError, TypeError, KeyError):
        raise PlatformError("Secret gpulab-registry: .dockerconfigjson is no Docker config file") from None


def _host(name: str) -> str:
    return re.sub(r"^https?://", "", name).split("/")[0].replace("index.docker.io", "registry-1.docker.io")


def _login(entry: Mapping[str, Any]) -> tuple[str, str]:
    if "auth" in entry:
        user, _, password = base64.b64decode(entry["auth"], validate=True).decode().partition(":")
        return user, password
    return str(entry["username"]), str(entry["password"])


class _Bearer(httpx.Auth):
    def __init__(self, token: str) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


@dataclass(frozen=True)
class Registry:
    """One repository of a registry.

    Attributes:
        http: a client; the address is this class's.
        repository: `host:port/path`.
        login: user and password, None to ask without.
        insecure: plain HTTP.
    """

    http: httpx.Client
    repository: str
    login: tuple[str, str] | None = None
    insecure: bool = False

    def has(self, digest: str) -> bool:
        """Whether a manifest can be pulled.

        Raises:
            PlatformError: the registry does not say.
        """
        return self._manifest(digest) is not None

    def digest(self, tag: str) -> str | None:
        """What a tag points to now; None when there is no such tag.

        Raises:
            PlatformError: the registry does not say.
        """
        answer = self._manifest(tag)
        found: str | None = None if answer is None else answer.headers.get("Docker-Content-Digest")
        return found

    def _manifest(self, reference: str) -> httpx.Response | None:
        host, path = split(self.repository)
        url = f"{'http' if self.insecure else 'https'}://{host}/v2/{path}/manifests/{reference}"
        try:
            answer = self._head(url, self._basic())
            if answer.status_code == 401:
                answer = self._head(url, _Bearer(self._token(answer.headers.get("WWW-Authenticate", ""))))
        except httpx.HTTPError as error:
            raise PlatformError(f"registry {host} cannot be asked: {error}") from None
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            hint = " Mend Secret gpulab-registry." if answer.status_code in (401, 403) else ""
            raise PlatformError(f"registry {host} answers {answer.status_code} for {path}: {reference}.{hint}")
        return answer

    def _head(self, url: str, auth: httpx.Auth) -> httpx.Response:
        return self.http.head(url, headers={"Accept": ACCEPT}, auth=auth, follow_redirects=True)

    def _basic(self) -> httpx.Auth:
        return httpx.BasicAuth(*self.login) if self.login else httpx.Auth()

    def _token(self, challenge: str) -> str:
        """A token of the service that the registry names; empty when it names none."""
        scheme, _, rest = challenge.partition(" ")
        fields = dict(_CHALLENGE.findall(rest))
        if scheme.lower() != "bearer" or "realm" not in fields:
            return ""
        params = {key: fields[key] for key in ("service", "scope") if key in fields}
        answer = self.http.get(fields["realm"], params=params, auth=self._basic())
        try:
            document = answer.json() if answer.is_success else {}
            return str(document.get("token") or document.get("access_token") or "")
        except (ValueError, AttributeError):
            return ""
